package side

// This file holds what the module's own packages need to give transforms side
// inputs. Its signatures name internal types, so that other modules cannot use it.

import "github.com/penstock-dev/penstock/internal/sideinput"

// A Bindable is a pointer to a view: a field of a DoFn, or a copy.
type Bindable interface {
	View
	bind(content any)
}

// SourceOf returns what is behind a view, or nil of one that was not made by As….
func SourceOf(v View) *sideinput.Source { return v.source() }

// Bind gives a worker's copy of a view the content that it reads, a
// *sideinput.Content of the view's element type.
func Bind(v Bindable, content any) { v.bind(content) }
