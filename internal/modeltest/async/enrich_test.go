package async

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/teststream"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/lookup"
)

// service answers for even keys, with a number that grows with each call.
type service struct {
	mu    sync.Mutex
	asked map[int64]int64
	fail  func(k int64) error
}

func (s *service) fetch(_ context.Context, k int64) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[int64]int64{}
	}
	s.asked[k]++
	if s.fail != nil {
		if err := s.fail(k); err != nil {
			return 0, false, err
		}
	}
	return s.asked[k], k%2 == 0, nil
}

func last(v int64) int64 { return v % 10 }

// merge shows element, answer, and whether there was one.
func merge(v, answer int64, found bool) int64 {
	if !found {
		return -v
	}
	return v*10 + answer
}

// In one turn elements of a key share a call; later ones are served by the cache
// until the script's clock says that an entry is old.
func TestEnrich(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		if workers > 1 {
			return // where elements of a key go decides which cache they find
		}
		p, s := pcoll.New("enrich"), &service{}
		in := teststream.New[int64]().
			Elements(at(0), 12, 22, 13, 23).       // calls for 2 and 3, both shared
			Elements(at(0), 32, 33, 34).           // 2 and 3 are known, a call for 4
			ProcessingTime(5*time.Second).         // that there is no 3 is forgotten
			Elements(at(0), 42, 43, 44).           // 2 and 4 are known, a call for 3
			ProcessingTime(4999*time.Millisecond). // 2 and 4 are all but forgotten, 3 not yet
			Elements(at(0), 52, 53).
			ProcessingTime(time.Millisecond).
			Elements(at(0), 62, 63, 64).
			Source(p)
		got := note(lookup.Enrich(in, last, s.fetch, merge, lookup.TTL(10*time.Second), lookup.NegativeTTL(5*time.Second), pcoll.Named("Ask")))
		res, err := run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		want := []int64{121, 221, -13, -23, 321, -33, 341, 421, -43, 441, 521, -53, 622, -63, 642}
		if !slices.Equal(got.vals, want) {
			t.Errorf("got  %v\nwant %v", got.vals, want)
		}
		tr, _ := res.Transform("Ask")
		counts := map[string]int64{"cacheHits": 6, "cacheNegativeHits": 2, "cacheMisses": 7, "cacheShared": 2, "calls": 7, "retries": 0}
		for name, n := range counts {
			if tr.Counters[name] != n {
				t.Errorf("%s is %d, want %d; all: %v", name, tr.Counters[name], n, tr.Counters)
			}
		}
	})
}

// However elements are dealt to workers, each is served once, and rightly.
func TestEnrichOnManyWorkers(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		p := pcoll.New("many")
		fetch := func(ctx context.Context, k int64) (int64, bool, error) {
			take(ctx, time.Duration(1+k%3)*time.Second)
			return k * k, k%5 != 0, nil
		}
		in := transforms.Reshuffle(transforms.GenerateSequence(p, 0, 2000))
		check := func(v, answer int64, found bool) int64 {
			if k := v % 100; found != (k%5 != 0) || answer != k*k {
				t.Errorf("element %d was given %d, %v", v, answer, found)
			}
			return v
		}
		key := func(v int64) int64 { return v % 100 }
		kept := note(lookup.Enrich(in, key, fetch, check, pcoll.Named("Ask"), lookup.TTL(time.Hour)))
		free := note(lookup.Enrich(in, key, fetch, check, transforms.AsyncUnordered(), transforms.AsyncLimit(2), lookup.Entries(10), lookup.NegativeTTL(time.Hour)))
		res, err := run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range kept.sorted() {
			if v != int64(i) || len(kept.vals) != 2000 {
				t.Fatalf("%d elements; %d is missing or there twice", len(kept.vals), min(v, int64(i)))
			}
		}
		if !slices.Equal(kept.sorted(), free.sorted()) {
			t.Errorf("unordered, with a small cache: %d elements", len(free.vals))
		}
		tr, _ := res.Transform("Ask")
		n := func(name string) int64 { return tr.Counters[name] }
		if n("cacheHits")+n("cacheMisses")+n("cacheShared") != 2000 || n("calls") != n("cacheMisses") || n("calls") >= 2000 {
			t.Errorf("counted %v", tr.Counters)
		}
	})
}

