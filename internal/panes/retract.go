package panes

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
)

// stated is what a window of a retracting strategy knows beside its
// accumulator: how much is in it, and what it said last.
type stated struct {
	net int64 // elements less those taken back
	has bool  // said, at and pane are those of a result that stands
	statement
}

// A statement is a result as it was emitted.
type statement struct {
	said []byte
	at   exec.Time
	pane exec.Pane
}

// A gone is what a window that merged away had said.
type gone struct {
	w exec.Window
	statement
}

// restate says what the window holds now in place of what it said last, and
// reports whether it emitted anything. pane is the pane that it would be, emit
// whether other modes would emit it.
func (g *General[K, V, Acc]) restate(c *exec.Ctx, key K, x *win[Acc], at exec.Time, pane exec.Pane, emit bool) bool {
	r := x.ret
	if r.net == 0 {
		had := r.has
		if had {
			r.has = false
			g.say(c, key, x.w, r.statement, exec.Delete)
			r.statement = statement{}
		}
		return had
	}
	if !emit {
		return false
	}
	said, err := g.cfg.Encode(g.accOf(x))
	if err != nil {
		output(c, at, x.w, pane, func() {
			c.Fail(fmt.Errorf("the result of key %v cannot be encoded, to be kept until it is taken back: %w", key, err))
		})
		return false
	}
	wanted := pane.Timing == exec.OnTime || pane.Last && g.s.ClosingAlways
	if r.has && !wanted && bytes.Equal(said, r.said) {
		return false
	}
	kind := exec.Insert
	if r.has {
		kind = exec.UpdateAfter
		g.say(c, key, x.w, r.statement, exec.UpdateBefore)
	}
	x.count(pane)
	r.has, r.statement = true, statement{said, at, pane}
	g.say(c, key, x.w, r.statement, kind)
	return true
}

// say emits a statement, or the withdrawal of one.
func (g *General[K, V, Acc]) say(c *exec.Ctx, key K, w exec.Window, s statement, kind exec.Kind) {
	output(c, s.at, w, s.pane, func() {
		c.Kind = kind
		g.cfg.Say(c, key, s.said)
	})
}

// takeBack is Element for a withdrawal.
func (g *General[K, V, Acc]) takeBack(c *exec.Ctx, key K, ks *keyState[Acc], v V, w exec.Window) {
	i, ok := find(ks.wins, w)
	if ok && ks.wins[i].flags&isOpen == 0 {
		g.drop(c, key, v, w, true)
		return
	}
	if !ok || g.cfg.Retract == nil {
		g.unknown(c, key, v, w)
		return
	}
	x := &ks.wins[i]
	if x.ret.net == 0 {
		g.unknown(c, key, v, w)
		return
	}
	acc, held := g.cfg.Retract(g.accOf(x), v)
	if !held {
		g.unknown(c, key, v, w)
		return
	}
	x.acc = acc
	if x.ret.net--; x.ret.net == 0 {
		g.dropAcc(x) // and with it what rounding left
	}
	g.changed(ks, x, c.Time, c.Time, 1)
}

// unknown fails: what is withdrawn was never there.
func (g *General[K, V, Acc]) unknown(c *exec.Ctx, key K, v V, w exec.Window) {
	shown := fmt.Sprintf("%+v", v)
	if g.cfg.Show != nil {
		shown = g.cfg.Show(v)
	}
	output(c, c.Time, w, c.Pane, func() {
		c.Fail(fmt.Errorf("a withdrawal of %s finds no such element of key %v: a function between this grouping and the one before gave "+
			"a withdrawal another result than the element that it takes back; functions that withdrawals pass must be deterministic", shown, key))
	})
}

// mergedAway notes what x said as window w, before w merged into another.
func (g *General[K, V, Acc]) mergedAway(x *win[Acc], w exec.Window) {
	if x.ret != nil && x.ret.has {
		g.scratch.gone = append(g.scratch.gone, gone{w, x.ret.statement})
		x.ret.has, x.ret.statement = false, statement{}
	}
}

// withdrawMerged takes back what windows of the key said that have merged away.
func (g *General[K, V, Acc]) withdrawMerged(c *exec.Ctx, key K) {
	for _, s := range g.scratch.gone {
		g.say(c, key, s.w, s.statement, exec.Delete)
	}
	clear(g.scratch.gone)
	g.scratch.gone = g.scratch.gone[:0]
}

// count counts an emitted pane.
func (x *win[Acc]) count(p exec.Pane) {
	x.panes++
	if p.Timing != exec.Early {
		x.late++
	}
}

// appendStated appends r: the net number of elements, whether anything is said,
// and then its time, pane and encoding.
func appendStated(b []byte, r *stated) []byte {
	b = binary.AppendVarint(b, r.net)
	if !r.has {
		return append(b, 0)
	}
	p := r.pane
	b = append(b, 1|byte(p.Timing)<<1|bit(p.First)<<3|bit(p.Last)<<4)
	for _, n := range [...]int64{int64(r.at), p.Index, p.NonSpeculative} {
		b = binary.AppendVarint(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(r.said)))
	return append(b, r.said...)
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// stated reads what appendStated wrote.
func (r *reader) stated() *stated {
	x := &stated{net: r.varint()}
	f := r.byte()
	if f&1 == 0 {
		return x
	}
	x.has, x.at = true, r.time()
	x.pane = exec.Pane{Index: r.varint(), NonSpeculative: r.varint(), Timing: exec.Timing(f >> 1 & 3), First: f>>3&1 != 0, Last: f>>4&1 != 0}
	n := r.uvarint()
	if r.err != nil || n > uint64(len(r.src)) {
		r.src, r.err = nil, errCut
		return x
	}
	x.said = append([]byte(nil), r.src[:n]...)
	r.src = r.src[n:]
	return x
}
