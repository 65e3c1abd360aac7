package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"northwall/ovsdb"
)

// TestMain lets the test's own program be the floor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == floorCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestMeasure measures a network of a few ports: that every edit does something,
// and that the report and the picture have it.
func TestMeasure(t *testing.T) {
	if _, err := exec.LookPath("ovsdb-server"); err != nil {
		t.Skip("ovsdb-server is not installed")
	}
	dir, err := os.MkdirTemp("", "nwb") // short: it has sockets in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "northwalld")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "northwall/cmd/northwalld").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tiny := size{"tiny", 3, 4, 2, 2, 2, 2, 3}
	r := &runner{dir: dir, northds: []northd{floorNorthd(), northwall(program)}, rounds: 2, progress: &progress{w: io.Discard}}
	of, err := r.measure(t.Context(), tiny)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{nameFloor, nameNorthwall} {
		for _, e := range edits {
			if got := len(of[name].Edits[e.Name]); got != r.rounds {
				t.Errorf("%s: %s was made %d times, want %d", name, e.Name, got, r.rounds)
			}
		}
	}
	ours := of[nameNorthwall]
	if on := ours.spentP50("switch of ten ports: add"); on.Server <= 0 || on.Ours <= 0 {
		t.Errorf("a switch of ten ports was spent on %+v", on)
	}
	if ours.Flows < 100 {
		t.Errorf("northwall wrote %d flows", ours.Flows)
	}
	for what, d := range map[string]time.Duration{
		"load": ours.Load, "recompute": ours.Recompute.Took, "cold start": ours.Cold.Took, "warm start": ours.Warm.Took, "replay": ours.Replay,
	} {
		if d <= 0 {
			t.Errorf("%s took %v", what, d)
		}
	}

	for what, w := range map[string]whole{"cold start": ours.Cold, "warm start": ours.Warm} {
		if w.Next <= w.Took {
			t.Errorf("%s took %v, and with an edit %v", what, w.Took, w.Next)
		}
	}

	all := []measurement{{tiny, of}}
	text := newReport(all).String()
	for _, e := range edits {
		if !strings.Contains(text, "| "+e.Name+" |") {
			t.Errorf("the report has no %s:\n%s", e.Name, text)
		}
	}
	var picture strings.Builder
	if err := writePlot(&picture, "a & b", all); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for d := xml.NewDecoder(strings.NewReader(picture.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if want := 2 * len(edits); lines != want {
		t.Errorf("the picture has %d lines, want %d", lines, want)
	}
}

// TestEditsChange: every edit but the no-op is one, and none depends on what is
// not of its round.
func TestEditsChange(t *testing.T) {
	r := newRound(sizes[0], 3)
	for _, e := range edits {
		txn := ovsdb.NewTxn()
		e.write(txn, r)
		if (txn.Len() == 0) != (e.Name == "no-op") {
			t.Errorf("%s has %d operations", e.Name, txn.Len())
		}
	}
}

// TestVerdicts: what exceeds its bound is listed, and what keeps it is not.
func TestVerdicts(t *testing.T) {
	always := func(ms float64) *result {
		r := &result{Edits: map[string][]time.Duration{}}
		for _, e := range edits {
			r.Edits[e.Name] = []time.Duration{time.Duration(ms * float64(time.Millisecond))}
		}
		r.Replay, r.Cold.Took = time.Second, time.Second
		return r
	}
	measured := func(s size, floor, ours float64) measurement {
		return measurement{s, map[string]*result{nameFloor: always(floor), nameNorthwall: always(ours)}}
	}
	r := newReport([]measurement{measured(sizes[0], 1, 3), measured(sizes[1], 1, 4.6)})
	for what, want := range map[string]bool{
		"2k: no-op: ": false, "25k: no-op: 4.60, more than 3": true, "25k: switch of ten ports: add: ": false,
		"growth: no-op: 1.53, more than 1.5": true, "cold start": false, "first tier of a group: add: 4": false,
	} {
		if got := strings.Contains(strings.Join(r.missed, "\n"), what); got != want {
			t.Errorf("%q is missed: got %t, want %t; all: %q", what, got, want, r.missed)
		}
	}
}

func TestParseSizes(t *testing.T) {
	for _, tc := range []struct {
		list, want, err string
	}{
		{"25k 2k", "2k 25k", ""},
		{"2k,2k", "2k", ""},
		{"", "", ""},
		{"3k", "", `no size "3k": there are 2k, 25k, 100k`},
	} {
		got, err := parseSizes(tc.list)
		var names []string
		for _, s := range got {
			names = append(names, s.Name)
		}
		if strings.Join(names, " ") != tc.want || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
			t.Errorf("%q: got %q, %v, want %q, %q", tc.list, names, err, tc.want, tc.err)
		}
	}
}
