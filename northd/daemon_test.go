package northd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// await waits until something is true on the goroutine of d.
func await(t *testing.T, ctx context.Context, d *Daemon, is func() bool) {
	t.Helper()
	for done := false; !done; {
		if err := d.do(ctx, func() { done = is() }); err != nil {
			t.Fatal(err)
		}
	}
}

// deleteAll deletes the rows of a southbound database as another client, of all tables
// where none is named.
func deleteAll(t *testing.T, sb *memdb.DB, tables ...string) {
	if len(tables) == 0 {
		tables = slices.Collect(maps.Keys(schema.Southbound().Tables))
	}
	txn := ovsdb.NewTxn()
	for _, table := range tables {
		txn.Raw([]byte(`{"op":"delete","table":"` + table + `","where":[]}`))
	}
	if _, err := sb.Transact(txn); err != nil {
		t.Error(err)
	}
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
// what is to be written is derived, but not written.
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
	derived, caughtUp := make(chan struct{}, 10), make(chan struct{}, 1)
	d := NewDaemon(nb.Connect(NorthboundTables()...), partial{south, &isPartial}, zap.NewNop(), DaemonOptions{
		Derived:  func() { derived <- struct{}{} },
		CaughtUp: func() { caughtUp <- struct{}{} },
	})
	ctx, _ := runDaemon(t, d)
	<-derived
	await(t, ctx, d, func() bool { return d.n.e.Stats().Derived > 0 })
	if got := len(sb.Snapshot()["Datapath_Binding"]); got != 0 || len(caughtUp) > 0 {
		t.Errorf("got %d datapaths written and caught up %d times, want neither yet", got, len(caughtUp))
	}
	isPartial.Store(false)
	if err := d.do(ctx, func() {}); err != nil {
		t.Fatal(err)
	}
	<-caughtUp
	if len(derived) > 0 {
		t.Error("said again that all has been derived")
	}
	for _, table := range []string{"Datapath_Binding", "Logical_Flow"} {
		if len(sb.Snapshot()[table]) == 0 {
			t.Errorf("got no rows of %s in the end", table)
		}
	}
}

