package direct

import (
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
)

// list lists the splits of a source that has any when it is time to, and assigns those that are new.
func (r *run) list(n *node) error {
	s, ok := n.Op.(exec.Splitter)
	now := r.clock.Now()
	if !ok || n.known != nil && now < n.relistAt {
		return nil
	}
	first := n.known == nil
	if first {
		n.known = map[string]bool{}
	}
	var splits []exec.Split
	var err error
	if failed := r.call(n, func() { splits, err = s.Splits(r.ctx) }); failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("%s: listing what to read: %w", n.Name, err)
	}
	n.relistAt = exec.Idle
	if every := s.Rediscover(); every > 0 {
		n.relistAt = now.Add(every)
	}
	var fresh []exec.Split
	for _, sp := range splits {
		if !n.known[sp.ID] {
			n.known[sp.ID] = true
			fresh = append(fresh, sp)
		}
	}
	if len(fresh) == 0 && !first {
		return nil
	}
	if r.cfg.seeded {
		r.random.shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
	}
	if failed := r.call(n, func() { err = n.inst.Assign(fresh) }); failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("%s: opening its input: %w", n.Name, err)
	}
	return nil
}

// order returns the roots in the order in which they are polled this time.
func (r *run) order(roots []*node) []*node {
	if r.cfg.seeded {
		r.random.shuffle(len(roots), func(i, j int) { roots[i], roots[j] = roots[j], roots[i] })
	}
	return roots
}

// random is the splitmix64 generator, whose state is its seed.
type random uint64

func (s *random) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (s *random) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(s.next()%uint64(i+1)))
	}
}
