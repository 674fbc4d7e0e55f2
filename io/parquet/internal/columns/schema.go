package columns

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// annotation is the logical meaning of a column's physical values.
type annotation uint8

const (
	plain annotation = iota
	asText
	asInt
	asDate
	asTime
	asTimestamp
	asDecimal
	asUUID
	asList
	asMap
	asOther // known, but nothing binds to it
)

// unit is the unit of a TIME or TIMESTAMP, in nanoseconds.
type unit int64

const (
	millis unit = 1e6
	micros unit = 1e3
	nanos  unit = 1
)

func (u unit) String() string {
	return map[unit]string{millis: "ms", micros: "us", nanos: "ns"}[u]
}

// node is one element of a file's schema. Required levels are those of the format: a value is
// present when its definition level reaches maxDef of its node.
type node struct {
	name     string
	path     string // dotted, from the root
	children []*node
	leaf     int // index among the leaves; -1 of a group

	kind     format.Type // physical, of a leaf
	size     int         // of a FIXED_LEN_BYTE_ARRAY
	optional bool
	repeated bool
	maxRep   uint8
	maxDef   uint8

	note     annotation
	label    string // of the annotation, for messages
	bits     int    // of an INT
	unsigned bool
	unit     unit
	local    bool // TIME or TIMESTAMP not adjusted to UTC
	scale    int
}

// String describes the node's type as messages show it, as in "optional INT64 TIMESTAMP(ms,utc)".
func (n *node) String() string {
	parts := make([]string, 0, 3)
	switch {
	case n.optional:
		parts = append(parts, "optional")
	case n.repeated:
		parts = append(parts, "repeated")
	}
	switch {
	case n.leaf < 0:
		parts = append(parts, "group")
	case n.kind == format.FixedLenByteArray:
		parts = append(parts, fmt.Sprintf("FIXED_LEN_BYTE_ARRAY(%d)", n.size))
	default:
		parts = append(parts, n.kind.String())
	}
	if n.label != "" {
		parts = append(parts, n.label)
	}
	return strings.Join(parts, " ")
}

const maxSchemaDepth = 64

// schemaBuilder turns the flat, depth-first list of a footer into a tree.
type schemaBuilder struct {
	elements []format.SchemaElement
	next     int
	leaves   []*node
}

var errSchema = errors.New("schema is damaged")

func buildSchema(elements []format.SchemaElement) (root *node, leaves []*node, err error) {
	b := &schemaBuilder{elements: elements}
	if root, err = b.node("", 0, 0, 0); err != nil {
		return nil, nil, err
	}
	if b.next != len(elements) {
		return nil, nil, fmt.Errorf("%w: %d elements stand outside the tree", errSchema, len(elements)-b.next)
	}
	if root.leaf >= 0 {
		return nil, nil, fmt.Errorf("%w: its root is a column", errSchema)
	}
	return root, b.leaves, nil
}

