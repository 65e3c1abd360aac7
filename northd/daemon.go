package northd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"northwall/ovsdb"
)

// LockName is the lock in the southbound database by which northds, of whatever
// make, agree on the active one.
const LockName = "ovn_northd"

// insertLimit bounds the flows that one transaction inserts: a database server
// needs about 6 kB of memory for each while it works on it.
const insertLimit = 20000

// Transactor is what Daemon needs of a database.
type Transactor interface {
	ovsdb.Conn
	NewTxn() *ovsdb.Txn
}

// DaemonOptions change what a Daemon does.
type DaemonOptions struct {
	// NoLock makes the daemon active without the lock.
	NoLock bool
	// DryRun makes it derive everything and write nothing.
	DryRun bool
	// CreateGlobal makes it insert the NB_Global row where it is missing.
	CreateGlobal bool
	// RetryAfter is the wait before writing again what a database refused, 1 s
	// if 0.
	RetryAfter time.Duration
	// ReconsiderAfter is the wait before rows are tried again that the southbound
	// database does not take, 1 min if 0.
	ReconsiderAfter time.Duration
}

// DaemonStatus is a Daemon's state at one moment.
type DaemonStatus struct {
	Active bool // holds the lock and writes
	Paused bool
	NB, SB ovsdb.Status
}

// Daemon runs a Northd between two databases. One goroutine, Run's, owns the
// Northd; at most one transaction to each database is on its way at a time,
// and what changes meanwhile is merged into the next.
type Daemon struct {
	nb, sb Transactor
	log    *zap.Logger
	o      DaemonOptions
	calls  chan func()
	done   chan struct{}

	n       *Northd
	nbReady bool // the first batch has come
	sbReady bool
	derived bool // all that was taken has been derived from

	sbCall  *ovsdb.Call
	sbNBCfg int  // what sbCall completes
	sbMore  bool // sbCall is not all there is to write
	sbAgain <-chan time.Time
	// reconsider is when rows that were refused are tried again, nil without any.
	reconsider <-chan time.Time
	nbCall     *ovsdb.Call
	nbAgain    <-chan time.Time
	counters   Counters

	mu     sync.Mutex
	paused bool
	active bool
}

// Counters count what a Daemon has done.
type Counters struct {
	NBBatches, SBBatches   uint64
	SBTxns, NBTxns         uint64
	SBFailures, NBFailures uint64
	Recomputes             uint64
}

// NewDaemon makes a daemon of two connections, which monitor NorthboundTables
// and SouthboundTables.
func NewDaemon(nb, sb Transactor, log *zap.Logger, o DaemonOptions) *Daemon {
	if o.RetryAfter == 0 {
		o.RetryAfter = time.Second
	}
	if o.ReconsiderAfter == 0 {
		o.ReconsiderAfter = time.Minute
	}
	return &Daemon{nb: nb, sb: sb, log: log, o: o, calls: make(chan func()), done: make(chan struct{}), n: New(log)}
}

// Run runs the daemon until ctx is done.
func (d *Daemon) Run(ctx context.Context) error {
	defer close(d.done)
	for {
		d.step()
		select {
		case <-ctx.Done():
			return nil
		case f := <-d.calls:
			f()
		case <-d.nb.Ready():
		case <-d.sb.Ready():
		case <-doneOf(d.sbCall):
			d.endSouthbound()
		case <-doneOf(d.nbCall):
			d.endNorthbound()
		case <-d.sbAgain:
			d.sbAgain = nil
		case <-d.reconsider:
			d.reconsider = nil
			d.n.Reconsider()
		case <-d.nbAgain:
			d.nbAgain = nil
		}
	}
}

func doneOf(c *ovsdb.Call) <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.Done()
}

// step takes what has come and sends what follows from it.
func (d *Daemon) step() {
	// Status before take: what is then taken has all that a connected server had,
	// so that a reconnection in between is not written to against old contents.
	sb, nbUp := d.sb.Status(), d.nb.Status().Connected
	d.take()
	if !d.isActive(sb.Locked) {
		d.derived = false
		return
	}
	if !d.nbReady || !d.sbReady {
		return
	}
	if nbUp && !d.n.HasGlobal() && d.o.CreateGlobal && d.nbCall == nil && d.nbAgain == nil {
		txn := d.nb.NewTxn()
		txn.Insert("NB_Global", ovsdb.NewUUID())
		d.nbCall = d.nb.Send(txn)
		return
	}
	if sb.Connected && d.sbCall == nil && d.sbAgain == nil {
		d.n.Derive()
		d.derived = true
		d.sendSouthbound()
	}
	if nbUp && d.nbCall == nil && d.nbAgain == nil && d.derived {
		d.sendNorthbound()
	}
}

// take feeds what the databases report to the Northd. What is written before the
// next Derive would be compared with rows that it does not follow from.
func (d *Daemon) take() {
	if b := d.nb.Take(); b != nil {
		d.nbReady, d.derived = true, false
		d.counters.NBBatches++
		d.n.Northbound(b)
	}
	if b := d.sb.Take(); b != nil {
		d.sbReady, d.derived = true, false
		d.counters.SBBatches++
		d.n.Southbound(b)
	}
}

// isActive works out whether this daemon may write.
func (d *Daemon) isActive(locked bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	active := !d.paused && (d.o.NoLock || locked)
	if active != d.active {
		d.active = active
		if active {
			d.log.Info("active: writing the southbound database")
		} else {
			d.log.Info("standing by: another northd has the lock, or this one is paused")
		}
	}
	return active
}

