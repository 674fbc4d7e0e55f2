package modeltest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
)

// A record is everything that was seen of one run. Workers report to it.
type record struct {
	mu     sync.Mutex
	step   int // whose mark came last
	probes []*probe
}

// A probe is a place in the pipeline.
type probe struct {
	rec      *record
	name     string
	lines    []string
	strategy *strategy.Strategy // of a grouping
	late     *probe             // where it drops to
	entered  int                // pairs of an element and a window of it
	sum      int                // of the sizes of all panes
	last     map[string]pane    // the last pane of each key and window
}

// pane is the index of a pane and the size of what it holds.
type pane struct {
	index int64
	size  int
}

func (r *record) probe(name string, s *strategy.Strategy) *probe {
	p := &probe{rec: r, name: name, strategy: s, last: map[string]pane{}}
	r.probes = append(r.probes, p)
	return p
}

func (r *record) begin(step int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = step
}

func (r *record) in(p *probe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.entered++
}

func (r *record) saw(p *probe, key string, v result, at exec.Time, w exec.Window, x exec.Pane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.lines = append(p.lines, fmt.Sprintf("%s, event %d: %s: %s at %d in [%d, %d), %v pane %d (%d) first %v last %v",
		p.name, r.step, key, v.Text, at, w.Start, w.End, x.Timing, x.Index, x.NonSpeculative, x.First, x.Last))
	p.sum += v.N
	at2 := fmt.Sprint(key, w)
	if l, ok := p.last[at2]; !ok || x.Index >= l.index {
		p.last[at2] = pane{x.Index, v.N}
	}
}

// lines returns all that was seen, in no order that a runner could choose.
func (r *record) lines() (all []string) {
	for _, p := range r.probes {
		all = append(all, p.lines...)
	}
	slices.Sort(all)
	return all
}

// law checks that nothing was lost and nothing made up: what entered a grouping
// is in its panes or was dropped. Of accumulating panes the last one counts;
// where their windows merge, panes of what was merged away come on top, and
// nothing is said. Where windows merge and the trigger may finish, one that has
// finished finishes what merges into it (Beam's AfterCount), pending elements included.
func (r *record) law() error {
	for _, p := range r.probes {
		if p.strategy == nil {
			continue
		}
		out := p.sum
		if p.strategy.Mode == strategy.Accumulating {
			if p.strategy.Merging() {
				continue
			}
			out = 0
			for _, l := range p.last {
				out += l.size
			}
		}
		dropped := len(p.late.lines)
		if p.strategy.Merging() && p.strategy.Unsafe() && out+dropped < p.entered {
			continue
		}
		if out+dropped != p.entered {
			return fmt.Errorf("%s: %d elements entered windows, %d are in panes and %d were dropped", p.name, p.entered, out, dropped)
		}
	}
	return nil
}
