package columns

import (
	"errors"
	"io"
	"reflect"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"
)

// leafReader brings one column into its field, page after page.
type leafReader struct {
	*binding
	vals  values
	pages *pageReader
	null  func(row int) // told of nulls that the field cannot hold

	page page
	at   int   // entries of the page that are done
	cur  []int // index of the element at hand, by repetition level
}

var errLevels = errors.New("damaged: its repetition levels do not begin a row where one begins")

// advance makes the next page with entries ready; io.EOF after the last.
func (l *leafReader) advance() error {
	for {
		h, err := l.pages.peek()
		if err != nil {
			return err
		}
		switch {
		case h.kind == format.DictionaryPage:
			body, n, err := l.pages.dictionary()
			if err == nil {
				err = l.vals.dictionary(body, n)
			}
			if err != nil {
				return err
			}
		case h.kind == format.IndexPage, h.values == 0:
		default:
			l.at = 0
			if l.page, err = l.pages.data(); err == nil {
				err = l.vals.load(&l.page)
			}
			l.pages.pass()
			return err
		}
		l.pages.pass()
	}
}

// left returns the entries of the page still to do.
func (l *leafReader) left() int { return l.page.entries - l.at }

// fill stores the column's values of the next n rows, of which the first is at base.
func (l *leafReader) fill(base unsafe.Pointer, stride uintptr, n int) error {
	if !l.flat {
		return l.assemble(base, stride, n)
	}
	for row := 0; row < n; {
		if l.left() == 0 {
			if err := l.advance(); err != nil {
				return err
			}
		}
		k := min(n-row, l.left())
		dst := unsafe.Add(base, uintptr(row)*stride+l.off)
		var err error
		switch {
		case l.ptr:
			err = l.point(dst, stride, k)
		case l.page.def == nil:
			err = l.vals.put(dst, stride, k)
		default:
			err = l.sparse(dst, stride, k, row)
		}
		if err != nil {
			return err
		}
		l.at += k
		row += k
	}
	return nil
}

// sparse stores k entries of which some are null. They stay zero, as the rows were.
func (l *leafReader) sparse(dst unsafe.Pointer, stride uintptr, k, row int) error {
	def, top, allowed := l.page.def[l.at:l.at+k], l.node.maxDef, l.nullable()
	for i := 0; i < k; {
		j := i
		for j < k && def[j] == top {
			j++
		}
		if j > i {
			if err := l.vals.put(unsafe.Add(dst, uintptr(i)*stride), stride, j-i); err != nil {
				return err
			}
		}
		for ; j < k && def[j] != top; j++ {
			if !allowed {
				l.null(row + j)
			}
		}
		i = j
	}
	return nil
}

func (l *leafReader) nullable() bool {
	s := l.steps[len(l.steps)-1]
	return s.kind != stepOption || s.ok
}

// point stores pointers to k entries; null is nil. The values of a call share an allocation.
func (l *leafReader) point(dst unsafe.Pointer, stride uintptr, k int) error {
	var def []byte
	if l.page.def != nil {
		def = l.page.def[l.at : l.at+k]
	}
	n := k
	if def != nil {
		n = 0
		for _, d := range def {
			if d == l.node.maxDef {
				n++
			}
		}
	}
	if n == 0 {
		return nil
	}
	size := l.field.typ.Size()
	room := l.vals.alloc(n)
	if err := l.vals.put(room, size, n); err != nil {
		return err
	}
	used := uintptr(0)
	for i := range k {
		if def == nil || def[i] == l.node.maxDef {
			*(*unsafe.Pointer)(unsafe.Add(dst, uintptr(i)*stride)) = unsafe.Add(room, used*size)
			used++
		}
	}
	return nil
}

// skip passes over the next n rows. Whole pages of a column that does not repeat are not even
// decompressed.
func (l *leafReader) skip(n int64) error {
	if l.node.maxRep > 0 {
		return l.skipRows(n)
	}
	for n > 0 {
		if l.left() == 0 {
			h, err := l.pages.peek()
			if err != nil {
				return err
			}
			if (h.kind == format.DataPage || h.kind == format.DataPageV2) && h.values <= n {
				n -= h.values
				l.pages.pass()
				continue
			}
			if err := l.advance(); err != nil {
				return err
			}
		}
		k := int(min(n, int64(l.left())))
		l.vals.skip(l.definedIn(k))
		l.at += k
		n -= int64(k)
	}
	return nil
}

