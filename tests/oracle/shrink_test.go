package oracle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/tests/edits"
)

func TestShrink(t *testing.T) {
	var steps []edits.Step
	for _, line := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		steps = append(steps, edits.Step{Lines: []string{line, line + "2"}})
	}
	has := func(steps []edits.Step, line string) bool {
		return slices.ContainsFunc(steps, func(s edits.Step) bool { return slices.Contains(s.Lines, line) })
	}
	got := shrink(steps, 1000, func(s []edits.Step) bool { return has(s, "b2") && has(s, "f") })
	if diff := cmp.Diff([]edits.Step{{Lines: []string{"b2"}}, {Lines: []string{"f"}}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	asked := 0
	shrink(steps, 3, func([]edits.Step) bool { asked++; return true })
	if asked != 3 {
		t.Errorf("asked %d times with a budget of 3", asked)
	}
}
