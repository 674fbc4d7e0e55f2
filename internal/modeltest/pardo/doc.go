// Package pardo tests, on every runner, what functions without state can rely
// on: each element once, outputs and their times, bundles and their watermarks,
// the order of a key's elements, metrics, and pipelines made of functions. It
// restates what Beam's ParDoTest, CreateTest, PipelineTest, PerKeyOrderingTest and
// MetricsTest check beside state and timers.
package pardo
