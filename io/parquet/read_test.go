package parquet_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/penstock-dev/penstock/io/connector"
	"github.com/penstock-dev/penstock/io/parquet"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/direct"
	"github.com/penstock-dev/penstock/testing/passert"
	"github.com/penstock-dev/penstock/testing/ptest"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/transforms/combine"
	"github.com/penstock-dev/penstock/windowing"
)

// click is a row with an event time in milliseconds.
type click struct {
	At   int64  `parquet:"at"`
	Ad   string `parquet:"ad"`
	Cost int64  `parquet:"cost"`
}

func (c click) Time() time.Time { return time.UnixMilli(c.At) }

func adOf(c click) string { return c.Ad }

// clicks returns n clicks, one a second, the latest first.
func clicks(n int) (rows []click) {
	for i := n - 1; i >= 0; i-- {
		rows = append(rows, click{int64(i) * 1000, fmt.Sprintf("ad-%d", i%7), int64(i)})
	}
	return rows
}

// write writes a file by the library, in row groups of the given sizes.
func write[T any](t testing.TB, path string, rows []T, groups ...int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := pq.NewGenericWriter[T](f)
	for _, n := range groups {
		if _, err := w.Write(rows[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsLate reads rows from the latest to the first, in row groups that
// several workers read, without any lateness allowed: each window fires once, complete.
func TestNothingIsLate(t *testing.T) {
	dir := t.TempDir()
	rows := clicks(600)
	write(t, filepath.Join(dir, "a.parquet"), rows[:400], 100, 250, 1)
	write(t, filepath.Join(dir, "b.parquet"), rows[400:], 7)
	p := pcoll.New("test")
	in := parquet.Read[click](p, filepath.Join(dir, "*.parquet"), parquet.EventTime(click.Time), pcoll.Named("Clicks"))
	minutes := windowing.Into(in, windowing.Fixed(time.Minute))
	counts, late := transforms.CombinePerKeyWithLate(transforms.KeyBy(minutes, adOf), combine.Count[click]())
	var want []passert.Fired[pcoll.KV[string, int64]]
	for minute := range 10 {
		n := map[string]int64{}
		for i := range 60 {
			n[fmt.Sprintf("ad-%d", (minute*60+i)%7)]++
		}
		for ad, count := range n {
			want = append(want, passert.OnTime(pcoll.Pair(ad, count)))
		}
	}
	passert.Panes(t, counts, want...)
	passert.Empty(t, late)
	for name, res := range ptest.Run(t, p) {
		if r, ok := res.Transform("Clicks"); !ok || r.Elements != 600 {
			t.Errorf("on %s: Clicks emitted %d rows, want 600", name, r.Elements)
		}
	}
}

// TestWithoutEventTime covers rows at the start of time, that are stamped later.
func TestWithoutEventTime(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.parquet"), clicks(5))
	p := pcoll.New("test")
	in := parquet.Read[click](p, dir)
	passert.That(t, in, func(got []passert.Element[click]) error {
		for _, e := range got {
			if e.Time != pcoll.Time(connector.MinTime) {
				return fmt.Errorf("%+v is at %v", e.Value, e.Time)
			}
		}
		return nil
	})
	passert.Equals(t, in, clicks(5)...)
	stamped := windowing.Into(transforms.WithTimestamps(in, click.Time), windowing.Fixed(3*time.Second))
	passert.In(t, transforms.Count(stamped), passert.Window(time.UnixMilli(0), time.UnixMilli(3000)), 3)
	ptest.Run(t, p)
}

// TestEventTimeLimits covers times that are rounded, that are close to the zero
// time.Time, and that are beyond what event times can be.
func TestEventTimeLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	zero := time.Time{}.Unix()
	times := []struct {
		at   time.Time
		want connector.Time
	}{
		{time.Unix(0, -1), -1},
		{time.Unix(1, 1_999_999), 1001},
		{time.Unix(zero, 1), connector.Time(zero * 1000)},
		{time.Unix(zero, -1), connector.Time(zero*1000 - 1)},
		{time.Unix(1<<43, 0), 1 << 43 * 1000},
		{time.Unix(1<<55, 0), connector.TimeOf(time.Unix(1<<55, 0))},
		{time.Unix(-1<<55, 0), connector.MinTime},
	}
	rows := make([]click, len(times))
	for i := range rows {
		rows[i].Cost = int64(i)
	}
	write(t, path, rows)
	p := pcoll.New("test")
	in := parquet.Read[click](p, path, parquet.EventTime(func(c click) time.Time { return times[c.Cost].at }))
	passert.That(t, in, func(got []passert.Element[click]) error {
		for _, e := range got {
			if c := times[e.Value.Cost]; e.Time != c.want {
				return fmt.Errorf("%v is read as %v, want %v", c.at, e.Time, c.want)
			}
		}
		if len(got) != len(times) {
			return fmt.Errorf("%d rows, want %d", len(got), len(times))
		}
		return nil
	})
	ptest.Run(t, p)
}

// event has a time that may be missing.
type event struct {
	ID int64     `parquet:"id"`
	At time.Time `parquet:"at,optional,timestamp(millisecond)"`
}

func (e event) Time() time.Time { return e.At }

// eventsF30 are five events of which the third has no time.
func eventsF30() (rows []event) {
	for i, s := range []int64{10, 20, 0, 40, 50} {
		e := event{ID: int64(i + 1)}
		if s > 0 {
			e.At = time.Unix(s, 0).UTC()
		}
		rows = append(rows, e)
	}
	return rows
}

func TestF30NoEventTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.parquet")
	write(t, path, eventsF30(), 1)
	p := pcoll.New("test")
	rows, rejects := parquet.TryRead[event](p, path, parquet.EventTime(event.Time), pcoll.Named("Events"))
	perMinute := transforms.Count(windowing.Into(rows, windowing.Fixed(time.Minute)), transforms.NoDefault())
	passert.Windows(t, perMinute, passert.Holds(passert.Window(time.Unix(0, 0), time.Unix(60, 0)), int64(4)))
	passert.That(t, rejects, func(got []passert.Element[connector.Reject]) error {
		if len(got) != 1 {
			return fmt.Errorf("%d rejects, want 1", len(got))
		}
		r := got[0].Value
		if want := path + ", row group 1, row 1"; r.Source != want || !strings.HasPrefix(r.Reason, "no event time: ") || r.Offset != -1 {
			return fmt.Errorf("reject %+v, want one of %s without event time", r, want)
		}
		return nil
	})
	for name, res := range ptest.Run(t, p) {
		if r, _ := res.Transform("Events"); r.Internal["rejected"] != 1 || r.Elements != 4 {
			t.Errorf("on %s: %d rows, %d rejected; want 4 and 1", name, r.Elements, r.Internal["rejected"])
		}
	}

	strict := pcoll.New("strict")
	parquet.Read[event](strict, path, parquet.EventTime(event.Time))
	ptest.Fails(t, strict, "parquet.Read", path+", row group 1, row 1", "no event time", "TryRead")
}

// strict cannot hold all that a file of loose holds.
type (
	strict struct {
		ID   int64  `parquet:"id"`
		Name string `parquet:"name"`
	}
	loose struct {
		ID   int64   `parquet:"id"`
		Name *string `parquet:"name"`
	}
)

// TestNullsAreRejected covers batches that are rejected in part and whole, and
// that rejects are numbered rightly together with those without event time.
func TestNullsAreRejected(t *testing.T) {
	const n = 5000
	name := "x"
	var rows []loose
	var good []int64
	bad := map[string]string{}
	path := filepath.Join(t.TempDir(), "a.parquet")
	for i := range int64(n) {
		row := loose{ID: i, Name: &name}
		switch {
		case i > 1000 && i < 4000 || i%10 == 3:
			row.Name = nil
			bad[fmt.Sprintf("%s, row group 0, row %d", path, i)] = `column "name" is null`
		case i%10 == 4 || i%10 == 2:
			bad[fmt.Sprintf("%s, row group 0, row %d", path, i)] = "no event time"
		default:
			good = append(good, i)
		}
		rows = append(rows, row)
	}
	write(t, path, rows)
	at := func(s strict) time.Time {
		if s.ID%10 == 4 || s.ID%10 == 2 {
			return time.Time{}
		}
		return time.UnixMilli(s.ID)
	}
	p := pcoll.New("test")
	read, rejects := parquet.TryRead[strict](p, path, parquet.EventTime(at))
	passert.Equals(t, transforms.Map(read, func(s strict) int64 { return s.ID }), good...)
	passert.That(t, rejects, func(got []passert.Element[connector.Reject]) error {
		seen := map[string]bool{}
		for _, e := range got {
			if want := bad[e.Value.Source]; want == "" || !strings.HasPrefix(e.Value.Reason, want) || seen[e.Value.Source] {
				return fmt.Errorf("reject %+v, want one with %q", e.Value, want)
			}
			seen[e.Value.Source] = true
		}
		if len(seen) != len(bad) {
			return fmt.Errorf("%d rejects, want %d", len(seen), len(bad))
		}
		return nil
	})
	ptest.Run(t, p)

	failing := pcoll.New("failing")
	parquet.Read[strict](failing, path)
	ptest.Fails(t, failing, "parquet.Read", path+", row group 0, row 3", `column "name" is null`, "pointer or tag it optional", "TryRead")
}

func TestEventTimePanics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, path, clicks(10))
	p := pcoll.New("test")
	parquet.Read[click](p, path, parquet.EventTime(func(c click) time.Time {
		if c.Cost == 4 {
			panic("four")
		}
		return c.Time()
	}))
	ptest.Fails(t, p, "parquet.Read", path+", row group 0, row 5", "EventTime panicked: four", "read_test.go")
}

