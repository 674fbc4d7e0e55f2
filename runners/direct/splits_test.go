package direct_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
)

// shelves is a source that emits the names of its splits.
type shelves struct {
	list  func() ([]string, error)
	again int64
	fail  error // of Assign
}

func (s shelves) Splits(context.Context) (splits []exec.Split, err error) {
	ids, err := s.list()
	for _, id := range ids {
		splits = append(splits, exec.Split{ID: id})
	}
	return splits, err
}

func (s shelves) Rediscover() int64 { return s.again }

func (s shelves) New(_ exec.Env, outs []any) (exec.Instance, error) {
	down, left := outs[0].(exec.Input[string]), []string(nil)
	return exec.Instance{
		Assign: func(splits []exec.Split) error {
			for _, sp := range splits {
				left = append(left, sp.ID)
			}
			return s.fail
		},
		Poll: func(c *exec.Ctx, _ int) exec.Status {
			if len(left) == 0 {
				if s.again > 0 {
					return exec.Waiting
				}
				return exec.Ended
			}
			id := left[0]
			left = left[1:]
			if id == "last" {
				return exec.Ended
			}
			down(c, id)
			return exec.Ready
		},
	}, nil
}

func fixed(ids ...string) func() ([]string, error) {
	return func() ([]string, error) { return ids, nil }
}

// read runs two sources of splits and returns what came, in order.
func read(t *testing.T, opts ...direct.Option) string {
	t.Helper()
	p, log := pcoll.New("shelves"), &journal{}
	for _, name := range []string{"a", "b"} {
		in := root[string](p, name, true, shelves{list: fixed(name+"1", name+"2", name+"3", name+"4")})
		each(in, "See "+name, func(_ *exec.Ctx, s string, _ exec.Input[int]) { log.add(s) })
	}
	if _, err := direct.Run(t.Context(), p, opts...); err != nil {
		t.Fatal(err)
	}
	return strings.Join(log.lines, " ")
}

func TestSeedDecidesTheOrderOfReading(t *testing.T) {
	plain := "a1 b1 a2 b2 a3 b3 a4 b4"
	if got := read(t); got != plain {
		t.Errorf("without a seed: %s, want %s", got, plain)
	}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		first, again := read(t, direct.Seed(seed)), read(t, direct.Seed(seed))
		if first != again {
			t.Errorf("seed %d gives %s, then %s", seed, first, again)
		}
		sorted := strings.Fields(first)
		slices.Sort(sorted)
		if s := strings.Join(sorted, " "); s != "a1 a2 a3 a4 b1 b2 b3 b4" {
			t.Errorf("seed %d reads %s", seed, first)
		}
		orders[first] = true
	}
	if len(orders) < 15 {
		t.Errorf("20 seeds give %d orders", len(orders))
	}
}

func TestNewSplitsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, log, listed := pcoll.New("shelves"), &journal{}, 0
		start := time.Now()
		in := root[string](p, "a", false, shelves{again: 30_000, list: func() ([]string, error) {
			listed++
			return [][]string{{"x"}, {"x"}, {"y", "x"}, {"y", "last"}}[listed-1], nil
		}})
		each(in, "See", func(_ *exec.Ctx, s string, _ exec.Input[int]) {
			log.add(fmt.Sprintf("%s after %v", s, time.Since(start).Round(time.Second)))
		})
		if _, err := direct.Run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if want := []string{"x after 0s", "y after 1m0s"}; !slices.Equal(log.lines, want) || listed != 4 {
			t.Errorf("got %q after %d listings, want %q after 4", log.lines, listed, want)
		}
	})
}

func TestSplitFailures(t *testing.T) {
	for _, tc := range []struct {
		name string
		src  shelves
		want string
	}{
		{"listing", shelves{list: func() ([]string, error) { return nil, errors.New("no such topic") }}, "a: listing what to read: no such topic"},
		{"opening", shelves{list: fixed("x"), fail: errors.New("gone")}, "a: opening its input: gone"},
		{"panic", shelves{list: func() ([]string, error) { panic("nil map") }}, "a: element time -inf, window global: panic: nil map"},
	} {
		p := pcoll.New("shelves")
		root[string](p, "a", true, tc.src)
		fails(t, p, tc.want)
	}
	p := pcoll.New("empty")
	root[string](p, "a", true, shelves{list: fixed()})
	if _, err := direct.Run(t.Context(), p); err != nil {
		t.Errorf("a source without splits: %v", err)
	}
}
