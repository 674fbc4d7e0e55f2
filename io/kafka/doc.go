// Package kafka reads topics into a pipeline and writes elements to a topic.
//
//	orders := kafka.Read(p, kafka.Source[Order]{
//		Brokers:   []string{"broker:9092"},
//		Topics:    []string{"orders"},
//		Decode:    kafka.JSON[Order],
//		EventTime: Order.Time,
//		Disorder:  5 * time.Second,
//	})
//	…
//	kafka.Write(totals, kafka.Sink[Total]{
//		Brokers: []string{"broker:9092"},
//		Topic:   "totals",
//		Key:     Total.Key,
//		Value:   kafka.JSONValue[Total],
//	})
//
// # Reading
//
// Each partition is a split: rows of one partition come in the order of their
// offsets. The position is an offset with its leader epoch, and behind
// transaction markers, aborted records and what compaction removed, so that a
// read that stops somewhere always gets there. Positions come from the pipeline;
// a consumer group's commits are read only by [Committed]. Records of
// transactions are seen once they are committed, unless Source.ReadUncommitted says otherwise.
//
// [Start] and [Stop] are resolved into offsets once, when a run lists the
// partitions for the first time. A partition that is created later is read from
// its first record, whatever Start says. With a Stop the source is bounded, and
// still a live read that is cut off: its watermark follows the records, so that
// windows fire, and records are late, as they would without a Stop.
//
// A partition's watermark is its newest event time less Source.Disorder. It is
// left out while the partition is idle: the broker has said, throughout
// Source.Idle, that nothing is unread and no transaction is open. A partition
// that is not polled, cannot be reached, or was just found is not idle.
//
// A record that Decode refuses, or that has no event time, fails the run with its
// topic, partition and offset; [TryRead] gives such records as a collection. Null
// values (tombstones) are refused by [JSON], [String] and [Bytes], which do not
// confuse them with empty ones; [MessageOf] shows them.
//
// The counters of the transform are fetchedBytes (record sets as they came,
// compressed) and lostOffsets (see [LostOffsets]).
//
// # Writing
//
// [Write] is at-least-once: an element that was taken is in the topic when the run
// succeeds; after a failure some may be there that a next run writes again.
// Within a run the producer is idempotent: retries, leaders that move and brokers
// that restart add no duplicates and keep each partition's order.
//
// # Limits
//
// Apache Kafka 2.7 to 4.x. Every wait for a broker is bounded, and ends with an
// error that names it.
package kafka
