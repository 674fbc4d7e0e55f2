package panes

import (
	"context"
	"testing"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/panes/panestest"
	"github.com/penstock-dev/penstock/internal/strategy"
)

type sum struct{}

func (sum) Create() int64          { return 0 }
func (sum) Add(a, v int64) int64   { return a + v }
func (sum) Merge(a, b int64) int64 { return a + b }

const (
	benchKeys   = 10_000
	benchWindow = 60_000
	perWindow   = 600_000 // elements
)

// at returns key and time of element i.
func at(i int) (key int64, t exec.Time) {
	key = int64(uint64(i) * 0x9e3779b97f4a7c15 >> 32 % benchKeys)
	return key, exec.Time(int64(i) * benchWindow / perWindow)
}

func benchForm(b *testing.B, s *strategy.Strategy, mk func(exec.Env, Config[int64, int64, int64]) form[int64, int64, int64]) {
	total := int64(0)
	f := mk(panestest.NewEnv(), Config[int64, int64, int64]{
		Strategy: s, Assign: true, Fold: sum{}, Key: panestest.Int64Keys(),
		Emit: func(_ *exec.Ctx, _ int64, acc int64) { total += acc },
	})
	c := exec.NewCtx(context.Background())
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		var key int64
		key, c.Time = at(i)
		f.Element(c, key, 1)
		if i++; i%1024 == 0 {
			f.Turn(c)
			f.Advance(c, c.Time-5_000)
		}
	}
	f.Turn(c)
	f.Advance(c, exec.MaxTime)
	if total < int64(i) {
		b.Fatalf("%d elements gave %d", i, total)
	}
}

func newAligned(env exec.Env, cfg Config[int64, int64, int64]) form[int64, int64, int64] {
	return NewAligned(env, "agg", cfg)
}

func newGeneral(env exec.Env, cfg Config[int64, int64, int64]) form[int64, int64, int64] {
	return NewGeneral(env, "agg", cfg)
}

// BenchmarkAligned is a sum per key and minute over 10,000 keys. naive is a map
// for each window; hot is the aligned form called directly, as operators do.
func BenchmarkAligned(b *testing.B) {
	fixed := &strategy.Strategy{Fn: strategy.FixedWindows{Size: benchWindow}, Trigger: &strategy.Trigger{Kind: strategy.OnDefault}}
	early := *fixed
	early.Trigger = &strategy.Trigger{Kind: strategy.OnWatermark, Subs: []*strategy.Trigger{
		{Kind: strategy.OnProcessingTime, Delay: 10_000}, {Kind: strategy.OnCount, N: 1}}}
	early.Lateness = 60_000
	b.Run("hot", func(b *testing.B) {
		total := int64(0)
		f := NewAligned(panestest.NewEnv(), "agg", Config[int64, int64, int64]{
			Strategy: fixed, Assign: true, Fold: sum{}, Key: panestest.Int64Keys(),
			Emit: func(_ *exec.Ctx, _ int64, acc int64) { total += acc },
		})
		c := exec.NewCtx(context.Background())
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			var key int64
			key, c.Time = at(i)
			f.Element(c, key, 1)
			if i++; i%1024 == 0 {
				f.Turn(c)
				f.Advance(c, c.Time-5_000)
			}
		}
	})
	b.Run("default", func(b *testing.B) { benchForm(b, fixed, newAligned) })
	b.Run("early and late", func(b *testing.B) { benchForm(b, &early, newAligned) })
	b.Run("general", func(b *testing.B) { benchForm(b, fixed, newGeneral) })
	b.Run("naive", func(b *testing.B) {
		wins := map[exec.Window]map[int64]int64{}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			key, t := at(i)
			w := strategy.FixedWindows{Size: benchWindow}.Window(t)
			m := wins[w]
			if m == nil {
				m = map[int64]int64{}
				wins[w] = m
			}
			m[key]++
			if i++; i%1024 == 0 {
				for w := range wins {
					if w.Max() < t-5_000 {
						delete(wins, w)
					}
				}
			}
		}
	})
}

// BenchmarkSessions is a count per key and session of 30 s over 10,000 keys,
// out of order by up to 2 s.
func BenchmarkSessions(b *testing.B) {
	s := &strategy.Strategy{Fn: strategy.SessionWindows{Gap: 30_000}, Trigger: &strategy.Trigger{Kind: strategy.OnDefault}}
	benchForm(b, s, newGeneral)
}
