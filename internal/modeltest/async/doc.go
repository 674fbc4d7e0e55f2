// Package async tests what operators have done beside their worker (exec.Env.Go)
// on every runner: the contract by an operator written by hand, and the
// transforms that are made of it, AsyncMap and Enrich.
package async
