package memdb

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"northwall/ovsdb"
)

// Conn is a client's connection to a DB; see ovsdb.Conn, which it implements,
// for the contract. Rows pass through the decoder that Client uses, in the form
// in which a server sends them.
//
// Without faults (see Refuse, Hold, Break and Drop), a transaction has been
// executed when Send returns.
type Conn struct {
	db       *DB
	ready    chan struct{}
	decoder  *ovsdb.Decoder
	monitors map[*table][]*column
	lock     string // the lock that was asked for; "" for none

	holdable map[*table]*table // those to be held back, and without rows of what
	unread   []*table          // those that are
	partial  bool              // of which not all has been delivered

	connected bool
	err       error
	epoch     uint64

	held   bool
	queue  []func() // what the server's side would send, were it not held
	waits  []*ovsdb.Call
	faults []fault
}

// Connect makes a connection that monitors the tables. Tables and columns that
// the schema lacks are left out.
func (db *DB) Connect(tables ...*ovsdb.Table) *Conn { return db.newConn(tables).open() }

func (db *DB) newConn(tables []*ovsdb.Table) *Conn {
	c := &Conn{db: db, ready: make(chan struct{}, 1), decoder: ovsdb.NewDecoder(tables...), monitors: map[*table][]*column{}}
	c.decoder.SetSchema(db.schema)
	for _, tb := range tables {
		t := db.tables[tb.Name]
		if t == nil {
			continue
		}
		names := tb.Columns()
		if names == nil {
			c.monitors[t] = t.columns
			continue
		}
		columns := []*column{}
		for _, name := range names {
			if col := t.byName[name]; col != nil {
				columns = append(columns, col)
			}
		}
		c.monitors[t] = columns
	}
	return c
}

func (c *Conn) open() *Conn {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.db.conns = append(c.db.conns, c)
	c.connect()
	return c
}

// ConnectHolding is Connect for a connection that holds tables back as they ask for it
// (ovsdb.Table.HoldWithout).
func (db *DB) ConnectHolding(tables ...*ovsdb.Table) *Conn {
	c := db.newConn(tables)
	c.holdable = map[*table]*table{}
	for _, tb := range tables {
		if t, without := db.tables[tb.Name], db.tables[tb.HeldWithout()]; t != nil && without != nil {
			c.holdable[t] = without
		}
	}
	return c.open()
}

// connect brings the connection up: its rows become what the database has now.
func (c *Conn) connect() {
	c.connected, c.err = true, nil
	c.epoch++
	if c.lock != "" {
		c.db.locks.request(c.lock, c, false)
	}
	c.unread = nil
	for t, without := range c.holdable {
		if len(without.rows) == 0 && !c.decoder.HasRows(t.name) {
			c.unread = append(c.unread, t)
		}
	}
	c.partial = len(c.unread) > 0
	b := c.contents(func(t *table) bool { return !slices.Contains(c.unread, t) })
	c.deliver(func() {
		c.read(b, c.decoder.ReadSnapshot)
	})
}

// contents are the <table-updates2> with all rows of the tables that are monitored and
// for which is holds.
func (c *Conn) contents(is func(*table) bool) []byte {
	b := []byte{'{'}
	for _, t := range c.db.tables {
		columns, ok := c.monitors[t]
		if !ok || !is(t) {
			continue
		}
		b = openMember(b, t.name)
		for uuid, r := range t.rows {
			b = append(appendRow(openMember(openMember(b, uuid), "initial"), columns, r.values), '}')
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// ReadRest implements ovsdb.Conn.
func (c *Conn) ReadRest() {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	if !c.connected || len(c.unread) == 0 {
		return
	}
	unread := c.unread
	c.unread = nil
	b := c.contents(func(t *table) bool { return slices.Contains(unread, t) })
	c.deliver(func() {
		c.read(b, c.decoder.Read)
		c.partial = false
	})
}

// read gives <table-updates2> to the decoder, by its method Read or ReadSnapshot.
func (c *Conn) read(updates []byte, read func(*jsontext.Decoder, ovsdb.Format) error) {
	if err := read(jsontext.NewDecoder(bytes.NewBuffer(updates)), ovsdb.UpdateDiff); err != nil {
		// Only a defect of this package or of the decoder can be the cause.
		panic(fmt.Sprintf("memdb: %v in %s", err, updates))
	}
}

// changed tells the connection of a transaction.
func (c *Conn) changed(changes []*change) {
	if !c.connected {
		return
	}
	b := []byte{'{'}
	for t, columns := range c.monitors {
		if slices.Contains(c.unread, t) {
			continue
		}
		start := len(b)
		b = openMember(b, t.name)
		empty := len(b)
		for _, ch := range changes {
			if ch.table == t {
				b = ch.appendUpdate(b, columns)
			}
		}
		if len(b) == empty {
			b = b[:start]
			continue
		}
		b = append(b, '}')
	}
	if len(b) == 1 {
		return
	}
	b = append(b, '}')
	c.deliver(func() { c.read(b, c.decoder.Read) })
}

// openMember appends the start of an object's member that is an object.
func openMember(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, `":{`...)
}

// appendRow appends the columns of a row that are not at their default, and the
// end of the object.
func appendRow(b []byte, columns []*column, values []datum) []byte {
	for _, col := range columns {
		if d := values[col.number]; !d.equal(col.initial) {
			b = appendColumn(b, col, d)
		}
	}
	return append(b, '}')
}

func appendColumn(b []byte, col *column, d datum) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, col.name...)
	return d.appendJSON(append(b, `":`...), col)
}

