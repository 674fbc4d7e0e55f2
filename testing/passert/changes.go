package passert

import (
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/testing/internal/show"
)

// Standing returns what is left of elements that came in this order when each
// withdrawal has taken back what it withdraws: an element that came before it with the same
// value, window and time. It is an error if there is none.
func Standing[T any](got []Element[T]) ([]Element[T], error) {
	if !slices.ContainsFunc(got, func(e Element[T]) bool { return e.Kind.Withdrawal() }) {
		return got, nil
	}
	at, gone := map[string][]int{}, make([]bool, len(got))
	for i, e := range got {
		row := fmt.Sprint(show.Value(e.Value), e.Window, e.Time)
		if !e.Kind.Withdrawal() {
			at[row] = append(at[row], i)
			continue
		}
		n := len(at[row]) - 1
		if n < 0 {
			return nil, fmt.Errorf("element %d, %s, takes back what did not come before it", i, Describe(e))
		}
		gone[i], gone[at[row][n]] = true, true
		at[row] = at[row][:n]
	}
	var left []Element[T]
	for i, e := range got {
		if !gone[i] {
			left = append(left, e)
		}
	}
	return left, nil
}

// standing makes of a check of what stands one of what came.
func standing[T any](check func([]Element[T]) string) func([]Element[T]) string {
	return func(got []Element[T]) string {
		left, err := Standing(got)
		if err != nil {
			return err.Error() + listing(got)
		}
		problem := check(left)
		if problem != "" && len(left) != len(got) {
			problem += "\nbefore anything was taken back," + listing(got)[1:]
		}
		return problem
	}
}
