// Package archtest holds the rules of this repository as tests: which package
// may import what, what the engine must not use, how long things may get, what
// has to be documented. A test's message gives the place, the rule and its
// reason. CONTRIBUTING.md lists the rules and names the test of each.
//
// Each rule is a function from parsed source to findings, and is itself tested
// on source that breaks it: a rule that finds nothing because it looks at
// nothing would be worse than none.
package archtest
