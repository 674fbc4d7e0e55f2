// Package sketch holds combiners that answer approximately in little memory:
// how many different elements there are ([Distinct]), and quantiles of numbers
// ([Quantiles]).
//
//	transforms.CombinePerKey(visitors, sketch.Distinct[string](14))
//	transforms.CombinePerKey(latencies, sketch.Quantiles[int64](0.01, 0.5, 0.99))
//
// They are combiners like those of package combine: the result does not depend on
// how elements were divided or in which order they came, so that sliding windows,
// sessions, and combining before an exchange give what one pass gives.
//
// The package is apart from combine because its sketches are of other modules:
// github.com/axiomhq/hyperloglog and github.com/DataDog/sketches-go.
package sketch
