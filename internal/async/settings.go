package async

import (
	"time"

	"github.com/penstock-dev/penstock/pcoll"
)

// Settings are what users choose of how calls are made.
type Settings struct {
	Limit     int // calls at once on a worker
	Unordered bool
	Timeout   time.Duration // of an attempt; 0: none
	Attempts  int           // at least 1
	First     int64         // ms of pause after the first attempt
	Max       int64         // ms, most that a pause grows to
}

// The options that set them.
type (
	Limit     int
	Unordered struct{}
	Timeout   time.Duration
	Retry     struct {
		Attempts   int
		First, Max time.Duration
	}
)

// DefaultLimit is how many calls a worker has under way at once.
const DefaultLimit = 16

// Take returns the settings by the options of b, and reports what is wrong with them.
func Take(b *pcoll.Builder) Settings {
	s := Settings{Limit: DefaultLimit, Attempts: 1}
	for _, n := range pcoll.Taken[Limit](b) {
		if s.Limit = int(n); n < 1 {
			b.Errorf("%d calls at once make none; want at least 1", n)
		}
	}
	s.Unordered = len(pcoll.Taken[Unordered](b)) > 0
	for _, d := range pcoll.Taken[Timeout](b) {
		if s.Timeout = time.Duration(d); d <= 0 {
			b.Errorf("a call cannot answer within %v; give a positive time, or leave the option out", s.Timeout)
		}
	}
	for _, r := range pcoll.Taken[Retry](b) {
		s.Attempts, s.First, s.Max = r.Attempts, r.First.Milliseconds(), r.Max.Milliseconds()
		if r.Attempts < 1 {
			b.Errorf("a call cannot be attempted %d times; want at least 1, the first included", r.Attempts)
		}
		if r.First < 0 || r.Max < r.First || r.First%time.Millisecond != 0 || r.Max%time.Millisecond != 0 {
			b.Errorf("the pause before another attempt cannot grow from %v to %v; give whole milliseconds, the first no longer than the longest", r.First, r.Max)
		}
	}
	return s
}

// pause returns how long to pause after attempt n of call number call: twice as
// long each time, up to Max, less up to a half so that calls which failed together
// do not come back together. How much less depends on the numbers alone.
func (s *Settings) pause(call uint64, n int) int64 {
	d := s.First
	for i := 1; i < n && d < s.Max; i++ {
		d *= 2
		if d < 0 {
			d = s.Max
		}
	}
	d = min(d, s.Max)
	return d - int64(scatter(call^scatter(uint64(n)))%uint64(d/2+1))
}

// scatter is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
