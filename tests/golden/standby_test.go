package golden

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"northwall/ovsdb"
)

var standbySeeds = flag.Int("standby-seeds", 15, "number of seeds of TestStandby")

// follow lets s take what has changed as one that stands by.
func (s *Stepper) follow(nb, sb bool) {
	s.Northd.SetStandby(true)
	if nb {
		for b := range ovsdb.Batches(s.nb) {
			s.Northd.Northbound(b)
		}
	}
	if sb {
		for b := range ovsdb.Batches(s.sb) {
			s.Northd.Southbound(b)
		}
	}
	s.Northd.Derive()
	s.Northd.Settle(s.nb.NewTxn(), s.sb.NewTxn(), 1000)
}

// takeOver makes s the active one.
func (s *Stepper) takeOver() {
	s.Northd.SetStandby(false)
}

// TestStandby follows random edits with a second northd, which sees now the one
// database first and now the other, or nothing for a while. Whenever it takes over
// it has nothing to write, or, where the active one ended before it had written an
// edit, what the two of them agree on from there.
func TestStandby(t *testing.T) {
	for s := *seed; s < *seed+uint64(*standbySeeds); s++ {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			t.Parallel()
			standby(t, s)
		})
	}
}

func standby(t *testing.T, seed uint64) {
	e := rand.New(rand.NewPCG(seed, 1))
	w, err := newWalk(t.Context(), seed)
	if err != nil {
		t.Fatal(err)
	}
	second := NewStepper(w.NB, w.SB)
	defer second.Close()
	second.follow(true, true)
	var since []string
	fail := func(step int, format string, args ...any) {
		t.Helper()
		t.Fatalf("step %d, seed %d: %s\nafter:\n%s", step, seed, fmt.Sprintf(format, args...), strings.Join(since, "\n"))
	}
	idle, cut := 0, 0 // times that it took over
	for step := range *steps {
		made, err := w.step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		since = append(since, made.String())
		if e.IntN(2) == 0 {
			second.follow(true, false)
		}
		if e.IntN(8) == 0 {
			// The active one ends in the middle of the edit, and comes back as standby.
			since = append(since, "# taken over before the edit was written")
			w.Northd.take()
			w.Northd.Northd.Derive()
			w.Northd.Northd.WriteSouthbound(w.Northd.sb.NewTxn(), 1000)
			w.Northd.Northd.Retry()
			w.Northd, second = second, w.Northd
			if e.IntN(2) == 0 {
				second.follow(true, true)
			}
			w.Northd.takeOver()
			cut++
		}
		if err := w.sync(); err != nil {
			fail(step, "%v", err)
		}
		switch e.IntN(4) {
		case 0:
			second.follow(false, true)
		case 1, 2:
			second.follow(true, true)
		}
		if step%7 != 6 {
			continue
		}
		since = append(since, "# taken over")
		second.follow(true, true)
		w.Northd, second = second, w.Northd
		w.Northd.takeOver()
		second.follow(true, true)
		written, err := w.Northd.Settle()
		if err != nil {
			fail(step, "%v", err)
		}
		for _, txn := range written {
			fail(step, "taking over wrote %s", txn)
		}
		idle++
		if idle%4 == 0 {
			if err := scratch(w.Memory); err != nil {
				fail(step, "taken over %d times: %v", idle, err)
			}
		}
		since = nil
	}
	t.Logf("%d edits, taken over %d times between edits and %d times in one", *steps, idle, cut)
}
