package takeover

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// What takes over from what.
const (
	restart        = "restart"
	oursAfterStock = "ours after stock"
	stockAfterOurs = "stock after ours"
)

// A results collects what became of the scenarios, for people.
type results struct {
	names   []string                     // of scenarios, in order
	of      map[string]map[string]string // results by scenario and step
	sums    map[string]sum               // by step
	missing error                        // why there is no stock northd
}

// A sum is of scenarios.
type sum struct {
	same, listed, different int
	rows                    map[string]int // with a listed difference, by its name
}

var report = &results{of: map[string]map[string]string{}, sums: map[string]sum{}}

// note takes the result of a step: what has changed that should not, and what has
// that may.
func (r *results) note(scenario, step string, d change, listed map[string]int) {
	if r.of[scenario] == nil {
		r.of[scenario] = map[string]string{}
		r.names = append(r.names, scenario)
	}
	s := r.sums[step]
	if s.rows == nil {
		s.rows = map[string]int{}
	}
	total := 0
	for why, n := range listed {
		s.rows[why] += n
		total += n
	}
	result := "same"
	switch n := len(d.lines()); {
	case n > 0:
		result = fmt.Sprintf("%d DIFFER", n)
		s.different++
	case total > 0:
		result = fmt.Sprintf("same but %d", total)
		s.listed++
	default:
		s.same++
	}
	r.of[scenario][step], r.sums[step] = result, s
}

func (r *results) print(w io.Writer) {
	steps := []string{restart, oursAfterStock, stockAfterOurs}
	if r.missing != nil {
		fmt.Fprintf(w, "skipped: %s, %s: %v\n", oursAfterStock, stockAfterOurs, r.missing)
		steps = steps[:1]
	}
	row := func(name string, cell func(step string) string) {
		fmt.Fprintf(w, "%-45s", name)
		for _, step := range steps {
			fmt.Fprintf(w, "  %-16s", cell(step))
		}
		fmt.Fprintln(w)
	}
	row("SCENARIO", func(step string) string { return step })
	for _, name := range r.names {
		row(name, func(step string) string { return r.of[name][step] })
	}
	for _, step := range steps {
		s := r.sums[step]
		fmt.Fprintf(w, "%s: of %d scenarios %d are the same, %d but for listed differences, %d not\n",
			step, len(r.names), s.same, s.listed, s.different)
		for _, why := range slices.Sorted(maps.Keys(s.rows)) {
			fmt.Fprintf(w, "%8d rows: %s\n", s.rows[why], why)
		}
	}
}
