package oracle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShrink(t *testing.T) {
	var steps []step
	for _, line := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		steps = append(steps, step{line, line + "2"})
	}
	has := func(steps []step, line string) bool {
		return slices.ContainsFunc(steps, func(s step) bool { return slices.Contains(s, line) })
	}
	got := shrink(steps, 1000, func(s []step) bool { return has(s, "b2") && has(s, "f") })
	if diff := cmp.Diff([]step{{"b2"}, {"f"}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	asked := 0
	shrink(steps, 3, func([]step) bool { asked++; return true })
	if asked != 3 {
		t.Errorf("asked %d times with a budget of 3", asked)
	}
}