func (d *Daemon) sendSouthbound() {
	txn := d.sb.NewTxn()
	if !d.o.NoLock {
		txn.Assert(LockName)
	}
	asserts := txn.Len()
	d.sbMore = d.n.WriteSouthbound(txn, insertLimit)
	d.sbNBCfg = d.n.NBCfg()
	if !d.sbMore {
		d.n.WriteNBCfg(txn)
	}
	if d.o.DryRun {
		return
	}
	if txn.Len() == asserts {
		if !d.sbMore {
			d.n.Committed(d.sbNBCfg)
		}
		return
	}
	d.counters.SBTxns++
	d.sbCall = d.sb.Send(txn)
}

func (d *Daemon) endSouthbound() {
	_, err := d.sbCall.Result()
	d.sbCall = nil
	// What the transaction did is visible now; after a failure, what it did not.
	d.take()
	if err == nil {
		if !d.sbMore {
			d.n.Committed(d.sbNBCfg)
		}
		return
	}
	d.counters.SBFailures++
	var refused *ovsdb.TxnError
	if errors.As(err, &refused) {
		if r, ok := d.n.Refused(refused); ok {
			if !r.Again {
				d.log.Error("the southbound database does not take a row: left out", zap.String("row", r.Row),
					zap.Int("rows that refer to it, left out too", r.Referrers), zap.Error(err))
			}
			d.n.Retry()
			if d.reconsider == nil {
				d.reconsider = time.After(d.o.ReconsiderAfter)
			}
			return
		}
	}
	d.n.Retry()
	d.log.Error("the southbound database did not take a transaction: comparing again", zap.Error(err))
	d.sbAgain = time.After(d.wait(err))
}

// wait is how long to leave a database alone after err. A lost connection
// announces itself when it is back.
func (d *Daemon) wait(err error) time.Duration {
	if errors.Is(err, ovsdb.ErrNotSent) || errors.Is(err, ovsdb.ErrUnknown) {
		return d.o.RetryAfter / 10
	}
	return d.o.RetryAfter
}

func (d *Daemon) sendNorthbound() {
	txn := d.nb.NewTxn()
	d.n.WriteNorthbound(txn)
	d.n.WriteCfg(txn)
	if d.o.DryRun || txn.Len() == 0 {
		return
	}
	d.counters.NBTxns++
	d.nbCall = d.nb.Send(txn)
}

func (d *Daemon) endNorthbound() {
	_, err := d.nbCall.Result()
	d.nbCall = nil
	d.take()
	if err == nil {
		return
	}
	d.counters.NBFailures++
	d.n.RetryNorthbound()
	d.log.Error("the northbound database did not take a transaction: comparing again", zap.Error(err))
	d.nbAgain = time.After(d.wait(err))
}

// do runs f on the goroutine of Run.
func (d *Daemon) do(ctx context.Context, f func()) error {
	finished := make(chan struct{})
	select {
	case d.calls <- func() { f(); close(finished) }:
		<-finished
		return nil
	case <-d.done:
		return errors.New("the daemon has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Recompute derives everything again and writes what differs.
func (d *Daemon) Recompute(ctx context.Context) error {
	return d.do(ctx, func() {
		d.counters.Recomputes++
		d.n.Reconsider()
		d.n.Recompute()
	})
}

// locker is a connection whose lock can be given back.
type locker interface {
	SetLock(name string)
	Unlock()
}

// Pause makes the daemon stand by and give back the lock, so that another
// northd can take over.
func (d *Daemon) Pause() { d.setPaused(true) }

// Resume ends Pause.
func (d *Daemon) Resume() { d.setPaused(false) }

func (d *Daemon) setPaused(p bool) {
	d.mu.Lock()
	changed := d.paused != p
	d.paused = p
	d.mu.Unlock()
	if l, ok := d.sb.(locker); ok && changed && !d.o.NoLock {
		if p {
			l.Unlock()
		} else {
			l.SetLock(LockName)
		}
	}
	_ = d.do(context.Background(), func() {}) // step once more
}

// Status returns the daemon's state.
func (d *Daemon) Status() DaemonStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	return DaemonStatus{Active: d.active, Paused: d.paused, NB: d.nb.Status(), SB: d.sb.Status()}
}

// Stats describes for people what the daemon has done.
func (d *Daemon) Stats() string {
	var b strings.Builder
	err := d.do(context.Background(), func() {
		st, levels := d.n.Stats()
		c := d.counters
		fmt.Fprintf(&b, "northbound batches:       %d\nsouthbound batches:       %d\n", c.NBBatches, c.SBBatches)
		fmt.Fprintf(&b, "southbound transactions:  %d (%d failed)\n", c.SBTxns, c.SBFailures)
		fmt.Fprintf(&b, "northbound transactions:  %d (%d failed)\n", c.NBTxns, c.NBFailures)
		fmt.Fprintf(&b, "logical flows:            %d\n", d.n.FlowCount())
		fmt.Fprintf(&b, "configuration problems:   %d\nrows refused, left out:   %d\n", len(d.n.Problems()), d.n.LeftOut())
		fmt.Fprintf(&b, "derivations held:         %d\nderivations run:          %d\nfull recomputes:          %d\n\n", st.Held, st.Derived, st.Recomputes)
		fmt.Fprintf(&b, "%-32s %10s %12s\n", "derivation", "held", "run")
		for _, l := range levels {
			fmt.Fprintf(&b, "%-32s %10d %12d\n", l.Name, l.Held, l.Ran)
		}
	})
	if err != nil {
		return err.Error()
	}
	return b.String()
}
