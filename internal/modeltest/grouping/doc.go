// Package grouping tests, on every runner, what groupings, combinations, Flatten
// and Reshuffle promise: their contents, times, windows and panes. It restates what
// Beam's GroupByKeyTest, CombineTest, CombineFnsTest, FlattenTest, ReshuffleTest and
// RedistributeTest check, beside what the tests of windowing and triggers hold.
package grouping
