package takeover

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"northwall/ovsdb/standalone"
	"northwall/tests/golden"
	"northwall/tests/stock"
)

var printReport = flag.Bool("report", false, "print a line for each scenario, and sums")

func TestMain(m *testing.M) {
	flag.Parse()
	status := m.Run()
	if *printReport {
		report.print(os.Stdout)
	}
	os.Exit(status)
}

// scenarios are the reference's of switches, where they can be found, and our own.
func scenarios(t *testing.T) []*golden.Scenario {
	t.Helper()
	all, _, err := golden.LoadAll("../golden/testdata", "switch")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// servers starts databases in a directory.
func servers(t *testing.T, dir string) *golden.Servers {
	t.Helper()
	w, err := golden.StartServers(t.Context(), dir)
	if errors.Is(err, standalone.ErrMissing) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func read(t *testing.T, w *golden.Servers) contents {
	t.Helper()
	sb, nb, err := w.Contents()
	if err != nil {
		t.Fatal(err)
	}
	return contents{nb, sb}
}

// must fails the test where a step of it cannot be made.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bounded gives up on a northd that never answers.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// onceAtEnd has stop called when the test ends, unless it has been called.
func onceAtEnd(t *testing.T, stop func()) func() {
	stop = sync.OnceFunc(stop)
	t.Cleanup(stop)
	return stop
}

func settle(ctx context.Context, w *golden.Servers) error { return w.Northbound(ctx, []string{"sync"}) }

// check fails the test where something has changed, and notes the result.
func check(t *testing.T, s *golden.Scenario, step string, d change, hits map[string]int) {
	t.Helper()
	report.note(s.Name, step, d, hits)
	if lines := d.lines(); len(lines) > 0 {
		t.Errorf("%s changes rows:\n%s", step, strings.Join(lines[:min(len(lines), 40)], "\n"))
	}
}

// TestRestart: a daemon that starts where another of ours has worked sends no
// transaction at all, and none of what follows but the number that is waited for.
func TestRestart(t *testing.T) {
	dir, err := os.MkdirTemp("", "takeover") // short enough for sockets
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := servers(t, dir)
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			ctx := bounded(t)
			must(t, w.Reset(ctx))
			_, err := golden.Run(ctx, w, s)
			must(t, err)
			before := read(t, w)
			w.StopDaemon()
			must(t, w.StartDaemon(ctx))
			sent, err := w.Sent(ctx)
			must(t, err)
			if sent > 0 {
				t.Errorf("the daemon sends %d transactions when it is started again", sent)
			}
			d, _ := changes(before, read(t, w), nil)
			if sent == 0 {
				must(t, settle(ctx, w))
				d, _ = changes(before, read(t, w), progress)
			}
			check(t, s, restart, d, nil)
		})
	}
}

// TestStock: our daemon takes over from the stock one, and that from ours.
func TestStock(t *testing.T) {
	tree, err := stock.Find()
	if err != nil {
		report.missing = err
		t.Skipf("skipped: %v", err)
	}
	dir, err := tree.Dir("takeover")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := servers(t, dir)
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			t.Run(oursAfterStock, func(t *testing.T) {
				ctx := bounded(t)
				must(t, w.Empty(ctx))
				northd, err := tree.StartNorthd(dir)
				must(t, err)
				stop := onceAtEnd(t, northd.Stop)
				_, err = golden.Run(ctx, w, s)
				must(t, err)
				must(t, northd.Recompute(ctx))
				must(t, settle(ctx, w))
				before := read(t, w)
				stop()
				must(t, w.StartDaemon(ctx))
				must(t, settle(ctx, w))
				after := read(t, w)
				merged := mergeGroups(before, after)
				d, _ := changes(before, after, progress)
				d, hits := d.takeKnown(after.nb)
				if merged > 0 {
					hits[mergedGroups] = merged
				}
				check(t, s, oursAfterStock, d, hits)
			})
			t.Run(stockAfterOurs, func(t *testing.T) {
				ctx := bounded(t)
				must(t, w.Reset(ctx))
				_, err := golden.Run(ctx, w, s)
				must(t, err)
				before := read(t, w)
				w.StopDaemon()
				northd, err := tree.StartNorthd(dir)
				must(t, err)
				t.Cleanup(northd.Stop)
				must(t, settle(ctx, w))
				must(t, northd.Recompute(ctx))
				must(t, settle(ctx, w))
				after := read(t, w)
				d, hits := changes(before, after, slices.Concat(progress, written))
				d, known := d.reverse().takeKnown(after.nb)
				maps.Copy(hits, known)
				check(t, s, stockAfterOurs, d.reverse(), hits)
			})
		})
	}
}
