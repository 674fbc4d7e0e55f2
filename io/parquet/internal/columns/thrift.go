package columns

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// Types of Thrift's compact protocol, as they stand on the wire.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI8     = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

const (
	// maxThriftDepth bounds nesting. Parquet's own metadata nests less than ten deep; the
	// library skips unknown fields recursively, without a bound.
	maxThriftDepth = 32
	// minStructBytes is the least that a struct in a list of Parquet's metadata takes. It bounds
	// what a list of structs can make the library allocate for each byte of the file.
	minStructBytes = 3
)

var (
	// errThriftShort says that the input ends within a value: with more input it may be good.
	errThriftShort = errors.New("metadata ends within a value")
	errThriftBad   = errors.New("metadata is not well formed")
)

// compact walks a value of Thrift's compact protocol in memory. It allocates nothing, so that a
// damaged length can be found out before anybody believes it.
type compact struct {
	b []byte
	i int
}

func (c *compact) byte() (byte, error) {
	if c.i >= len(c.b) {
		return 0, errThriftShort
	}
	v := c.b[c.i]
	c.i++
	return v, nil
}

func (c *compact) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.b[c.i:])
	if n == 0 {
		return 0, errThriftShort
	}
	if n < 0 {
		return 0, errThriftBad
	}
	c.i += n
	return v, nil
}

