package connector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/internal/progress"
	"github.com/penstock-dev/penstock/pcoll"
)

// Read adds a source to a pipeline. A record that cannot become a row fails the
// run; see [TryRead]. kind names the transform, "kafka.Read".
func Read[T any](p *pcoll.Pipeline, kind string, src Source[T], opts ...pcoll.Option) pcoll.PCollection[T] {
	b := pcoll.NewBuilder(p, kind, opts...)
	rows, _ := Add(b, src, false)
	return rows
}

// TryRead adds a source to a pipeline and returns, beside the rows, the records
// that could not become rows. Rejects are in the global window; their event time
// is the record's own timestamp, or the start of time.
func TryRead[T any](p *pcoll.Pipeline, kind string, src Source[T], opts ...pcoll.Option) (rows pcoll.PCollection[T], rejects pcoll.PCollection[Reject]) {
	b := pcoll.NewBuilder(p, kind, opts...)
	return Add(b, src, true)
}

// Add is Read or TryRead for a connector that has checks of its own: mistakes
// recorded in b make the results inert.
func Add[T any](b *pcoll.Builder, src Source[T], try bool) (rows pcoll.PCollection[T], rejects pcoll.PCollection[Reject]) {
	pr := src.Progress()
	if pr.Disorder < 0 || pr.Rediscover < 0 {
		b.Errorf("disorder bound %v and rediscovery interval %v must not be negative", pr.Disorder, pr.Rediscover)
	}
	like := pcoll.Unwindowed(pr.Bounded)
	rows = pcoll.To[T](b, like)
	if try {
		rejects = pcoll.To[Reject](b, like)
	}
	b.Node().Structure = graph.Source
	b.Add(&readOp[T]{src: src, name: b.Name(), bounded: pr.Bounded, again: pr.Rediscover, policy: policyOf(pr), try: try})
	return rows, rejects
}

func policyOf(pr Progress) progress.Policy {
	p := progress.Policy{Disorder: ms(pr.Disorder), IdleAfter: ms(pr.Idle), MaxFuture: ms(pr.MaxFuture), AtEnd: pr.AtEnd}
	if pr.Idle == 0 {
		p.IdleAfter = ms(30 * time.Second)
	}
	if pr.MaxFuture == 0 {
		p.MaxFuture = ms(24 * time.Hour)
	}
	return p
}

func ms(d time.Duration) int64 { return int64(d / time.Millisecond) }

// readOp is the root operator of a source.
type readOp[T any] struct {
	src     Source[T]
	name    string
	bounded bool
	again   time.Duration
	policy  progress.Policy
	try     bool
}

// Splits lists the source's splits for the runner.
func (o *readOp[T]) Splits(ctx context.Context) ([]exec.Split, error) {
	splits, err := o.src.Splits(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]exec.Split, len(splits))
	seen := make(map[string]bool, len(splits))
	for i, s := range splits {
		if seen[s.ID] {
			return nil, fmt.Errorf("two splits have the ID %q, by which they are told apart: one would never be read", s.ID)
		}
		seen[s.ID] = true
		out[i] = exec.Split{ID: s.ID, Size: s.Size, State: s}
	}
	return out, nil
}

// Rediscover returns the interval between listings.
func (o *readOp[T]) Rediscover() int64 {
	if o.bounded {
		return 0
	}
	return ms(o.again)
}

// batchRows is how many rows one Read may return.
const batchRows = 1024

func (o *readOp[T]) New(env exec.Env, outs []any) (exec.Instance, error) {
	r := &reading[T]{op: o, env: env, cenv: newEnv(env, o.name), down: outs[0].(exec.Input[T]), batch: NewBatch[T](batchRows), source: progress.NewSource(),
		elements: env.Counter(exec.Elements), futures: env.Counter("futureTimestamps"), stored: map[string]Position{}}
	if o.try {
		r.reject = outs[1].(exec.Input[Reject])
		env.Counter(exec.Emitted(1))
	}
	env.Keep("splits", r)
	return exec.Instance{Poll: r.poll, Advance: r.advance, Assign: r.assign, Close: r.close}, nil
}