// appendUpdate appends what a change does to the columns, nothing if none of
// them changes.
func (ch *change) appendUpdate(b []byte, columns []*column) []byte {
	start := len(b)
	b = openMember(b, ch.uuid)
	switch {
	case ch.old == nil:
		b = appendRow(openMember(b, "insert"), columns, ch.new)
	case ch.new == nil:
		b = append(b, `"delete":null`...)
	default:
		b = openMember(b, "modify")
		empty := len(b)
		ch.changedColumns(columns, func(col *column, old, new datum) {
			b = appendColumn(b, col, new.difference(old, col))
		})
		if len(b) == empty {
			return b[:start]
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// difference is how an update says that a column has become d: a set's elements
// that come or go, a map's pairs that come, go or have a new value, and the
// value itself of anything with one element at most.
func (d datum) difference(old datum, c *column) datum {
	if !c.isMap && c.max == 1 {
		return d
	}
	var out datum
	old.merge(d, c.key.kind, func(i, j int) {
		from := d
		if j < 0 {
			from, j = old, i
		} else if i >= 0 && (!c.isMap || old.values[i] == d.values[j]) {
			return
		}
		out.keys = append(out.keys, from.keys[j])
		if c.isMap {
			out.values = append(out.values, from.values[j])
		}
	})
	return out
}

// deliver runs f, which is what the client does on receiving something from the
// server, when that is not being held.
func (c *Conn) deliver(f func()) {
	if c.held {
		c.queue = append(c.queue, f)
		return
	}
	f()
	c.signal()
}

func (c *Conn) signal() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Ready implements ovsdb.Conn.
func (c *Conn) Ready() <-chan struct{} { return c.ready }

// Take implements ovsdb.Conn.
func (c *Conn) Take() *ovsdb.Batch {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	b := c.decoder.Take()
	if b != nil && c.decoder.Waiting() > 0 {
		c.signal()
	}
	return b
}

// Send implements ovsdb.Conn.
func (c *Conn) Send(t *ovsdb.Txn) *ovsdb.Call {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	call := ovsdb.NewCall()
	params := t.Params(c.db.schema.Name)
	if !c.connected {
		call.Finish(nil, ovsdb.ErrNotSent)
		return call
	}
	c.waits = append(c.waits, call)
	if len(c.faults) > 0 {
		f := c.faults[0]
		c.faults = c.faults[1:]
		if f.hit(c, params, call) {
			return call
		}
	}
	results, err := c.db.transact(params, c)
	c.reply(call, results, err)
	return call
}

// reply sends the answer to a transaction.
func (c *Conn) reply(call *ovsdb.Call, results []ovsdb.Result, err error) {
	c.deliver(func() {
		if i := slices.Index(c.waits, call); i >= 0 {
			c.waits = slices.Delete(c.waits, i, i+1)
			call.Finish(results, err)
		}
	})
}

// Status implements ovsdb.Conn.
func (c *Conn) Status() ovsdb.Status {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	return ovsdb.Status{
		Connected: c.connected,
		Partial:   c.partial,
		Held:      c.connected && len(c.unread) > 0,
		Remote:    "memory",
		Locked:    c.connected && c.lock != "" && c.db.locks.heldBy(c.lock, c),
		Err:       c.err,
		Epoch:     c.epoch,
	}
}

// Has implements ovsdb.Conn.
func (c *Conn) Has(table, column string) bool {
	t := c.db.tables[table]
	return t != nil && (column == "" || t.byName[column] != nil)
}

// NewTxn returns a transaction for this database: columns that its schema lacks
// are left out of Table.Insert and Table.Update.
func (c *Conn) NewTxn() *ovsdb.Txn { return ovsdb.NewTxn().Restrict(c.Has) }

// SetLock asks for a lock, in place of the one asked for before. Without faults
// it is granted before SetLock returns unless another connection has it.
func (c *Conn) SetLock(name string) {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	if c.lock != "" && c.lock != name {
		c.db.locks.release(c.lock, c)
	}
	c.lock = name
	if name != "" && c.connected {
		c.db.locks.request(name, c, false)
	}
}

// Unlock gives the lock back and asks for it no longer.
func (c *Conn) Unlock() {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	if c.lock != "" {
		c.db.locks.release(c.lock, c)
		c.lock = ""
		c.signal()
	}
}

// Steal takes the named lock from whoever has it.
func (c *Conn) Steal(name string) {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	c.lock = name
	if c.connected {
		c.db.locks.request(name, c, true)
	}
}
