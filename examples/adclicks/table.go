package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/transforms"
)

// cell is an ad in a minute.
type cell struct {
	minute pcoll.Time
	ad     string
}

// A table is what a run of the pipeline gave: the last pane of each ad and
// minute, and how many panes of which kind there were. Each worker fills a part
// of its own.
type table struct{ parts [maxWorkers]part }

type part struct {
	last    map[cell]pane
	timings [4]int64 // panes by timing
	tooLate map[cell]int64
	_       [64]byte // parts of different workers share no cache line
}

type pane struct{ index, count int64 }

const maxWorkers = 128

// collect ends both results of the pipeline in the table.
func (t *table) collect(counts pcoll.PCollection[pcoll.KV[string, int64]], tooLate pcoll.PCollection[pcoll.KV[string, Click]]) {
	for i := range t.parts {
		t.parts[i].last, t.parts[i].tooLate = map[cell]pane{}, map[cell]int64{}
	}
	transforms.ForEach(counts, func(c *pcoll.Context, e pcoll.KV[string, int64]) error {
		w, _ := c.Worker()
		p, id := &t.parts[w], cell{c.Window().Start, e.Key}
		p.timings[c.Pane().Timing]++
		if old, ok := p.last[id]; !ok || old.index < c.Pane().Index {
			p.last[id] = pane{c.Pane().Index, e.Value}
		}
		return nil
	}, pcoll.Named("CollectCounts"))
	transforms.ForEach(tooLate, func(c *pcoll.Context, e pcoll.KV[string, Click]) error {
		w, _ := c.Worker()
		minute := e.Value.Time().Truncate(windowSize).UnixMilli()
		t.parts[w].tooLate[cell{pcoll.Time(minute), e.Key}]++
		return nil
	}, pcoll.Named("CollectTooLate"))
}

// counts returns the last pane of each cell.
func (t *table) counts() map[cell]int64 {
	all := map[cell]int64{}
	for i := range t.parts {
		for id, p := range t.parts[i].last {
			all[id] = p.count
		}
	}
	return all
}

// late returns the number of clicks of each cell that came too late.
func (t *table) late() (byCell map[cell]int64, sum int64) {
	byCell = map[cell]int64{}
	for i := range t.parts {
		for id, n := range t.parts[i].tooLate {
			byCell[id] += n
			sum += n
		}
	}
	return byCell, sum
}

// timings returns how many panes were early, on time and late.
func (t *table) timings() (early, onTime, late int64) {
	for i := range t.parts {
		early += t.parts[i].timings[pcoll.Early]
		onTime += t.parts[i].timings[pcoll.OnTime]
		late += t.parts[i].timings[pcoll.Late]
	}
	return early, onTime, late
}

// print prints the first lines and the sum of the table.
func (t *table) print(w io.Writer, title string, lines int) {
	counts := t.counts()
	cells := make([]cell, 0, len(counts))
	var sum int64
	for id, n := range counts {
		cells, sum = append(cells, id), sum+n
	}
	slices.SortFunc(cells, func(a, b cell) int {
		if a.minute != b.minute {
			return int(a.minute - b.minute)
		}
		return strings.Compare(a.ad, b.ad)
	})
	fmt.Fprintf(w, "\n%s: clicks per ad and minute\n", title)
	for i, id := range cells {
		if i == lines {
			fmt.Fprintf(w, "  … %d more lines\n", len(cells)-lines)
			break
		}
		fmt.Fprintf(w, "  %s  %s %6d\n", id.minute.Time().Format("15:04"), id.ad, counts[id])
	}
	fmt.Fprintf(w, "  %d clicks counted in %d cells\n", sum, len(cells))
}

// compare reports where the batch counts are not the live counts plus what came
// too late there, a few examples of it, and how many cells were compared.
func compare(batch, live *table) (differences int, examples []string, cells int) {
	b, l := batch.counts(), live.counts()
	late, _ := live.late()
	ids := map[cell]bool{}
	for _, m := range []map[cell]int64{b, l, late} {
		for id := range m {
			ids[id] = true
		}
	}
	for id := range ids {
		if b[id] != l[id]+late[id] {
			differences++
			if len(examples) < 5 {
				examples = append(examples, fmt.Sprintf("%s %s: Parquet %d, Kafka %d and %d too late",
					id.minute.Time().Format("15:04"), id.ad, b[id], l[id], late[id]))
			}
		}
	}
	return differences, examples, len(ids)
}
