package progress_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/progress"
)

func TestMin(t *testing.T) {
	for _, c := range []struct {
		in   []exec.Time
		want exec.Time
	}{
		{nil, exec.Idle},
		{[]exec.Time{exec.Idle, exec.Idle}, exec.Idle},
		{[]exec.Time{exec.Idle, 7}, 7},
		{[]exec.Time{9, exec.MinTime, exec.MaxTime}, exec.MinTime},
		{[]exec.Time{exec.MaxTime, exec.Idle}, exec.MaxTime},
	} {
		if got := progress.Min(c.in); got != c.want {
			t.Errorf("Min(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

// observe reads a batch at processing time now.
func observe(s *progress.Split, p *progress.Policy, now exec.Time, times ...exec.Time) {
	s.Begin(p, now)
	for _, t := range times {
		s.Observe(p, t)
	}
}

func TestSplitFollowsItsElements(t *testing.T) {
	never := int64(-1)
	for name, c := range map[string]struct {
		policy  progress.Policy
		now     exec.Time
		times   []exec.Time
		want    exec.Time
		futures int64
	}{
		"nothing read":         {progress.Policy{MaxFuture: never}, 0, nil, exec.MinTime, 0},
		"ordered":              {progress.Policy{MaxFuture: never}, 0, []exec.Time{1, 5, 9}, 9, 0},
		"out of order":         {progress.Policy{MaxFuture: never, Disorder: 3}, 0, []exec.Time{9, 1}, 6, 0},
		"before the beginning": {progress.Policy{MaxFuture: never, Disorder: 3}, 0, []exec.Time{exec.MinTime + 1}, exec.MinTime, 0},
		"at the end of time":   {progress.Policy{MaxFuture: never}, 0, []exec.Time{exec.MaxTime}, exec.MaxTime, 0},
		"before 1970":          {progress.Policy{MaxFuture: never, Disorder: 3}, 0, []exec.Time{-100, -50}, -53, 0},
		"just not the future":  {progress.Policy{MaxFuture: 60}, 100, []exec.Time{160}, 160, 0},
		"just the future":      {progress.Policy{MaxFuture: 60}, 100, []exec.Time{161, 20}, 20, 1},
		"no clock ahead":       {progress.Policy{MaxFuture: 0}, 100, []exec.Time{101, 100}, 100, 1},
		"only at the end":      {progress.Policy{MaxFuture: never, AtEnd: true}, 0, []exec.Time{5}, exec.MinTime, 0},
		"future of a file":     {progress.Policy{MaxFuture: 60, AtEnd: true}, 100, []exec.Time{161}, exec.MinTime, 1},
		"future saturates":     {progress.Policy{MaxFuture: 1 << 62}, exec.MaxTime, []exec.Time{exec.MaxTime}, exec.MaxTime, 0},
	} {
		s := progress.NewSplit()
		observe(s, &c.policy, c.now, c.times...)
		if s.Watermark() != c.want || s.Low() != c.want || s.Futures != c.futures {
			t.Errorf("%s: watermark %v, %d futures; want %v, %d", name, s.Watermark(), s.Futures, c.want, c.futures)
		}
		if s.End(); s.Watermark() != exec.MaxTime || s.IsIdle() {
			t.Errorf("%s: watermark %v after the end", name, s.Watermark())
		}
	}
}

// TestSetReplacesTheBound: what a reader knows never goes back, nor moves the
// watermark of a source that has one at its end only.
func TestSetReplacesTheBound(t *testing.T) {
	s, p := progress.NewSplit(), &progress.Policy{}
	for _, c := range []struct{ set, want exec.Time }{{50, 50}, {20, 50}, {exec.MinTime, 50}, {exec.Idle, exec.MaxTime}} {
		if s.Set(p, c.set); s.Watermark() != c.want {
			t.Errorf("after Set(%v): %v, want %v", c.set, s.Watermark(), c.want)
		}
	}
	s = progress.NewSplit()
	if s.Set(&progress.Policy{AtEnd: true}, 50); s.Watermark() != exec.MinTime {
		t.Errorf("watermark %v before the end", s.Watermark())
	}
}

// An answer is what a reader said when it was asked.
type answer struct {
	now    exec.Time
	caught bool
}

func TestIdle(t *testing.T) {
	p := progress.Policy{IdleAfter: 1000, MaxFuture: -1}
	steps := func(from, to, by exec.Time) (a []answer) {
		for ; from <= to; from += by {
			a = append(a, answer{from, true})
		}
		return a
	}
	for name, c := range map[string]struct {
		policy  progress.Policy
		answers []answer
		want    bool
	}{
		"never asked":          {p, nil, false},
		"too short":            {p, steps(0, 999, 111), false},
		"throughout":           {p, steps(0, 1000, 250), true},
		"one no":               {p, append(append(steps(0, 600, 200), answer{700, false}), steps(800, 1600, 200)...), false},
		"after one no":         {p, append(append(steps(0, 600, 200), answer{700, false}), steps(800, 1800, 200)...), true},
		"not asked for long":   {p, []answer{{0, true}, {3000, true}}, false},
		"asked again for long": {p, append([]answer{{0, true}}, steps(3000, 4000, 250)...), true},
		"never idle":           {progress.Policy{IdleAfter: -1, MaxFuture: -1}, steps(0, 100_000, 100), false},
		"at once":              {progress.Policy{MaxFuture: -1}, steps(0, 0, 1), true},
	} {
		s := progress.NewSplit()
		observe(s, &c.policy, 0, 42)
		for _, a := range c.answers {
			s.CaughtUp(&c.policy, a.caught, a.now)
		}
		if s.IsIdle() != c.want || (s.Watermark() == exec.Idle) != c.want || s.Low() != 42 {
			t.Errorf("%s: idle %v, want %v; watermark %v", name, s.IsIdle(), c.want, s.Watermark())
		}
	}
}

// TestAskedInTime: a split that is asked when it wants to be becomes idle no
// later than its timeout and a little.
func TestAskedInTime(t *testing.T) {
	for _, idle := range []int64{1, 10, 99, 100, 1000, 30_000} {
		p := &progress.Policy{IdleAfter: idle}
		s := progress.NewSplit()
		now := exec.Time(5000)
		if s.AskAt(p) != exec.Idle {
			t.Errorf("idle after %d: a split that is not caught up wants to be asked at %v", idle, s.AskAt(p))
		}
		s.CaughtUp(p, true, now)
		for asked := 0; !s.IsIdle(); asked++ {
			if at := s.AskAt(p); at < now || asked > 6 {
				t.Fatalf("idle after %d: asked %d times, at %v next", idle, asked, int64(at))
			}
			now = s.AskAt(p) + 1 // the engine's clock is past it
			s.CaughtUp(p, true, now)
		}
		if d := int64(now - 5000); d < idle || d > idle+7 {
			t.Errorf("idle after %d: idle after %d ms", idle, d)
		}
		if s.AskAt(p) != exec.Idle {
			t.Errorf("idle after %d: still wants to be asked at %v", idle, s.AskAt(p))
		}
		if s.Unread(); s.IsIdle() {
			t.Error("a split with something unread is idle")
		}
	}
}

// TestF01SlowSinkIsNotIdleness: while a consumer blocks, a split is not asked,
// and what came meanwhile is read before anybody calls it idle.
func TestF01SlowSinkIsNotIdleness(t *testing.T) {
	p := &progress.Policy{IdleAfter: 1000, MaxFuture: -1}
	p0, p1, src := progress.NewSplit(), progress.NewSplit(), progress.NewSource()
	splits := []*progress.Split{p0, p1}
	p1.CaughtUp(p, true, 0) // nothing there yet
	observe(p0, p, 0, 0, 499)
	if w, _ := src.Watermark(splits, false); w != exec.MinTime {
		t.Errorf("watermark %v before the second split was read", w)
	}
	// The sink blocks for 3 s. The reader's last answer is as old as that.
	p1.CaughtUp(p, true, 3000)
	if w, _ := src.Watermark(splits, false); w != exec.MinTime || p1.IsIdle() {
		t.Errorf("watermark %v after the block, idle %v", w, p1.IsIdle())
	}
	observe(p1, p, 3001, 0, 99)
	p1.CaughtUp(p, false, 3001)
	if w, _ := src.Watermark(splits, false); w != 99 {
		t.Errorf("watermark %v, want that of the second split", w)
	}
}

// TestF05FarRecordDoesNotMoveTheWatermark is the guard against a clock a day ahead.
func TestF05FarRecordDoesNotMoveTheWatermark(t *testing.T) {
	p := &progress.Policy{Disorder: 5000, MaxFuture: 60_000}
	s := progress.NewSplit()
	last := exec.MinTime
	for _, sec := range []exec.Time{100, 101, 102, 86500, 103, 104, 112} {
		observe(s, p, 105_000, sec*1000)
		if w := s.Watermark(); w < last || w > 107_000 {
			t.Errorf("after %d s the watermark is %v, and was %v", sec, w, last)
		}
		last = s.Watermark()
	}
	if last != 107_000 || s.Futures != 1 {
		t.Errorf("watermark %v, %d futures; want 107 s and 1", last, s.Futures)
	}
}

// TestF28EmptySplitsDoNotPinTheWatermark, and do not pull it back when they wake.
func TestF28EmptySplitsDoNotPinTheWatermark(t *testing.T) {
	p := &progress.Policy{IdleAfter: 2000, MaxFuture: -1}
	splits := []*progress.Split{progress.NewSplit(), progress.NewSplit(), progress.NewSplit()}
	src := progress.NewSource()
	observe(splits[0], p, 0, 1000, 5000, 12_000, 25_000)
	for now := exec.Time(0); now <= 1500; now += 500 {
		splits[1].CaughtUp(p, true, now)
		splits[2].CaughtUp(p, true, now)
		if w, _ := src.Watermark(splits, false); w != exec.MinTime {
			t.Fatalf("watermark %v after %d ms", w, now)
		}
	}
	splits[1].CaughtUp(p, true, 2000)
	splits[2].CaughtUp(p, true, 2000)
	if w, _ := src.Watermark(splits, false); w != 25_000 {
		t.Errorf("watermark %v after 2 s, want that of the split with data", w)
	}
	splits[1].Unread()
	if w, _ := src.Watermark(splits, false); w != 25_000 {
		t.Errorf("watermark %v when a split wakes: it went back", w)
	}
	observe(splits[1], p, 10_000, 30_000)
	if w, _ := src.Watermark(splits, false); w != 25_000 {
		t.Errorf("watermark %v, want 25 s", w)
	}
}

func TestSourceEnds(t *testing.T) {
	a, b := progress.NewSplit(), progress.NewSplit()
	src, p := progress.NewSource(), &progress.Policy{MaxFuture: -1}
	if w, _ := src.Watermark(nil, false); w != exec.Idle {
		t.Errorf("a worker without splits says %v", w)
	}
	observe(a, p, 0, 10)
	observe(b, p, 0, 20)
	a.End()
	if w, _ := src.Watermark([]*progress.Split{a, b}, true); w != 20 {
		t.Errorf("watermark %v with one split left, want its 20", w)
	}
	b.End()
	if w, again := src.Watermark([]*progress.Split{a, b}, false); w != exec.Idle || again {
		t.Errorf("watermark %v, %v after the end of splits that others may follow", w, again)
	}
	if w, _ := src.Watermark([]*progress.Split{a, b}, true); w != exec.MaxTime {
		t.Errorf("watermark %v after the end", w)
	}
	if w, _ := progress.NewSource().Watermark(nil, true); w != exec.MaxTime {
		t.Errorf("a worker that will never have splits says %v", w)
	}
}

// TestRediscoveredSplitHolds: from the moment that it is assigned.
func TestRediscoveredSplitHolds(t *testing.T) {
	p := &progress.Policy{MaxFuture: -1}
	a, b, src := progress.NewSplit(), progress.NewSplit(), progress.NewSource()
	observe(a, p, 0, 10)
	src.Watermark([]*progress.Split{a}, false)
	observe(a, p, 0, 90)
	if w, _ := src.Watermark([]*progress.Split{a, b}, false); w != 10 {
		t.Errorf("watermark %v with a split that was just found, want 10", w)
	}
	observe(b, p, 0, 5)
	if w, _ := src.Watermark([]*progress.Split{a, b}, false); w != 10 || src.Last() != 10 {
		t.Errorf("watermark %v, want 10: it never goes back", w)
	}
}

// TestAllIdleSayHowFarTheyCame: the furthest first, then Idle, whichever became idle last.
func TestAllIdleSayHowFarTheyCame(t *testing.T) {
	p := &progress.Policy{MaxFuture: -1}
	a, b, src := progress.NewSplit(), progress.NewSplit(), progress.NewSource()
	observe(a, p, 0, 10)
	observe(b, p, 0, 90)
	b.CaughtUp(p, true, 0) // IdleAfter is 0
	a.CaughtUp(p, true, 0)
	splits := []*progress.Split{a, b}
	if w, again := src.Watermark(splits, false); w != 90 || !again {
		t.Errorf("says %v, %v; want 90 and to be asked again", w, again)
	}
	if w, again := src.Watermark(splits, false); w != exec.Idle || again {
		t.Errorf("says %v, %v then; want Idle", w, again)
	}
}

// TestWatermarksNeverGoBack drives splits of a source at random.
func TestWatermarksNeverGoBack(t *testing.T) {
	times := rapid.OneOf(rapid.Int64Range(-100, 100), rapid.Int64Range(int64(exec.MinTime), int64(exec.MaxTime)))
	rapid.Check(t, func(t *rapid.T) {
		p := &progress.Policy{Disorder: rapid.Int64Range(0, 50).Draw(t, "disorder"), IdleAfter: rapid.Int64Range(-1, 300).Draw(t, "idle"),
			MaxFuture: rapid.Int64Range(-1, 50).Draw(t, "future"), AtEnd: rapid.IntRange(0, 4).Draw(t, "end") == 0}
		src := progress.NewSource()
		var splits []*progress.Split
		var lows []exec.Time
		ended := map[int]bool{}
		now, last := exec.Time(0), exec.MinTime
		pick := func(t *rapid.T) int {
			if len(splits) == 0 {
				t.Skip("no split")
			}
			return rapid.IntRange(0, len(splits)-1).Draw(t, "split")
		}
		t.Repeat(map[string]func(*rapid.T){
			"find": func(*rapid.T) {
				splits, lows = append(splits, progress.NewSplit()), append(lows, exec.MinTime)
			},
			"read": func(t *rapid.T) {
				if i := pick(t); !ended[i] {
					observe(splits[i], p, now, exec.Time(times.Draw(t, "time")))
				}
			},
			"set": func(t *rapid.T) {
				if i := pick(t); !ended[i] {
					splits[i].Set(p, exec.Time(times.Draw(t, "time")))
				}
			},
			"ask": func(t *rapid.T) { splits[pick(t)].CaughtUp(p, rapid.Bool().Draw(t, "caught"), now) },
			"end": func(t *rapid.T) { i := pick(t); splits[i].End(); ended[i] = true },
			"clock": func(t *rapid.T) {
				now += exec.Time(rapid.Int64Range(0, 100).Draw(t, "ms"))
			},
			"": func(t *rapid.T) {
				all := len(splits) > 0
				for i, s := range splits {
					if s.Low() < lows[i] {
						t.Fatalf("split %d goes back from %v to %v", i, lows[i], s.Low())
					}
					lows[i] = s.Low()
					all = all && ended[i]
					if p.AtEnd && !ended[i] && s.Low() != exec.MinTime {
						t.Fatalf("split %d at %v before its end", i, s.Low())
					}
				}
				w, again := src.Watermark(splits, false)
				if again {
					if next, more := src.Watermark(splits, false); next != exec.Idle || more {
						t.Fatalf("after a last word %v it says %v, %v", w, next, more)
					}
				}
				if w == exec.Idle {
					for i, s := range splits {
						if !ended[i] && !s.IsIdle() {
							t.Fatalf("idle although split %d is not", i)
						}
					}
					return
				}
				if w < last || w > exec.MaxTime {
					t.Fatalf("the source goes from %v to %v", last, w)
				}
				// It is ahead of a live split only where it was before that one came or woke.
				for i, s := range splits {
					if !ended[i] && !s.IsIdle() && w > max(last, s.Low()) {
						t.Fatalf("watermark %v is ahead of split %d at %v", w, i, s.Low())
					}
				}
				last = w
			},
		})
	})
}
