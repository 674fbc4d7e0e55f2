package exec

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
)

// KeyGroups is the number of key groups: the unit in which keyed state is
// owned, stored and moved. A key's group is the top bits of its hash.
const KeyGroups = 128

// GroupOf returns the key group of a hash.
func GroupOf(hash uint64) int { return int(hash >> 57) }

// OwnerOf returns which of n workers owns a key group. Each owns a contiguous range.
func OwnerOf(group, n int) int { return group * n / KeyGroups }

// Env is what a runner offers to one operator on one worker. Only that worker
// may use it, except where a method says otherwise.
type Env interface {
	// Op is the operator's number, for Ctx.Op.
	Op() int32
	// Worker returns which worker this is, and of how many.
	Worker() (i, n int)
	// Context is done when the run ends; it is for connectors.
	Context() context.Context
	// Now returns processing time.
	Now() Time
	// WakeAt asks for Poll and Advance to be called once the processing time is past t.
	// An earlier request stays in force.
	WakeAt(t Time)
	// Waker returns a function that any goroutine may call to have the root
	// polled again soon.
	Waker() func()
	// Go has work run beside the worker, by a goroutine of its own. Once it has
	// returned the worker calls done, with what became of a panic, and then Turn
	// and Advance; done emits nothing. Work that a restart cuts off is not begun
	// again by itself: what it needs belongs in a store. Under a script no event
	// follows before all work of the last one is done.
	Go(work func(ctx context.Context), done func(err error))
	// Pause waits for ms milliseconds in work, or until ctx is done and returns
	// why. Under a script, whose clock does not move by itself, it does not wait.
	Pause(ctx context.Context, ms int64) error
	// Keep registers a store under a name that is unique within the operator.
	// It is called only from Op.New.
	Keep(name string, s Store)
	// Aligned reports whether the runner wants aggregations in their aligned
	// form where they have one (see internal/panes); both give the same panes.
	Aligned() bool
	// Counter returns the counter of this operator and worker with that name;
	// the runner sums it over workers.
	Counter(name string) *Counter
	// Distribution is the same for values.
	Distribution(name string) *Distribution
	// Log returns a logger that carries transform and worker.
	Log() *slog.Logger
}

// A Store is state of one operator on one worker, kept by key group.
type Store interface {
	// Snapshot appends the encoding of the entries of a key group to dst.
	Snapshot(dst []byte, group int) ([]byte, error)
	// Restore adds entries that Snapshot encoded, of one group or of several one
	// after the other; it consumes all of src, which is never empty.
	Restore(src []byte) error
}

// A Replicated store is the same on every worker and belongs to no key. Each
// worker writes all of it with group 0; on every worker what all had written is
// restored, and restoring what is there already changes nothing.
type Replicated interface {
	Store
	Replicated()
}

// A Counter counts within one worker. Only that worker changes it; the runner
// publishes it between turns.
type Counter struct{ N int64 }

// Add adds n.
func (c *Counter) Add(n int64) { c.N += n }

// A Distribution summarises values within one worker.
type Distribution struct {
	Count, Sum, Min, Max int64
}

// Update adds one value.
func (d *Distribution) Update(v int64) {
	if d.Count == 0 {
		d.Min, d.Max = v, v
	}
	d.Count++
	d.Sum += v
	d.Min, d.Max = min(d.Min, v), max(d.Max, v)
}

// Names of the counters that operators keep and every runner reports.
//
// Counting costs as much as a cheap function, so it is done where numbers
// change: an operator that emits exactly one element for each that enters counts
// neither. What entered an operator that keeps no Elements is what its inputs'
// producers emitted; what left one that keeps no Emitted is what entered it.
const (
	Elements      = "elements"                 // that entered the operator, side inputs aside, or that a root emitted
	Received      = "received"                 // that came over a keyed exchange
	DroppedLate   = "droppedDueToLateness"     // the window had expired
	DroppedClosed = "droppedDueToClosedWindow" // the window's trigger had finished
	NoWindow      = "elementsInNoWindow"       // the window function put them into no window
)

// Emitted returns the name of the counter of what was emitted to an output.
func Emitted(output int) string { return emitted + strconv.Itoa(output) }

// IsEmitted reports whether a counter has a name that Emitted returns.
func IsEmitted(name string) bool { return strings.HasPrefix(name, emitted) }

const emitted = "emitted:"
