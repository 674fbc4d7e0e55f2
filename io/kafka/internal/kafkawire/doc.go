// Package kafkawire is the wire layer of the Kafka connector: it fetches, decodes, encodes and produces record batches, and asks the
// cluster the few questions a source and a sink have.
//
// Connections (dialling, TLS, SASL, pooling) are kafka-go's Transport. Every request and response on them is encoded and decoded here,
// through protocol.RawExchanger, because kafka-go's own decoders trust lengths, deliver aborted records, lose positions behind compacted
// batches and cost several times the CPU. Nothing read from a broker can panic here or allocate more than the limits allow: lengths are
// checked before they are used, and a malformed answer is an error with topic, partition and offset.
//
// # Reading
//
// A [Client] knows the cluster. A [Fetcher] owns one goroutine per broker that leads a partition it was given, keeps a bounded number of
// bytes read ahead (counted in bytes, per partition and together), and hands out [Chunk] values: the bytes of a record set with the offsets
// that belong to them. A [BatchReader] turns a chunk into records in place:
//
//	part, err := fetcher.Add(tp, Start{Offset: 0, LeaderEpoch: -1}, wake)
//	...
//	chunk, err := part.Next() // nil, nil: nothing yet; wake is called when that changes
//	reader.Reset(chunk.FetchOffset, chunk.Records, chunk.Aborted)
//	for {
//		ok, err := reader.Next(&rec) // rec is a view, valid until the next call
//		...
//	}
//	position := reader.Position() // where to go on, also behind markers, gaps and aborted records
//	chunk.Release()
//
// Position, never the last record's offset plus one, is what is stored in checkpoints and compared with end offsets.
//
// # Writing
//
// A [BatchBuilder] encodes batches into a reused buffer. A [Producer] is the idempotent producer around it: one batch in flight per
// partition, sequences that go on across batches, retries that send the same bytes again, a bounded number of bytes not yet acknowledged.
//
// # Versions
//
// Fetch 12, Produce 8, ListOffsets 5, Metadata 8, OffsetFetch 5, OffsetCommit 7, FindCoordinator 2, CreateTopics 4, InitProducerId 4: by
// topic name, spoken by Apache Kafka 2.7 to 4.x. [Open] checks them and names what a broker lacks.
package kafkawire
