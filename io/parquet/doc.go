// Package parquet reads and writes Parquet files as typed collections.
//
//	type Order struct {
//		ID    int64     `parquet:"id"`
//		User  string    `parquet:"user"`
//		Cents int64     `parquet:"cents"`
//		At    time.Time `parquet:"at,timestamp(millisecond)"`
//	}
//
//	func (o Order) Time() time.Time { return o.At }
//
//	orders := parquet.Read[Order](p, "orders/**/*.parquet", parquet.EventTime(Order.Time))
//	parquet.Write(totals, "out/totals", parquet.Compression(parquet.Zstd))
//
// # Rows and columns
//
// A row is a struct, its exported fields are columns. Tags are those of
// parquet-go, so that structs made for it work as they are: a column's name is
// the first word of the tag parquet:"name,…", else the field's name. Only the
// columns that have a field are read. Names are equal or they do not match, case
// included. A field without a column, and a column whose values the field could
// not hold unchanged, are errors that name the file and both types, before
// anything runs; a field tagged optional stays zero where there is no column.
//
// Fields are numbers, bool, string, []byte, [n]byte, time.Time, time.Duration,
// structs, slices of these, and pointers to them. A null is nil in a pointer and
// zero in a field tagged optional; any other row with a null is rejected.
//
// Strings are written with a dictionary and times in milliseconds, unless tags
// say otherwise.
//
// # Reading
//
// A source is bounded. The row groups of its files are its splits, read in
// parallel by the workers of the runner. The order of rows within a row group is
// that of the file; between row groups there is none. The watermark stays at the
// start of time until all is read, so that no row is late: with the default
// trigger every window fires once, at the end, and complete.
//
// Damaged files are an error that names the file and the reason; what a file
// claims cannot make a program allocate out of proportion to its size.
//
// # Writing
//
// Files appear whole, under their final names, and only when the run (with
// checkpoints: the epoch) that wrote them has succeeded. Until then they lie
// beside their final names as .NAME.tmp-*, which [Read] and the readers of Hadoop
// and Spark skip, and are removed when the run fails. A process that is killed leaves them behind.
//
// Each worker writes files of its own:
//
//	DIR/part-00003-9f86d081884c7d65-0000.parquet
//
// with the number of the worker, 64 random bits that the writer draws, and
// a counter. So files collide neither with those of other workers nor with those of
// earlier runs, which stay as they are: a directory that shall hold the result of one
// run only has to be empty before. Rows have no order between files.
//
// An empty collection leaves one file without rows, so that its schema is there
// and the directory can be read, as with Spark: the first worker writes it when
// it has nothing else. With [PerWindow] there is no window to write it for, and no file.
package parquet
