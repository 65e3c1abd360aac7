package northd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Names of the stopwatches; the first three are the original's for the like.
const (
	loopWatch     = "ovn-northd-loop"   // a turn of the main loop that took something
	deriveWatch   = "northd"            // deriving what follows from it
	compareWatch  = "lflows_to_sb"      // comparing that with what the southbound database has
	sbCommitWatch = "southbound_commit" // from sending a transaction to its answer
	nbCommitWatch = "northbound_commit"
)

// recentSamples are those that averages and percentiles are of.
const (
	recentSamples = 1000
	shortSamples  = 10
)

// stopwatch keeps how long something took, as stopwatch/show reports it.
type stopwatch struct {
	total    uint64
	min, max time.Duration
	recent   []time.Duration // a ring, once it is full
}

func (w *stopwatch) add(d time.Duration) {
	if w.total == 0 || d < w.min {
		w.min = d
	}
	w.max = max(w.max, d)
	if len(w.recent) < recentSamples {
		w.recent = append(w.recent, d)
	} else {
		w.recent[w.total%recentSamples] = d
	}
	w.total++
}

// last are the newest n samples.
func (w *stopwatch) last(n int) []time.Duration {
	n = min(n, len(w.recent))
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = w.recent[(w.total-1-uint64(i))%recentSamples]
	}
	return out
}

func average(d []time.Duration) time.Duration {
	var sum time.Duration
	for _, x := range d {
		sum += x
	}
	return sum / time.Duration(cmp.Or(len(d), 1))
}

func (w *stopwatch) describe(b *strings.Builder, name string) {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	all := w.last(recentSamples)
	p95 := time.Duration(0)
	if len(all) > 0 {
		sorted := slices.Sorted(slices.Values(all))
		p95 = sorted[(len(sorted)*95-1)/100]
	}
	fmt.Fprintf(b, "Statistics for '%s'\n  Total samples: %d\n  Maximum: %.0f msec\n  Minimum: %.0f msec\n", name, w.total, ms(w.max), ms(w.min))
	fmt.Fprintf(b, "  95th percentile: %f msec\n  Short term average: %f msec\n  Long term average: %f msec\n",
		ms(p95), ms(average(w.last(shortSamples))), ms(average(all)))
}

// stopwatches are those of a Daemon, by name; for its goroutine.
type stopwatches map[string]*stopwatch

func newStopwatches() stopwatches {
	s := stopwatches{}
	for _, name := range []string{loopWatch, deriveWatch, compareWatch, sbCommitWatch, nbCommitWatch} {
		s[name] = &stopwatch{}
	}
	return s
}

func (s stopwatches) since(name string, began time.Time) { s[name].add(time.Since(began)) }

// show describes one stopwatch, or with "" all.
func (s stopwatches) show(name string) (string, error) {
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(s)) {
		if name == "" || n == name {
			s[n].describe(&b, n)
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("no stopwatch %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(s)), ", "))
	}
	return b.String(), nil
}

// reset sets one stopwatch to zero, or with "" all.
func (s stopwatches) reset(name string) {
	for n := range s {
		if name == "" || n == name {
			s[n] = &stopwatch{}
		}
	}
}