// newEnv returns what a reader or writer gets of the operator's environment.
func newEnv(env exec.Env, transform string) Env {
	i, n := env.Worker()
	return Env{Wake: env.Waker(), WakeAt: env.WakeAt, Worker: i, Workers: n, Transform: transform, Log: env.Log(), Now: env.Now,
		Count: func(name string, n int64) { env.Counter(name).Add(n) }}
}

// reading is the source on one worker.
type reading[T any] struct {
	op       *readOp[T]
	env      exec.Env
	cenv     Env
	down     exec.Input[T]
	reject   exec.Input[Reject]
	splits   []*splitReader[T]
	tracks   []*progress.Split // of splits, beside them
	source   *progress.Source
	assigned bool
	next     int // split to read next
	batch    *Batch[T]
	from     *splitReader[T] // whose rows are in batch
	row, rej int             // next of batch to emit
	stored   map[string]Position
	elements *exec.Counter
	futures  *exec.Counter
}

type splitReader[T any] struct {
	id     string
	reader Reader[T] // nil once the split has ended
	end    Position  // then
	track  *progress.Split
	wm     Watermarker // nil unless implemented
	idler  Idler
	status Status
}

func (r *reading[T]) assign(splits []exec.Split) error {
	r.assigned = true
	for _, s := range splits {
		split := s.State.(Split)
		from, ok := r.stored[split.ID]
		if !ok {
			from = split.Start
		}
		delete(r.stored, split.ID)
		rd, err := r.op.src.Open(r.env.Context(), r.cenv, split, from)
		if err != nil {
			return err
		}
		sr := &splitReader[T]{id: split.ID, reader: rd, track: progress.NewSplit()}
		sr.wm, _ = rd.(Watermarker)
		sr.idler, _ = rd.(Idler)
		r.splits = append(r.splits, sr)
		r.tracks = append(r.tracks, sr.track)
	}
	return nil
}

func (r *reading[T]) close() error {
	var errs []error
	for _, s := range r.splits {
		if s.reader != nil {
			errs = append(errs, s.reader.Close())
			s.reader = nil
		}
	}
	return errors.Join(errs...)
}

// poll emits what is left of the batch, or reads one more.
func (r *reading[T]) poll(c *exec.Ctx, limit int) exec.Status {
	if r.from == nil && !r.read(c) {
		if c.Err != nil {
			return exec.Waiting
		}
		return r.rest()
	}
	r.emit(c, limit)
	return exec.Ready
}

// rest says what to expect when no split has anything at hand.
func (r *reading[T]) rest() exec.Status {
	st := exec.Ended
	if !r.assigned || r.op.Rediscover() > 0 {
		st = exec.Waiting
	}
	for _, s := range r.splits {
		switch s.status {
		case Ready: // it skipped what gives no row, and nobody will wake us for the rest
			return exec.Ready
		case Waiting:
			st = exec.Waiting
		}
	}
	return st
}

// read fills the batch from the next split that has rows.
func (r *reading[T]) read(c *exec.Ctx) bool {
	for range r.splits {
		if r.next >= len(r.splits) {
			r.next = 0
		}
		s := r.splits[r.next]
		r.next++
		if s.status == Ended {
			continue
		}
		r.batch.Reset()
		status, err := s.reader.Read(r.batch)
		if err != nil {
			c.Op = r.env.Op()
			c.Fail(err)
			return false
		}
		if v, n := len(r.batch.Values), len(r.batch.Times); v != n {
			c.Op = r.env.Op()
			c.Fail(fmt.Errorf("split %s: Read appended %d values and %d times: each row has one of both", s.id, v, n))
			return false
		}
		s.status = status
		r.note(s)
		if len(r.batch.Values)+len(r.batch.Rejects) > 0 {
			r.from, r.row, r.rej = s, 0, 0
			if r.op.policy.AtEnd && status == Ready {
				r.next-- // turns only serve the watermark: finish a split, so that few are open at once
			}
			return true
		}
	}
	return false
}

