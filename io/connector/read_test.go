package connector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
)

// An answer is what one Read of a scripted reader gives.
type answer struct {
	rows    []Time // event times; values are their number in the split
	rejects []Reject
	status  Status
	err     error
	caught  bool // what CaughtUp says from then on
	wm      Time // what Watermark says from then on
	bad     func(b *Batch[int])
}

// script is a reader that gives its answers one after the other, then the last one's
// status with nothing.
type script struct {
	answers []answer
	read    int // answers given
	row     int
	now     answer
	closed  int
}

func (s *script) Read(b *Batch[int]) (Status, error) {
	if s.closed > 0 {
		panic("Read after Close")
	}
	if s.read == len(s.answers) {
		return s.now.status, nil
	}
	a := s.answers[s.read]
	s.read++
	s.now = a
	for _, t := range a.rows {
		b.Add(t, s.row)
		s.row++
	}
	b.Rejects = append(b.Rejects, a.rejects...)
	if a.bad != nil {
		a.bad(b)
	}
	return a.status, a.err
}

func (s *script) Position() Position {
	if s.closed > 0 {
		panic("Position after Close")
	}
	return fmt.Appendf(nil, "%d", s.row)
}

func (s *script) Close() error { s.closed++; return nil }

// idler and watermarker are scripts that implement more.
type idler struct{ *script }

func (s idler) CaughtUp() bool { return s.now.caught }

type watermarker struct{ *script }

func (s watermarker) Watermark() Time { return s.now.wm }

// scripted is a source of one script for each split.
type scripted struct {
	progress Progress
	readers  map[string]Reader[int]
	opened   []string
}

func (s *scripted) Progress() Progress                              { return s.progress }
func (s *scripted) Splits(context.Context) (out []Split, err error) { return s.splits(), nil }

