package local

import (
	"fmt"
	"slices"
	"time"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/host"
)

// discover lists a source's splits and gives the new ones to workers, once or
// at the source's interval.
func (j *Job) discover(root int32, name string, s exec.Splitter) {
	known := map[string]bool{}
	loads := make([]int64, j.eng.Plan.Workers)
	for first := true; ; first = false {
		splits, err := j.list(root, s)
		if err != nil {
			j.unlisted(fmt.Errorf("%s: listing what to read: %w", name, err))
			return
		}
		splits = slices.DeleteFunc(splits, func(s exec.Split) bool {
			seen := known[s.ID]
			known[s.ID] = true
			return seen
		})
		j.eng.Assign(root, splits, loads, first)
		if s.Rediscover() <= 0 {
			return
		}
		select {
		case <-time.After(time.Duration(s.Rediscover()) * time.Millisecond):
		case <-j.ctx.Done():
			return
		}
	}
}

// unlisted ends the job because of a source that cannot be listed. Where the
// job is ending already that may be why its owner lost patience: it is kept.
func (j *Job) unlisted(err error) {
	if j.ctx.Err() == nil {
		j.cancel(err)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waited = append(j.waited, err)
}

// list calls a connector's Splits, which is not ours and may panic.
func (j *Job) list(root int32, s exec.Splitter) (splits []exec.Split, err error) {
	c := exec.NewCtx(j.ctx)
	c.Op = root
	defer func() {
		if c.Err != nil { // here, since it may have ended the goroutine
			j.cancel(c.Err)
		}
	}()
	host.Guard(c, func() { splits, err = s.Splits(j.ctx) })
	if c.Err != nil {
		return nil, c.Err
	}
	return splits, err
}

// play sends the events of the script, each when the one before has passed through all tasks.
func (j *Job) play() {
	for i := range len(j.script.Events) + 2 {
		if i > 0 && i <= len(j.script.Events) {
			j.manual.Advance(j.script.Events[i-1].Clock)
		}
		for wait := j.eng.Begin(j.eng.Turn(j.script, i)); wait > 0; wait-- {
			select {
			case <-j.turns:
			case <-j.ctx.Done():
				return
			}
		}
	}
}

// onTurn is called by tasks; the channel has room for all.
func (j *Job) onTurn(turn int) { j.turns <- turn }
