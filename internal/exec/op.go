package exec

import "context"

// An Op is one operator of a plan. It is immutable and may be instantiated any
// number of times, at once.
type Op interface {
	// New makes the operator's instance for one worker. outs holds the Input[T]
	// of each output, in order; they are to be asserted here, once. An error is
	// a failure to start (a user's Setup that fails), not a wiring mistake,
	// which panics.
	New(env Env, outs []any) (Instance, error)
}

// An Instance is one operator on one worker. All fields but In are optional.
type Instance struct {
	// In holds an Input[T] for each main input; empty for a root.
	In []any

	// Turn ends a bundle: triggers are evaluated, FinishBundle runs. Nothing of
	// a bundle may be held back past it except in kept stores.
	Turn func(c *Ctx)

	// Advance fires what is due at the given watermark of each input and at
	// the processing time Env.Now, and returns the own output watermark: no
	// element before it will be emitted from now on. Without it the output
	// watermark is the minimum of in. It is resumable: when c.Full is set it
	// stops between firings and returns more, together with the watermark that
	// holds until then; it is then called again before any further element.
	// For a root in is empty and the result is the source's watermark, or Idle.
	Advance func(c *Ctx, in []Time) (out Time, more bool)

	// Flush emits what was held back over turns to be combined before an
	// exchange. It is called before a watermark or another control message
	// leaves the stage, so that nothing held is overtaken.
	Flush func(c *Ctx)

	// Poll emits up to max elements of a root and says what is to be expected.
	Poll func(c *Ctx, max int) Status

	// Step emits what event i of the script has for this root (see Scripted).
	Step func(c *Ctx, i int)

	// Assign gives a reading root further splits to read.
	Assign func(splits []Split) error

	// Full reports that the operator waits for so much work beside the worker
	// (Env.Go) that it wants no further elements for now. Its In sets c.Full then,
	// and what Advance of operators before it has to fire waits too. A script's
	// turn, and the direct runner's, is taken whole.
	Full func() bool

	// Holds reports that elements which the operator keeps can go on while its main
	// inputs are idle: by the clock, or when a side input comes. Then it has a say in
	// the watermark of its consumers although they have none.
	Holds func() bool

	// Restored is called after the kept stores were restored and before
	// anything else: indexes derived from them are rebuilt.
	Restored func(c *Ctx)

	// Finish is called once when all inputs have ended, after the last Advance.
	// Emitting is not allowed any more; sinks prepare here what Commit publishes.
	Finish func(c *Ctx)

	// Commit is called once after every instance of the run has finished
	// without a failure, by one goroutine for all instances.
	Commit func(c *Ctx)

	// Close releases what New acquired; it is called exactly once, also after
	// a failure.
	Close func() error
}

// An Input accepts one element of type T in the current Ctx. It never refuses.
type Input[T any] func(*Ctx, T)

// Status is what a Poll leaves a root in.
type Status uint8

// The states of a root after a Poll.
const (
	Ready   Status = iota // more elements may be had at once
	Waiting               // nothing for now: Env.Waker or Env.WakeAt will tell
	Ended                 // no element will come any more
)

// A Split is a part of a source that is read by one worker: a Kafka partition,
// a row group of a Parquet file.
type Split struct {
	ID    string // unique within the source and the same in every process
	Size  int64  // weight for balancing: bytes, rows; 0 if unknown
	State any    // what the source's reader needs to open it
}

// Splitter is implemented by root operators whose input comes in splits.
type Splitter interface {
	// Splits lists all splits, known ones too. It may block; it is called
	// before the start and then every Rediscover milliseconds, never by two
	// goroutines at once.
	Splits(ctx context.Context) ([]Split, error)
	// Rediscover is the interval between listings in milliseconds; 0 means once.
	Rediscover() int64
}

// Scripted is implemented by roots that a TestStream script drives. All roots
// of one Script share its events: one total order, one clock.
type Scripted interface{ Script() *Script }

// A Script is the total order of the events of all TestStreams of a pipeline.
type Script struct{ Events []Event }

// An Event is one step of a script. It is delivered whole before the next.
type Event struct {
	// Root is the operator that has elements or a watermark for this event; nil
	// for an advance of the processing clock, which concerns all.
	Root Op
	// Clock advances processing time by so many milliseconds.
	Clock int64
}

// A Lifter is an operator that can be split in two around its exchange: a part
// that combines before it, on the sender, and one that merges after it.
type Lifter interface {
	// Lift returns the sender's half, whose outputs travel over the edges mid
	// with the routes given, and the receiver's half, which has one input for
	// each of mid. The outputs of the receiver's half are those of the Op. ok
	// is false where lifting would change results.
	Lift() (pre Op, mid []Lifted, post Op, ok bool)
}

// Lifted is one exchange between the halves of a lifted operator.
type Lifted struct {
	Edge  Edge
	Route any // func(T) uint64
}