func (b *schemaBuilder) node(path string, depth int, rep, def uint8) (*node, error) {
	if b.next >= len(b.elements) || depth > maxSchemaDepth {
		return nil, errSchema
	}
	e := &b.elements[b.next]
	b.next++
	n := &node{name: e.Name, leaf: -1, maxRep: rep, maxDef: def}
	if depth > 0 {
		n.path = path + e.Name
		switch e.RepetitionType.V {
		case format.Optional:
			n.optional = true
			n.maxDef++
		case format.Repeated:
			n.repeated = true
			n.maxRep++
			n.maxDef++
		case format.Required:
		default:
			return nil, fmt.Errorf("%w: repetition %d of %q", errSchema, e.RepetitionType.V, n.path)
		}
	}
	if err := n.annotate(e); err != nil {
		return nil, err
	}
	if e.Type.Valid {
		n.kind, n.size = e.Type.V, int(e.TypeLength.V)
		if n.kind < format.Boolean || n.kind > format.FixedLenByteArray {
			return nil, fmt.Errorf("%w: type %d of %q", errSchema, n.kind, n.path)
		}
		if n.kind == format.FixedLenByteArray && (n.size <= 0 || n.size > maxFixedSize) {
			return nil, fmt.Errorf("%w: %q has values of %d bytes", errSchema, n.path, n.size)
		}
		n.leaf = len(b.leaves)
		b.leaves = append(b.leaves, n)
		return n, nil
	}
	if e.NumChildren.V < 0 || int(e.NumChildren.V) > len(b.elements)-b.next {
		return nil, fmt.Errorf("%w: %q has %d children", errSchema, n.path, e.NumChildren.V)
	}
	prefix := ""
	if depth > 0 {
		prefix = n.path + "."
	}
	for range e.NumChildren.V {
		child, err := b.node(prefix, depth+1, n.maxRep, n.maxDef)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	return n, nil
}

// maxFixedSize is the longest value of a FIXED_LEN_BYTE_ARRAY, in bytes.
const maxFixedSize = 1 << 20

// annotate reads the logical type, or the older converted type where there is none.
func (n *node) annotate(e *format.SchemaElement) error {
	switch t := e.LogicalType.Value.(type) {
	case nil:
		n.convert(e)
	case *format.StringType, *format.EnumType, *format.JsonType:
		n.note, n.label = asText, t.String()
	case *format.IntType:
		n.integer(int(t.BitWidth), !t.IsSigned)
	case *format.DateType:
		n.note, n.label = asDate, "DATE"
	case *format.TimeType:
		return n.clock(asTime, "TIME", t.Unit, !t.IsAdjustedToUTC)
	case *format.TimestampType:
		return n.clock(asTimestamp, "TIMESTAMP", t.Unit, !t.IsAdjustedToUTC)
	case *format.DecimalType:
		n.note, n.label, n.scale = asDecimal, t.String(), int(t.Scale)
	case *format.UUIDType:
		n.note, n.label = asUUID, "UUID"
	case *format.ListType:
		n.note, n.label = asList, "LIST"
	case *format.MapType:
		n.note, n.label = asMap, "MAP"
	case *format.BsonType, *format.Float16Type:
		n.label = t.String() // bytes, to who asks for bytes
	default:
		n.note, n.label = asOther, t.String()
	}
	return nil
}

func (n *node) integer(bits int, unsigned bool) {
	n.note, n.bits, n.unsigned = asInt, bits, unsigned
	n.label = fmt.Sprintf("INT(%d)", bits)
	if unsigned {
		n.label = fmt.Sprintf("UINT(%d)", bits)
	}
}

func (n *node) clock(note annotation, label string, u format.TimeUnit, local bool) error {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		n.unit = millis
	case *format.MicroSeconds:
		n.unit = micros
	case *format.NanoSeconds:
		n.unit = nanos
	default:
		return fmt.Errorf("%w: %q has no unit of time", errSchema, n.path)
	}
	zone := "utc"
	if local {
		zone = "local"
	}
	n.note, n.local, n.label = note, local, fmt.Sprintf("%s(%s,%s)", label, n.unit, zone)
	return nil
}

// convert reads the annotation of files written before logical types existed. Their times are
// always adjusted to UTC.
func (n *node) convert(e *format.SchemaElement) {
	if !e.ConvertedType.Valid {
		return
	}
	switch t := e.ConvertedType.V; t {
	case deprecated.UTF8:
		n.note, n.label = asText, "STRING"
	case deprecated.Enum:
		n.note, n.label = asText, "ENUM"
	case deprecated.Json:
		n.note, n.label = asText, "JSON"
	case deprecated.List:
		n.note, n.label = asList, "LIST"
	case deprecated.Map, deprecated.MapKeyValue:
		n.note, n.label = asMap, "MAP"
	case deprecated.Date:
		n.note, n.label = asDate, "DATE"
	case deprecated.Decimal:
		n.note, n.scale = asDecimal, int(e.Scale.V)
		n.label = fmt.Sprintf("DECIMAL(%d,%d)", e.Precision.V, e.Scale.V)
	case deprecated.TimeMillis:
		n.note, n.unit, n.label = asTime, millis, "TIME(ms,utc)"
	case deprecated.TimeMicros:
		n.note, n.unit, n.label = asTime, micros, "TIME(us,utc)"
	case deprecated.TimestampMillis:
		n.note, n.unit, n.label = asTimestamp, millis, "TIMESTAMP(ms,utc)"
	case deprecated.TimestampMicros:
		n.note, n.unit, n.label = asTimestamp, micros, "TIMESTAMP(us,utc)"
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		n.integer(8<<(t-deprecated.Uint8), true)
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		n.integer(8<<(t-deprecated.Int8), false)
	default:
		n.label = fmt.Sprintf("(converted type %d)", t) // BSON, INTERVAL: bytes, to who asks for bytes
	}
}
