// Command bench compares penstock with hand-written loops that call the same
// user functions on the same input: in one process, taking turns, checksums
// compared. It prints one line for each comparison,
//
//	ratio NAME VALUE <= GOAL
//
// where VALUE is the median over rounds of penstock's time over the loop's, and
// exits with status 1 if a goal is missed.
//
//	go run ./internal/tools/bench [-rounds 9] [-run REGEXP] [-cpuprofile FILE]
//
// With -against it compares this tree with an older commit of it instead:
//
//	go run ./internal/tools/bench -against COMMIT [-runs 7] [-rounds 9] [-run REGEXP]
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"
)

// A comparison is two ways to do the same work. Each returns a checksum.
type comparison struct {
	name string
	n    int // elements
	goal float64
	hand func() uint64
	pen  func() uint64
	// noAllocs demands that penstock allocates nothing for each element.
	noAllocs bool
	// beside are further hand-written versions, printed for orientation.
	beside []variant
	// done removes what the comparison left behind; nil if nothing.
	done func()
}

type variant struct {
	name string
	run  func() uint64
}

func main() {
	rounds := flag.Int("rounds", 9, "rounds that each comparison is measured, at least 7")
	profile := flag.String("cpuprofile", "", "write a CPU profile of both sides to this `file`")
	run := flag.String("run", "", "regular expression: only comparisons whose name matches")
	then := flag.String("against", "", "`commit` to compare this tree with")
	runs := flag.Int("runs", 7, "with -against: how often the benchmarks of both are run, by turns")
	flag.Parse()
	re, err := regexp.Compile(*run)
	if err != nil || *rounds < 7 {
		fmt.Fprintln(os.Stderr, "bench: want a valid -run and at least 7 rounds:", err)
		os.Exit(2)
	}
	if *then != "" {
		if err := against(*then, *runs, []string{"-rounds", strconv.Itoa(*rounds), "-run", *run}); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(2)
		}
		defer f.Close()
	}
	missed := 0
	for _, group := range []func() []comparison{chains, windows, parquetScan, kafkaSource} {
		for _, c := range group() {
			if re.MatchString(c.name) && !c.measure(*rounds) {
				missed++
			}
			if c.done != nil {
				c.done()
			}
		}
		runtime.GC()
	}
	pprof.StopCPUProfile()
	if missed > 0 {
		fmt.Printf("%d goals missed\n", missed)
		os.Exit(1)
	}
}

// measure runs the comparison and reports whether its goal was reached.
func (c *comparison) measure(rounds int) bool {
	want := c.hand() // warm up both
	if got := c.pen(); got != want {
		fmt.Printf("wrong %s: checksum %x, hand-written %x\n", c.name, got, want)
		return false
	}
	var ratios, hands, pens []float64
	beside := make([][]float64, len(c.beside))
	ok := true
	for range rounds {
		h, hs := timed(c.hand)
		p, ps := timed(c.pen)
		ok = ok && hs == want && ps == want
		ratios, hands, pens = append(ratios, p/h), append(hands, h), append(pens, p)
		for i, v := range c.beside {
			b, bs := timed(v.run)
			ok = ok && bs == want
			beside[i] = append(beside[i], b)
		}
	}
	perElement := func(xs []float64) float64 { return median(xs) * 1e9 / float64(c.n) }
	r := median(ratios)
	fmt.Printf("ratio %s %.2f <= %.2f  (%.1f ns an element, hand-written %.1f", c.name, r, c.goal, perElement(pens), perElement(hands))
	for i, v := range c.beside {
		fmt.Printf(", %s %.1f", v.name, perElement(beside[i]))
	}
	allocs := c.allocs()
	fmt.Printf(", %.4f allocations)\n", allocs)
	if !ok {
		fmt.Printf("wrong %s: checksums differ between rounds\n", c.name)
	}
	if c.noAllocs && allocs > 0.01 {
		fmt.Printf("missed %s: it allocates for each element\n", c.name)
		return false
	}
	return ok && r <= c.goal
}

// allocs returns penstock's allocations an element.
func (c *comparison) allocs() float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.pen()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(c.n)
}

func timed(f func() uint64) (seconds float64, sum uint64) {
	runtime.GC()
	start := time.Now()
	sum = f()
	return time.Since(start).Seconds(), sum
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[len(s)/2]
}
