package northd

import (
	"context"
	"testing"

	"go.uber.org/zap"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
	"northwall/schema"
)

// TestCaughtUp: a daemon says once that it has caught up, when the southbound database
// has what follows from the northbound one.
func TestCaughtUp(t *testing.T) {
	nb, sb := memdb.New(schema.Northbound()), memdb.New(schema.Southbound())
	switches := func(n int) {
		t.Helper()
		txn := ovsdb.NewTxn()
		for range n {
			id := ovsdb.NewUUID()
			txn.Insert("Logical_Switch", id).String("name", id)
		}
		if _, err := nb.Transact(txn); err != nil {
			t.Fatal(err)
		}
	}
	txn := ovsdb.NewTxn()
	txn.Insert("NB_Global", ovsdb.NewUUID())
	if _, err := nb.Transact(txn); err != nil {
		t.Fatal(err)
	}
	const count = insertLimit // so that it takes several transactions
	switches(count)
	calls := make(chan int, 10)
	south := sb.Connect(SouthboundTables()...)
	south.SetLock(LockName)
	d := NewDaemon(nb.Connect(NorthboundTables()...), south, zap.NewNop(), DaemonOptions{
		CaughtUp: func() { calls <- len(sb.Snapshot()["Datapath_Binding"]) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	if got := <-calls; got != count {
		t.Errorf("called with %d datapaths written, want %d", got, count)
	}
	switches(1)
	for {
		if err := d.do(ctx, func() {}); err != nil {
			t.Fatal(err)
		}
		if len(sb.Snapshot()["Datapath_Binding"]) == count+1 {
			break
		}
	}
	cancel()
	<-ended
	if len(calls) > 0 {
		t.Error("called again")
	}
}
