package parquet

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/io/parquet/internal/columns"
)

// files are the open files of a source, shared by all its readers: a file's
// metadata is read and bound to T once, not once a row group. A file
// that no reader is at is kept open for a while, since its next row group is
// probably read soon, but not when there are many of them, and not when the last reader is gone.
type files[T any] struct {
	shape *columns.Shape[T]
	zone  *time.Location
	timed bool // rows have event times: wall clocks will not do

	mu      sync.Mutex
	readers int // that joined and did not leave
	open    map[string]*openFile[T]
	idle    []*openFile[T] // of open, those without users, longest idle first
}

// openFile is a file that is open, with its columns bound.
type openFile[T any] struct {
	path  string
	plan  *columns.Plan[T]
	users int
}

// maxIdle is how many files without users stay open.
const maxIdle = 16

// groups returns the row groups of a file.
func (f *files[T]) groups(path string) ([]columns.Split, error) {
	plan, err := f.bind(path)
	if err != nil {
		return nil, err
	}
	return plan.File().Splits(), plan.File().Close()
}

// bind opens a file and binds its columns.
func (f *files[T]) bind(path string) (*columns.Plan[T], error) {
	file, err := columns.Open(path)
	if err != nil {
		return nil, err
	}
	plan, err := columns.Bind(f.shape, file, f.zone)
	if err == nil && f.timed && f.zone == nil && len(plan.LocalTimes()) > 0 {
		err = fmt.Errorf("parquet: %s: timestamps without a zone in columns %q: as event times they are off by the zone of who wrote them;"+
			" name it with parquet.Zone (time.UTC if they are UTC)", path, plan.LocalTimes())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return plan, nil
}

// join announces a reader.
func (f *files[T]) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
}

// leave takes a reader back. The last one closes the files.
func (f *files[T]) leave() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers--; f.readers > 0 {
		return nil
	}
	return f.shrink(0)
}

// use returns the file, to be given back by done. The lock is held while it is
// opened: workers that want the same file must wait for it anyway.
func (f *files[T]) use(path string) (*openFile[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.open[path]; o != nil {
		if o.users == 0 {
			for i, x := range f.idle {
				if x == o {
					f.idle = append(f.idle[:i], f.idle[i+1:]...)
					break
				}
			}
		}
		o.users++
		return o, nil
	}
	plan, err := f.bind(path)
	if err != nil {
		return nil, err
	}
	o := &openFile[T]{path: path, plan: plan, users: 1}
	if f.open == nil {
		f.open = map[string]*openFile[T]{}
	}
	f.open[path] = o
	return o, nil
}

// done gives back what use returned.
func (f *files[T]) done(o *openFile[T]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.users--; o.users > 0 {
		return nil
	}
	f.idle = append(f.idle, o)
	return f.shrink(maxIdle)
}

// shrink closes files without users until at most n are left.
func (f *files[T]) shrink(n int) error {
	var errs []error
	for len(f.idle) > n {
		o := f.idle[0]
		f.idle = f.idle[1:]
		delete(f.open, o.path)
		errs = append(errs, o.plan.File().Close())
	}
	return errors.Join(errs...)
}
