package ovsdb

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
	"go.uber.org/zap"
)

// zeroUUID is a reference to nothing, and the id of no transaction.
const zeroUUID = "00000000-0000-0000-0000-000000000000"

// load reads the schema and the contents of the database, and has the server
// tell of changes from there on.
func (s *session) load() error {
	c := s.c
	raw, err := s.call("get_schema", params(c.o.Database), nil)
	if err != nil {
		return fmt.Errorf("database %s: %w", c.o.Database, err)
	}
	if !bytes.Equal(raw, c.schemaJSON) {
		schema, err := readSchema(raw, c.o.Database)
		if err != nil {
			return err
		}
		// What is known is of another set of columns.
		c.lastTxn = ""
		c.schemaJSON = raw
		c.noteSchema(schema)
	}
	return s.monitor(c.Schema())
}

// noteSchema takes the server's schema, and names once what it lacks.
func (c *Client) noteSchema(schema *libovsdb.DatabaseSchema) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schema, c.unfit = schema, map[tableColumn]bool{}
	c.status.Schema++
	c.dec.SetSchema(schema)
	lacks := func(t, col, how string) {
		if what := (tableColumn{t, col}); !c.named[what] {
			c.named[what] = true
			c.o.Log.Warn("the server's schema "+how+": done without", zap.String("database", schema.Name),
				zap.String("version", schema.Version), zap.String("table", t), zap.String("column", col))
		}
	}
	for _, t := range c.o.Tables {
		ts := schema.Table(t.Name)
		if ts == nil {
			lacks(t.Name, "", "lacks a table")
			continue
		}
		for _, col := range t.Columns() {
			switch cs := ts.Columns[col]; {
			case cs == nil:
				lacks(t.Name, col, "lacks a column")
			case t.byName[col] != nil && !t.byName[col].fits(cs):
				lacks(t.Name, col, "has another type of a column")
				c.unfit[tableColumn{t.Name, col}] = true
			}
		}
	}
}

// monitorRequest is a <monitor-cond-request> (ovsdb-server(7) section 4.1.12).
type monitorRequest struct {
	Columns []string        `json:"columns,omitzero"` // nil for all
	Where   []any           `json:"where,omitzero"`   // conditions, of which one is enough; nil for all rows
	Select  map[string]bool `json:"select,omitzero"`
}

// monitorRequests asks for what the server has of the tables, and at first for
// nothing of those that are deferred.
func (c *Client) monitorRequests(schema *libovsdb.DatabaseSchema, deferred []*Table) map[string][]monitorRequest {
	out := map[string][]monitorRequest{}
	for _, t := range c.o.Tables {
		if schema.Table(t.Name) == nil {
			continue
		}
		var r monitorRequest
		if cols := t.Columns(); cols != nil {
			r.Columns = slices.DeleteFunc(slices.Clone(cols), func(col string) bool { return !c.Has(t.Name, col) })
		}
		if slices.Contains(deferred, t) {
			r.Where = []any{false}
			r.Select = map[string]bool{"initial": false} // else the server goes through all rows to send none
		}
		out[t.Name] = []monitorRequest{r}
	}
	return out
}

// deferred are the tables that are to be read last, none where that cannot be: what
// is known of a table before a connection stays known meanwhile.
func (c *Client) deferred(schema *libovsdb.DatabaseSchema) (tables []*Table) {
	if c.inOnePiece || c.lastTxn != "" {
		return nil
	}
	for _, t := range c.o.Tables {
		if !t.last || schema.Table(t.Name) == nil {
			continue
		}
		if c.dec.HasRows(t.Name) {
			return nil
		}
		tables = append(tables, t)
	}
	return tables
}

// monitor asks for the contents and all changes to come, by the newest method
// that the server knows, and reads the contents.
func (s *session) monitor(schema *libovsdb.DatabaseSchema) (err error) {
	c := s.c
	s.slow.Store(true)
	defer s.slow.Store(false)
	defer func() { s.forgetAfter(err) }()

	// Updates of a monitor before, if any, are told by its id.
	s.monitors++
	s.monitorID = "northwall-" + strconv.Itoa(s.monitors)
	last := c.lastTxn
	if last == "" {
		last = zeroUUID
	}
	s.unread = c.deferred(schema)
	var rpc *rpcError
	_, err = s.call("monitor_cond_since", params(c.o.Database, s.monitorID, c.monitorRequests(schema, s.unread), last), s.readSince)
	switch {
	case err != nil:
		s.unread = nil // all is to be read, by an older method or on another connection
	case s.unread != nil && s.holds():
		return nil
	case s.unread != nil:
		return s.readRest()
	}
	for _, older := range []struct {
		method string
		format Format
	}{{"monitor_cond", UpdateDiff}, {"monitor", UpdateOldNew}} {
		if !errors.As(err, &rpc) {
			break
		}
		c.o.Log.Debug("an older method must do", zap.String("method", older.method), zap.Error(err))
		c.lastTxn = ""
		_, err = s.call(older.method, params(c.o.Database, s.monitorID, c.monitorRequests(schema, nil)), func(p *parser) error { return c.dec.ReadSnapshot(p.dec, older.format) })
	}
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	return nil
}

