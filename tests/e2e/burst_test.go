package e2e

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"northwall/northd"
	"northwall/ovsdb"
)

// burstEdits is the number of edits in a burst.
const burstEdits = 10_000

// TestBurst sends 10,000 edits as fast as the database takes them: the northd
// merges what comes while it is busy, ends with what another one derives from
// scratch, and needs no more memory than after an earlier, smaller burst. It takes
// some ten seconds, which are the databases'.
func TestBurst(t *testing.T) {
	needServer(t)
	s := newSite(t, single(t, northbound), single(t, southbound), 0)
	d, e := inProcess(t, s), s.e
	switches := make([]string, 10)
	for i := range switches {
		switches[i] = ovsdb.NewUUID()
		e.sure(func(txn *ovsdb.Txn) { txn.Insert("Logical_Switch", switches[i]).String("name", fmt.Sprintf("sw%d", i)) })
	}

	burst(t, e, switches, 0, burstEdits/10)
	e.sync()
	level, batches := heap(), northboundBatches(t, d)
	burst(t, e, switches, burstEdits/10, burstEdits)
	e.sync()
	merged := northboundBatches(t, d) - batches
	t.Logf("%d edits were taken in %d batches", burstEdits, merged)
	if merged >= burstEdits {
		t.Errorf("%d edits were taken in %d batches: none were merged", burstEdits, merged)
	}
	// What is left of the larger burst is there to stay: allow for it, and no more.
	after := heap()
	t.Logf("heap: %d kB before, %d kB after", level>>10, after>>10)
	if limit := level + level/4 + 4<<20; after > limit {
		t.Errorf("%d kB are held after the burst, %d kB before it", after>>10, level>>10)
	}

	for _, line := range s.compare(s.read(northbound, s.nb), nil) {
		t.Error(line)
	}
}

// inProcess runs a northd in the test's own process, whose memory it is to measure.
func inProcess(t *testing.T, s *site) *northd.Daemon {
	t.Helper()
	sb, err := ovsdb.Open(ovsdb.Options{Database: southbound, Remotes: remotes(s.sb), Tables: northd.SouthboundTables(), Lock: northd.LockName})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sb.Close)
	log := zaptest.NewLogger(t, zaptest.Level(zap.ErrorLevel))
	d := northd.NewDaemon(connect(t, northbound, remotes(s.nb), northd.NorthboundTables()), sb, log, northd.DaemonOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return d
}

// burst sends n edits without waiting for answers, and then waits for those: ACLs
// that come, change twice and go, but for one in a hundred; ports too, every other
// time. first is the number of the first.
func burst(t *testing.T, e *editor, switches []string, first, n int) {
	t.Helper()
	var calls []*ovsdb.Call
	send := func(build func(*ovsdb.Txn)) {
		txn := e.NewTxn()
		build(txn)
		calls = append(calls, e.Send(txn))
	}
	for i := first; len(calls) < n; i++ {
		ls, id := switches[i%len(switches)], ovsdb.NewUUID()
		column, table := "acls", "ACL"
		if i%2 == 1 {
			column, table = "ports", "Logical_Switch_Port"
		}
		send(func(txn *ovsdb.Txn) {
			c := txn.Insert(table, id)
			if table == "ACL" {
				c.Int("priority", i%100)
				c.String("direction", "to-lport")
				c.String("match", fmt.Sprintf("tcp.dst == %d", i))
				c.String("action", []string{"allow-related", "allow-stateless", "drop"}[i%3])
			} else {
				c.String("name", fmt.Sprintf("p%d", i))
			}
			txn.Mutate("Logical_Switch", ls).InsertUUIDs(column, []string{id})
		})
		for k := range 2 {
			send(func(txn *ovsdb.Txn) {
				if table == "ACL" {
					txn.Update(table, id).String("match", fmt.Sprintf("udp.dst == %d", i+k))
				} else {
					txn.Update(table, id).String("addresses", fmt.Sprintf("50:54:00:%02x:%02x:%02x 10.%d.%d.%d", i>>8, i&255, k, i>>8, i&255, k))
				}
			})
		}
		if i%100 > 1 {
			send(func(txn *ovsdb.Txn) { txn.Mutate("Logical_Switch", ls).DeleteUUIDs(column, []string{id}) })
		}
	}
	for _, call := range calls {
		if _, err := call.Result(); err != nil {
			t.Fatal(err)
		}
	}
}

// heap is the number of bytes in reachable objects.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// northboundBatches is the number of batches that a daemon has taken.
func northboundBatches(t *testing.T, d *northd.Daemon) (n int) {
	t.Helper()
	text, err := d.Overview(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "northbound batches:")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return n
}