func TestF21ColumnsBindOrFail(t *testing.T) {
	type wide struct {
		Name   string  `parquet:"name"`
		Active bool    `parquet:"is_active"`
		Bio    *string `parquet:"bio"`
	}
	type shouted struct {
		Name   string `parquet:"name"`
		Active bool   `parquet:"Is_Active"`
	}
	type bare struct {
		Name string `parquet:"name"`
	}
	type mistyped struct {
		Name   string `parquet:"name"`
		Active int64  `parquet:"is_active"`
	}
	dir := t.TempDir()
	bio := "-"
	file := func(name string) string { return filepath.Join(dir, name) }
	write(t, file("1.parquet"), []wide{{"a", true, &bio}, {"b", false, nil}, {"c", true, nil}, {"d", true, nil}})
	write(t, file("2.parquet"), []shouted{{"a", true}})
	write(t, file("3.parquet"), []bare{{"a"}})
	write(t, file("4.parquet"), []mistyped{{"a", 1}})

	p := pcoll.New("test")
	passert.Equals(t, transforms.Map(parquet.Read[wide](p, file("1.parquet")), func(w wide) string { return fmt.Sprint(w.Name, w.Active) }),
		"atrue", "bfalse", "ctrue", "dtrue")
	type lenient struct {
		Name   string `parquet:"name"`
		Active bool   `parquet:"is_active,optional"`
	}
	passert.Equals(t, parquet.Read[lenient](p, file("3.parquet")), lenient{"a", false})
	ptest.Run(t, p)

	type active struct {
		Name   string `parquet:"name"`
		Active bool   `parquet:"is_active"`
	}
	for name, want := range map[string][]string{
		"2.parquet": {`"is_active"`, `nearest is "Is_Active"`},
		"3.parquet": {`no column "is_active"`, "active.Active"},
		"4.parquet": {`column "is_active"`, "active.Active wants bool"},
	} {
		p := pcoll.New("test")
		parquet.Read[active](p, file(name))
		ptest.Fails(t, p, append(want, file(name), "parquet.Read")...)
	}
	p = pcoll.New("test")
	parquet.Read[active](p, dir)
	ptest.Fails(t, p, file("2.parquet"), file("3.parquet"), file("4.parquet"))
}

