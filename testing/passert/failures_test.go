package passert_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/faket"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// mute is a value that has no coder.
type mute struct {
	N int
	F func()
}

// every reports the first element that one of the checks refuses.
func every(checks ...func(int) bool) func([]passert.Element[int]) error {
	return func(got []passert.Element[int]) error {
		for _, e := range got {
			for i, ok := range checks {
				if !ok(e.Value) {
					return fmt.Errorf("check %d refuses %s", i, passert.Describe(e))
				}
			}
		}
		return nil
	}
}

func positive(n int) bool { return n > 0 }
func odd(n int) bool      { return n%2 == 1 }

// TestAssertionsOfUngrouped restates what Beam's PAssertTest holds of collections
// that no grouping made: what passes, what fails, and what a failure says.
func TestAssertionsOfUngrouped(t *testing.T) {
	windowed := func(p *pcoll.Pipeline) pcoll.PCollection[int] {
		timed := transforms.WithTimestamps(transforms.Create(p, 1, 2, 70), func(n int) time.Time { return at(n) })
		return windowing.Into(timed, windowing.Fixed(time.Minute))
	}
	for _, tc := range []struct {
		name   string
		assert func(t testing.TB, p *pcoll.Pipeline)
		fail   []string // what the failure says; nil: it holds
	}{
		{"one", func(t testing.TB, p *pcoll.Pipeline) { passert.Equals(t, transforms.Create(p, 43), 43) }, nil},
		{"one, another", func(t testing.TB, p *pcoll.Pipeline) { passert.Equals(t, transforms.Create(p, 42), 44) },
			[]string{"passert.Equals on direct: contents differ", `- "44": 1`, `+ "42": 1`, "1 elements came:"}},
		{"one, of none", func(t testing.TB, p *pcoll.Pipeline) { passert.Equals(t, transforms.Create[int](p), 44) },
			[]string{`- "44": 1`, "the collection is empty"}},
		{"one, of several", func(t testing.TB, p *pcoll.Pipeline) { passert.Equals(t, transforms.Create(p, 44, 44), 44) },
			[]string{`- "44": 1`, `+ "44": 2`, "2 elements came:"}},
		{"not that one", func(t testing.TB, p *pcoll.Pipeline) {
			passert.That(t, transforms.Create(p, 43), every(func(n int) bool { return n != 42 }))
		}, nil},
		{"not that one, which it is", func(t testing.TB, p *pcoll.Pipeline) {
			passert.That(t, transforms.Create(p, 42), every(func(n int) bool { return n != 42 }))
		}, []string{"passert.That on local-5: check 0 refuses 42 "}},
		{"many in any order", func(t testing.TB, p *pcoll.Pipeline) { passert.Equals(t, transforms.Create(p, 1, 2, 3, 4), 2, 1, 4, 3) }, nil},
		{"many, one too few", func(t testing.TB, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.Create(p, 1, 2, 3, 4), 2, 1, 4, 3, 7)
		},
			[]string{`- "7": 1`}},
		{"many in one window", func(t testing.TB, p *pcoll.Pipeline) {
			passert.In(t, transforms.Create(p, 1, 2, 3), pcoll.Global, 3, 2, 1)
		}, nil},
		{"many in windows", func(t testing.TB, p *pcoll.Pipeline) {
			c := windowed(p)
			passert.In(t, c, minute(0), 2, 1)
			passert.In(t, c, minute(1), 70)
		}, nil},
		{"one in a window", func(t testing.TB, p *pcoll.Pipeline) { passert.In(t, windowed(p), minute(1), 70) }, nil},
		{"one in a window, another", func(t testing.TB, p *pcoll.Pipeline) { passert.In(t, windowed(p), minute(1), 2) },
			[]string{"window " + minute(1).String(), `+ "70": 1`}},
		{"windows, by a check", func(t testing.TB, p *pcoll.Pipeline) {
			passert.That(t, windowed(p), func(got []passert.Element[int]) error {
				for _, e := range got {
					if e.Window != minute(e.Value/60) || len(got) != 3 {
						return errors.New("an element is in the wrong window")
					}
				}
				return nil
			})
		}, nil},
		{"values without a coder", func(t testing.TB, p *pcoll.Pipeline) {
			passert.That(t, transforms.Create(p, mute{N: 1}, mute{N: 2}), func(got []passert.Element[mute]) error {
				if len(got) != 2 || got[0].Value.N+got[1].Value.N != 3 {
					return errors.New("another sum")
				}
				return nil
			})
		}, nil},
		{"empty", func(t testing.TB, p *pcoll.Pipeline) { passert.Empty(t, transforms.Create[int](p)) }, nil},
		{"empty, which it is not", func(t testing.TB, p *pcoll.Pipeline) { passert.Empty(t, transforms.Create(p, 7)) },
			[]string{"passert.Empty on local-1: contents differ", `+ "7": 1`}},
		{"of several collections", func(t testing.TB, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.Flatten(transforms.Create(p, 1, 2), transforms.Create(p, 2), transforms.Create[int](p)), 1, 2, 2)
		}, nil},
		{"of several collections, one too many", func(t testing.TB, p *pcoll.Pipeline) {
			passert.Equals(t, transforms.Flatten(transforms.Create(p, 1, 2), transforms.Create(p, 2)), 1, 2)
		}, []string{`- "2": 1`, `+ "2": 2`}},
		{"each by a check", func(t testing.TB, p *pcoll.Pipeline) { passert.That(t, transforms.Create(p, 1, 2, 3), every(positive)) }, nil},
		{"each by a check, one not", func(t testing.TB, p *pcoll.Pipeline) { passert.That(t, transforms.Create(p, 1, -2), every(positive)) },
			[]string{"check 0 refuses -2 ", "2 elements came"}},
		{"each by several checks", func(t testing.TB, p *pcoll.Pipeline) {
			passert.That(t, transforms.Create(p, 1, 3), every(positive, odd))
		}, nil},
		{"each by several checks, one not", func(t testing.TB, p *pcoll.Pipeline) {
			passert.That(t, transforms.Create(p, 1, 2), every(positive, odd))
		},
			[]string{"check 1 refuses 2 "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ft := faket.Run(t, func(ft *faket.T) {
				p := pcoll.New("self")
				tc.assert(ft, p)
				ptest.Run(ft, p)
			})
			got := strings.Join(strings.Fields(strings.ReplaceAll(ft.Failures(), "\u00a0", " ")), " ")
			if tc.fail == nil && got != "" {
				t.Errorf("it must hold, but: %s", got)
			}
			if tc.fail != nil && ft.Count() != 4 {
				t.Errorf("it failed %d times, want once on each of 4 runners: %s", ft.Count(), got)
			}
			for _, want := range tc.fail {
				if !strings.Contains(got, want) {
					t.Errorf("failure does not say %q: %s", want, got)
				}
			}
		})
	}
}

// TestFailuresNameTheAssertion by its file and line, also where a helper of the
// test called it, and where it was never checked.
func TestFailuresNameTheAssertion(t *testing.T) {
	var line int
	assert := func(ft *faket.T, p *pcoll.Pipeline) {
		_, _, line, _ = runtime.Caller(0)
		passert.Equals(ft, transforms.Create(p, 1), 2)
	}
	for name, run := range map[string]func(ft *faket.T, p *pcoll.Pipeline){
		"fails":     func(ft *faket.T, p *pcoll.Pipeline) { ptest.Run(ft, p) },
		"never ran": func(*faket.T, *pcoll.Pipeline) {},
	} {
		got := faket.Run(t, func(ft *faket.T) {
			p := pcoll.New("self")
			assert(ft, p)
			run(ft, p)
		}).Failures()
		if want := fmt.Sprintf("failures_test.go:%d: ", line+1); !strings.Contains(got, want) {
			t.Errorf("%s: the failure does not say %q: %s", name, want, got)
		}
	}
}
