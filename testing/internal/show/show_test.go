package show_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/testing/internal/show"
)

type plain struct {
	Name string
	Next *plain
	Any  any
}

type hidden struct {
	a    int
	when time.Time
}

type spoken struct{ n int }

func (s spoken) String() string { return fmt.Sprint("number ", s.n) }

func TestValue(t *testing.T) {
	when := time.Date(2024, 5, 1, 12, 0, 0, 5, time.FixedZone("", 7200))
	loop := &plain{Name: "a"}
	loop.Next = loop
	for _, tc := range []struct {
		got, want string
	}{
		{show.Value(1), `1`},
		{show.Value(uint8(200)), `200`},
		{show.Value("a\"b"), `"a\"b"`},
		{show.Value(true), `true`},
		{show.Value(math.Copysign(0, -1)), `0`},
		{show.Value(math.NaN()), `NaN`},
		{show.Value(float32(0.1)), `0.1`},
		{show.Value(1 + 2i), `(1+2i)`},
		{show.Value([]byte("ab")), `"ab"`},
		{show.Value([]int(nil)), `[]`},
		{show.Value([2]int{1, 2}), `[1 2]`},
		{show.Value(map[string]int{"b": 2, "a": 1}), `map{"a": 1, "b": 2}`},
		{show.Value(map[string]int(nil)), `map{}`},
		{show.Value(when), `2024-05-01T10:00:00.000000005Z`},
		{show.Value(time.Minute), `1m0s`},
		{show.Value(exec.Time(0)), `1970-01-01T00:00:00Z`},
		{show.Value(pcoll.Global), `global`},
		{show.Value(pcoll.Pair("ann", 7)), `"ann": 7`},
		{show.Value(pcoll.Pair("ann", pcoll.GroupOf(3, 1, 2, 1))), `"ann": {1, 1, 2, 3}`},
		{show.Value(pcoll.GroupOf(pcoll.GroupOf("b", "a"), pcoll.GroupOf("a"))), `{{"a", "b"}, {"a"}}`},
		{show.Value(plain{"x", &plain{Any: 1}, hidden{1, when}}),
			`plain{Name:"x" Next:&plain{Name:"" Next:nil Any:int 1} Any:show_test.hidden hidden{a:1 when:2024-05-01T10:00:00.000000005Z}}`},
		{show.Value(spoken{4}), `spoken(number 4)`},
		{show.Value(&spoken{4}), `&spoken(number 4)`},
		{show.Value[any](nil), `nil`},
		{show.Value[error](nil), `nil`},
		{show.Value(struct{ A int }{1}), `{A:1}`},
	} {
		if tc.got != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
	if show.Value(loop) == "" { // it ends
		t.Error("a value that holds itself prints as nothing")
	}
}

func TestKey(t *testing.T) {
	if k, ok := show.Key(pcoll.Pair("ann", 7)); !ok || k != `"ann"` {
		t.Errorf("key of a pair is %s, %v", k, ok)
	}
	for _, ok := range []bool{second(show.Key("ann")), second(show.Key(plain{})), second(show.Key(pcoll.GroupOf(1)))} {
		if ok {
			t.Error("what is no pair has a key")
		}
	}
}

func second(_ string, ok bool) bool { return ok }
