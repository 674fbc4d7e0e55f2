// Package modeltest draws random pipelines with scripts, runs each on several
// runners and compares everything that can be seen of it: the panes of every
// grouping with value, time, window, pane and the event of the script that they came with, what
// was dropped, and what the results count. The direct runner is the reference.
//
// A difference is reported with the smallest pipeline and script that still
// show it, in readable steps, and with the seed that brings it back:
//
//	go test ./internal/modeltest -run TestModel -model.seconds=60
//
// A [Spec] is plain data. What it says is run by [Spec.Check] on the [Runner]s
// that it is given; the simulator, which only packages of the local runner can
// see, is checked by a test of its own package.
package modeltest
