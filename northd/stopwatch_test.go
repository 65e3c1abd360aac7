package northd

import (
	"testing"
	"time"
)

// TestStopwatch: averages and the percentile are of the newest samples, the extremes
// of all.
func TestStopwatch(t *testing.T) {
	s := newStopwatches()
	w := s[loopWatch]
	w.add(5 * time.Second)
	for i := range 1100 {
		w.add(time.Duration(i+1) * time.Millisecond)
	}
	got, err := s.show(loopWatch)
	want := "Statistics for 'ovn-northd-loop'\n  Total samples: 1101\n  Maximum: 5000 msec\n  Minimum: 1 msec\n" +
		"  95th percentile: 1050.000000 msec\n  Short term average: 1095.500000 msec\n  Long term average: 600.500000 msec\n"
	if got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	s.reset(loopWatch)
	want = "Statistics for 'ovn-northd-loop'\n  Total samples: 0\n  Maximum: 0 msec\n  Minimum: 0 msec\n" +
		"  95th percentile: 0.000000 msec\n  Short term average: 0.000000 msec\n  Long term average: 0.000000 msec\n"
	if got, _ = s.show(loopWatch); got != want {
		t.Errorf("after reset: got %s, want %s", got, want)
	}
}
