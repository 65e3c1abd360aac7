package northd

import (
	"context"
	"maps"
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

// undoing is a connection in memory whose first few transactions another client
// undoes before anything is told of them.
type undoing struct {
	*memdb.Conn
	times int
	undo  func()
}

func (u *undoing) Send(txn *ovsdb.Txn) *ovsdb.Call {
	call := u.Conn.Send(txn)
	if u.times > 0 {
		u.times--
		u.undo()
	}
	return call
}

// TestUndone: what another client takes away as soon as it is written is written again.
func TestUndone(t *testing.T) {
	contents := func(times int) map[string]int {
		nb, sb := memdb.New(schema.Northbound()), memdb.New(schema.Southbound()).LimitRows("SB_Global", 1)
		txn := ovsdb.NewTxn()
		txn.Insert("NB_Global", ovsdb.NewUUID())
		port := ovsdb.NewUUID()
		txn.Insert("Logical_Switch_Port", port).String("name", "p0")
		sw := txn.Insert("Logical_Switch", ovsdb.NewUUID())
		sw.String("name", "sw0")
		sw.UUIDs("ports", []string{port})
		txn.Insert("Address_Set", ovsdb.NewUUID()).String("name", "as")
		if _, err := nb.Transact(txn); err != nil {
			t.Fatal(err)
		}
		undo := func(db *memdb.DB, operations func(*ovsdb.Txn)) func() {
			return func() {
				txn := ovsdb.NewTxn()
				operations(txn)
				if _, err := db.Transact(txn); err != nil {
					t.Error(err)
				}
			}
		}
		north := &undoing{nb.Connect(NorthboundTables()...), times, undo(nb, func(txn *ovsdb.Txn) {
			txn.Update("Logical_Switch_Port", port).Strings("up", nil)
		})}
		south := &undoing{sb.Connect(SouthboundTables()...), times, undo(sb, func(txn *ovsdb.Txn) {
			for table := range schema.Southbound().Tables {
				txn.Raw([]byte(`{"op":"delete","table":"` + table + `","where":[]}`))
			}
		})}
		south.SetLock(LockName)
		d := NewDaemon(north, south, zap.NewNop(), DaemonOptions{})
		ctx, _ := runDaemon(t, d)
		for idle := false; !idle; {
			if err := d.do(ctx, func() {
				idle = d.sbReady && d.sbCall == nil && d.nbCall == nil && len(north.Ready()) == 0 && len(south.Ready()) == 0
			}); err != nil {
				t.Fatal(err)
			}
		}
		rows := map[string]int{}
		for table, list := range sb.Snapshot() {
			rows[table] = len(list)
		}
		for _, p := range nb.Snapshot()["Logical_Switch_Port"] {
			if p.Columns["up"] == false {
				rows["Logical_Switch_Port with up"]++
			}
		}
		return rows
	}
	want := contents(0)
	if want["Logical_Flow"] == 0 || want["Logical_Switch_Port with up"] == 0 {
		t.Fatalf("got the rows %v, want flows and a port with up among them", want)
	}
	for times := 1; times <= 3; times++ {
		if got := contents(times); !maps.Equal(got, want) {
			t.Errorf("undone %d times: got the rows %v, want %v", times, got, want)
		}
	}
}
