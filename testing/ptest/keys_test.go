package ptest

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/graph"
	"github.com/penstock-dev/penstock/pcoll"
)

func TestKeysAreComparedWithTheWorkersThatReceivedThem(t *testing.T) {
	node := &graph.Node{Name: "Count"}
	for _, tc := range []struct {
		name     string
		groups   []int // of 128, of keys that were seen
		workers  int
		byWorker []int64
		ok       bool
	}{
		{"each its own", []int{0, 127}, 2, []int64{5, 1}, true},
		{"all on one", []int{0, 127}, 2, []int64{6, 0}, false},
		{"nobody", []int{0, 127}, 2, nil, false},
		{"on one that owns none", []int{0, 127}, 5, []int64{5, 0, 1, 0, 1}, false},
		{"owners among others", []int{0, 127}, 5, []int64{5, 0, 0, 0, 1}, true},
		{"one owner says nothing", []int{3, 4}, 2, nil, true},
		{"one worker says nothing", []int{0, 127}, 1, []int64{6}, true},
		{"the direct runner says nothing", []int{0, 127}, 0, nil, true},
		{"no keys", nil, 2, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := keysOf{}
			for _, g := range tc.groups {
				k.add(node, 0, g)
			}
			res := &pcoll.Result{Transforms: []pcoll.TransformResult{{Name: "Count", ByWorker: tc.byWorker}, {Name: "Other"}}}
			if problems := k.compare(res, tc.workers); (len(problems) == 0) != tc.ok {
				t.Errorf("problems %q, want ok %v", problems, tc.ok)
			}
		})
	}
}
