package golden

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"northwall/ovsdb/ctl"
	"northwall/tests/golden/sbdump"
)

// given edits what a northd gives out: addresses, tags, queues, ids, keys.
func (e editor) given() string {
	p := e.port()
	return e.one(
		"set logical_switch "+e.sw()+` other_config:subnet="10.1.0.0/24"`,
		"set logical_switch "+e.sw()+" other_config:mac_only=true",
		"clear logical_switch "+e.sw()+" other_config",
		fmt.Sprintf("lsp-add %s %s -- lsp-set-addresses %s dynamic", e.sw(), p, p),
		"lsp-set-addresses "+p+" dynamic",
		fmt.Sprintf("lsp-add %s %s %s 0", e.sw(), p, e.port()),
		"set logical_switch_port "+p+" options:qos_max_rate=1000000",
		"remove logical_switch_port "+p+" options qos_max_rate",
		fmt.Sprintf("acl-add %s to-lport %d tcp allow-related", e.sw(), 2000+e.IntN(3)),
		"set acl . options:persist-established=true",
		"set logical_switch_port "+p+" options:requested-tnl-key="+fmt.Sprint(1+e.IntN(4)),
		"remove logical_switch_port "+p+" options requested-tnl-key",
	)
}

// follow lets s take what has changed as one that stands by.
func (s *Stepper) follow(nb, sb bool) {
	s.Northd.SetStandby(true)
	if nb {
		if b := s.nb.Take(); b != nil {
			s.Northd.Northbound(b)
		}
	}
	if sb {
		if b := s.sb.Take(); b != nil {
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
	e := editor{rand.New(rand.NewPCG(*seed, 1))}
	w := NewMemory()
	if err := runLine(t.Context(), w, initLine); err != nil {
		t.Fatal(err)
	}
	second := NewStepper(w.NB, w.SB)
	defer second.Close()
	second.follow(true, true)
	var since []string
	fail := func(step int, format string, args ...any) {
		t.Helper()
		t.Fatalf("step %d, seed %d: %s\nafter:\n%s", step, *seed, fmt.Sprintf(format, args...), strings.Join(since, "\n"))
	}
	idle, cut := 0, 0 // times that it took over
	for step := range *steps {
		line := e.line()
		if e.IntN(3) == 0 {
			line = e.given()
		}
		since = append(since, line)
		words, err := ctl.Words(strings.TrimPrefix(line, "sb: "))
		if err != nil {
			t.Fatal(err)
		}
		edit := w.editors.northboundNoWait
		if strings.HasPrefix(line, "sb: ") {
			edit = w.editors.southbound
		}
		_ = edit(t.Context(), words) // names what is not there, perhaps
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
			sb, nb, _ := w.Contents()
			if scratch(t, w, sbdump.Lines(sb, nb)); t.Failed() {
				fail(step, "taken over %d times", idle)
			}
		}
		since = nil
	}
	t.Logf("%d edits, taken over %d times between edits and %d times in one", *steps, idle, cut)
}
