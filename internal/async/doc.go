// Package async holds the operator behind transforms.AsyncMap and lookup.Enrich:
// elements wait in it, in order, until a call beside the worker has brought what
// each of them needs, and go on.
//
// An [Op] asks its Resolver for each element's result, which is there already
// or comes of a [Call] that any number of elements may share. Calls run by
// exec.Env.Go, at most [Settings].Limit at once on a worker; those beyond wait.
//
// # What it promises
//
// Elements that wait are state: a restored instance begins their calls again.
//
// The output is the input as it was, elements and watermarks, with results in
// the place of elements, only later. It says a watermark once all elements that
// came before it have gone on, and lets none go on before it that came after: so
// no element becomes late by waiting, and none that was late is on time. Between
// two watermarks elements go on in the order they came in, or, with
// Settings.Unordered, as soon as their results are there. That is the contract of
// Flink's AsyncWaitOperator. To hold the watermark at the times of elements instead
// would let it go further while they wait, but then what is late would depend on
// how long calls take.
package async
