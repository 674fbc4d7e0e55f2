package exec_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/exec"
)

// anyTime draws times, those at the limits often.
func anyTime() *rapid.Generator[exec.Time] {
	return rapid.Custom(func(t *rapid.T) exec.Time {
		return exec.Clamp(rapid.OneOf(
			rapid.Custom(func(t *rapid.T) exec.Time { return exec.Time(rapid.Int64().Draw(t, "any")) }),
			rapid.Custom(func(t *rapid.T) exec.Time { return exec.Time(rapid.Int64Range(-3, 3).Draw(t, "small")) }),
			rapid.Custom(func(t *rapid.T) exec.Time { return exec.MinTime + exec.Time(rapid.Int64Range(0, 2000).Draw(t, "low")) }),
			rapid.Custom(func(t *rapid.T) exec.Time { return exec.MaxTime - exec.Time(rapid.Int64Range(0, 2000).Draw(t, "high")) }),
		).Draw(t, "time"))
	})
}

// TestAddSaturates holds Add to exact arithmetic, limited afterwards.
func TestAddSaturates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := anyTime().Draw(t, "t")
		ms := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64})).Draw(t, "ms")
		exact := new(big.Int).Add(big.NewInt(int64(at)), big.NewInt(ms))
		want := at
		switch {
		case exact.Cmp(big.NewInt(int64(exec.MaxTime))) > 0:
			want = exec.MaxTime
		case exact.Cmp(big.NewInt(int64(exec.MinTime))) < 0:
			want = exec.MinTime
		default:
			want = exec.Time(exact.Int64())
		}
		if got := at.Add(ms); got != want {
			t.Fatalf("%d + %d = %d, want %d", at, ms, got, want)
		}
		if b := at.Add(1); b < at {
			t.Fatalf("%d + 1 = %d", at, b)
		}
	})
	for _, ms := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} { // Idle is no time, but its sum is one
		if got := exec.Idle.Add(ms); got < exec.MinTime || got > exec.MaxTime {
			t.Errorf("Idle + %d = %d", ms, got)
		}
	}
}

// TestTimeOfInvertsTime over all of time, and rounds down.
func TestTimeOfInvertsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := anyTime().Draw(t, "t")
		if got := exec.TimeOf(at.Time()); got != at {
			t.Fatalf("%d becomes %d", at, got)
		}
		sub := time.Duration(rapid.Int64Range(0, 999_999).Draw(t, "ns"))
		if got := exec.TimeOf(at.Time().Add(sub)); got != at {
			t.Fatalf("%d and %v become %d", at, sub, got)
		}
	})
}

func TestTimeOf(t *testing.T) {
	for _, c := range []struct {
		t    time.Time
		want exec.Time
	}{
		{time.Unix(0, 0), 0},
		{time.Unix(0, -1), -1},
		{time.Unix(0, 999_999), 0},
		{time.Unix(-1, 999_999_999), -1},
		{time.Unix(0, -1_000_001), -2},
		{time.Time{}, -62135596800000}, // year 1 is a time like others: who has no event time must say so
		{time.Date(1969, 12, 31, 23, 59, 52, 0, time.UTC), -8000},
		{time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC), 253402300799999},
		{time.Date(2024, 5, 1, 12, 0, 0, 0, time.FixedZone("", 2*3600)), 1714557600000},
		{time.Date(292278994, 1, 1, 0, 0, 0, 0, time.UTC), exec.MaxTime},
		{time.Date(400_000, 1, 1, 0, 0, 0, 0, time.UTC), exec.MaxTime},
		{time.Date(-400_000, 1, 1, 0, 0, 0, 0, time.UTC), exec.MinTime},
		{time.Unix(-9223372036855, 224_999_999), exec.MinTime},
		{time.Unix(-9223372036855, 226_000_000), exec.MinTime + 1},
		{time.Unix(9223372036854, 776_000_000), exec.MaxTime},
	} {
		if got := exec.TimeOf(c.t); got != c.want {
			t.Errorf("TimeOf(%v) = %d, want %d", c.t, got, c.want)
		}
	}
}

func TestStrings(t *testing.T) {
	minute := exec.Window{Start: 0, End: 60_000}
	for _, c := range []struct {
		v    fmt.Stringer
		want string
	}{
		{exec.Time(0), "1970-01-01T00:00:00Z"},
		{exec.Time(-1), "1969-12-31T23:59:59.999Z"},
		{exec.Time(-62135596800000), "0001-01-01T00:00:00Z"},
		{exec.Time(-62135596800001), "-62135596800001ms"},
		{exec.Time(253402300799999), "9999-12-31T23:59:59.999Z"},
		{exec.Time(253402300800000), "253402300800000ms"},
		{exec.MinTime, "-inf"}, {exec.Time(math.MinInt64), "-inf"}, {exec.MaxTime, "+inf"}, {exec.MaxTime + 1, "+inf"},
		{exec.EndOfGlobal, "end-of-global-window"}, {exec.Idle, "idle"},
		{minute, "[1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)"}, {exec.Global, "global"},
		{exec.Early, "EARLY"}, {exec.OnTime, "ON_TIME"}, {exec.Late, "LATE"}, {exec.Unknown, "UNKNOWN"}, {exec.Timing(6), "LATE"},
		{exec.Insert, "insert"}, {exec.UpdateBefore, "update-before"}, {exec.UpdateAfter, "update-after"}, {exec.Delete, "delete"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%#v prints %q, want %q", c.v, got, c.want)
		}
	}
	for k := exec.Insert; k <= exec.Delete; k++ {
		if want := k == exec.UpdateBefore || k == exec.Delete; k.Withdrawal() != want {
			t.Errorf("%v.Withdrawal() = %v", k, k.Withdrawal())
		}
	}
}