func TestF41DamagedFiles(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.parquet")
	write(t, good, clicks(1000))
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"half":          func(b []byte) []byte { return b[:len(b)/2] },
		"footer length": func(b []byte) []byte { copy(b[len(b)-8:], "\xff\xff\xff\x7f"); return b },
		"footer byte":   func(b []byte) []byte { b[len(b)-8-int(binary.LittleEndian.Uint32(b[len(b)-8:]))] ^= 0xff; return b },
		"magic":         func(b []byte) []byte { copy(b, "PAR0"); return b },
		"pages":         func(b []byte) []byte { clear(b[4:200]); return b },
		"empty":         func([]byte) []byte { return nil },
		"text":          func([]byte) []byte { return []byte("id,name\n1,a\n") },
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, damage(slices.Clone(data)), 0o666); err != nil {
			t.Fatal(err)
		}
		p := pcoll.New("test")
		parquet.Read[click](p, path, parquet.EventTime(click.Time))
		for runner, err := range ptest.Fails(t, p, path, "parquet.Read") {
			if strings.Contains(err.Error(), "goroutine ") {
				t.Errorf("%s on %s: a panic: %v", name, runner, err)
			}
		}
	}
}

func TestF49ZeroRowFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write[click](t, file("a.parquet"), nil)
	write(t, file("b.parquet"), clicks(1))
	emptyGroups(t, file("b.parquet"), 0)
	rows := clicks(10)
	write(t, file("c.parquet"), slices.Insert(slices.Clone(rows), 5, clicks(3)...), 5, 3)
	emptyGroups(t, file("c.parquet"), 1)
	p := pcoll.New("test")
	in := parquet.Read[click](p, dir, parquet.EventTime(click.Time), pcoll.Named("Clicks"))
	passert.Equals(t, in, rows...)
	for name, res := range ptest.Run(t, p) {
		if r, _ := res.Transform("Clicks"); r.Watermark.String() != "+inf" {
			t.Errorf("on %s: the watermark ends at %v", name, r.Watermark)
		}
	}
}

