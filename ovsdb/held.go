package ovsdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// A table is held back (Table.HoldWithout) where it is empty, and this client is likely to
// fill it. The server then need not send what it has just been sent: of rows that come it
// tells the UUIDs only, and whatever else happens to rows. When the rows are asked for
// (Conn.ReadRest), they are what the client has sent; but if the server has told of
// anything else, all are read.

// heldRows is what is known of the rows of a table that is held back. It belongs to the
// reader.
type heldRows struct {
	told  map[string]struct{} // rows that have come, but for those in sent
	sent  []Change            // the rows of committed transactions of this client
	other bool                // there has been something else
}

// read reads a <row-update2> of row uuid.
func (h *heldRows) read(p *parser, uuid string) error {
	return p.members(func(what []byte) error {
		switch string(what) {
		case "initial", "insert":
			h.told[uuid] = struct{}{}
		default:
			h.other = true
		}
		return p.dec.SkipValue()
	})
}

// hold begins to hold tables back.
func (d *Decoder) hold(tables []*Table) {
	d.operations = jsonDecoder(nil)
	for _, t := range tables {
		d.tables[t.Name].held = &heldRows{told: map[string]struct{}{}}
	}
}

// sent tells of the operations of a transaction that has been committed, after the server
// has told of the rows that it inserted.
func (d *Decoder) sent(operations []byte) {
	if d.operations == nil {
		return // no table is held back
	}
	in := io.MultiReader(strings.NewReader("["), bytes.NewReader(operations), strings.NewReader("]"))
	d.operations.Reset(in, lenient...)
	p := &parser{dec: d.operations, in: d.in}
	if err := d.readOperations(p); err != nil {
		// It is not of the form in which Txn writes operations.
		for _, t := range d.tables {
			if t.held != nil {
				t.held.other = true
			}
		}
	}
}

func (d *Decoder) readOperations(p *parser) error {
	if err := p.expect('['); err != nil {
		return err
	}
	for {
		if more, err := p.more(']'); !more || err != nil {
			return err
		}
		if err := d.readOperation(p); err != nil {
			return err
		}
	}
}

// readOperation reads an operation of a transaction; an insertion has its members in the
// order in which Txn.Insert writes them.
func (d *Decoder) readOperation(p *parser) error {
	var t *tableRows
	insert := false
	uuid := ""
	return p.members(func(name []byte) error {
		switch string(name) {
		case "op":
			op, err := p.readBytes()
			insert = string(op) == "insert"
			return err
		case "table":
			table, err := p.readBytes()
			t = d.tables[string(table)]
			return err
		case "uuid":
			if insert && t != nil && t.held != nil {
				id, err := p.readBytes()
				uuid = d.in.copy(id)
				return err
			}
		case "row":
			if uuid != "" {
				return t.readSent(p, uuid)
			}
		}
		return p.dec.SkipValue()
	})
}

// readSent reads a row that has been inserted.
func (t *tableRows) readSent(p *parser, uuid string) error {
	if _, ok := t.held.told[uuid]; !ok {
		t.held.other = true // it was gone at once
		return p.dec.SkipValue()
	}
	delete(t.held.told, uuid)
	row, err := t.readRow(p, t.newRow(uuid), false)
	if len(t.held.sent) == cap(t.held.sent) {
		t.held.sent = slices.Grow(t.held.sent, len(t.held.sent)+1) // as tableRows.stage
	}
	t.held.sent = append(t.held.sent, Change{UUID: uuid, New: row})
	return err
}

// release makes the rows that are held back known, and reports whether it can: what has
// been sent is all there is.
func (d *Decoder) release() bool {
	for _, t := range d.tables {
		if t.held != nil && (t.held.other || len(t.held.told) > 0) {
			return false
		}
	}
	for _, t := range d.tables {
		if t.held != nil {
			t.staged = t.held.sent
		}
	}
	d.drop()
	d.apply(false)
	return true
}

// drop ends holding tables back.
func (d *Decoder) drop() {
	for _, t := range d.tables {
		t.held = nil
	}
	d.operations = nil
}

// holds reports whether what is unread is to be held back.
func (s *session) holds() bool {
	return !slices.ContainsFunc(s.unread, func(t *Table) bool { return t.heldWithout == "" || s.c.dec.HasRows(t.heldWithout) })
}

// hold has the server tell of what is unread what heldRows is to know, from now on and of
// what may have come meanwhile.
func (s *session) hold(schema *libovsdb.DatabaseSchema) error {
	s.c.dec.hold(s.unread)
	s.filled = s.c.dec.fill()
	id := s.newMonitorID()
	requests := s.c.monitorRequests(schema, func(t *Table, columns []string) []monitorRequest {
		if !slices.Contains(s.unread, t) {
			return changesOnly(t, columns)
		}
		return []monitorRequest{{Columns: []string{}}, {Columns: columns, Select: map[string]bool{"initial": false, "insert": false}}}
	})
	var rpc *rpcError
	if _, err := s.call("monitor_cond_since", params(s.c.o.Database, id, requests, zeroUUID), s.readNews); errors.As(err, &rpc) {
		s.c.inOnePiece = true
		return fmt.Errorf("%w: tables cannot be held back: %w", errReload, err)
	} else if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	s.turnTo(id)
	return nil
}

// turnTo makes another monitor, of which the answer has just been read, the one that
// counts. It tells of all that the one before has not told of yet.
func (s *session) turnTo(id string) {
	s.cancel(s.monitorID)
	s.monitorID = id
}

// cancel ends a monitor. What the server says to that is of no interest.
func (s *session) cancel(id string) {
	s.request("monitor_cancel", reply{done: func([]byte, error) {}}, params(id))
}

// release ends hold: from now on the server is to tell everything.
func (s *session) release() {
	c := s.c
	if s.unread == nil {
		return // it has been ended by something else
	}
	id := s.newMonitorID()
	done := func(_ []byte, err error) {
		var rpc *rpcError
		switch {
		case errors.As(err, &rpc):
			s.again = fmt.Errorf("%w: %w", errReload, err)
			return
		case err != nil:
			return
		case s.unread == nil:
			s.cancel(id)
			return
		}
		s.turnTo(id)
		if !c.dec.release() {
			s.cancel(id)
			s.again = fmt.Errorf("%w: others have changed tables meanwhile that were held back", errReload)
			return
		}
		s.unread = nil
		s.endReading()
		c.complete()
	}
	s.request("monitor_cond_since", reply{s.readNews, done}, params(c.o.Database, id, c.monitorRequests(c.Schema(), changesOnly), zeroUUID))
}

// complete records that what was held back is known.
func (c *Client) complete() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Partial, c.status.Held = false, false
	c.noteLocked()
}

// ReadRest implements Conn.
func (c *Client) ReadRest() {
	c.mu.Lock()
	s, held := c.session, c.status.Held
	c.status.Held = false
	c.mu.Unlock()
	if !held {
		return
	}
	// The answer brings it to the reader, whose all that is.
	s.request("echo", reply{done: func(_ []byte, err error) {
		if err == nil {
			s.release()
		}
	}}, []byte("[]"))
}