// definedIn returns how many of the next k entries have a value.
func (l *leafReader) definedIn(k int) int {
	if l.page.def == nil {
		return k
	}
	n := 0
	for _, d := range l.page.def[l.at : l.at+k] {
		if d == l.node.maxDef {
			n++
		}
	}
	return n
}

// skipRows passes over n rows of a column that repeats. A row may go on in the next page.
func (l *leafReader) skipRows(n int64) error {
	for n >= 0 {
		if l.left() == 0 {
			if err := l.advance(); err != nil {
				if err == io.EOF && n == 0 {
					return nil
				}
				return err
			}
		}
		k := 0
		for _, rep := range l.page.rep[l.at:] {
			if rep == 0 {
				if n == 0 {
					n--
					break
				}
				n--
			}
			k++
		}
		l.vals.skip(l.definedIn(k))
		l.at += k
	}
	return nil
}

// assemble stores n rows of a column that repeats or lies behind pointers. An entry of
// repetition level 0 begins a row, so the last row ends where the next begins.
func (l *leafReader) assemble(base unsafe.Pointer, stride uintptr, n int) error {
	row := -1
	for {
		if l.left() == 0 {
			if row == n-1 && l.node.maxRep == 0 {
				return nil
			}
			if err := l.advance(); err != nil {
				if err == io.EOF && row == n-1 {
					return nil
				}
				return err
			}
		}
		rep, def := uint8(0), l.node.maxDef
		if l.page.rep != nil {
			rep = l.page.rep[l.at]
		}
		if l.page.def != nil {
			def = l.page.def[l.at]
		}
		if rep == 0 {
			if row == n-1 {
				return nil
			}
			row++
			clear(l.cur)
		} else {
			if row < 0 {
				return errLevels
			}
			l.cur[rep]++
			clear(l.cur[rep+1:])
		}
		done, err := l.entry(unsafe.Add(base, uintptr(row)*stride), def, row)
		if err != nil {
			return err
		}
		l.at += done
	}
}

// entry stores one entry in its row, or a run of them that are elements of one list. It returns
// how many.
func (l *leafReader) entry(p unsafe.Pointer, def uint8, row int) (int, error) {
	for i := range l.steps {
		s := &l.steps[i]
		p = unsafe.Add(p, s.off)
		switch s.kind {
		case stepOption:
			if def < s.def {
				if !s.ok {
					l.null(row)
				}
				return 1, nil
			}
		case stepPointer:
			if def < s.def {
				return 1, nil
			}
			if *(*unsafe.Pointer)(p) == nil {
				*(*unsafe.Pointer)(p) = reflect.New(s.typ).UnsafePointer()
			}
			p = *(*unsafe.Pointer)(p)
		case stepList:
			h := (*sliceHeader)(p)
			if def < s.def {
				if s.empty > 0 && def >= s.empty && h.data == nil {
					reflect.NewAt(s.typ, p).Elem().Set(reflect.MakeSlice(s.typ, 0, 0))
				}
				return 1, nil
			}
			run := 1
			if s.scalar && def == l.node.maxDef {
				run = l.run()
			}
			if err := l.extend(h, s, run); err != nil {
				return 0, err
			}
			p = unsafe.Add(h.data, uintptr(l.cur[s.rep])*s.size)
			if run > 1 {
				l.cur[s.rep] += run - 1
				return run, l.vals.put(p, s.size, run)
			}
		}
	}
	return 1, l.vals.put(p, 0, 1)
}

// run returns how many entries of the page, from the one at hand on, are values of one list.
func (l *leafReader) run() int {
	n := l.at + 1
	for n < l.page.entries && l.page.rep[n] == l.node.maxRep && (l.page.def == nil || l.page.def[n] == l.node.maxDef) {
		n++
	}
	return n - l.at
}

// extend sees to it that the list has the element at hand and run-1 more.
func (l *leafReader) extend(h *sliceHeader, s *step, run int) error {
	need := l.cur[s.rep] + run
	if need <= h.len {
		return nil
	}
	if !s.owner || l.cur[s.rep] > h.len {
		return errors.New("damaged: its lists are longer than those of the columns beside it")
	}
	if need > h.cap {
		room := need
		if h.cap > 0 {
			room = max(need, 2*h.cap)
		}
		old := reflect.NewAt(s.typ, unsafe.Pointer(h)).Elem()
		grown := reflect.MakeSlice(s.typ, h.len, room)
		reflect.Copy(grown, old)
		old.Set(grown)
	}
	h.len = need
	return nil
}
