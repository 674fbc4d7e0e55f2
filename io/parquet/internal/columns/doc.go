// Package columns is the typed core of the Parquet connector: it reads the columns of a Go struct
// straight into slices of it, and writes such slices.
//
//	shape, err := columns.ShapeOf[Order]()            // once, where the type is known
//	file, err := columns.Open("orders.parquet")       // metadata only
//	plan, err := columns.Bind(shape, file, nil)       // columns to fields, once a file
//	for _, split := range file.Splits() {
//		r, err := plan.Open(split.Group, 0)       // or from a Position
//		n, err := r.Read(batch)                   // []Order; io.EOF at the end of the group
//	}
//
// # How columns and fields are matched
//
// Exported fields are columns. A column's name is the first word of the field's tag
// parquet:"name,…", else the name in a protobuf tag, else the field's name; these are the rules of
// parquet-go, whose users' structs work as they are. Fields of embedded structs stand beside the
// others. parquet:"-" leaves a field out. Names are equal or they do not match: case counts. A
// column without a field is not read. A field without a column is an error that names the nearest
// column, unless its tag says optional; then it stays zero.
//
// A column binds to a field that holds each of its values unchanged:
//
//	BOOLEAN                         bool
//	INT32, INT64, INT(n)            int and intN of at least that width
//	UINT(n)                         uint and uintN of at least that width, wider intN
//	FLOAT; DOUBLE                   float32, float64; float64
//	BYTE_ARRAY, STRING, ENUM, JSON  string, []byte
//	FIXED_LEN_BYTE_ARRAY(n), UUID   [n]byte, []byte
//	TIMESTAMP                       time.Time; int64 tagged timestamp(unit), of the same unit
//	INT96                           time.Time
//	DATE                            time.Time, at midnight; int32 tagged date
//	TIME                            time.Duration since midnight; integers tagged time(unit)
//	DECIMAL of integers             integers tagged decimal(scale:precision), unscaled
//	LIST, repeated                  slice, of anything in this table or of structs
//	group                           struct
//
// and to fields of types derived from these, time.Time excepted. Everything else is an error that
// names file, column and field, with both types. Maps are not supported.
//
// A timestamp that is adjusted to UTC is an instant, and reads as a time.Time in UTC. One that is
// not is a wall clock: it reads as the instant at which clocks show it in the zone that Bind is
// given, and in UTC when there is none. The zone of the machine never matters. Plan.LocalTimes
// names such columns, since as event times they are good only with a zone.
//
// Null is nil in a pointer, zero in a field whose tag says optional, and otherwise rejects the
// row: Read fails with a *RowError, or leaves the row out when OnReject is set. In a slice the tag
// optional is about the elements, except with the tag list, as in parquet-go: then it is about the
// list. A null list is nil. An empty list is empty and not nil in a file that can tell it from
// null, else nil.
//
// # What damaged files do
//
// They are an error that names the file and the reason. No count or length in a file is believed
// before it has been compared with the bytes that are there, so that what a file makes the program
// allocate stays in proportion to its size. Two claims have only a bound, since good files make
// them too: the size of a page that compresses more than 256 times (a gigabyte), and the number of
// equal values that one run stands for (2^27 in a page).
//
// That is why pages are taken apart here, and not by the library's page reader: it allocates eight
// gigabytes when a run of six bytes says so, doubles its buffer without end over a broken LZ4 page,
// and hands out recycled memory as values where a page is short. Footers, codecs and encodings are
// the library's; what they panic with is caught.
package columns
