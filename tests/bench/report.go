package main

import (
	"fmt"
	"strings"
	"time"
)

// measurement is what was measured at one size.
type measurement struct {
	size
	of map[string]*result // by the northd's name
}

// Bounds beside those of the edits.
const (
	growthBound = 1.5  // from the smallest size to the largest
	timeBound   = 0.5  // of the original's time for a recompute, a cold and a warm start
	cpuBound    = 0.25 // of the original's CPU time for them
	memoryBound = 0.5  // of the original's peak
	replayBound = 1.3  // a cold start, of the time that only writing it takes
)

// report is the text of all measurements.
type report struct {
	strings.Builder
	met    int
	missed []string
}

// judge returns a ratio, and counts whether it keeps its bound (0 for none).
func (r *report) judge(what string, got, bound float64) string {
	text := fmt.Sprintf("%.2f", got)
	switch {
	case bound == 0:
	case got <= bound:
		r.met++
	default:
		text = "**" + text + "**"
		r.missed = append(r.missed, fmt.Sprintf("%s: %.2f, more than %g", what, got, bound))
	}
	return text
}

// newReport writes the tables, in Markdown.
func newReport(all []measurement) *report {
	r := &report{}
	for _, m := range all {
		r.edits(m)
		r.wholes(m)
	}
	if len(all) > 1 {
		r.growth(all)
	}
	fmt.Fprintf(r, "%d bounds are met, %d are not", r.met, len(r.missed))
	if len(r.missed) == 0 {
		r.WriteString(".\n")
	} else {
		r.WriteString(":\n\n- " + strings.Join(r.missed, "\n- ") + "\n")
	}
	return r
}

// row writes a row of a table.
func (r *report) row(cells ...string) { r.WriteString("| " + strings.Join(cells, " | ") + " |\n") }

func (r *report) head(cells ...string) {
	r.row(cells...)
	r.WriteString("|---" + strings.Repeat("|---:", len(cells)-1) + "|\n")
}

func (r *report) edits(m measurement) {
	fmt.Fprintf(r, "### %s\n\n", m.size)
	r.head("edit, p50 in ms", nameFloor, nameNorthwall, "p90", "server", "ours", "times floor", "bound", nameStock, "stock / northwall")
	for _, e := range edits {
		floor, _ := m.of[nameFloor].p50(e.Name)
		ours, ok := m.of[nameNorthwall].p50(e.Name)
		if !ok {
			continue
		}
		p90, _ := m.of[nameNorthwall].quantile(e.Name, 0.9)
		bound := "-"
		if e.Bound > 0 {
			bound = fmt.Sprint(e.Bound)
		}
		original, times := "-", "-"
		if s, ok := m.of[nameStock].p50(e.Name); ok {
			original, times = ms(s), fmt.Sprintf("%.0f", ratio(s, ours))
		}
		on := m.of[nameNorthwall].spentP50(e.Name)
		r.row(e.Name, ms(floor), ms(ours), ms(p90), ms(on.Server), ms(on.Ours), r.judge(m.Name+": "+e.Name, ratio(ours, floor), e.Bound), bound, original, times)
	}
	r.WriteString("\n")
}

func (r *report) wholes(m measurement) {
	ours, original := m.of[nameNorthwall], m.of[nameStock]
	if ours == nil {
		return
	}
	r.head("everything", nameNorthwall, nameStock, "ratio", "bound")
	line := func(what string, f func(*result) (text string, v float64), bound float64) {
		text, v := f(ours)
		other, of, limit := "-", "-", "-"
		if original != nil {
			o, ov := f(original)
			other, of = o, r.judge(m.Name+": "+what, v/ov, bound)
			if bound > 0 {
				limit = fmt.Sprint(bound)
			}
		}
		r.row(what, text, other, of, limit)
	}
	duration := func(get func(*result) time.Duration) func(*result) (string, float64) {
		return func(x *result) (string, float64) {
			return fmt.Sprintf("%.2f s", get(x).Seconds()), get(x).Seconds()
		}
	}
	memory := func(get func(*result) int64) func(*result) (string, float64) {
		return func(x *result) (string, float64) {
			return fmt.Sprintf("%d MB", get(x)>>20), float64(get(x))
		}
	}
	line("logical flows", func(x *result) (string, float64) { return fmt.Sprint(x.Flows), float64(x.Flows) }, 0)
	line("load until caught up", duration(func(x *result) time.Duration { return x.Load }), 0)
	line("recompute", duration(func(x *result) time.Duration { return x.Recompute.Took }), timeBound)
	line("recompute, its CPU", duration(func(x *result) time.Duration { return x.Recompute.CPU }), cpuBound)
	line("cold start", duration(func(x *result) time.Duration { return x.Cold.Took }), timeBound)
	line("cold start, and an edit", duration(func(x *result) time.Duration { return x.Cold.Next }), 0)
	line("cold start, its CPU", duration(func(x *result) time.Duration { return x.Cold.CPU }), cpuBound)
	line("warm start", duration(func(x *result) time.Duration { return x.Warm.Took }), timeBound)
	line("warm start, and an edit", duration(func(x *result) time.Duration { return x.Warm.Next }), 0)
	line("warm start, its CPU", duration(func(x *result) time.Duration { return x.Warm.CPU }), cpuBound)
	line("peak memory", memory(func(x *result) int64 { return x.Peak }), memoryBound)
	line("peak memory, cold start", memory(func(x *result) int64 { return x.Cold.Peak }), memoryBound)
	line("peak memory, warm start", memory(func(x *result) int64 { return x.Warm.Peak }), memoryBound)
	fmt.Fprintf(r, "\nSending a cold start's transactions again, and nothing else, takes %.2f s: the cold start takes %s times that, at most %g are allowed.\n\n",
		ours.Replay.Seconds(), r.judge(m.Name+": cold start against sending its transactions", ratio(ours.Cold.Took, ours.Replay), replayBound), replayBound)
}

// growth compares the sizes.
func (r *report) growth(all []measurement) {
	r.WriteString("### Growth\n\n")
	cells := []string{"edit, p50 of northwall in ms"}
	for _, m := range all {
		cells = append(cells, m.Name)
	}
	r.head(append(cells, "growth", "bound")...)
	for _, e := range edits {
		cells := []string{e.Name}
		var first, last time.Duration
		for _, m := range all {
			d, _ := m.of[nameNorthwall].p50(e.Name)
			if first == 0 {
				first = d
			}
			last = d
			cells = append(cells, ms(d))
		}
		r.row(append(cells, r.judge("growth: "+e.Name, ratio(last, first), growthBound), fmt.Sprint(growthBound))...)
	}
	r.WriteString("\n")
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }
