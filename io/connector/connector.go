// Package connector is the contract of sources and sinks: what io/kafka,
// io/parquet and connectors of users implement, and how a pipeline reads and
// writes through it ([Read], [TryRead], [Write]). Package
// io/connector/connectortest checks an implementation against it.
//
// # Sources
//
// A [Source] is immutable and is read in [Split]s, parts that are independent of
// each other: a partition, a file, a range of rows. A runner lists the splits,
// gives each to one worker, and opens a [Reader] for it at a [Position].
//
//	Splits → Open(split, position) → { Read → Position }… → Close
//
// Only one goroutine uses a Reader at a time, and it is the goroutine of a worker
// that also runs the pipeline's functions: Read must not wait for the outside
// world. A reader that has nothing at hand returns [Waiting], and calls
// [Env].Wake when that may have changed, from a goroutine of its own, or has asked
// by [Env].WakeAt to be read again at a time. A reader that computes what it
// returns (decodes a page of a local file) may do so in Read.
//
// Exactly-once rests on two promises. Reading a split from a position gives the
// same rows in the same order, whenever it is read. And the position that
// Position returns after a Read is the one right behind the last row that Read
// appended.
//
// # Time
//
// A reader states the event time of each row. The watermark of a split follows from
// them by the source's [Progress]: the newest time less the disorder bound. A
// reader that knows better implements [Watermarker]. The source's watermark is
// the least of its splits', except those that are idle: a split is idle when its
// reader confirmed throughout the idle timeout that nothing is unread ([Idler]);
// a split that waits, fails or is not polled is not. When all are, the watermark is
// where the furthest came to, whichever became idle last. A split that was just found
// holds the watermark from the moment it is assigned.
//
// # Sinks
//
// A [Sink] is immutable and opens a [Writer] for each worker. A writer publishes
// nothing that cannot be withdrawn before it is told to: what it wrote is
// prepared by Prepare, which returns a handle, and appears by Commit of that
// handle, which must be idempotent: it is repeated when its outcome is unknown.
// A sink with at-least-once semantics may publish earlier, and says so.
package connector

import (
	"context"
	"log/slog"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
)

// Time is an instant of event time in milliseconds since the Unix epoch.
type Time = exec.Time

// TimeOf converts to a Time. The zero time.Time has no place in a pipeline:
// reject a row that has no event time.
func TimeOf(t time.Time) Time { return exec.TimeOf(t) }

// MinTime is the event time of rows of a source that knows no times.
const MinTime = exec.MinTime

// A Split is a part of a source.
type Split struct {
	// ID names the split; it is unique in the source, the same whenever the
	// source is listed, and enough to open the split again later.
	ID string
	// Size is the split's weight in any unit common to the source; 0 is unknown.
	Size int64
	// Start is where reading begins when nothing has been read yet; nil means
	// the beginning.
	Start Position
}

// A Position is a place between two rows of a split, in an encoding of the source's own.
type Position []byte

// A Source describes what is to be read as rows of type T.
type Source[T any] interface {
	// Progress says how the source behaves in time. It is called while the pipeline is built.
	Progress() Progress
	// Splits lists all splits, those listed before too. It may block.
	Splits(ctx context.Context) ([]Split, error)
	// Open returns a reader of a split from a position on; nil is the split's
	// Start. It may start goroutines, which must end with the reader's Close.
	Open(ctx context.Context, env Env, split Split, from Position) (Reader[T], error)
}

// Progress says how a source behaves in time.
type Progress struct {
	// Bounded sources end: each split's reader returns Ended, and no split is added.
	Bounded bool
	// Rediscover is how often Splits is called again to find new splits; 0 means never.
	Rediscover time.Duration
	// Disorder is how far behind the newest event time of its split a row may lie
	// before it can count as late; 0 says that a split is ordered.
	Disorder time.Duration
	// Idle is how long a split must have nothing unread before it stops holding
	// the watermark; 0 means 30 seconds, negative never.
	Idle time.Duration
	// MaxFuture is how far ahead of the clock a row may be stamped and still move
	// the watermark; 0 means 24 hours, negative any distance.
	MaxFuture time.Duration
	// AtEnd keeps the watermark at minus infinity until the splits end, so that
	// nothing that is read is late. It is for bounded sources without order.
	AtEnd bool
}

// Env is what a reader or writer gets from the runner.
type Env struct {
	// Wake makes the worker call Read again soon. Any goroutine may call it.
	Wake func()
	// WakeAt makes the worker call Read again once processing time is past t; an
	// earlier request stays in force. Unlike Wake it is for the worker's
	// goroutine, inside a method of the reader. A writer has no Read: it is nil there.
	WakeAt func(t Time)
	// Worker and Workers say which worker this is, from 0, and of how many.
	Worker, Workers int
	// Transform is the unique name of the transform in the pipeline.
	Transform string
	// Log carries the transform's name and the worker.
	Log *slog.Logger
	// Count adds to a counter of the transform, reported in pcoll.Result under
	// Internal. It must be called by the worker's goroutine, inside a method of the reader or writer.
	Count func(name string, n int64)
	// Now returns processing time.
	Now func() Time
}

