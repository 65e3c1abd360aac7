package memdb

import (
	"errors"
	"slices"

	"northwall/ovsdb"
)

var errClosed = errors.New("connection closed")

// A fault is what happens to one transaction that is sent.
type fault struct {
	refusal *ovsdb.TxnError // refused with this, or
	breaks  bool            // the connection breaks, or nothing happens
	lost    bool            // and the server has not executed the transaction
	cause   error
}

// hit carries the fault out and reports whether that is the end of the
// transaction.
func (f *fault) hit(c *Conn, params []byte, call *ovsdb.Call) bool {
	switch {
	case f.refusal != nil:
		c.reply(call, nil, f.refusal)
		return true
	case f.breaks:
		// Whether executed or not, no answer and no change comes this way.
		if !f.lost {
			c.connected = false
			c.db.transact(params, c)
			c.connected = true
		}
		c.disconnect(f.cause)
		return true
	}
	return false
}

// Refuse makes the server refuse the next n transactions that are sent with err.
// Faults are used up in the order in which they were asked for.
func (c *Conn) Refuse(n int, err *ovsdb.TxnError) {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.faults = append(c.faults, slices.Repeat([]fault{{refusal: err}}, n)...)
}

// Break makes the connection break with cause while a transaction is on its way:
// the next one, after n that go well. Its Call ends with ovsdb.ErrUnknown;
// executed says whether the server got to execute it.
func (c *Conn) Break(n int, executed bool, cause error) {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.faults = append(c.faults, slices.Repeat([]fault{{}}, n)...)
	c.faults = append(c.faults, fault{breaks: true, lost: !executed, cause: cause})
}

// Hold keeps back what the server sends, changes and answers alike, until
// Release. Transactions are executed meanwhile.
func (c *Conn) Hold() {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.held = true
}

// Release delivers what was held back, in order.
func (c *Conn) Release() {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.held = false
	queue := c.queue
	c.queue = nil
	for _, f := range queue {
		f()
	}
	c.signal()
}

// Drop breaks the connection with cause: calls that have no answer yet end with
// ovsdb.ErrUnknown, those that are sent meanwhile with ovsdb.ErrNotSent, and the
// lock is lost. Changes that were held back are, too, until Restore.
func (c *Conn) Drop(cause error) {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.disconnect(cause)
}

func (c *Conn) disconnect(cause error) {
	if !c.connected {
		return
	}
	c.connected, c.err, c.queue = false, cause, nil
	if c.lock != "" {
		c.db.locks.release(c.lock, c)
	}
	for _, call := range c.waits {
		call.Finish(nil, ovsdb.ErrUnknown)
	}
	c.waits = nil
	c.signal()
}

// Restore brings a dropped connection up again: Take returns what has changed
// since the last batch that was taken, deletions included.
func (c *Conn) Restore() {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	if !c.connected {
		c.connect()
		c.signal()
	}
}

// Close ends the connection for good.
func (c *Conn) Close() {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.disconnect(errClosed)
	c.db.conns = slices.DeleteFunc(c.db.conns, func(other *Conn) bool { return other == c })
}
