package panes

import (
	"encoding/binary"
	"errors"

	"github.com/penstock-dev/penstock/internal/exec"
)

// progress is where a form stands in time: a store of its own, since a form
// that started again at the beginning of time would reopen closed windows.
type progress struct {
	cur  exec.Time // input watermark: the greatest given to Advance
	last exec.Time // what cur was at the end of the last Advance that came to an end
	now  exec.Time // processing time at that moment
	out  exec.Time // output watermark returned last
	read bool
}

func newProgress() progress {
	return progress{cur: exec.MinTime, last: exec.MinTime, now: exec.MinTime, out: exec.MinTime}
}

// Snapshot writes the same for each group: whoever owns it later needs it.
func (p *progress) Snapshot(dst []byte, _ int) ([]byte, error) {
	for _, t := range [...]exec.Time{p.cur, p.last, p.now, p.out} {
		dst = binary.AppendVarint(dst, int64(t))
	}
	return dst, nil
}

// Restore takes over what the former owners of the groups wrote. They can
// differ only where one had not come to the end of an Advance: then windows
// that it had yet to fire are still due, and those that any has fired stay closed.
func (p *progress) Restore(src []byte) error {
	for len(src) > 0 {
		var f [4]exec.Time
		for i := range f {
			v, n := binary.Varint(src)
			if n <= 0 {
				return errors.New("panes: stored watermarks are cut off")
			}
			f[i], src = exec.Time(v), src[n:]
		}
		if !p.read {
			p.cur, p.last, p.now, p.out, p.read = f[0], f[1], f[2], f[3], true
			continue
		}
		p.cur, p.last, p.now, p.out = max(p.cur, f[0]), min(p.last, f[1]), min(p.now, f[2]), min(p.out, f[3])
	}
	return nil
}

// deadlines is a heap of when to look at which key, earliest first. Entries
// that the key's state no longer agrees with are skipped when they come up.
type deadlines[K comparable] []deadline[K]

type deadline[K comparable] struct {
	at   exec.Time
	hash uint64
	key  K
}

func (d deadline[K]) before(e deadline[K]) bool {
	return d.at < e.at || d.at == e.at && d.hash < e.hash
}

func (h *deadlines[K]) push(d deadline[K]) {
	s := append(*h, d)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !d.before(s[up]) {
			break
		}
		s[i], i = s[up], up
	}
	s[i] = d
	*h = s
}

func (h *deadlines[K]) pop() {
	s := *h
	d := s[len(s)-1]
	s[len(s)-1] = deadline[K]{}
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(s) {
			break
		}
		if c+1 < len(s) && s[c+1].before(s[c]) {
			c++
		}
		if !s[c].before(d) {
			break
		}
		s[i], i = s[c], c
	}
	s[i] = d
}
