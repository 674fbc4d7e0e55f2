package kafka

import (
	"maps"
	"time"
)

// A Start is where reading begins in partitions of which nothing has been read
// yet: [Earliest], [Latest], [Committed], [AtTime] or [AtOffsets]. It is resolved into
// offsets once, when a run lists the partitions for the first time. Partitions
// created later begin at their first record.
type Start interface{ start() place }

// A Stop is where reading ends: [Never], [AtEnd], [AtTime] or [AtOffsets]. It is
// resolved into offsets once, together with Start.
type Stop interface{ stop() place }

// A Place is a Start and a Stop.
type Place interface {
	Start
	Stop
}

type placeKind int

const (
	earliest placeKind = iota
	latest
	committed
	never
	atTime
	atOffsets
)

// place is a Start or a Stop, or both. It can be compared with ==.
type place struct {
	kind  placeKind
	at    time.Time
	named *offsets
}

// offsets are by topic and partition.
type offsets map[string]map[int32]int64

// offsets of a place that names some.
func (p place) offsets() offsets {
	if p.named == nil {
		return nil
	}
	return *p.named
}

func (p place) start() place { return p }
func (p place) stop() place  { return p }

// Earliest starts at the first record that is still there. It is the default.
func Earliest() Start { return place{kind: earliest} }

// Latest starts at the end, as it is when the run starts: only what comes then is read.
func Latest() Start { return place{kind: latest} }

// Committed starts where the consumer group Source.Group has committed, and at
// the first record in partitions where it has not. That it has committed
// nowhere is an error.
func Committed() Start { return place{kind: committed} }

// Never does not stop: the source is unbounded. It is the default.
func Never() Stop { return place{kind: never} }

// AtEnd stops at the end, as it is when the run starts: behind the last record
// that is there, and before the first open transaction unless uncommitted records
// are read.
func AtEnd() Stop { return place{kind: latest} }

// AtTime is the offset of the first record with a timestamp (not an event time)
// of t or later, and the end if there is none. As a Stop it is resolved when the run
// starts: it does not wait for records that are written later.
func AtTime(t time.Time) Place { return place{kind: atTime, at: t} }

// AtOffsets is an offset for each topic and partition. As a Start, partitions
// that are not named begin at their first record. As a Stop, each partition must be
// named; its record at the offset is not read, and one that does not exist yet is waited for.
func AtOffsets(at map[string]map[int32]int64) Place {
	named := offsets{}
	for topic, parts := range at {
		named[topic] = maps.Clone(parts)
	}
	return place{kind: atOffsets, named: &named}
}

// LostOffsets says what to do when the records at a position are gone: deleted by
// retention before they were read, or lost by the cluster. What was skipped is
// logged and counted in lostOffsets.
type LostOffsets int

const (
	// FailOnLost fails the run with the topic, the partition and the offsets that are gone. It is the default.
	FailOnLost LostOffsets = iota
	// EarliestOnLost goes on at the first record that is there. If the log ends before the
	// position (the topic was recreated, or the cluster lost its end), what is there is read
	// again: from where the histories part if the broker knows, else from the first record.
	EarliestOnLost
	// LatestOnLost goes on at the end.
	LatestOnLost
)
