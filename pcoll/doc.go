// Package pcoll defines typed pipelines: the [Pipeline] that is being built,
// the [PCollection] values that flow through it, and the vocabulary shared by
// transforms, runners and connectors.
//
// A program builds a pipeline with the functions of packages transforms,
// windowing, io/kafka and io/parquet, then hands it to a runner:
//
//	p := pcoll.New("wordcount")
//	lines := transforms.Create(p, "a b", "b")
//	words := transforms.FlatMap(lines, strings.FieldsSeq)
//	counts := transforms.CountPerElement(words)
//	…
//	res, err := direct.Run(ctx, p)
//
// # Errors while building
//
// Transforms return collections only, never errors, so that they compose. A
// mistake that the compiler cannot see (a window of no length, a key type
// without canonical encoding) is recorded with the file and line of the call,
// and every runner refuses to start and returns all of them at once; see
// [Pipeline.Err]. A collection that comes from a mistake is inert: what is
// applied to it reports nothing more. Only one mistake panics: using a zero
// PCollection or a nil Pipeline, where there is nothing to record it in.
package pcoll