func TestF50MarkersAndTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	rows := clicks(17)
	write(t, file("part-0.parquet"), rows[:10])
	write(t, file("year=2024/part-2.parquet"), rows[10:13])
	write(t, file("_year=2025/part-3.parquet"), rows[13:])
	for _, name := range []string{"_SUCCESS", "_metadata", ".part-0.parquet.crc", "part-1.parquet.tmp"} {
		if err := os.WriteFile(file(name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := pcoll.New("test")
	passert.Equals(t, parquet.Read[click](p, dir, pcoll.Named("Clicks")), rows...)
	for name, res := range ptest.Run(t, p) {
		if r, _ := res.Transform("Clicks"); r.Internal["skippedNames"] != 4 {
			t.Errorf("on %s: %d names skipped, want 4", name, r.Internal["skippedNames"])
		}
	}
}

func TestNoFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ glob, want string }{
		{filepath.Join(dir, "*.parquet"), fmt.Sprintf("no file in directory %q matches", dir)},
		{filepath.Join(dir, "*"), "1 names were skipped"},
		{filepath.Join(dir, "x", "**", "*.parquet"), fmt.Sprintf("%q does not exist", filepath.Join(dir, "x"))},
		{filepath.Join(dir, "a.parquet"), fmt.Sprintf("%q does not exist", filepath.Join(dir, "a.parquet"))},
	} {
		p := pcoll.New("test")
		parquet.Read[click](p, c.glob)
		ptest.Fails(t, p, "parquet.Read", fmt.Sprintf("%q", c.glob), c.want, "AllowEmpty")

		p = pcoll.New("test")
		passert.Empty(t, parquet.Read[click](p, c.glob, parquet.AllowEmpty()))
		ptest.Run(t, p)
	}
	p := pcoll.New("test")
	parquet.Read[click](p, filepath.Join(dir, "[*"), parquet.AllowEmpty())
	ptest.Fails(t, p, "syntax error in pattern")
}

// TestF40LocalTimesNeedAZone covers wall clocks as event times.
func TestF40LocalTimesNeedAZone(t *testing.T) {
	type row struct {
		At int64 `parquet:"at,timestamp(millisecond:local)"`
	}
	type timed struct {
		At time.Time `parquet:"at"`
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, path, []row{{86_400_000}})
	at := func(r timed) time.Time { return r.At }
	zone := time.FixedZone("east", 8*3600)

	p := pcoll.New("test")
	passert.Equals(t, parquet.Read[timed](p, path), timed{time.UnixMilli(86_400_000)})
	passert.Equals(t, parquet.Read[timed](p, path, parquet.EventTime(at), parquet.Zone(zone)), timed{time.UnixMilli(86_400_000 - 8*3600_000)})
	ptest.Run(t, p)

	p = pcoll.New("test")
	parquet.Read[timed](p, path, parquet.EventTime(at))
	ptest.Fails(t, p, path, `["at"]`, "parquet.Zone")
}

// TestRunsAgain runs one pipeline twice; files are closed in between.
func TestRunsAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.parquet"), clicks(10), 5)
	p := pcoll.New("test")
	got := ptest.Collect(parquet.Read[click](p, dir))
	for _, n := range []int{10, 20} {
		write(t, filepath.Join(dir, "a.parquet"), clicks(n), 5)
		if _, err := direct.Run(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		if l := len(got.On("")); l != n {
			t.Errorf("%d rows, want %d", l, n)
		}
	}
}
