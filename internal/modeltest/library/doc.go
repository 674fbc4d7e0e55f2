// Package library tests the library of transforms (distinct elements, samples,
// sets, batches and the like) on every runner, by what Beam's tests of theirs
// check. It is apart from package transforms because each of its pipelines
// instantiates many generic operators, which makes one large package slow to compile.
package library
