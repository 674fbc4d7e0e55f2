package panes

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/coders"
	"github.com/penstock-dev/penstock/internal/exec"
)

// keptFlags are the flags that outlive a turn.
const keptFlags = isOpen | isTimed | isFilled | isHeld | isKept | hasAcc

// keyCoder encodes keyState: out, seen, told, the number of windows, and each
// window as flags, bounds, hold, counts of panes, trigger state, accumulator and
// what it stated, where it has them. Numbers are varints.
type keyCoder[Acc any] struct {
	m        *machine
	acc      coders.Coder[Acc]
	retracts bool
}

// Append appends ks.
func (k keyCoder[Acc]) Append(dst []byte, ks keyState[Acc]) ([]byte, error) {
	if k.acc == nil {
		return dst, errors.New("panes: the accumulator has no coder, so there can be no snapshot of it")
	}
	b := dst
	b = binary.AppendVarint(b, int64(ks.out))
	b = binary.AppendVarint(b, int64(ks.seen))
	b = binary.AppendVarint(b, int64(ks.told))
	b = binary.AppendUvarint(b, uint64(len(ks.wins)))
	for i := range ks.wins {
		x := &ks.wins[i]
		b = append(b, byte(x.flags&keptFlags))
		b = binary.AppendVarint(b, int64(x.w.Start))
		b = binary.AppendVarint(b, int64(x.w.End))
		if x.flags&isHeld != 0 {
			b = binary.AppendVarint(b, int64(x.hold))
		}
		b = binary.AppendUvarint(b, uint64(x.panes))
		b = binary.AppendUvarint(b, uint64(x.late))
		for _, v := range x.trig {
			b = binary.AppendVarint(b, v)
		}
		if x.flags&hasAcc != 0 {
			var err error
			if b, err = k.acc.Append(b, x.acc); err != nil {
				return dst, fmt.Errorf("accumulator of window %v: %w", x.w, err)
			}
		}
		if x.ret != nil {
			b = appendStated(b, x.ret)
		}
	}
	return b, nil
}

// Decode reads the state of a key.
func (k keyCoder[Acc]) Decode(src []byte) (ks keyState[Acc], rest []byte, err error) {
	if k.acc == nil {
		return ks, nil, errors.New("panes: the accumulator has no coder, so nothing can be restored")
	}
	r := reader{src: src}
	ks = keyState[Acc]{out: r.time(), seen: r.time(), told: r.time(), event: exec.Idle, clock: exec.Idle, held: exec.Idle}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		x := win[Acc]{flags: winFlags(r.byte()) & keptFlags}
		x.w = exec.Window{Start: r.time(), End: r.time()}
		if x.flags&isHeld != 0 {
			x.hold = r.time()
		}
		x.panes, x.late = uint32(r.uvarint()), uint32(r.uvarint())
		if k.m.size > 0 {
			x.trig = make([]int64, k.m.size)
			for i := range x.trig {
				x.trig[i] = r.varint()
			}
		}
		if x.flags&hasAcc != 0 && r.err == nil {
			if x.acc, r.src, err = k.acc.Decode(r.src); err != nil {
				return ks, nil, fmt.Errorf("accumulator of window %v: %w", x.w, err)
			}
		}
		if k.retracts && x.flags&isOpen != 0 {
			x.ret = r.stated()
		}
		ks.wins = append(ks.wins, x)
	}
	return ks, r.src, r.err
}

// reader reads numbers and remembers that they ran out.
type reader struct {
	src []byte
	err error
}

var errCut = errors.New("panes: stored state is cut off or damaged")

func (r *reader) take(n int) {
	if n <= 0 {
		r.src, r.err = nil, errCut
		return
	}
	r.src = r.src[n:]
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.src)
	r.take(n)
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	r.take(n)
	return v
}

func (r *reader) time() exec.Time { return exec.Time(r.varint()) }

func (r *reader) byte() byte {
	if len(r.src) == 0 {
		r.err = errCut
		return 0
	}
	b := r.src[0]
	r.src = r.src[1:]
	return b
}