func (c *compact) varint() (int64, error) {
	u, err := c.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

func (c *compact) advance(n uint64) error {
	if n > uint64(len(c.b)-c.i) {
		return errThriftShort
	}
	c.i += int(n)
	return nil
}

// field reads a field's header. The type is 0 at the end of the struct.
func (c *compact) field(last int16) (id int16, typ byte, err error) {
	h, err := c.byte()
	if err != nil || h&0x0f == 0 {
		return 0, 0, err
	}
	if delta := h >> 4; delta != 0 {
		return last + int16(delta), h & 0x0f, nil
	}
	v, err := c.varint()
	return int16(v), h & 0x0f, err
}

// list reads the header of a list or set.
func (c *compact) list() (n uint64, typ byte, err error) {
	h, err := c.byte()
	if err != nil {
		return 0, 0, err
	}
	if n = uint64(h >> 4); n == 15 {
		if n, err = c.uvarint(); err != nil {
			return 0, 0, err
		}
	}
	return n, h & 0x0f, nil
}

// skip passes over a value of the given type. In a list a boolean takes a byte, in a field none.
func (c *compact) skip(typ byte, inList bool, depth int) error {
	switch typ {
	case thriftTrue, thriftFalse:
		if inList {
			return c.advance(1)
		}
		return nil
	case thriftI8:
		return c.advance(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := c.uvarint()
		return err
	case thriftDouble:
		return c.advance(8)
	case thriftUUID:
		return c.advance(16)
	case thriftBinary:
		n, err := c.uvarint()
		if err != nil {
			return err
		}
		return c.advance(n)
	case thriftList, thriftSet, thriftMap, thriftStruct:
		if depth >= maxThriftDepth {
			return errThriftBad
		}
		return c.skipNested(typ, depth+1)
	}
	return errThriftBad
}

func (c *compact) skipNested(typ byte, depth int) error {
	switch typ {
	case thriftStruct:
		return c.each(depth, nil)
	case thriftMap:
		n, err := c.uvarint()
		if err != nil || n == 0 {
			return err
		}
		types, err := c.byte()
		if err != nil {
			return err
		}
		for ; n > 0; n-- {
			if err := c.skip(types>>4, true, depth); err != nil {
				return err
			}
			if err := c.skip(types&0x0f, true, depth); err != nil {
				return err
			}
		}
		return nil
	}
	n, elem, err := c.list()
	if err != nil {
		return err
	}
	start := c.i
	for k := n; k > 0; k-- {
		if err := c.skip(elem, true, depth); err != nil {
			return err
		}
	}
	if elem == thriftStruct && uint64(c.i-start) < n*minStructBytes {
		return errThriftBad
	}
	return nil
}

// each walks a struct. visit may consume a field's value and say so; what it does not consume is
// skipped.
func (c *compact) each(depth int, visit func(id int16, typ byte) (bool, error)) error {
	last := int16(0)
	for {
		id, typ, err := c.field(last)
		if err != nil || typ == 0 {
			return err
		}
		last = id
		if visit != nil {
			done, err := visit(id, typ)
			if err != nil {
				return err
			}
			if done {
				continue
			}
		}
		if err := c.skip(typ, false, depth); err != nil {
			return err
		}
	}
}

// checkFooter walks a file's metadata. It returns nil when every length in it is true to the
// bytes that are there, so that decoding it allocates in proportion to them.
func checkFooter(b []byte) error {
	c := &compact{b: b}
	var schema, groups uint64
	err := c.each(0, func(id int16, typ byte) (bool, error) {
		if typ != thriftList || (id != 2 && id != 4) {
			return false, nil
		}
		at := c.i
		n, _, err := c.list()
		c.i = at
		if id == 2 {
			schema = n
		} else {
			groups = n
		}
		return false, err
	})
	switch {
	case err != nil:
		return err
	case c.i != len(b):
		return fmt.Errorf("%d bytes follow the metadata (signed and encrypted footers are not supported)", len(b)-c.i)
	case groups > 0 && schema > uint64(len(b))/groups:
		// Every row group describes every column in some thirty bytes.
		return fmt.Errorf("%d schema elements and %d row groups do not fit a footer of %d bytes", schema, groups, len(b))
	}
	return nil
}

// pageHeader is what the reader needs of a page's header.
type pageHeader struct {
	kind         format.PageType
	size, stored int64 // bytes of the page when decompressed, and in the file
	crc          uint32
	hasCRC       bool
	values       int64 // entries, nulls included
	enc          format.Encoding
	repEnc       format.Encoding // of data pages v1
	defEnc       format.Encoding
	repLen       int64 // bytes of the levels, of data pages v2
	defLen       int64
	raw          bool // data page v2 whose values are not compressed
	described    bool // the struct for the page's kind was there
}

// parsePageHeader reads the header at the start of b and returns its length. errThriftShort means
// that b may be too short.
func parsePageHeader(b []byte) (h pageHeader, n int, err error) {
	c := &compact{b: b}
	h.kind = -1
	var seen [16]bool
	err = c.each(0, func(id int16, typ byte) (bool, error) {
		if id > 0 && int(id) < len(seen) {
			seen[id] = true
		}
		switch {
		case typ == thriftI32 && id <= 4:
			v, err := c.varint()
			switch id {
			case 1:
				h.kind = format.PageType(v)
			case 2:
				h.size = v
			case 3:
				h.stored = v
			case 4:
				h.crc, h.hasCRC = uint32(v), true
			}
			return true, err
		case typ == thriftStruct && (id == 5 || id == 7 || id == 8):
			return true, h.describe(c, id)
		}
		return false, nil
	})
	if err != nil {
		return h, 0, err
	}
	if !seen[1] || !seen[2] || !seen[3] {
		return h, 0, errThriftBad
	}
	if h.hasCRC && h.crc == 0 {
		h.hasCRC = false // some writers leave the field at zero
	}
	switch h.kind {
	case format.DataPage:
		h.described = seen[5]
	case format.DictionaryPage:
		h.described = seen[7]
	case format.DataPageV2:
		h.described = seen[8]
	}
	return h, c.i, nil
}

// describe reads the struct of a page's kind: 5 a data page, 7 a dictionary page, 8 a data page v2.
func (h *pageHeader) describe(c *compact, kind int16) error {
	return c.each(1, func(id int16, typ byte) (bool, error) {
		if kind == 8 && id == 7 {
			h.raw = typ == thriftFalse
			return false, nil
		}
		if typ != thriftI32 {
			return false, nil
		}
		v, err := c.varint()
		switch {
		case id == 1:
			h.values = v
		case kind != 8 && id == 2, kind == 8 && id == 4:
			h.enc = format.Encoding(v)
		case kind == 5 && id == 3:
			h.defEnc = format.Encoding(v)
		case kind == 5 && id == 4:
			h.repEnc = format.Encoding(v)
		case kind == 8 && id == 5:
			h.defLen = v
		case kind == 8 && id == 6:
			h.repLen = v
		}
		return true, err
	})
}
