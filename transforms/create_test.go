package transforms_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	. "github.com/penstock-dev/penstock/transforms"
)

// readAll reads the source that is the first transform of p, its splits in one
// instance or each in one of its own, with a restart from stored positions after every poll.
func readAll[T any](t *testing.T, p *pcoll.Pipeline, restart bool) (vals []T, times []exec.Time) {
	t.Helper()
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	op := pcoll.Graph(p).Nodes[0].Op
	splits, err := op.(exec.Splitter).Splits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	down := exec.Input[T](func(c *exec.Ctx, v T) {
		vals, times = append(vals, v), append(times, c.Time)
	})
	c := exec.NewCtx(t.Context())
	var stored []byte
	for done := false; !done; {
		env := host.NewOp(host.Place{Name: "Source", Count: 1, Context: t.Context(), Clock: &host.Manual{}, Wake: func() {}, Log: quiet})
		inst, err := op.New(env, []any{down})
		if err != nil {
			t.Fatal(err)
		}
		if err := env.Stores()["splits"].Restore(stored); err != nil {
			t.Fatal(err)
		}
		if err := inst.Assign(splits); err != nil {
			t.Fatal(err)
		}
		for stop := false; !stop; stop = restart || done {
			done = inst.Poll(c, exec.BatchSize) == exec.Ended
			if c.Err != nil {
				t.Fatal(c.Err)
			}
		}
		if stored, err = env.Stores()["splits"].Snapshot(nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := inst.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return vals, times
}

func TestCreate(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 5000, 200_000} {
		elems := make([]int, n)
		for i := range elems {
			elems[i] = 3 * i
		}
		for _, restart := range []bool{false, true} {
			p := pcoll.New("test")
			CreateFrom(p, elems)
			got, times := readAll[int](t, p, restart)
			if n <= 1000 && !slices.Equal(got, elems) {
				t.Errorf("%d elements come in another order", n)
			}
			slices.Sort(got)
			if !slices.Equal(got, elems) {
				t.Errorf("%d elements, restart %v: %d come back, not the same", n, restart, len(got))
			}
			for _, at := range times {
				if at != exec.MinTime {
					t.Fatalf("an element is at %v", at)
				}
			}
		}
	}
}

func TestGenerateSequence(t *testing.T) {
	for _, r := range [][2]int64{{0, 0}, {-3, 3}, {-5000, -1000}, {7, 150_000}, {1<<63 - 3, 1<<63 - 1}} {
		for _, restart := range []bool{false, true} {
			p := pcoll.New("test")
			GenerateSequence(p, r[0], r[1], SequenceTime(func(n int64) time.Time { return time.UnixMilli(n % 1000) }))
			got, times := readAll[int64](t, p, restart)
			if int64(len(got)) != r[1]-r[0] {
				t.Errorf("%v has %d numbers", r, len(got))
				continue
			}
			for i, n := range got {
				if times[i] != exec.Time(n%1000) {
					t.Fatalf("%d is at %v", n, times[i])
				}
			}
			slices.Sort(got)
			for i, n := range got {
				if n != r[0]+int64(i) {
					t.Fatalf("%v, restart %v: number %d is %d", r, restart, i, n)
				}
			}
		}
	}
}

func TestSplitsAreOfSize(t *testing.T) {
	p := pcoll.New("test")
	GenerateSequence(p, 0, 1<<63-1)
	splits, err := pcoll.Graph(p).Nodes[0].Op.(exec.Splitter).Splits(t.Context())
	if err != nil || len(splits) != 64 {
		t.Fatalf("%d splits, %v", len(splits), err)
	}
	var total int64
	for _, s := range splits {
		total += s.Size
	}
	if total != 1<<63-1 {
		t.Errorf("the splits hold %d numbers", total)
	}
}

func TestSourceMistakes(t *testing.T) {
	open := func(elems []int, id string, stored []byte) error {
		p := pcoll.New("test")
		CreateFrom(p, elems)
		op := pcoll.Graph(p).Nodes[0].Op
		splits, err := op.(exec.Splitter).Splits(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		env := host.NewOp(host.Place{Name: "Create", Count: 1, Context: t.Context(), Clock: &host.Manual{}, Wake: func() {}, Log: quiet})
		inst, err := op.New(env, []any{exec.Input[int](nil)})
		if err != nil {
			t.Fatal(err)
		}
		if err := env.Stores()["splits"].Restore(append([]byte{byte(len(id))}, id+string(stored)...)); err != nil {
			t.Fatal(err)
		}
		return inst.Assign(splits)
	}
	for _, c := range []struct {
		stored string // position, with its length in front
		want   string
	}{
		{"\x01\x04", ""}, // 2
		{"\x01\x14", "stored position 14 is not in the range 0-3; was the pipeline changed?"}, // 10
		{"\x01\x01", "stored position 01 is not in the range 0-3"},                            // -1
		{"\x01\x80", "stored position 80 is not in the range 0-3"},
	} {
		err := open([]int{1, 2, 3}, "0-3", []byte(c.stored))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("position %x: got %v, want %q", c.stored, err, c.want)
		}
	}
}

// TestF30SequenceTime: a time function without an answer fails the read.
func TestF30SequenceTime(t *testing.T) {
	p := pcoll.New("test")
	GenerateSequence(p, 5, 6, SequenceTime(func(int64) time.Time { return time.Time{} }))
	op := pcoll.Graph(p).Nodes[0].Op
	env := host.NewOp(host.Place{Name: "GenerateSequence", Count: 1, Context: t.Context(), Clock: &host.Manual{}, Wake: func() {}, Log: quiet})
	inst, err := op.New(env, []any{exec.Input[int64](func(_ *exec.Ctx, n int64) { t.Errorf("%d was emitted", n) })})
	if err != nil {
		t.Fatal(err)
	}
	splits, err := op.(exec.Splitter).Splits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := inst.Assign(splits); err != nil {
		t.Fatal(err)
	}
	c := exec.NewCtx(t.Context())
	inst.Poll(c, 10)
	if c.Err == nil || !strings.Contains(c.Err.Error(), "number 5 has no event time: SequenceTime returned the zero time.Time") {
		t.Errorf("got %v", c.Err)
	}
}