// note lets the split's watermark follow the batch. The watermark is published by
// advance only after the batch was emitted.
func (r *reading[T]) note(s *splitReader[T]) {
	now := r.env.Now()
	p := &r.op.policy
	empty := len(r.batch.Values)+len(r.batch.Rejects) == 0
	// Asked only here, right after a Read: what came since the last one does not hide behind an old answer.
	s.track.CaughtUp(p, empty && s.idler != nil && s.status == Waiting && s.idler.CaughtUp(), now)
	switch {
	case s.wm != nil:
		s.track.Set(p, s.wm.Watermark())
	case p.AtEnd && p.MaxFuture < 0: // times cannot move the watermark or be too far ahead
	default:
		s.track.Begin(p, now)
		before := s.track.Futures
		for _, t := range r.batch.Times {
			s.track.Observe(p, t)
		}
		r.futures.Add(s.track.Futures - before)
	}
	if s.status == Ended {
		s.track.End()
		s.end = s.reader.Position()
		if err := s.reader.Close(); err != nil {
			r.env.Log().Warn("closing a split that was read to its end failed", "split", s.id, "error", err)
		}
		s.reader = nil
	}
}

func (r *reading[T]) emit(c *exec.Ctx, limit int) {
	b := r.batch
	t, w, p, k := c.Time, c.Window, c.Pane, c.Kind
	c.Window, c.Pane, c.Kind, c.Op = exec.Global, exec.NoFiring, exec.Insert, r.env.Op()
	end := min(len(b.Values), r.row+limit)
	first := r.row
	for ; r.row < end && !c.Full && c.Err == nil; r.row++ {
		c.Time = exec.Clamp(b.Times[r.row])
		r.down(c, b.Values[r.row])
	}
	r.elements.Add(int64(r.row - first))
	for ; r.row == len(b.Values) && r.rej < len(b.Rejects) && !c.Full && c.Err == nil; r.rej++ {
		r.emitReject(c, b.Rejects[r.rej])
	}
	c.Time, c.Window, c.Pane, c.Kind = t, w, p, k
	if r.row == len(b.Values) && r.rej == len(b.Rejects) {
		r.from = nil
	}
}

func (r *reading[T]) emitReject(c *exec.Ctx, j Reject) {
	c.Time, c.Op = exec.MinTime, r.env.Op()
	if !j.Time.IsZero() {
		c.Time = exec.TimeOf(j.Time)
	}
	r.env.Counter("rejected").Add(1)
	if r.reject == nil {
		c.Fail(fmt.Errorf("%s: %s; read with TryRead to get such records as a collection instead", j.Source, j.Reason))
		return
	}
	r.env.Counter(exec.Emitted(1)).Add(1)
	r.reject(c, j)
}

// advance returns the source's watermark.
func (r *reading[T]) advance(*exec.Ctx, []exec.Time) (exec.Time, bool) {
	if !r.assigned {
		return exec.MinTime, false
	}
	for _, s := range r.splits {
		if at := s.track.AskAt(&r.op.policy); at != exec.Idle {
			r.env.WakeAt(at)
		}
	}
	if r.from != nil { // the batch is not yet out: the watermark it leads to is not yet true
		return r.source.Last(), false
	}
	return r.source.Watermark(r.tracks, r.op.Rediscover() == 0)
}

// Snapshot appends id and position of every split. A source's splits belong to
// no key group: they go with group 0.
func (r *reading[T]) Snapshot(dst []byte, group int) ([]byte, error) {
	if group != 0 {
		return dst, nil
	}
	if r.from != nil {
		return nil, fmt.Errorf("connector: %s: snapshot in the middle of a batch", r.op.name)
	}
	put := func(id string, pos Position) {
		for _, x := range [][]byte{[]byte(id), pos} {
			dst = append(binary.AppendUvarint(dst, uint64(len(x))), x...)
		}
	}
	for _, s := range r.splits {
		if s.reader == nil {
			put(s.id, s.end)
		} else {
			put(s.id, s.reader.Position())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.stored)) { // restored, and not listed again yet
		put(id, r.stored[id])
	}
	return dst, nil
}

// Restore reads what Snapshot wrote; Assign continues there.
func (r *reading[T]) Restore(src []byte) error {
	for len(src) > 0 {
		var part [2][]byte
		for i := range part {
			n, k := binary.Uvarint(src)
			if k <= 0 || n > uint64(len(src)-k) {
				return fmt.Errorf("connector: %s: stored position is damaged", r.op.name)
			}
			part[i], src = src[k:k+int(n)], src[k+int(n):]
		}
		r.stored[string(part[0])] = slices.Clone(part[1])
	}
	return nil
}
