package modeltest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/strategy"
	"github.com/penstock-dev/penstock/pcoll"
)

// A record is everything that was seen of one run. Workers report to it.
type record struct {
	mu     sync.Mutex
	step   int // whose mark came last
	probes []*probe
}

// A probe is a place in the pipeline.
type probe struct {
	rec   *record
	name  string
	lines []string
	seen  []entry
	turns map[place]*turns
	held  map[entry]int // elements less withdrawals
	wrong error         // the first withdrawal that came before its element
	loose bool          // what comes and goes again with one event is not compared

	// Of a transform, whose output the probe sees.
	law      func(*probe) error
	strategy *strategy.Strategy // of its input
	panes    bool               // it has panes, which come in one order for each key and window
	rows     bool               // a pane has many elements, in any order
	bounded  bool               // the input all comes before the watermark
	retracts bool               // the input may hold withdrawals
	late     []*probe           // where it drops to, by input; none if it does not say
	entered  []entry            // each for one window
	dropped  int                // as the result counts it
}

// An entry is an element that was seen.
type entry struct {
	side   int // of the input
	key    string
	text   string
	n      int
	at     exec.Time
	window exec.Window
	pane   exec.Pane
	kind   exec.Kind
}

// sign is -1 of a withdrawal.
func (e entry) sign() int {
	if e.kind.Withdrawal() {
		return -1
	}
	return 1
}

// place is a key and window.
type place struct {
	key    string
	window exec.Window
}

// turns counts the panes and their withdrawals that came for a key and window,
// so that their order is compared.
type turns struct {
	n    int
	pane exec.Pane
	kind exec.Kind
}

func (r *record) probe(name string) *probe {
	p := &probe{rec: r, name: name, turns: map[place]*turns{}, held: map[entry]int{}}
	r.probes = append(r.probes, p)
	return p
}

func (r *record) begin(step int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = step
}

func (r *record) in(p *probe, e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.entered = append(p.entered, e)
}

func (r *record) saw(p *probe, e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%s, event %d: %s: %s at %d in [%d, %d), %v pane %d (%d) first %v last %v",
		p.name, r.step, e.key, e.text, e.at, e.window.Start, e.window.End, e.pane.Timing, e.pane.Index, e.pane.NonSpeculative, e.pane.First, e.pane.Last)
	if e.kind != exec.Insert {
		line += fmt.Sprint(" ", e.kind)
	}
	if p.panes {
		line += fmt.Sprint(", turn ", p.turn(e))
	}
	p.lines, p.seen = append(p.lines, line), append(p.seen, e)
	same := e
	same.kind = exec.Insert
	if p.held[same] += e.sign(); p.held[same] < 0 && p.wrong == nil {
		p.wrong = fmt.Errorf("%s, event %d: a withdrawal took nothing back: %s", p.name, r.step, line)
	}
}

// turn returns the number of the pane, or of its withdrawal, among those of its key and window.
func (p *probe) turn(e entry) int {
	at := place{e.key, e.window}
	t := p.turns[at]
	if t == nil {
		t = &turns{}
		p.turns[at] = t
	}
	if t.n == 0 || !p.rows || t.pane != e.pane || t.kind != e.kind {
		t.n, t.pane, t.kind = t.n+1, e.pane, e.kind
	}
	return t.n
}

// lines returns all that was seen, in no order that a runner could choose.
func (r *record) lines() (all []string) {
	for _, p := range r.probes {
		if p.loose {
			all = append(all, p.left()...)
			continue
		}
		all = append(all, p.lines...)
	}
	slices.Sort(all)
	return all
}

// left returns the lines without pairs of an element and its withdrawal.
func (p *probe) left() (lines []string) {
	taken := map[string]int{}
	for i, e := range p.seen {
		if e.kind.Withdrawal() {
			taken[strings.TrimSuffix(p.lines[i], fmt.Sprint(" ", e.kind))]++
		}
	}
	back := map[string]int{}
	for i, e := range p.seen {
		if l := p.lines[i]; e.kind == exec.Insert && taken[l] > back[l] {
			back[l]++
		} else if e.kind == exec.Insert {
			lines = append(lines, l)
		}
	}
	for i, e := range p.seen {
		l := strings.TrimSuffix(p.lines[i], fmt.Sprint(" ", e.kind))
		if !e.kind.Withdrawal() {
			continue
		}
		if back[l] > 0 {
			back[l]--
		} else {
			lines = append(lines, p.lines[i])
		}
	}
	return lines
}

// laws checks what holds of any run, given its result.
func (r *record) laws(res *pcoll.Result) error {
	for _, p := range r.probes {
		if p.wrong != nil {
			return p.wrong
		}
		if p.law == nil {
			continue
		}
		t, _ := res.Transform(p.name)
		p.dropped = int(t.DroppedLate + t.DroppedClosed)
		seen := 0
		for _, l := range p.late {
			seen += len(l.lines)
		}
		if p.late != nil && seen != p.dropped {
			return fmt.Errorf("%s: %d elements are counted as dropped, %d came from the late outputs", p.name, p.dropped, seen)
		}
		if err := p.law(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}