// holds reports whether what is unread is to be so until ReadRest.
func (s *session) holds() bool {
	return !slices.ContainsFunc(s.unread, func(t *Table) bool { return t.heldWithout == "" || s.c.dec.HasRows(t.heldWithout) })
}

// readRest reads what is unread.
func (s *session) readRest() (err error) {
	s.c.signal() // the others can be taken
	done := false
	s.readLast(func(e error) { err, done = e, true })
	for !done {
		if err := s.readMessage(); err != nil {
			return err
		}
	}
	return err
}

// readLast begins to read what the monitor has left out, by widening its conditions: for
// each part the server sends the rows that have come in by it as an update, and then the
// answer. then is told of the end, if the monitor lasts so long.
func (s *session) readLast(then func(error)) {
	s.slow.Store(true)
	s.filled = s.c.dec.fill()
	s.readPart(0, s.monitorID, then)
}

// readPart reads from part i on.
func (s *session) readPart(i int, monitor string, then func(error)) {
	changes := map[string][]monitorRequest{}
	for _, t := range s.unread {
		switch {
		case i < len(t.parts):
			changes[t.Name] = []monitorRequest{{Where: []any{t.parts[i]}}}
		case i == len(t.parts):
			changes[t.Name] = []monitorRequest{{Where: []any{true}}}
		}
	}
	if len(changes) == 0 {
		s.unread = nil
		s.endReading()
		then(nil)
		return
	}
	s.request("monitor_cond_change", reply{done: func(_ []byte, err error) {
		var rpc *rpcError
		switch {
		case s.monitorID != monitor: // of a monitor before
		case errors.As(err, &rpc):
			s.c.inOnePiece = true
			s.c.o.Log.Debug("tables cannot be read last", zap.Error(err))
			then(fmt.Errorf("%w: tables cannot be read last: %w", errReload, err))
		case err == nil:
			s.readPart(i+1, monitor, then)
		}
	}}, params(monitor, monitor, changes))
}

// haveRead records that what was held back has been read, or ends the session where the
// server does not let it be.
func (s *session) haveRead(err error) {
	if err != nil {
		s.fail(err)
		return
	}
	s.c.complete()
}

// endReading ends what readLast has begun. What is unread then is not known.
func (s *session) endReading() {
	if s.unread != nil {
		s.c.lastTxn, s.unread = "", nil
	}
	if s.filled != nil {
		s.filled()
		s.filled = nil
	}
	s.slow.Store(false)
}

// forgetAfter makes the next monitor start from the whole contents if err is
// about what the server said. If the connection broke, what was read before is
// as good as ever.
func (s *session) forgetAfter(err error) {
	if err != nil && !s.cut {
		s.c.lastTxn = ""
	}
}

// readSince reads the result of monitor_cond_since: whether the server knew our
// last transaction, its newest one, and the updates since, or everything.
func (s *session) readSince(p *parser) error {
	if err := p.expect('['); err != nil {
		return err
	}
	tok, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	found := tok.Kind() == 't' && s.c.lastTxn != ""
	newest, err := p.readString()
	if err != nil {
		return err
	}
	if newest == zeroUUID {
		newest = ""
	}
	if found {
		err = s.c.dec.Read(p.dec, UpdateDiff)
	} else {
		err = s.c.dec.ReadSnapshot(p.dec, UpdateDiff)
	}
	if err != nil {
		return err
	}
	// From here on the rows are those after newest, whatever becomes of the rest
	// of the message.
	s.c.lastTxn = newest
	return p.expect(']')
}

func isUpdate(method string) bool {
	return method == "update" || method == "update2" || method == "update3"
}

// readUpdate reads the params of an update notification: [id, updates], or
// [id, transaction, updates] of update3. One notification is one transaction.
func (s *session) readUpdate(p *parser, m *message) (err error) {
	c := s.c
	if err := p.expect('['); err != nil {
		return err
	}
	id, err := p.readString()
	if err != nil {
		return err
	}
	txn := ""
	if m.method == "update3" {
		if txn, err = p.readString(); err != nil {
			return err
		}
	}
	format := UpdateDiff
	if m.method == "update" {
		format = UpdateOldNew
	}
	switch {
	case id == s.monitorID:
		if err := c.dec.Read(p.dec, format); err != nil {
			s.forgetAfter(err)
			return fmt.Errorf("update: %w", err)
		}
		c.lastTxn = txn
		c.signal()
	case id == serverMonitorID && s.server != nil:
		m.ofServer = true
		if err := s.server.dec.Read(p.dec, format); err != nil {
			return err
		}
	default: // of a monitor before
		if err := p.dec.SkipValue(); err != nil {
			return err
		}
	}
	return p.expect(']')
}
