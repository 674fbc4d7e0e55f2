package stateful_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/state"
	"github.com/penstock-dev/penstock/timers"
	. "github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
)

// hoard keeps everything that there is to keep.
type hoard struct {
	stock
	A timers.EventTime      `timer:"a"`
	P timers.ProcessingTime `timer:"p"`
}

func (f *hoard) Process(c *pcoll.Context, e pair, _ pcoll.Emit[string]) error {
	f.Value.Set(c, e.Value)
	f.Words.Set(c, []string{"a", fmt.Sprint(e.Value)})
	f.Bag.Add(c, e.Value)
	f.Map.Put(c, fmt.Sprint(e.Value), e.Value)
	f.Multi.Put(c, "m", e.Value)
	f.Set.Add(c, e.Value)
	f.Mean.Add(c, e.Value)
	f.List.Add(c, sec(-e.Value), e.Value)
	f.A.Set(c, sec(50), timers.Tag(fmt.Sprint(e.Value)))
	f.A.Set(c, sec(40), timers.NoHold())
	f.P.SetAfter(c, time.Hour)
	return nil
}
func (f *hoard) OnTimer(*pcoll.Context, string, timers.Firing, pcoll.Emit[string]) error { return nil }
func (f *hoard) OnWindowExpiration(*pcoll.Context, string, pcoll.Emit[string]) error     { return nil }

// open makes an instance of a hoard's operator, and returns it with its stores.
func open(t testing.TB, opts ...pcoll.Option) (exec.Instance, map[string]exec.Store) {
	t.Helper()
	p := pcoll.New("restore")
	fn := &hoard{stock: stock{Mean: state.Combined(combine.Mean[int]())}}
	StatefulParDo(Create[pair](p), fn, append(opts, pcoll.Named("Hoard"))...)
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	nodes := pcoll.Graph(p).Nodes
	env := host.NewOp(host.Place{Name: "Hoard", Count: 1, Context: context.Background(), Clock: &host.Manual{},
		Wake: func() {}, Log: slog.New(slog.DiscardHandler)})
	inst, err := nodes[len(nodes)-1].Op.New(env, []any{exec.Input[string](func(*exec.Ctx, string) {}), exec.Input[int](func(*exec.Ctx, int) {})})
	if err != nil {
		t.Fatal(err)
	}
	return inst, env.Stores()
}

// filled returns what stores hold after some elements, by name, of all key groups.
func filled(t testing.TB, opts ...pcoll.Option) map[string][]byte {
	t.Helper()
	inst, stores := open(t, opts...)
	c := exec.NewCtx(context.Background())
	for i, key := range []string{"a", "b", "a", "c"} {
		c.Time = exec.Time(1000 * i)
		inst.In[0].(exec.Input[pair])(c, kv(key, i+1))
	}
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	return snapshot(t, stores)
}

func snapshot(t testing.TB, stores map[string]exec.Store) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for name, s := range stores {
		for g := range exec.KeyGroups {
			var err error
			if all[name], err = s.Snapshot(all[name], g); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

var sortings = map[string][]pcoll.Option{"at once": nil, "sorted": {TimeSorted()}}

func TestStoresHaveTheNamesOfFields(t *testing.T) {
	_, stores := open(t, TimeSorted())
	want := []string{"keys", "state/bag", "state/list", "state/map", "state/mean", "state/multi", "state/set", "state/value", "state/words",
		"timer/a", "timer/p", "waiting", "watermark"}
	if got := slices.Sorted(maps.Keys(stores)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStoresAreRestored(t *testing.T) {
	for name, opts := range sortings {
		t.Run(name, func(t *testing.T) {
			want := filled(t, opts...)
			inst, stores := open(t, opts...)
			for name, b := range want {
				if len(b) == 0 {
					continue
				}
				if err := stores[name].Restore(b); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			inst.Restored(exec.NewCtx(context.Background()))
			for name, b := range snapshot(t, stores) {
				if len(b) != len(want[name]) {
					t.Errorf("%s: %d bytes are written again as %d", name, len(want[name]), len(b))
				}
			}
		})
	}
}

// What was written and then cut, or changed in a byte, is either refused or
// taken for something else, but does no harm.
func TestDamagedStoresAreRefused(t *testing.T) {
	for name, opts := range sortings {
		for store, b := range filled(t, opts...) {
			if store == "watermark" || len(b) == 0 {
				continue
			}
			t.Run(name+"/"+store, func(t *testing.T) {
				for n := range b {
					_, stores := open(t, opts...)
					if err := stores[store].Restore(b[:n:n]); err == nil && !whole(b, n) {
						t.Errorf("%d of %d bytes were restored without an error", n, len(b))
					}
				}
				_, stores := open(t, opts...)
				if err := stores[store].Restore(append(slices.Clip(b), b...)); err == nil && store != "keys" {
					t.Error("what is there twice was restored without an error")
				}
			})
		}
	}
}

// whole reports whether the first n bytes of a store are whole windows.
func whole(b []byte, n int) bool {
	at := 0
	for at < n {
		size := int(b[at+16])<<24 | int(b[at+17])<<16 | int(b[at+18])<<8 | int(b[at+19])
		at += 20 + size
	}
	return at == n
}

// FuzzRestore restores arbitrary bytes into every store.
func FuzzRestore(f *testing.F) {
	for _, opts := range sortings {
		for _, b := range filled(f, opts...) {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return // stores are not restored from nothing
		}
		_, names := open(t, TimeSorted())
		for name := range names {
			inst, stores := open(t, TimeSorted())
			if stores[name].Restore(b) == nil {
				inst.Restored(exec.NewCtx(context.Background()))
				snapshot(t, stores)
			}
		}
	})
}
