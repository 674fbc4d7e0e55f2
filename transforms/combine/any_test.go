package combine_test

import (
	"fmt"
	"reflect"
	"testing"

	. "github.com/penstock-dev/penstock/transforms/combine"
	"pgregory.net/rapid"
)

// TestAny holds for Any, whose choice depends on how elements were divided, what
// does not: how many there are, and that they are some of those that came.
func TestAny(t *testing.T) {
	c := Any[int](3)
	coder, err := CoderOf(c)
	if err != nil {
		t.Fatal(err)
	}
	copier, err := CopierOf(c)
	if err != nil || copier == nil {
		t.Fatal(copier != nil, err)
	}
	rapid.Check(t, func(r *rapid.T) {
		left := map[int]int{}
		parts := [][]int{c.Create()}
		n := rapid.IntRange(0, 20).Draw(r, "elements")
		for range n {
			v := rapid.IntRange(0, 5).Draw(r, "element")
			left[v]++
			i := len(parts) - 1
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0:
				parts, i = append(parts, c.Create()), i+1
			case 1:
				parts[i] = through(r, coder, parts[i])
			case 2:
				was, kept := c.Extract(parts[i]), copier(parts[i])
				parts[i] = c.Add(parts[i], v)
				if now := c.Extract(kept); !reflect.DeepEqual(now, was) {
					r.Fatalf("a copy changed from %v to %v with its original", was, now)
				}
				continue
			}
			parts[i] = c.Add(parts[i], v)
		}
		all := c.Create()
		for _, p := range parts {
			was := c.Extract(p)
			all = c.Merge(all, p)
			if now := c.Extract(p); !reflect.DeepEqual(now, was) {
				r.Fatalf("Merge changed its second argument from %v to %v", was, now)
			}
		}
		got := c.Extract(all)
		if got == nil || len(got) != min(n, 3) {
			r.Fatalf("any of %d elements is %#v", n, got)
		}
		for _, v := range got {
			if left[v]--; left[v] < 0 {
				r.Fatalf("any of %d elements holds %d too often: %v", n, v, got)
			}
		}
	})
}

func ExampleAny() {
	fmt.Println(fold(Any[string](2), "a", "b", "c"))
	// Output: [a b]
}

func ExampleAll3() {
	fmt.Println(fold(All3(Min[int](), Max[int](), Count[int]()), 4, 1, 9))
	// Output: {1 9 3}
}

func ExampleAll4() {
	fmt.Println(fold(All4(Min[int](), Max[int](), Count[int](), Sum[int]()), 4, 1, 9))
	// Output: {1 9 3 14}
}
