// Package stateful tests StatefulParDo, with packages state and timers, on every
// runner, by what Beam's tests of state and timers check. It is apart from
// package transforms because each of its pipelines instantiates many generic
// operators, which makes one large package slow to compile.
package stateful
