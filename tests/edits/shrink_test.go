package edits

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShrink(t *testing.T) {
	var steps []Step
	for _, line := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		steps = append(steps, Step{Lines: []string{line, line + "2"}})
	}
	has := func(steps []Step, line string) bool {
		return slices.ContainsFunc(steps, func(s Step) bool { return slices.Contains(s.Lines, line) })
	}
	got := Shrink(steps, 1000, func(s []Step) bool { return has(s, "b2") && has(s, "f") })
	if diff := cmp.Diff([]Step{{Lines: []string{"b2"}}, {Lines: []string{"f"}}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	asked := 0
	Shrink(steps, 3, func([]Step) bool { asked++; return true })
	if asked != 3 {
		t.Errorf("asked %d times with a budget of 3", asked)
	}
}