func TestWindows(t *testing.T) {
	window := rapid.Custom(func(t *rapid.T) exec.Window {
		a, b := rapid.Int64Range(-20, 20).Draw(t, "a"), rapid.Int64Range(1, 20).Draw(t, "len")
		return exec.Window{Start: exec.Time(a), End: exec.Time(a + b)}
	})
	rapid.Check(t, func(t *rapid.T) {
		w, v := window.Draw(t, "w"), window.Draw(t, "v")
		share := false
		for at := exec.Time(-21); at < 41; at++ {
			in := at >= w.Start && at < w.End
			if w.Contains(at) != in {
				t.Fatalf("%v contains %d: %v", w, at, !in)
			}
			share = share || in && v.Contains(at)
			if s := w.Span(v); (in || v.Contains(at)) && !s.Contains(at) {
				t.Fatalf("%v of %v and %v lacks %d", s, w, v, at)
			}
		}
		if w.Overlaps(v) != share || v.Overlaps(w) != share {
			t.Fatalf("%v and %v overlap: %v", w, v, !share)
		}
		if w.Compare(v) != -v.Compare(w) || (w.Compare(v) == 0) != (w == v) || w.End < v.End && w.Compare(v) >= 0 {
			t.Fatalf("%v compares with %v as %d", w, v, w.Compare(v))
		}
		if !w.Contains(w.Max()) || w.Contains(w.Max()+1) {
			t.Fatalf("the maximum of %v is %d", w, w.Max())
		}
	})
	if exec.Global.Max() != exec.EndOfGlobal || !exec.Global.Contains(exec.MinTime) || exec.Global.Contains(exec.EndOfGlobal+1) {
		t.Error("the global window does not end at its end")
	}
}

// TestGroupsAreOwnedOnce: contiguous ranges, every worker some, all hashes in range.
func TestGroupsAreOwnedOnce(t *testing.T) {
	for n := 1; n <= exec.KeyGroups; n++ {
		last, owned := 0, make([]int, n)
		for g := range exec.KeyGroups {
			o := exec.OwnerOf(g, n)
			if o < last || o > last+1 || o >= n {
				t.Fatalf("of %d workers %d owns group %d after %d", n, o, g, last)
			}
			last = o
			owned[o]++
		}
		for w, k := range owned {
			if k < exec.KeyGroups/n || k > exec.KeyGroups/n+1 {
				t.Fatalf("of %d workers %d owns %d groups", n, w, k)
			}
		}
	}
	if exec.GroupOf(0) != 0 || exec.GroupOf(math.MaxUint64) != exec.KeyGroups-1 {
		t.Error("a hash is out of the range of groups")
	}
}

func TestFirstFailureIsKept(t *testing.T) {
	c := exec.NewCtx(t.Context())
	c.Fail(nil)
	if c.Err != nil {
		t.Fatal("no failure is one")
	}
	boom := errors.New("boom")
	c.Op, c.Time, c.Window = 7, 1000, exec.Window{Start: 0, End: 2000}
	c.Fail(boom)
	c.Op, c.Time = 8, 5
	c.Fail(errors.New("later"))
	e, ok := errors.AsType[*exec.ElementError](c.Err)
	if !ok || e.Op != 7 || !errors.Is(c.Err, boom) {
		t.Fatalf("error %v", c.Err)
	}
	if want := "element time 1970-01-01T00:00:01Z, window [1970-01-01T00:00:00Z, 1970-01-01T00:00:02Z): boom"; e.Error() != want {
		t.Errorf("prints %q, want %q", e.Error(), want)
	}
	if e.Stack = []byte("main.go:1"); !strings.HasSuffix(e.Error(), "boom\nmain.go:1") {
		t.Errorf("prints %q without its stack", e.Error())
	}
}

func TestCounters(t *testing.T) {
	var d exec.Distribution
	for _, v := range []int64{5, -3, 9} {
		d.Update(v)
	}
	if d != (exec.Distribution{Count: 3, Sum: 11, Min: -3, Max: 9}) {
		t.Errorf("%+v", d)
	}
	if !exec.IsEmitted(exec.Emitted(12)) || exec.IsEmitted(exec.Elements) || exec.Emitted(1) == exec.Emitted(11) {
		t.Error("names of emitted counters")
	}
}
