package modeltest

import (
	"flag"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var seconds = flag.Int("model.seconds", 0, "how long the model tests of a package draw pipelines; 0: a few seconds")

// Search checks a property of random specs, as rapid.Check does, again and
// again until the time that the flag model.seconds gives is over, or usual where
// it gives none.
func Search(t *testing.T, usual time.Duration, property func(*rapid.T)) {
	t.Helper()
	if *seconds > 0 {
		usual = time.Duration(*seconds) * time.Second
	}
	specs, end, failed := 0, time.Now().Add(usual), false
	for time.Now().Before(end) && !t.Failed() {
		rapid.Check(t, func(rt *rapid.T) {
			if !failed && time.Now().After(end) {
				return
			}
			done := false
			defer func() { failed = failed || !done }() // from then on rapid looks for the smallest, and needs time
			property(rt)
			done = true
			specs++
		})
	}
	t.Logf("%d pipelines in %v", specs, usual)
}
