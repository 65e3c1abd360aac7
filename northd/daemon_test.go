package northd

import (
	"context"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
	"northwall/schema"
)

// runDaemon runs d until stop, which waits for its end, or the end of the test.
func runDaemon(t *testing.T, d *Daemon) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return ctx, stop
}

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
	ctx, stop := runDaemon(t, d)
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
	stop()
	if len(calls) > 0 {
		t.Error("called again")
	}
}

// partial is a connection in memory whose Status says whether tables that are read
// last are yet to come.
type partial struct {
	*memdb.Conn
	is *atomic.Bool
}

func (p partial) Status() ovsdb.Status {
	st := p.Conn.Status()
	st.Partial = p.is.Load()
	st.Connected = st.Connected && !st.Partial
	st.Locked = st.Locked && st.Connected
	return st
}

// TestPartial: as long as the flows that the southbound database has are not known,
// what is to be written is derived, but neither written nor compared.
func TestPartial(t *testing.T) {
	nb, sb := memdb.New(schema.Northbound()), memdb.New(schema.Southbound())
	txn := ovsdb.NewTxn()
	txn.Insert("NB_Global", ovsdb.NewUUID())
	txn.Insert("Logical_Switch", ovsdb.NewUUID()).String("name", "sw0")
	if _, err := nb.Transact(txn); err != nil {
		t.Fatal(err)
	}
	var isPartial atomic.Bool
	isPartial.Store(true)
	south := sb.Connect(SouthboundTables()...)
	south.SetLock(LockName)
	caughtUp := make(chan struct{}, 1)
	d := NewDaemon(nb.Connect(NorthboundTables()...), partial{south, &isPartial}, zap.NewNop(), DaemonOptions{
		CaughtUp: func() { caughtUp <- struct{}{} },
	})
	ctx, _ := runDaemon(t, d)
	derived := uint64(0)
	for derived == 0 {
		if err := d.do(ctx, func() { derived = d.n.e.Stats().Derived }); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(sb.Snapshot()["Datapath_Binding"]); got != 0 || len(caughtUp) > 0 {
		t.Errorf("got %d datapaths written and caught up %d times, want neither yet", got, len(caughtUp))
	}
	isPartial.Store(false)
	if err := d.do(ctx, func() {}); err != nil {
		t.Fatal(err)
	}
	<-caughtUp
	for _, table := range []string{"Datapath_Binding", "Logical_Flow"} {
		if len(sb.Snapshot()[table]) == 0 {
			t.Errorf("got no rows of %s in the end", table)
		}
	}
}
