package golden

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb"
	"northwall/tests/golden/sbdump"
)

var update = flag.Bool("update", false, "write the results of our own scenarios into testdata")

// scenarios are the shared ones, where they can be found, and our own.
func scenarios(t *testing.T) []*Scenario {
	t.Helper()
	all, shared, err := LoadAll("testdata", "switch", "router")
	if err != nil {
		t.Fatal(err)
	}
	if !shared {
		t.Log("skipped: the reference's scenarios, which are in neither $NORTHWALL_SHARED nor ../shared")
	}
	return all
}

// pending are the scenarios that are known not to give the reference's result
// yet, with the reason: lines "NAME REASON" of testdata/pending.
func pending(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/pending")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, line := range lines(b) {
		if name, reason, ok := strings.Cut(line, " "); ok && name[0] != '#' {
			out[name] = strings.TrimSpace(reason)
		}
	}
	return out
}

// compare fails the test where err or a difference says that a scenario went
// wrong, unless it is pending; one that is pending and goes well is a failure,
// too, so that the list cannot grow stale.
func compare(t *testing.T, reason string, want, got []string, err error) {
	t.Helper()
	trouble := ""
	if err != nil {
		trouble = err.Error()
	} else {
		trouble = Diff(want, got)
	}
	switch {
	case trouble == "" && reason != "":
		t.Error("the result is right: take the scenario off testdata/pending")
	case trouble == "":
	case reason != "":
		t.Skipf("pending: %s\n%s", reason, trouble)
	default:
		t.Errorf("result (-want +got):\n%s", trouble)
	}
}

// TestGolden runs each scenario in memory, and on what it leaves: a northd that
// starts anew has nothing to write, and one that starts from an empty southbound
// database arrives at the same.
func TestGolden(t *testing.T) {
	pending := pending(t)
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			w := NewMemory()
			got, err := Run(t.Context(), w, s)
			if *update && err == nil && s.path != "" {
				if err := s.Update(got); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				if err := errors.Join(restart(w), scratch(w)); err != nil {
					t.Error(err)
				}
			}
			compare(t, pending[s.Name], s.Want, got, err)
		})
	}
}

// restart checks that a new northd writes nothing to databases that are right.
func restart(w *Memory) error {
	n := NewStepper(w.NB, w.SB)
	defer n.Close()
	written, err := n.Settle()
	for _, txn := range written {
		err = errors.Join(err, fmt.Errorf("a northd that was restarted writes:\n%s", txn))
	}
	return err
}

// scratch checks that the southbound database that has grown by one change after
// the other is what comes of the northbound one at once, up to allocated keys.
func scratch(w *Memory) error {
	sb, nb, err := w.Contents()
	if err != nil {
		return err
	}
	fresh, err := w.Scratch(sb)
	if err != nil {
		return fmt.Errorf("from scratch: %w", err)
	}
	sbdump.ForgetKeys(fresh, nb)
	sbdump.ForgetKeys(sb, nb)
	if diff := Diff(sbdump.Lines(fresh, nb), sbdump.Lines(sb, nb)); diff != "" {
		return fmt.Errorf("incremental result against one from scratch (-scratch +incremental):\n%s", diff)
	}
	return nil
}

// TestGoldenServer runs each scenario through ovsdb-servers and a daemon.
func TestGoldenServer(t *testing.T) {
	if testing.Short() {
		t.Skip("a server and a scenario take some 100 ms each")
	}
	w := newServers(t)
	pending := pending(t)
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := w.Reset(ctx); err != nil {
				t.Fatal(err)
			}
			got, err := Run(ctx, w, s)
			compare(t, pending[s.Name], s.Want, got, err)
		})
	}
}

func TestDiff(t *testing.T) {
	many := make([]string, diffLimit+5)
	for i := range many {
		many[i] = fmt.Sprintf("%03d", i)
	}
	tests := []struct {
		name      string
		want, got []string
		diff      string
	}{
		{"equal", []string{"a", "b"}, []string{"a", "b"}, ""},
		{"missing and extra", []string{"a", "b 1", "c"}, []string{"a", "b 2", "c", "d"},
			"1 of 3 rows missing (-), 2 that should not be there (+)\n-b 1\n+b 2\n+d"},
		{"repeated", []string{"a"}, []string{"a", "a"}, "0 of 1 rows missing (-), 1 that should not be there (+)\n+a"},
		{"many", many, nil, fmt.Sprintf("%d of %[1]d rows missing (-), 0 that should not be there (+)\n-%s\n... and 5 more",
			len(many), strings.Join(many[:diffLimit], "\n-"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.diff, Diff(tt.want, tt.got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRunReportsLine checks that a command that fails is named.
func TestRunReportsLine(t *testing.T) {
	_, err := Run(t.Context(), NewMemory(), &Scenario{Lines: []string{"# comment", "", "ls-add sw0", "sb: lsp-bind p1 hv1"}})
	if err == nil || !strings.HasPrefix(err.Error(), "line 4: sb: lsp-bind p1 hv1: ") {
		t.Errorf("got %v", err)
	}
}

// TestSettleReportsRefusal checks that what the database refuses is shown.
func TestSettleReportsRefusal(t *testing.T) {
	w := NewMemory()
	w.Northd.sb.Refuse(1, &ovsdb.TxnError{Kind: "constraint violation"})
	err := w.Northbound(t.Context(), []string{"init"})
	if err == nil || !strings.Contains(err.Error(), "southbound: ") || !strings.Contains(err.Error(), `"op":"insert"`) {
		t.Errorf("got %v", err)
	}
}