// Elements that share a call share its failure, which is not kept.
func TestEnrichFails(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		var up atomic.Bool
		s := &service{fail: func(k int64) error {
			if k == 4 && !up.Load() {
				return errors.New("down")
			}
			return nil
		}}
		build := func() (*pcoll.Pipeline, pcoll.PCollection[int64]) {
			up.Store(false)
			p := pcoll.New("fails")
			in := teststream.New[int64]().Elements(at(0), 12, 14, 24).Elements(at(0), 22, 34).Source(p)
			return p, transforms.Map(in, func(v int64) int64 { up.Store(up.Load() || v == 22); return v })
		}
		p, in := build()
		lookup.Enrich(in, last, s.fetch, merge, pcoll.Named("Ask"))
		if _, err := run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "Ask: element time ") || !strings.Contains(err.Error(), "4: down; TryEnrich") {
			t.Errorf("got %v", err)
		}
		p, in = build()
		good, failed := lookup.TryEnrich(in, last, s.fetch, func(v, _ int64, _ bool) int64 { return v }, transforms.AsyncRetry(2, 0, 0))
		ok, bad := note(good), note(transforms.Map(failed, func(f transforms.FailedCall[int64]) int64 { return f.Input*10 + f.Attempts }))
		if _, err := run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(ok.sorted(), bad.sorted()) != "[12 22 34] [142 242]" {
			t.Errorf("good %v, failed %v", ok.vals, bad.vals)
		}
	})
}

// Keys are the same if their encodings are.
func TestEnrichComparesKeysByEncoding(t *testing.T) {
	on(t, func(t *testing.T, run func(context.Context, *pcoll.Pipeline) (*pcoll.Result, error), workers int) {
		var calls atomic.Int64
		key := func(v int64) time.Time { return at(100).In(time.FixedZone("", int(v)*3600)) }
		fetch := func(_ context.Context, k time.Time) (int64, bool, error) { return k.Unix() + calls.Add(1), true, nil }
		p := pcoll.New("keys")
		got := note(lookup.Enrich(transforms.Create[int64](p, 1, 2, 3), key, fetch, func(_, answer int64, _ bool) int64 { return answer }))
		if _, err := run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if want := []int64{101, 101, 101}; !slices.Equal(got.vals, want) {
			t.Errorf("got %v, want %v", got.vals, want)
		}
	})
}

func TestEnrichMistakes(t *testing.T) {
	s := &service{}
	ints := func(p *pcoll.Pipeline) pcoll.PCollection[int64] { return transforms.Create[int64](p, 1) }
	for want, build := range map[string]func(p *pcoll.Pipeline){
		"a function is nil":              func(p *pcoll.Pipeline) { lookup.Enrich[int64, int64, int64, int64](ints(p), last, s.fetch, nil) },
		"entries cannot be kept for 1µs": func(p *pcoll.Pipeline) { lookup.Enrich(ints(p), last, s.fetch, merge, lookup.TTL(time.Microsecond)) },
		"entries cannot be kept for 0s":  func(p *pcoll.Pipeline) { lookup.TryEnrich(ints(p), last, s.fetch, merge, lookup.NegativeTTL(0)) },
		"a cache of 0 entries cannot be": func(p *pcoll.Pipeline) { lookup.Enrich(ints(p), last, s.fetch, merge, lookup.Entries(0)) },
		"0 calls at once":                func(p *pcoll.Pipeline) { lookup.Enrich(ints(p), last, s.fetch, merge, transforms.AsyncLimit(0)) },
		"float64": func(p *pcoll.Pipeline) {
			lookup.Enrich(ints(p), func(v int64) float64 { return float64(v) }, func(context.Context, float64) (int64, bool, error) { return 0, false, nil }, merge)
		},
	} {
		p := pcoll.New("mistakes")
		build(p)
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
