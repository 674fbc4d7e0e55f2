package side

import (
	"fmt"

	"github.com/penstock-dev/penstock/internal/exec"
	"github.com/penstock-dev/penstock/internal/sideinput"
	"github.com/penstock-dev/penstock/pcoll"
)

// A View is a collection made readable: a [Singleton], [Iterable], [List],
// [Map] or [Multimap]. It serves any number of transforms.
type View interface{ source() *sideinput.Source }

// view is what all views of a collection of T have in common.
type view[T any] struct {
	src     *sideinput.Source
	content *sideinput.Content[T] // in a worker's copy
}

func viewOf[T any](kind string, in pcoll.PCollection[T], opts []pcoll.Option) view[T] {
	return view[T]{src: sideinput.NewSource(pcoll.NewBuilder(in.Pipeline(), kind, opts...), in)}
}

func (v view[T]) source() *sideinput.Source { return v.src }

func (v *view[T]) bind(content any) { v.content = content.(*sideinput.Content[T]) }

// values returns what the element being processed sees, and the context to fail in.
func (v view[T]) values() ([]T, *exec.Ctx) {
	cell, c := v.content.Read()
	return cell.Values, c
}

// fail fails the run; what names the view and what was wrong with reading it.
func (v view[T]) fail(c *exec.Ctx, format string, args ...any) {
	c.Fail(fmt.Errorf("side input %s: %w", v.src.Kind(), fmt.Errorf(format, args...)))
}
