package golden

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/ctl"
	"northwall/ovsdb/standalone"
	"northwall/schema"
	"northwall/schema/nbctl"
	"northwall/tests/golden/sbdump"
)

// Servers is a World of two ovsdb-servers and a daemon in this process.
type Servers struct {
	databases *standalone.Databases
	clients   []*ovsdb.Client
	nb, sb    *ovsdb.Client // of the commands
	editors   editors
	daemon    *daemon
}

// StartServers starts the servers in a directory, whose path must be short
// enough for Unix sockets. It fails with standalone.ErrMissing where there is no
// ovsdb-server. Reset must be called before the first scenario.
func StartServers(ctx context.Context, dir string) (*Servers, error) {
	databases, err := standalone.Start(ctx, standalone.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	w := &Servers{databases: databases}
	w.nb, err = w.open(ctx, northbound, allTables(schema.Northbound()), "")
	if err == nil {
		w.sb, err = w.open(ctx, southbound, allTables(schema.Southbound()), "")
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	w.editors = newEditors(ctl.New(w.nb, w.nb.Schema), ctl.New(w.sb, w.sb.Schema))
	return w, nil
}

const (
	northbound = "OVN_Northbound"
	southbound = "OVN_Southbound"
)

func (w *Servers) open(ctx context.Context, database string, tables []*ovsdb.Table, lock string) (*ovsdb.Client, error) {
	remote := w.databases.NB()
	if database == southbound {
		remote = w.databases.SB()
	}
	c, err := ovsdb.Open(ovsdb.Options{Database: database, Remotes: []string{remote}, Tables: tables, Lock: lock, Log: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	w.clients = append(w.clients, c)
	return c, c.WaitConnected(ctx)
}

// Close ends everything.
func (w *Servers) Close() {
	w.StopDaemon()
	for _, c := range w.clients {
		c.Close()
	}
	w.databases.Stop()
}

// Reset empties the databases and starts a daemon on them that remembers
// nothing.
func (w *Servers) Reset(ctx context.Context) error {
	if err := w.Empty(ctx); err != nil {
		return err
	}
	return w.StartDaemon(ctx)
}

// Empty stops the daemon and empties the databases for another.
func (w *Servers) Empty(ctx context.Context) error {
	w.StopDaemon()
	for c, s := range map[*ovsdb.Client]*libovsdb.DatabaseSchema{w.nb: schema.Northbound(), w.sb: schema.Southbound()} {
		txn := ovsdb.NewTxn()
		for _, table := range slices.Sorted(maps.Keys(s.Tables)) {
			txn.Raw([]byte(fmt.Sprintf(`{"op":"delete","table":%q,"where":[]}`, table)))
		}
		if _, err := c.Transact(ctx, txn); err != nil {
			return fmt.Errorf("emptying %s: %w", s.Name, err)
		}
	}
	// As the reference's runs do: the row is there before the northd is.
	args, err := ctl.Words(initLine)
	if err != nil {
		return err
	}
	return w.editors.northbound(ctx, args, nbctl.WaitNone)
}

// A daemon runs in this process with connections of its own.
type daemon struct {
	*northd.Daemon
	nb, sb *ovsdb.Client
	sent   atomic.Int32 // transactions
	cancel context.CancelFunc
	ended  chan struct{}
}

// counted is a connection whose transactions are counted.
type counted struct {
	*ovsdb.Client
	sent *atomic.Int32
}

// Send implements ovsdb.Conn.
func (c counted) Send(txn *ovsdb.Txn) *ovsdb.Call {
	c.sent.Add(1)
	return c.Client.Send(txn)
}

// StartDaemon starts a daemon on what is in the databases.
func (w *Servers) StartDaemon(ctx context.Context) (err error) {
	d := &daemon{ended: make(chan struct{})}
	if d.nb, err = w.open(ctx, northbound, northd.NorthboundTables(), ""); err != nil {
		return err
	}
	if d.sb, err = w.open(ctx, southbound, northd.SouthboundTables(), northd.LockName); err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.Daemon = northd.NewDaemon(counted{d.nb, &d.sent}, counted{d.sb, &d.sent}, zap.NewNop(), northd.DaemonOptions{})
	go func() {
		defer close(d.ended)
		_ = d.Run(run) // ends without error when it is cancelled
	}()
	w.daemon = d
	return nil
}

// Sent waits until the daemon is active and has derived what follows from all
// that the databases hold. It returns the number of transactions that it has
// sent since its start: 0 where it found everything as it should be.
func (w *Servers) Sent(ctx context.Context) (int, error) {
	for st := w.daemon.Status(); !st.Active || !st.NB.Connected || !st.SB.Connected; st = w.daemon.Status() {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for the daemon to become active: %w", ctx.Err())
		}
	}
	// A daemon goes through its loop between one call and the next.
	for range 2 {
		if err := w.daemon.Recompute(ctx); err != nil {
			return 0, err
		}
	}
	return int(w.daemon.sent.Load()), nil
}

// StopDaemon ends the daemon, if one is running, and its connections.
func (w *Servers) StopDaemon() {
	if d := w.daemon; d != nil {
		d.cancel()
		<-d.ended
		d.nb.Close()
		d.sb.Close()
		w.daemon = nil
	}
}

// Northbound implements World.
func (w *Servers) Northbound(ctx context.Context, args []string) error {
	return w.editors.northbound(ctx, args, nbctl.WaitSB)
}

// Southbound implements World.
func (w *Servers) Southbound(ctx context.Context, args []string) error {
	if err := w.editors.southbound(ctx, args); err != nil {
		return err
	}
	return w.editors.northbound(ctx, []string{"sync"}, nbctl.WaitSB)
}

// Contents implements World.
func (w *Servers) Contents() (sb, nb sbdump.Contents, err error) {
	if sb, err = sbdump.Read(w.sb, schema.Southbound()); err != nil {
		return nil, nil, err
	}
	nb, err = sbdump.Read(w.nb, schema.Northbound())
	return sb, nb, err
}
