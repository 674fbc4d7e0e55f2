package parquet

import (
	"fmt"
	"reflect"
	"time"

	"github.com/penstock-dev/penstock/io/parquet/internal/columns"
	"github.com/penstock-dev/penstock/pcoll"
)

// A ReadOption configures [Read] and [TryRead]: pcoll.Named, [EventTime],
// [Zone] and [AllowEmpty]. Options that do not apply are construction errors.
type ReadOption = pcoll.Option

// A WriteOption configures [Write]: pcoll.Named, [RowGroupRows], [Compression] and [PerWindow].
type WriteOption = pcoll.Option

// EventTime stamps each row with what at returns for it, rounded down to a
// millisecond; T must be the type of the rows. The zero time.Time says that a row has no event
// time: such a row is rejected. Without this option rows are at the start of
// time, and transforms.WithTimestamps can stamp them later.
func EventTime[T any](at func(T) time.Time) ReadOption {
	return pcoll.Extra("parquet.EventTime", eventTime{at, reflect.TypeFor[T](), at == nil})
}

type eventTime struct {
	at  any // func(T) time.Time
	of  reflect.Type
	nil bool
}

// Zone says in which zone timestamps without one are: wall clocks, in Parquet
// "not adjusted to UTC". Without it they read as UTC, but together with
// [EventTime] they are an error, since windows would be off by hours unnoticed.
func Zone(z *time.Location) ReadOption { return pcoll.Extra("parquet.Zone", zone{z}) }

type zone struct{ *time.Location }

// AllowEmpty makes a glob that no file matches an empty collection, where it is an error otherwise.
func AllowEmpty() ReadOption { return pcoll.Extra("parquet.AllowEmpty", allowEmpty{}) }

type allowEmpty struct{}

// RowGroupRows sets how many rows a row group holds; the default is 2^20. A row group
// is what one worker reads at a time, and what a writer keeps in memory, encoded.
func RowGroupRows(n int) WriteOption { return pcoll.Extra("parquet.RowGroupRows", groupRows(n)) }

type groupRows int

// Compression sets how pages are compressed; the default is [Zstd].
func Compression(c Codec) WriteOption { return pcoll.Extra("parquet.Compression", c) }

// A Codec is a way to compress pages.
type Codec uint8

// The codecs that files are written with. [Read] reads all of them, and Brotli.
const (
	None Codec = iota
	Snappy
	Gzip
	Zstd
	Lz4 // LZ4_RAW; the rows of such files come out wrong from parquet-go's own reader (v0.32)
)

var codecs = [...]struct {
	name  string
	codec columns.Codec
}{
	None:   {"none", columns.Uncompressed},
	Snappy: {"snappy", columns.Snappy},
	Gzip:   {"gzip", columns.Gzip},
	Zstd:   {"zstd", columns.Zstd},
	Lz4:    {"lz4", columns.Lz4Raw},
}

// String returns the codec's name: none, snappy, gzip, zstd or lz4.
func (c Codec) String() string {
	if int(c) < len(codecs) {
		return codecs[c].name
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// PerWindow writes the elements of each window to files of their own, in a directory named for it
//
//	DIR/window=20260102T150400Z-20260102T150500Z/part-00003-9f86d081884c7d65-0000.parquet
//
// with start and end in UTC, and milliseconds where they are not zero, or
// window=global. A worker keeps 64 files open: where the elements of more windows than that
// interleave, a window has several files of a worker.
func PerWindow() WriteOption { return pcoll.Extra("parquet.PerWindow", perWindow{}) }

type perWindow struct{}

// once returns the value that an option of type X carries, if it was given. Two are a
// mistake: one would be ignored.
func once[X any](b *pcoll.Builder, name string) (x X, given bool) {
	all := pcoll.Taken[X](b)
	if len(all) > 1 {
		b.Errorf("option parquet.%s is given %d times; keep one", name, len(all))
	}
	if len(all) == 0 {
		return x, false
	}
	return all[0], true
}
