package kafka

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstock-dev/penstock/io/parquet"
	"github.com/penstock-dev/penstock/pcoll"
	"github.com/penstock-dev/penstock/runners/local"
	"github.com/penstock-dev/penstock/transforms"
	"github.com/penstock-dev/penstock/windowing"
)

// daySecond is a second of a day, told by a partition.
type daySecond struct {
	Partition int32
	At        int64 // seconds after 1970
}

func (s daySecond) time() time.Time { return time.Unix(s.At, 0) }

// hourly sums the seconds of each hour.
func hourly(in pcoll.PCollection[daySecond]) (sums func() []string) {
	var mu sync.Mutex
	var out []string
	at := transforms.Map(in, func(s daySecond) int64 { return s.At })
	transforms.ForEach(transforms.Sum(windowing.Into(at, windowing.Fixed(time.Hour)), transforms.NoDefault()), func(c *pcoll.Context, n int64) error {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, fmt.Sprintf("%v: %d", c.Window(), n))
		return nil
	}, pcoll.Named("Sums"))
	return func() []string { slices.Sort(out); return out }
}

// TestF23BackfillKeepsWhatTheLiveRunKept reads a day of two partitions, one of
// them to its end before the other has begun, and the same rows from a file.
func TestF23BackfillKeepsWhatTheLiveRunKept(t *testing.T) {
	const day = 24 * 60 * 60
	b := broker(t, 2)
	client := b.client(kgo.MaxBufferedRecords(2 * day))
	var rows []daySecond
	var records []*kgo.Record
	for partition := range int32(2) {
		for s := range int64(day) {
			rows = append(rows, daySecond{partition, s})
			records = append(records, record(partition, s*1000, "x"))
		}
	}
	produce(t, client, records...)
	file := filepath.Join(t.TempDir(), "day.parquet")
	if err := pq.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}

	drained := make(chan struct{})
	live := pcoll.New("live")
	sums := hourly(Read(live, Source[daySecond]{Brokers: b.ListenAddrs(), Topics: []string{topic}, Stop: AtEnd(),
		Decode: func(r *Record) (daySecond, error) {
			switch {
			case r.Partition == 0 && r.Offset == day-1:
				close(drained)
			case r.Partition == 1 && r.Offset == 0:
				<-drained // another worker reads the other partition
			}
			return daySecond{r.Partition, r.Timestamp / 1000}, nil
		}}))
	res, err := local.Run(limited(t), live, local.Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Dropped(); n != 0 {
		t.Errorf("%d elements were dropped as late", n)
	}

	backfill := pcoll.New("backfill")
	want := hourly(parquet.Read[daySecond](backfill, file, parquet.EventTime(daySecond.time)))
	if _, err := local.Run(limited(t), backfill, local.Workers(2)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want(), sums()); diff != "" || len(want()) != 24 {
		t.Errorf("the two runs differ (-file +Kafka):\n%s\nhours: %d", diff, len(want()))
	}
}