// Status is what a Read leaves a reader in.
type Status = exec.Status

// The states of a reader after a Read.
const (
	Ready   = exec.Ready   // more rows may be had at once
	Waiting = exec.Waiting // nothing at hand; Env.Wake tells when to try again
	Ended   = exec.Ended   // the split has no more rows, ever
)

// A Reader reads one split.
type Reader[T any] interface {
	// Read appends rows to b, at most b.Room() rows and rejects together, and
	// says what to expect next. With rows it may also return Waiting or Ended. A
	// row's memory must stay valid: rows are kept by pipelines.
	Read(b *Batch[T]) (Status, error)
	// Position returns the place right behind what the last Read appended.
	Position() Position
	// Close releases the reader and ends its goroutines.
	Close() error
}

// A Watermarker is a Reader that knows its own watermark: no row before it will
// follow the last Read. It replaces the disorder bound and the guard against times ahead of the clock.
type Watermarker interface{ Watermark() Time }

// An Idler is a Reader that can tell that nothing is unread. Without it a split is never idle.
// A reader that has come to the end of what there is calls Env.Wake: the time counts from the Read that follows.
type Idler interface {
	// CaughtUp reports whether the source confirmed, by its last answer, that
	// there is nothing behind the position that Position returns. It is asked
	// right after a Read that gave nothing.
	CaughtUp() bool
}

// A Batch takes the rows of one Read. Values and Times have the same length.
type Batch[T any] struct {
	Values  []T
	Times   []Time
	Rejects []Reject
	limit   int
}

// NewBatch returns an empty batch for n rows.
func NewBatch[T any](n int) *Batch[T] {
	return &Batch[T]{Values: make([]T, 0, n), Times: make([]Time, 0, n), limit: n}
}

// Room returns how many more rows or rejects the batch takes.
func (b *Batch[T]) Room() int { return b.limit - len(b.Values) - len(b.Rejects) }

// Add appends a row.
func (b *Batch[T]) Add(t Time, v T) {
	b.Values = append(b.Values, v)
	b.Times = append(b.Times, t)
}

// Extend appends n zero rows and returns them to be filled in place.
func (b *Batch[T]) Extend(n int) ([]T, []Time) {
	i := len(b.Values)
	b.Values = append(b.Values, make([]T, n)...)
	b.Times = append(b.Times, make([]Time, n)...)
	return b.Values[i:], b.Times[i:]
}

// Reset empties the batch and lets go of what its rows point to.
func (b *Batch[T]) Reset() {
	clear(b.Values)
	clear(b.Rejects)
	b.Values, b.Times, b.Rejects = b.Values[:0], b.Times[:0], b.Rejects[:0]
}

// A Reject is a record that could not become a row. In [Read] it fails the run
// with its origin and reason; [TryRead] gives it as an element.
type Reject struct {
	Source  string // "topic orders, partition 3, offset 17", "in/a.parquet, row 12"
	Reason  string // what is wrong and what was wanted
	Key     []byte // raw, nil if absent
	Value   []byte // raw, nil if absent or null
	Headers []Header
	// Of records in a log; Offset is -1 otherwise.
	Topic     string
	Partition int32
	Offset    int64
	Time      time.Time // the record's own timestamp, zero if it has none
}

// A Header is a named value that a record carries.
type Header struct {
	Name  string
	Value []byte
}

// A Sink describes where elements of type T are to be written.
type Sink[T any] interface {
	// Accepts says which changes the sink can write. It is called while the pipeline is built.
	Accepts() Changes
	// Open returns the writer of one worker.
	Open(ctx context.Context, env Env) (Writer[T], error)
}

// Changes says which kinds of change a sink can write.
type Changes uint8

// What sinks accept. A sink that only appends is refused a collection with
// withdrawals while the pipeline is built; the others are given all elements
// with their [Element].Kind, in an order in which no withdrawal comes before what it
// takes back.
const (
	// Appends takes new elements only.
	Appends Changes = iota
	// Upserts keeps one row for each key: a new element replaces that of its key. A
	// withdrawal removes the row of its key if the row still is what is taken back: where a function
	// gave results new keys, another's row may have replaced it before the withdrawal comes.
	Upserts
	// Retracts writes withdrawals as what they are.
	Retracts
)

// An Element is what surrounds a value that is written.
type Element struct {
	Time   Time
	Window exec.Window
	Pane   exec.Pane
	Kind   exec.Kind
}

// A Writer writes the elements of one worker. One goroutine uses it at a time.
type Writer[T any] interface {
	// Write takes an element. It may block; that is the backpressure.
	Write(e Element, v T) error
	// Flush passes on what was taken, without waiting for it to be durable. The
	// engine calls it when input pauses.
	Flush() error
	// Prepare makes everything taken since the last Prepare durable, invisible
	// where the sink can, and returns the handle by which Commit publishes it;
	// nil if there is nothing to publish.
	Prepare(epoch int64) (handle []byte, err error)
	// Commit publishes what Prepare returned the handle for. Committing twice is
	// the same as once.
	Commit(handle []byte) error
	// Close releases the writer. What was not prepared and committed is discarded.
	Close() error
}