// TestPartialAgain: a daemon that has caught up says no more that all has been derived
// when rows are read again.
func TestPartialAgain(t *testing.T) {
	nb, sb := memdb.New(schema.Northbound()), memdb.New(schema.Southbound())
	insert := func(table string) {
		t.Helper()
		txn := ovsdb.NewTxn()
		txn.Insert(table, ovsdb.NewUUID())
		if _, err := nb.Transact(txn); err != nil {
			t.Fatal(err)
		}
	}
	insert("NB_Global")
	var isPartial atomic.Bool
	south := sb.Connect(SouthboundTables()...)
	south.SetLock(LockName)
	derived, caughtUp := make(chan struct{}, 10), make(chan struct{}, 1)
	d := NewDaemon(nb.Connect(NorthboundTables()...), partial{south, &isPartial}, zap.NewNop(), DaemonOptions{
		Derived:  func() { derived <- struct{}{} },
		CaughtUp: func() { caughtUp <- struct{}{} },
	})
	ctx, _ := runDaemon(t, d)
	<-caughtUp
	isPartial.Store(true)
	insert("Logical_Switch")
	await(t, ctx, d, func() bool { return d.n.nb.switches.Len() > 0 && d.n.FlowCount() > 0 })
	if len(derived) > 0 {
		t.Error("called after it had caught up")
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
		north := &undoing{nb.Connect(NorthboundTables()...), times, func() {
			txn := ovsdb.NewTxn()
			txn.Update("Logical_Switch_Port", port).Strings("up", nil)
			if _, err := nb.Transact(txn); err != nil {
				t.Error(err)
			}
		}}
		south := &undoing{sb.Connect(SouthboundTables()...), times, func() { deleteAll(t, sb) }}
		south.SetLock(LockName)
		d := NewDaemon(north, south, zap.NewNop(), DaemonOptions{})
		ctx, _ := runDaemon(t, d)
		await(t, ctx, d, func() bool {
			return d.sbReady && d.sbCall == nil && d.nbCall == nil && len(north.Ready()) == 0 && len(south.Ready()) == 0
		})
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

// filling is a connection in memory that holds back flows, and has something happen once
// a number of transactions has been sent.
type filling struct {
	*memdb.Conn
	after int
	what  func(*memdb.Conn)
	told  bool // of flows before they were asked for
	asked bool
}

func (f *filling) Send(txn *ovsdb.Txn) *ovsdb.Call {
	if f.after--; f.after == 0 {
		f.what(f.Conn)
	}
	return f.Conn.Send(txn)
}

func (f *filling) ReadRest() {
	f.asked = true
	f.Conn.ReadRest()
}

func (f *filling) Take() *ovsdb.Batch {
	b := f.Conn.Take()
	if b != nil && len(b.Changes["Logical_Flow"]) > 0 && !f.asked && f.Status().Epoch == 1 {
		f.told = true
	}
	return b
}

// TestFill: an empty database is filled without a look at the flows that are written, and
// whatever happens meanwhile, it has the same in the end.
func TestFill(t *testing.T) {
	nb := memdb.New(schema.Northbound())
	txn := ovsdb.NewTxn()
	txn.Insert("NB_Global", ovsdb.NewUUID()).Int("nb_cfg", 7)
	for i := range 8 {
		var ports []string
		for j := range 27 {
			id := ovsdb.NewUUID()
			p := txn.Insert("Logical_Switch_Port", id)
			p.String("name", fmt.Sprintf("p%d-%d", i, j))
			p.Strings("addresses", []string{fmt.Sprintf("0a:00:00:00:%02x:%02x 10.0.%d.%d", i, j, i, j+1)})
			ports = append(ports, id)
		}
		sw := txn.Insert("Logical_Switch", ovsdb.NewUUID())
		sw.String("name", fmt.Sprint("sw", i))
		sw.UUIDs("ports", ports)
	}
	if _, err := nb.Transact(txn); err != nil {
		t.Fatal(err)
	}
	// contents are the flows by what they match and do, and the numbers of other rows.
	contents := func(sb *memdb.DB) map[string]int {
		rows := map[string]int{}
		for table, list := range sb.Snapshot() {
			rows[table] = len(list)
			if table == "Logical_Flow" {
				for _, r := range list {
					rows[fmt.Sprint(r.Columns["pipeline"], r.Columns["table_id"], r.Columns["priority"], r.Columns["match"], r.Columns["actions"])]++
				}
			}
		}
		return rows
	}
	run := func(t *testing.T, sb *memdb.DB, south *filling) *filling {
		south.SetLock(LockName)
		north := nb.Connect(NorthboundTables()...)
		d := NewDaemon(north, south, zap.NewNop(), DaemonOptions{RetryAfter: time.Millisecond})
		ctx, stop := runDaemon(t, d)
		await(t, ctx, d, func() bool {
			st := south.Status()
			return st.Locked && !st.Partial && d.derived && !d.unseen && d.sbCall == nil && d.sbAgain == nil && d.nbCall == nil &&
				len(south.Ready()) == 0 && len(north.Ready()) == 0
		})
		stop()
		if south.told {
			t.Error("told of flows before they were asked for")
		}
		return south
	}
	sb := memdb.New(schema.Southbound()).LimitRows("SB_Global", 1)
	run(t, sb, &filling{Conn: sb.Connect(SouthboundTables()...), asked: true})
	want := contents(sb)
	if want["Logical_Flow"] < 3*insertLimit || want["Port_Binding"] < insertLimit {
		t.Fatalf("got the rows %v, want more of flows and ports than transactions take", want)
	}
	for name, what := range map[string]func(*memdb.DB, *memdb.Conn){
		"nothing":              func(*memdb.DB, *memdb.Conn) {},
		"refused":              func(_ *memdb.DB, c *memdb.Conn) { c.Refuse(1, &ovsdb.TxnError{Op: -1, Kind: "resources exhausted"}) },
		"flows are deleted":    func(sb *memdb.DB, _ *memdb.Conn) { deleteAll(t, sb, "Logical_Flow") },
		"all is deleted":       func(sb *memdb.DB, _ *memdb.Conn) { deleteAll(t, sb) },
		"connection lost":      func(_ *memdb.DB, c *memdb.Conn) { c.Drop(errors.New("test")); c.Restore() },
		"lost, and the answer": func(_ *memdb.DB, c *memdb.Conn) { c.Break(0, true, errors.New("test")); go restoreSoon(c) },
		"lock lost for a while": func(sb *memdb.DB, c *memdb.Conn) {
			other := sb.Connect()
			other.Steal(LockName)
			go func() { time.Sleep(5 * time.Millisecond); other.Close() }()
		},
		"lost with the contents": func(sb *memdb.DB, c *memdb.Conn) {
			c.Drop(errors.New("test"))
			deleteAll(t, sb)
			c.Restore()
		},
	} {
		for _, after := range []int{1, 2, 4, 7} {
			t.Run(fmt.Sprint(name, " after ", after), func(t *testing.T) {
				sb := memdb.New(schema.Southbound()).LimitRows("SB_Global", 1)
				south := run(t, sb, &filling{Conn: sb.ConnectHolding(SouthboundTables()...), after: after, what: func(c *memdb.Conn) { what(sb, c) }})
				if south.after > 0 {
					t.Errorf("got %d transactions less than it takes for something to happen", south.after)
				}
				if diff := cmp.Diff(want, contents(sb)); diff != "" {
					t.Errorf("numbers of rows (-want +got):\n%s", diff)
				}
				if g := sb.Snapshot()["SB_Global"][0]; g.Columns["nb_cfg"] != 7 {
					t.Errorf("got nb_cfg %v, want 7", g.Columns["nb_cfg"])
				}
			})
		}
	}
}

// restoreSoon brings a connection up again that breaks.
func restoreSoon(c *memdb.Conn) {
	for c.Status().Connected {
		time.Sleep(time.Millisecond)
	}
	c.Restore()
}
