package panes

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// entryCoder encodes an entry: flags, what is pending, the number of panes and
// the accumulator if there is one. An id in a queue is written as the target
// that it stands for; reading puts the target aside for Restored.
type entryCoder[K comparable, V, Acc any] struct{ a *Aligned[K, V, Acc] }

const (
	storedClosed = 1 << iota
	storedEnded
	storedAcc
)

// hasAcc reports whether the accumulator of an entry means anything.
func (k entryCoder[K, V, Acc]) hasAcc(n uint32) bool {
	return n&isClosed == 0 && (k.a.keeps || n&pending != 0)
}

// Append appends e.
func (k entryCoder[K, V, Acc]) Append(dst []byte, e entry[Acc]) ([]byte, error) {
	if k.a.cfg.Acc == nil {
		return dst, errors.New("panes: the accumulator has no coder, so there can be no snapshot of it")
	}
	flags := byte(0)
	if e.n&isClosed != 0 {
		flags |= storedClosed
	}
	if e.n&isEnded != 0 {
		flags |= storedEnded
	}
	if k.hasAcc(e.n) {
		flags |= storedAcc
	}
	b := append(dst, flags)
	value := uint64(e.n & pending)
	if q := k.a.queueOf(e.n); q != nil && value != 0 {
		value = uint64(packTime(q.at(uint32(value)).at))
	}
	b = binary.AppendUvarint(b, value)
	b = binary.AppendUvarint(b, uint64(e.panes))
	if flags&storedAcc != 0 {
		var err error
		if b, err = k.a.cfg.Acc.Append(b, e.acc); err != nil {
			return dst, fmt.Errorf("accumulator: %w", err)
		}
	}
	return b, nil
}

// Decode reads an entry.
func (k entryCoder[K, V, Acc]) Decode(src []byte) (e entry[Acc], rest []byte, err error) {
	if k.a.cfg.Acc == nil {
		return e, nil, errors.New("panes: the accumulator has no coder, so nothing can be restored")
	}
	r := reader{src: src}
	flags := r.byte()
	if flags&storedClosed != 0 {
		e.n |= isClosed
	}
	if flags&storedEnded != 0 {
		e.n |= isEnded
	}
	value := r.uvarint()
	if k.a.queueOf(e.n) != nil && value != 0 {
		k.a.restored = append(k.a.restored, unpackTime(int64(value)))
		value = uint64(len(k.a.restored))
	}
	if value > pending {
		return e, nil, errCut
	}
	e.n |= uint32(value)
	e.panes = uint32(r.uvarint())
	if flags&storedAcc != 0 && r.err == nil {
		if e.acc, r.src, err = k.a.cfg.Acc.Decode(r.src); err != nil {
			return e, nil, fmt.Errorf("accumulator: %w", err)
		}
	}
	return e, r.src, r.err
}

// countCoder encodes a count as a varint.
type countCoder struct{}

// Append appends n.
func (countCoder) Append(dst []byte, n int64) ([]byte, error) {
	return binary.AppendVarint(dst, n), nil
}

// Decode reads a count.
func (countCoder) Decode(src []byte) (int64, []byte, error) {
	r := reader{src: src}
	n := r.varint()
	return n, r.src, r.err
}
