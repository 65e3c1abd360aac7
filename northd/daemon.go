package northd

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"northwall/ovsdb"
)

// LockName is the lock in the southbound database by which northds, of whatever
// make, agree on the active one.
const LockName = "ovn_northd"

// insertLimit bounds the rows that one transaction inserts. A database server answers
// nobody while it works on one, and it takes less time for many small ones than for a
// large one, which leaves its heap in pieces: docs/performance.md has figures.
const insertLimit = 200

// Transactor is what Daemon needs of a database.
type Transactor interface {
	ovsdb.Conn
	NewTxn() *ovsdb.Txn
}

// newTxn is a transaction of whose answer a Daemon wants the error only.
func newTxn(c Transactor) *ovsdb.Txn { return c.NewTxn().ErrorOnly() }

// DaemonOptions change what a Daemon does.
type DaemonOptions struct {
	// Paused makes the daemon begin paused. The southbound connection is then to be
	// one that does not ask for the lock.
	Paused bool
	// CreateGlobal makes it insert the NB_Global row where it is missing.
	CreateGlobal bool
	// RetryAfter is the wait before writing again what a database refused, 1 s
	// if 0.
	RetryAfter time.Duration
	// Derived, if set, is called once, and not after CaughtUp: when all has been derived and
	// compared that can be while rows of the southbound database are still to come.
	Derived func()
	// CaughtUp, if set, is called once: when all has been written for the first time, or
	// worked out by a daemon that stands by.
	CaughtUp func()
	// ReconsiderAfter is the wait before rows are tried again that the southbound
	// database does not take, 1 min if 0.
	ReconsiderAfter time.Duration
}

// DaemonStatus is a Daemon's state at one moment.
type DaemonStatus struct {
	Active bool // holds the lock and writes
	Paused bool // neither derives nor writes; with neither, it stands by
	NB, SB ovsdb.Status
}

// Daemon runs a Northd between two databases. One goroutine, Run's, owns the
// Northd; at most one transaction to each database is on its way at a time,
// and what changes meanwhile is merged into the next. Only where a southbound
// database is filled, one waits at the server while it executes the one before.
type Daemon struct {
	nb, sb Transactor
	log    *zap.Logger
	o      DaemonOptions
	calls  chan func()
	done   chan struct{}

	n        *Northd
	nbReady  bool // the first batch has come
	sbReady  bool
	sbSchema uint64 // Status.Schema that was written for
	derived  bool   // all that was taken has been derived from
	settled  bool   // and, standing by, the databases have been compared with it
	unseen   bool   // tables have been written to that are held back or have not been read since

	sbCall  *ovsdb.Call
	sbSent  sent        // what sbCall sends
	sbNBCfg int         // what it completes
	sbMore  bool        // it is not all there is to write
	sbNext  *ovsdb.Txn  // what is to follow it, prepared; nil for nothing
	sbLast  bool        // sbNext is the rest
	sbAhead *ovsdb.Call // sends sbNext already
	sbWaits sent        // what sbAhead sends
	doubted bool        // since all was written, a refusal has been taken for one of old contents
	sbAgain <-chan time.Time
	// reconsider is when rows that were refused are tried again, nil without any.
	reconsider <-chan time.Time
	// aging is when FDB entries are looked at again, nil while those of no
	// switch age.
	aging   <-chan time.Time
	agingAt time.Time
	nbCall  *ovsdb.Call
	nbAgain <-chan time.Time
	// Whether the databases forbid writing.
	sbForbidden, nbForbidden bool
	probe                    string // northd_probe_interval that has been applied
	counters                 daemonCounters
	watches                  stopwatches
	timers                   timers
	nbSent                   sent
	edited                   time.Time // when the first northbound changes came since the last comparison; zero for none
	sbEdited                 time.Time // when those came that sbCall carries, or the next attempt

	mu     sync.Mutex
	paused bool
	active bool
	logged string // the state that the log was told last
}

// sent is a transaction that is on its way.
type sent struct {
	at   time.Time
	txn  *ovsdb.Txn
	ops  int
	rows map[string]int // by table

	batches   uint64 // that had been taken then
	first     bool   // it was made up from what the database was known to have
	abandoned bool   // see awaitAhead
}

// send sends a transaction to a database.
func (c *databaseCounters) send(to Transactor, txn *ovsdb.Txn) (*ovsdb.Call, sent) {
	c.Sent++
	s := sent{at: time.Now(), txn: txn, ops: txn.Len(), rows: txn.Rows(), batches: c.Batches}
	return to.Send(txn), s
}