func (s *scripted) splits() (out []Split) {
	for id := range s.readers {
		out = append(out, Split{ID: id, Start: Position("start of " + id)})
	}
	slices.SortFunc(out, func(a, b Split) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (s *scripted) Open(_ context.Context, _ Env, split Split, from Position) (Reader[int], error) {
	s.opened = append(s.opened, fmt.Sprintf("%s at %s", split.ID, from))
	if r := s.readers[split.ID]; r != nil {
		return r, nil
	}
	return nil, errors.New("no such split")
}

// A bench is a readOp on one worker, with what comes out of it.
type bench struct {
	t      *testing.T
	op     *readOp[int]
	env    *host.Op
	inst   exec.Instance
	clock  *host.Manual
	c      *exec.Ctx
	out    []string
	stopAt int // elements after which the output is full; 0: never
}

func newBench(t *testing.T, src *scripted, try bool) *bench {
	t.Helper()
	b := &bench{t: t, clock: &host.Manual{}, c: exec.NewCtx(t.Context())}
	b.clock.Advance(1_000_000)
	b.op = &readOp[int]{src: src, name: "Read", bounded: src.progress.Bounded, again: src.progress.Rediscover, policy: policyOf(src.progress), try: try}
	b.env = host.NewOp(host.Place{Number: 4, Name: "Read", Count: 1, Context: t.Context(), Clock: b.clock, Wake: func() {},
		Log: slog.New(slog.DiscardHandler)})
	outs := []any{exec.Input[int](func(c *exec.Ctx, v int) {
		if c.Window != exec.Global || c.Pane != exec.NoFiring || c.Kind != exec.Insert {
			t.Errorf("element in %v with %v", c.Window, c.Pane)
		}
		b.out = append(b.out, fmt.Sprintf("%d@%d", v, c.Time))
		b.c.Full = b.stopAt > 0 && len(b.out)%b.stopAt == 0
		c.Op = 99 // as user code downstream does
	})}
	if try {
		outs = append(outs, exec.Input[Reject](func(c *exec.Ctx, r Reject) {
			b.out = append(b.out, fmt.Sprintf("reject %s@%v", r.Reason, c.Time))
			b.c.Full = b.stopAt > 0 && len(b.out)%b.stopAt == 0
		}))
	}
	var err error
	if b.inst, err = b.op.New(b.env, outs); err != nil {
		t.Fatal(err)
	}
	return b
}

// assign gives all splits of the source.
func (b *bench) assign() {
	b.t.Helper()
	splits, err := b.op.Splits(b.t.Context())
	if err == nil {
		err = b.inst.Assign(splits)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// poll polls once and checks the status, what came out and the watermark then.
func (b *bench) poll(limit int, status Status, wm Time, out ...string) {
	b.t.Helper()
	b.c.Full, b.out = false, nil
	got := b.inst.Poll(b.c, limit)
	b.env.TakeWake(b.clock.Now())
	w, _ := b.inst.Advance(b.c, nil)
	if got != status || w != wm || !slices.Equal(b.out, out) {
		b.t.Errorf("poll of %d gives %q, status %d, watermark %v; want %q, %d, %v", limit, b.out, got, w, out, status, wm)
	}
}

// TestWatermarkFollowsTheBatch: it is published when all of the batch is out.
func TestWatermarkFollowsTheBatch(t *testing.T) {
	r := &script{answers: []answer{{rows: []Time{10, 20, 30}, status: Ready}, {rows: []Time{40}, status: Ended}}}
	b := newBench(t, &scripted{progress: Progress{Bounded: true}, readers: map[string]Reader[int]{"a": r}}, false)
	b.poll(9, Waiting, exec.MinTime) // not assigned
	b.assign()
	b.poll(2, Ready, exec.MinTime, "0@10", "1@20")
	b.poll(2, Ready, 30, "2@30")
	b.poll(2, Ready, exec.MaxTime, "3@40")
	b.poll(2, Ended, exec.MaxTime)
	if n := b.env.Counter(exec.Elements).N; n != 4 {
		t.Errorf("%d elements counted, want 4", n)
	}
	if r.closed != 1 {
		t.Errorf("closed %d times at the end of the split", r.closed)
	}
	if err := b.inst.Close(); err != nil || r.closed != 1 {
		t.Errorf("closed %d times in all, error %v: Close is called once", r.closed, err)
	}
}

// TestFullStopsBetweenElements: rows, then rejects, none twice and none lost.
func TestFullStopsBetweenElements(t *testing.T) {
	reject := func(s string) Reject { return Reject{Reason: s, Time: time.UnixMilli(7)} }
	r := &script{answers: []answer{{rows: []Time{1, 2, 3}, rejects: []Reject{reject("x"), {Reason: "y"}}, status: Ended}}}
	b := newBench(t, &scripted{progress: Progress{Bounded: true}, readers: map[string]Reader[int]{"a": r}}, true)
	b.assign()
	b.stopAt = 1
	b.poll(100, Ready, exec.MinTime, "0@1")
	b.poll(100, Ready, exec.MinTime, "1@2")
	b.poll(100, Ready, exec.MinTime, "2@3")
	b.poll(100, Ready, exec.MinTime, "reject x@1970-01-01T00:00:00.007Z")
	b.poll(100, Ready, exec.MaxTime, "reject y@-inf")
	b.poll(100, Ended, exec.MaxTime)
	if n, m := b.env.Counter("rejected").N, b.env.Counter(exec.Emitted(1)).N; n != 2 || m != 2 {
		t.Errorf("%d rejected, %d emitted, want 2 of both", n, m)
	}
}

// TestRejectFailsRead, after the rows in front of it, with its origin and the remedy.
func TestRejectFailsRead(t *testing.T) {
	r := &script{answers: []answer{{rows: []Time{1}, rejects: []Reject{{Source: "topic t, partition 0, offset 5", Reason: "not JSON"}}, status: Ready}}}
	b := newBench(t, &scripted{progress: Progress{Bounded: true}, readers: map[string]Reader[int]{"a": r}}, false)
	b.assign()
	b.poll(100, Ready, 1, "0@1")
	e, ok := errors.AsType[*exec.ElementError](b.c.Err)
	if !ok || e.Op != 4 || !strings.Contains(e.Error(), "topic t, partition 0, offset 5: not JSON; read with TryRead") {
		t.Errorf("error %v", b.c.Err)
	}
}

// TestReadyWithoutRowsGoesOn: a reader that skipped what gives no row (an empty
// row group, control records) has to be read again at once: nobody will wake it.
func TestReadyWithoutRowsGoesOn(t *testing.T) {
	for name, progress := range map[string]Progress{"bounded": {Bounded: true}, "at end": {Bounded: true, AtEnd: true}, "live": {Rediscover: time.Hour}} {
		a := &script{answers: []answer{{status: Ready}, {status: Ready}, {rows: []Time{5}, status: Waiting}}}
		w := &script{answers: []answer{{status: Waiting}}}
		b := newBench(t, &scripted{progress: progress, readers: map[string]Reader[int]{"a": a, "w": w}}, false)
		b.assign()
		for range 2 {
			b.poll(9, Ready, exec.MinTime)
		}
		b.poll(9, Ready, exec.MinTime, "0@5")
		b.poll(9, Waiting, exec.MinTime)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestSplitsTakeTurns, except where only the end counts: there few are open at once.
func TestSplitsTakeTurns(t *testing.T) {
	for atEnd, want := range map[bool]string{false: "0@1 0@4 1@2 1@5 2@3", true: "0@1 1@2 2@3 0@4 1@5"} {
		a := &script{answers: []answer{{rows: []Time{1}}, {rows: []Time{2}}, {rows: []Time{3}, status: Ended}}}
		c := &script{answers: []answer{{rows: []Time{4}}, {rows: []Time{5}, status: Ended}}}
		b := newBench(t, &scripted{progress: Progress{Bounded: true, AtEnd: atEnd}, readers: map[string]Reader[int]{"a": a, "c": c}}, false)
		b.assign()
		for b.inst.Poll(b.c, 100) != Ended {
			if w, _ := b.inst.Advance(b.c, nil); atEnd && w != exec.MinTime && len(b.out) < 5 {
				t.Errorf("watermark %v before the end", w)
			}
		}
		if got := strings.Join(b.out, " "); got != want {
			t.Errorf("at end %v: %s, want %s", atEnd, got, want)
		}
	}
}

// TestWatermarkerReplacesTheBound: with the bound of 0 that is the default, an
// element would move the watermark ahead of what the reader promises.
func TestWatermarkerReplacesTheBound(t *testing.T) {
	r := watermarker{&script{answers: []answer{{rows: []Time{50, 100}, wm: 20}, {rows: []Time{30}, wm: 25}, {wm: 60, status: Waiting}}}}
	b := newBench(t, &scripted{readers: map[string]Reader[int]{"a": r}}, false)
	b.assign()
	b.poll(9, Ready, 20, "0@50", "1@100")
	b.poll(9, Ready, 25, "2@30")
	b.poll(9, Waiting, 60)
}

// TestF01SlowSinkKeepsSplitsLive: a split that could not be read while a
// consumer was slow is read before it can count as idle.
func TestF01SlowSinkKeepsSplitsLive(t *testing.T) {
	p0, p1 := &script{}, &script{}
	for i := range Time(5) {
		p0.answers = append(p0.answers, answer{rows: []Time{i * 100}, status: Ready})
	}
	// The first answer of P1 comes before its records are there.
	p1.answers = []answer{{status: Waiting, caught: true}, {rows: []Time{0, 99}, status: Waiting}, {status: Waiting, caught: true}}
	b := newBench(t, &scripted{progress: Progress{Idle: time.Second}, readers: map[string]Reader[int]{"p0": idler{p0}, "p1": idler{p1}}}, false)
	b.assign()
	b.stopAt = 1
	b.poll(100, Ready, exec.MinTime, "0@0")
	b.poll(100, Ready, exec.MinTime, "1@100") // P1 was asked on the way, and had nothing
	b.clock.Advance(3000)                     // the sink blocks
	if w, _ := b.inst.Advance(b.c, nil); w != exec.MinTime {
		t.Errorf("watermark %v after the block: P1 is idle though nobody asked it", w)
	}
	b.poll(100, Ready, exec.MinTime, "0@0")
	b.poll(100, Ready, 99, "1@99")
	b.poll(100, Ready, 99, "2@200")
	b.poll(100, Ready, 99, "3@300")
	b.poll(100, Ready, 99, "4@400")
	for range 4 { // now it is asked again and again, and has nothing
		b.clock.Advance(250)
		b.inst.Poll(b.c, 100)
	}
	b.clock.Advance(250)
	b.poll(100, Ready, 400)
}

// TestF28SplitsWithoutDataBecomeIdle, by the wakes that the source asks for itself.
func TestF28SplitsWithoutDataBecomeIdle(t *testing.T) {
	full := &script{answers: []answer{{rows: []Time{1, 5, 12, 25}, status: Waiting}}}
	late := &script{answers: []answer{{status: Waiting, caught: true}}}
	readers := map[string]Reader[int]{"p0": full, "p1": idler{late}, "p2": idler{&script{answers: []answer{{status: Waiting, caught: true}}}}}
	b := newBench(t, &scripted{progress: Progress{Idle: 2 * time.Second, Rediscover: time.Minute}, readers: readers}, false)
	b.assign()
	b.poll(9, Ready, exec.MinTime, "0@1", "1@5", "2@12", "3@25")
	start := b.clock.Now()
	wm := exec.MinTime
	b.inst.Poll(b.c, 9)
	for wm == exec.MinTime {
		wm, _ = b.inst.Advance(b.c, nil)
		at := b.env.NextWake()
		if at == exec.Idle {
			break
		}
		b.clock.Advance(int64(at+1) - int64(b.clock.Now()))
		b.env.TakeWake(b.clock.Now())
		if st := b.inst.Poll(b.c, 9); st != Waiting {
			t.Fatalf("status %d", st)
		}
	}
	if d := int64(b.clock.Now() - start); wm != 25 || d < 2000 || d > 2010 {
		t.Errorf("watermark %v after %d ms, want 25 after 2 s", wm, d)
	}
	late.answers = append(late.answers, answer{rows: []Time{30}, status: Waiting})
	b.poll(9, Ready, 25, "0@30")
}

// TestSplitWithoutIdlerIsNeverIdle.
func TestSplitWithoutIdlerIsNeverIdle(t *testing.T) {
	r := &script{answers: []answer{{status: Waiting, caught: true}}}
	b := newBench(t, &scripted{progress: Progress{Idle: time.Second}, readers: map[string]Reader[int]{"a": r}}, false)
	b.assign()
	for range 10 {
		b.clock.Advance(400)
		b.poll(9, Waiting, exec.MinTime)
	}
	if b.env.NextWake() != exec.Idle {
		t.Error("the source asks to be woken for nothing")
	}
}

// TestF05FutureTimesAreCounted, emitted, and do not move the watermark.
func TestF05FutureTimesAreCounted(t *testing.T) {
	r := &script{answers: []answer{{rows: []Time{1_000_000, 2_000_000, 1_000_001}, status: Ready}}}
	b := newBench(t, &scripted{progress: Progress{MaxFuture: time.Minute}, readers: map[string]Reader[int]{"a": r}}, false)
	b.assign()
	b.poll(9, Ready, 1_000_001, "0@1000000", "1@2000000", "2@1000001")
	if n := b.env.Counter("futureTimestamps").N; n != 1 {
		t.Errorf("%d futures counted, want 1", n)
	}
}

// TestTimesAreLimited: a reader's time outside of time would overflow downstream.
func TestTimesAreLimited(t *testing.T) {
	r := &script{answers: []answer{{rows: []Time{exec.Idle, -1 << 63}, status: Ready}}}
	b := newBench(t, &scripted{readers: map[string]Reader[int]{"a": r}}, false)
	b.assign()
	b.poll(9, Ready, exec.MinTime, fmt.Sprint("0@", int64(exec.MaxTime)), fmt.Sprint("1@", int64(exec.MinTime)))
}

func TestReaderFailures(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		answer answer
		want   string
	}{
		"fails":         {answer{err: boom, rows: []Time{1}}, "boom"},
		"values only":   {answer{bad: func(b *Batch[int]) { b.Values = append(b.Values, 1) }}, "1 values and 0 times"},
		"times only":    {answer{bad: func(b *Batch[int]) { b.Times = append(b.Times, 1) }}, "0 values and 1 times"},
		"after a start": {answer{err: fmt.Errorf("a.parquet: %w", boom)}, "a.parquet: boom"},
	} {
		r := &script{answers: []answer{{rows: []Time{3}}, c.answer}}
		b := newBench(t, &scripted{readers: map[string]Reader[int]{"a": r}}, false)
		b.assign()
		b.poll(9, Ready, 3, "0@3")
		b.poll(9, Waiting, 3)
		e, ok := errors.AsType[*exec.ElementError](b.c.Err)
		if !ok || e.Op != 4 || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: error %v, want %q at operator 4", name, b.c.Err, c.want)
		}
		if err := b.inst.Close(); err != nil || r.closed != 1 {
			t.Errorf("%s: closed %d times, error %v", name, r.closed, err)
		}
	}
}

// TestOpenFails: what was opened before is closed, and the error says what could not be.
func TestOpenFails(t *testing.T) {
	r := &script{}
	b := newBench(t, &scripted{readers: map[string]Reader[int]{"a": r}}, false)
	err := b.inst.Assign([]exec.Split{{ID: "a", State: Split{ID: "a"}}, {ID: "z", State: Split{ID: "z"}}})
	if err == nil || !strings.Contains(err.Error(), "no such split") {
		t.Errorf("error %v", err)
	}
	if err := b.inst.Close(); err != nil || r.closed != 1 {
		t.Errorf("closed %d times, error %v", r.closed, err)
	}
}

// twins lists two splits of one ID.
type twins struct{ scripted }

func (*twins) Splits(context.Context) ([]Split, error) {
	return []Split{{ID: "a"}, {ID: "b"}, {ID: "a"}}, nil
}

// TestSplitsOfOneIDAreAMistake: the second would silently not be read.
func TestSplitsOfOneIDAreAMistake(t *testing.T) {
	op := &readOp[int]{src: &twins{}}
	if _, err := op.Splits(t.Context()); err == nil || !strings.Contains(err.Error(), `two splits have the ID "a"`) {
		t.Errorf("error %v", err)
	}
}

// TestPositionsSurvive: of splits being read, of those that have ended, and of
// those that were not listed again yet.
func TestPositionsSurvive(t *testing.T) {
	readers := map[string]Reader[int]{
		"done": &script{answers: []answer{{rows: []Time{1, 2}, status: Ended}}},
		"live": &script{answers: []answer{{rows: []Time{3}, status: Waiting}}},
	}
	b := newBench(t, &scripted{readers: readers}, false)
	b.assign()
	for range 3 {
		b.inst.Poll(b.c, 9)
	}
	snap := b.snapshot()
	src := &scripted{readers: map[string]Reader[int]{"done": &script{}, "live": &script{}, "new": &script{}}}
	b2 := newBench(t, src, false)
	if err := b2.env.Stores()["splits"].Restore(snap); err != nil {
		t.Fatal(err)
	}
	if again := b2.snapshot(); !slices.Equal(again, snap) {
		t.Errorf("positions that wait for their splits are lost: %q, want %q", again, snap)
	}
	b2.assign()
	if want := []string{"done at 2", "live at 1", "new at start of new"}; !slices.Equal(src.opened, want) {
		t.Errorf("opened %q, want %q", src.opened, want)
	}
	for n := range len(snap) - 1 { // every cut is an error or a shorter list, never a panic
		_ = newBench(t, src, false).env.Stores()["splits"].Restore(snap[:n+1])
	}
	if err := newBench(t, src, false).env.Stores()["splits"].Restore([]byte{200}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("error %v for damaged positions", err)
	}
}

func (b *bench) snapshot() []byte {
	b.t.Helper()
	s := b.env.Stores()["splits"]
	if other, err := s.Snapshot(nil, 1); err != nil || len(other) > 0 {
		b.t.Fatalf("group 1 holds %q, %v", other, err)
	}
	snap, err := s.Snapshot(nil, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return snap
}

func TestBatch(t *testing.T) {
	b := NewBatch[*int](4)
	v, times := b.Extend(2)
	v[0], v[1], times[1] = new(int), new(int), 5
	b.Rejects = append(b.Rejects, Reject{})
	if b.Room() != 1 || len(b.Values) != 2 || b.Times[1] != 5 {
		t.Errorf("room %d, %d values", b.Room(), len(b.Values))
	}
	if b.Reset(); b.Room() != 4 || b.Values[:2][0] != nil {
		t.Error("Reset keeps what rows point to")
	}
	if v, times := b.Extend(3); v[0] != nil || times[1] != 0 {
		t.Error("Extend gives rows that are not zero")
	}
}
