// Package lifecycle tests in which order the methods of a DoFn are called, and
// that an error or a panic in any of them, or in any other function of a user's,
// ends the run with an error that says where, on every runner, with everything
// released that had been set up. It restates what Beam's ParDoLifecycleTest and
// the lifecycle tests of its ParDoTest check, and adds timers, expiry and panics.
package lifecycle