// daemonCounters count what a Daemon has done.
type daemonCounters struct{ NB, SB databaseCounters }

// databaseCounters count what a Daemon has done with one database.
type databaseCounters struct {
	Received uint64            // transactions of others and our own
	Batches  uint64            // that they were taken in
	Sent     uint64            // transactions
	Failures uint64            // of those
	Rows     map[string]uint64 // written, by table
}

// wrote counts the rows of a transaction that has been committed.
func (c *databaseCounters) wrote(s sent) {
	if c.Rows == nil {
		c.Rows = map[string]uint64{}
	}
	for table, n := range s.rows {
		c.Rows[table] += uint64(n)
	}
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
	return &Daemon{nb: nb, sb: sb, log: log, o: o, calls: make(chan func()), done: make(chan struct{}), n: New(log), paused: o.Paused, watches: newStopwatches(), timers: newTimers()}
}

// Run runs the daemon until ctx is done.
func (d *Daemon) Run(ctx context.Context) error {
	defer close(d.done)
	for {
		began := time.Now()
		if d.step() {
			d.watches.since(loopWatch, began)
		}
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
		case <-d.aging:
			d.aging = nil
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

// step takes what has come and sends what follows from it. It reports whether
// there was something to do.
func (d *Daemon) step() (worked bool) {
	// Status before take: what is then taken has all that a connected server had,
	// so that a reconnection in between is not written to against old contents.
	sb, nbUp := d.sb.Status(), d.nb.Status().Connected
	worked = d.take()
	if sb.Connected && sb.Schema != d.sbSchema {
		d.sbSchema = sb.Schema
		d.n.Revisit() // the server may have columns that it lacked
	}
	if d.unseen && sb.Connected && !sb.Partial {
		// Of what was written and was gone again before it was read, nothing has told.
		d.unseen = false
		d.n.Revisit()
	}
	active, paused := d.state(sb)
	d.n.SetStandby(!active)
	switch {
	case !d.nbReady || !d.sbReady:
		return worked
	case sb.Held && !sb.Asking && !d.fills(active):
		d.sb.ReadRest()
		return worked
	case paused:
		d.derived = false
		return worked
	case sb.Partial && !sb.Held:
		if worked {
			d.derive() // to which the flows that are still to come make no difference
			d.n.SettleRows(newTxn(d.sb))
			once(&d.o.Derived)
		}
		return worked
	case sb.Asking:
		return worked // soon it is known whether there is something to write
	case !active:
		d.follow()
		return worked
	}
	if nbUp && !d.n.HasGlobal() && d.o.CreateGlobal && d.nbCall == nil && d.nbAgain == nil {
		txn := newTxn(d.nb)
		txn.Insert("NB_Global", ovsdb.NewUUID())
		d.nbCall = d.nb.Send(txn)
		return worked
	}
	if sb.Connected && d.sbCall == nil && d.sbAgain == nil {
		d.derive()
		d.derived = true
		d.ageFDB()
		d.unseen = sb.Held
		d.sendSouthbound()
	}
	if nbUp && d.nbCall == nil && d.nbAgain == nil && d.derived {
		d.sendNorthbound()
	}
	return worked
}

// ageFDB has FDB entries deleted that have become too old.
func (d *Daemon) ageFDB() {
	at := d.n.AgeFDB(time.Now())
	switch {
	case at.IsZero():
		d.aging = nil
	case d.aging == nil || !at.Equal(d.agingAt):
		d.agingAt, d.aging = at, time.After(time.Until(at))
	}
}

// fills reports whether this daemon is to fill, or fills, a southbound database that has
// nothing of what is held back. That takes no look at it, as it is done once and nothing
// is derived in between.
func (d *Daemon) fills(active bool) bool {
	return active && (d.sbCall != nil || !d.unseen && !d.n.HasDatapaths())
}

func (d *Daemon) derive() {
	began := time.Now()
	d.n.Derive()
	d.timed(deriveWatch, began)
}

func (d *Daemon) caughtUp() {
	d.o.Derived = nil // rows may have to be read again later, but that is no start
	once(&d.o.CaughtUp)
}

// once calls what is to be called once, if it is set and has not been.
func once(f *func()) {
	if call := *f; call != nil {
		*f = nil
		call()
	}
}

// timed notes what something took that began at a time.
func (d *Daemon) timed(what string, began time.Time) {
	d.watches.since(what, began)
	d.timers.since(stepOf[what], began)
}

// follow derives what the active northd is to write, so that taking over is warm.
func (d *Daemon) follow() {
	// What a transaction that is on its way has written must not be lost from sight.
	if d.settled || d.sbCall != nil || d.nbCall != nil {
		return
	}
	d.derive()
	d.n.Settle(newTxn(d.nb), newTxn(d.sb), insertLimit)
	d.settled = true
	d.caughtUp()
}

// take feeds what the databases report to the Northd. What is written before the
// next Derive would be compared with rows that it does not follow from.
func (d *Daemon) take() (took bool) {
	began := time.Now()
	nb := d.counters.NB.takeAll(d.nb, d.n.Northbound)
	if nb {
		d.nbReady = true
		if d.edited.IsZero() {
			d.edited = began
		}
		d.setProbe()
	}
	sb := d.counters.SB.takeAll(d.sb, d.n.Southbound)
	if sb {
		d.sbReady = true
	}
	if took = nb || sb; took {
		d.derived, d.settled = false, false
		d.timers.since(stepInputs, began)
	}
	return took
}

// takeAll feeds all that is new to feed, and counts it as one batch. It reports whether
// there was something.
func (c *databaseCounters) takeAll(conn ovsdb.Conn, feed func(*ovsdb.Batch)) (took bool) {
	for b := range ovsdb.Batches(conn) {
		c.Received += uint64(b.Transactions)
		feed(b)
		took = true
	}
	if took {
		c.Batches++
	}
	return took
}

// state works out whether this daemon may write, and logs when that changes.
func (d *Daemon) state(sb ovsdb.Status) (active, paused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = !d.paused && sb.Locked
	now := "standby: another northd has the lock, or the southbound database cannot be asked for it"
	switch {
	case d.paused:
		now = "paused"
	case d.active:
		now = "active: writing the southbound database"
	case sb.Asking, d.logged == "" && !sb.Connected:
		now = d.logged // not known yet
	}
	if now != d.logged {
		d.logged = now
		d.log.Info(now)
	}
	return d.active, d.paused
}

func (d *Daemon) sendSouthbound() {
	began := time.Now()
	txn := newTxn(d.sb)
	txn.Assert(LockName)
	asserts := txn.Len()
	d.sbMore = d.n.WriteSouthbound(txn, insertLimit)
	d.sbNBCfg = d.n.NBCfg()
	if !d.sbMore {
		d.n.WriteNBCfg(txn, d.sbNBCfg)
	}
	d.timed(compareWatch, began)
	if d.sbEdited.IsZero() {
		d.sbEdited = d.edited
	}
	d.edited = time.Time{}
	if txn.Len() == asserts {
		d.committed()
		return
	}
	d.startSouthbound(txn)
}

func (d *Daemon) startSouthbound(txn *ovsdb.Txn) {
	d.sbCall, d.sbSent = d.counters.SB.send(d.sb, txn)
	d.sbSent.first = true
	if d.sbMore {
		d.prepareSouthbound(newTxn(d.sb))
	}
}

// prepareSouthbound prepares the transaction after the one that is on its way, so
// that the server need not wait for it.
func (d *Daemon) prepareSouthbound(txn *ovsdb.Txn) {
	began := time.Now()
	txn.Assert(LockName)
	d.sbNext = txn
	d.sbLast = !d.n.ContinueSouthbound(txn, insertLimit)
	if d.sbLast {
		d.n.WriteNBCfg(txn, d.sbNBCfg)
	}
	d.timed(compareWatch, began)
	// The last one says that all is there, which is not so if the one before fails.
	if d.unseen && !d.sbLast {
		d.sbAhead, d.sbWaits = d.counters.SB.send(d.sb, txn)
	}
}

// continueSouthbound goes on with what has been prepared, and prepares the next in the
// memory of the transaction that has been answered.
func (d *Daemon) continueSouthbound() {
	answered := d.sbSent.txn
	d.sbMore = !d.sbLast
	d.n.Advance()
	if d.sbAhead == nil {
		d.sbAhead, d.sbWaits = d.counters.SB.send(d.sb, d.sbNext)
	}
	d.sbNext = nil
	d.turnToAhead()
	if d.sbMore {
		d.prepareSouthbound(answered.Reset())
	}
}

// turnToAhead makes what has been sent ahead, if anything, the transaction that is on its
// way.
func (d *Daemon) turnToAhead() {
	d.sbCall, d.sbSent = d.sbAhead, d.sbWaits
	d.sbAhead, d.sbWaits = nil, sent{}
}

// awaitAhead is turnToAhead where that is to be compared again, whatever becomes of it.
func (d *Daemon) awaitAhead() {
	d.turnToAhead()
	d.sbSent.abandoned = d.sbCall != nil
}

// abandonNext drops what has been prepared: it is found again by the next
// comparison. What has been sent of it is waited for.
func (d *Daemon) abandonNext() {
	if d.sbNext != nil {
		d.sbNext = nil
		d.n.Retry()
	}
}

// committed notes that the southbound database has what the last comparison found
// that it lacked.
func (d *Daemon) committed() {
	if d.sbMore {
		return
	}
	d.doubted = false
	d.n.Committed(d.sbNBCfg)
	d.caughtUp()
	d.sb.ReadRest()
	if !d.sbEdited.IsZero() {
		d.timers.edit.Observe(time.Since(d.sbEdited).Seconds())
		d.sbEdited = time.Time{}
	}
}

func (d *Daemon) endSouthbound() {
	_, err := d.sbCall.Result()
	ended := d.sbSent
	d.timed(sbCommitWatch, ended.at)
	if err == nil {
		d.counters.SB.wrote(ended)
		// Who waits for this need not wait until it has been taken in here.
		if d.sbNext != nil && d.Status().Active {
			d.continueSouthbound()
		} else {
			d.abandonNext()
			d.awaitAhead()
			d.committed()
			d.sendProgress()
		}
	} else {
		d.sbNext = nil
		d.awaitAhead()
	}
	// What the transaction did is visible now; after a failure, what it did not.
	d.take()
	if err == nil {
		d.sbForbidden = false
		return
	}
	d.counters.SB.Failures++
	var refused *ovsdb.TxnError
	switch {
	case ended.abandoned:
		return // it may well fail, after the one before has
	case !errors.As(err, &refused):
	case !d.doubted && (!ended.first || d.counters.SB.Batches > ended.batches):
		// Perhaps it is about what others have changed since.
		d.doubted = true
		d.log.Info("the southbound database did not take a transaction: comparing again", zap.Error(err))
		d.n.Retry()
		return
	default:
		if r, ok := d.n.Refused(ended.ops, refused); ok {
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
	d.complain("southbound", &d.sbForbidden, err)
	d.sbAgain = time.After(d.wait(err))
}

// complain logs that a database did not take a transaction. That it lets nobody
// write does not change soon, and is said once until it has.
func (d *Daemon) complain(database string, forbidden *bool, err error) {
	var refused *ovsdb.TxnError
	if !errors.As(err, &refused) || refused.Kind != "permission error" && refused.Kind != "not allowed" {
		d.log.Error("the "+database+" database did not take a transaction: comparing again", zap.Error(err))
		return
	}
	if !*forbidden {
		d.log.Error("the "+database+" database forbids writing: its remote is for a role, such as that of chassis, or is read-only; a northd needs one that is neither", zap.Error(err))
	}
	*forbidden = true
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
	txn := newTxn(d.nb)
	d.n.WriteNorthbound(txn)
	d.n.WriteCfg(txn)
	d.sendNB(txn)
}

// sendProgress tells the northbound database how far the southbound one has come.
func (d *Daemon) sendProgress() {
	if d.nbCall != nil || d.nbAgain != nil || !d.nb.Status().Connected {
		return // step does it once it can
	}
	txn := newTxn(d.nb)
	d.n.WriteCfg(txn)
	d.sendNB(txn)
}

func (d *Daemon) sendNB(txn *ovsdb.Txn) {
	if txn.Len() == 0 {
		return
	}
	d.nbCall, d.nbSent = d.counters.NB.send(d.nb, txn)
}

func (d *Daemon) endNorthbound() {
	_, err := d.nbCall.Result()
	d.nbCall = nil
	d.timed(nbCommitWatch, d.nbSent.at)
	d.take()
	if err == nil {
		d.nbForbidden = false
		d.counters.NB.wrote(d.nbSent)
		return
	}
	d.counters.NB.Failures++
	d.n.RetryNorthbound()
	d.complain("northbound", &d.nbForbidden, err)
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
		d.abandonNext()
		d.n.Reconsider()
		d.n.Recompute()
	})
}

// locker is a connection whose lock can be given back.
type locker interface {
	SetLock(name string)
	Unlock()
}

// Pause makes the daemon give back the lock, so that another northd can take over,
// and do nothing but to receive what changes.
func (d *Daemon) Pause() { d.setPaused(true) }

// Resume ends Pause: the daemon asks for the lock again.
func (d *Daemon) Resume() { d.setPaused(false) }

func (d *Daemon) setPaused(p bool) {
	d.mu.Lock()
	changed := d.paused != p
	d.paused = p
	d.mu.Unlock()
	if l, ok := d.sb.(locker); ok && changed {
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
