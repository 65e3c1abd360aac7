package ovsdb

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
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

// monitorRequests asks of the tables that the server has, and of their columns that it has,
// for what of says.
func (c *Client) monitorRequests(schema *libovsdb.DatabaseSchema, of func(t *Table, columns []string) []monitorRequest) map[string][]monitorRequest {
	out := map[string][]monitorRequest{}
	for _, t := range c.o.Tables {
		if schema.Table(t.Name) == nil {
			continue
		}
		var columns []string
		if cols := t.Columns(); cols != nil {
			columns = slices.DeleteFunc(slices.Clone(cols), func(col string) bool { return !c.Has(t.Name, col) })
		}
		out[t.Name] = of(t, columns)
	}
	return out
}

// contents asks for what a table has, and for changes.
func contents(_ *Table, columns []string) []monitorRequest {
	return []monitorRequest{{Columns: columns}}
}

// changesOnly asks for no contents of a table.
func changesOnly(_ *Table, columns []string) []monitorRequest {
	return []monitorRequest{{Columns: columns, Select: map[string]bool{"initial": false}}}
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
	s.monitorID = s.newMonitorID()
	last := c.lastTxn
	if last == "" {
		last = zeroUUID
	}
	s.unread = c.deferred(schema)
	requests := c.monitorRequests(schema, func(t *Table, columns []string) []monitorRequest {
		if !slices.Contains(s.unread, t) {
			return contents(t, columns)
		}
		r := changesOnly(t, columns) // else the server goes through all rows to send none
		r[0].Where = []any{false}
		return r
	})
	var rpc *rpcError
	_, err = s.call("monitor_cond_since", params(c.o.Database, s.monitorID, requests, last), s.readSince)
	switch {
	case err != nil:
		s.unread = nil // all is to be read, by an older method or on another connection
	case s.unread != nil && s.holds():
		return s.hold(schema)
	case s.unread != nil:
		return s.readLast()
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
		_, err = s.call(older.method, params(c.o.Database, s.monitorID, c.monitorRequests(schema, contents)), func(p *parser) error { return c.dec.ReadSnapshot(p.dec, older.format) })
	}
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	return nil
}

func (s *session) newMonitorID() string {
	s.monitors++
	return "northwall-" + strconv.Itoa(s.monitors)
}

// readLast reads what the monitor has left out of tables, by widening its conditions:
// for each part the server sends the rows that have come in by it as an update, and
// then the answer.
func (s *session) readLast() error {
	c := s.c
	s.filled = c.dec.fill()
	c.signal() // the others can be taken
	parts := 0
	for _, t := range s.unread {
		parts = max(parts, len(t.parts))
	}
	for i := range parts + 1 {
		changes := map[string][]monitorRequest{}
		for _, t := range s.unread {
			switch {
			case i < len(t.parts):
				changes[t.Name] = []monitorRequest{{Where: []any{t.parts[i]}}}
			case i == len(t.parts):
				changes[t.Name] = []monitorRequest{{Where: []any{true}}}
			}
		}
		var rpc *rpcError
		if _, err := s.call("monitor_cond_change", params(s.monitorID, s.monitorID, changes), nil); errors.As(err, &rpc) {
			c.inOnePiece = true
			c.o.Log.Debug("tables cannot be read last", zap.Error(err))
			return fmt.Errorf("%w: tables cannot be read last: %w", errReload, err)
		} else if err != nil {
			return fmt.Errorf("monitor: %w", err)
		}
	}
	s.unread = nil
	s.endReading()
	return nil
}

// endReading ends what readLast or hold has begun. What is unread then is not known.
func (s *session) endReading() {
	if s.unread != nil {
		s.c.lastTxn, s.unread = "", nil
	}
	if s.filled != nil {
		s.filled()
		s.filled = nil
	}
	s.c.dec.drop()
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
func (s *session) readSince(p *parser) error { return s.readAnswer(p, s.c.dec.ReadSnapshot) }

// readNews is readSince for a monitor that asks for no contents of what is known.
func (s *session) readNews(p *parser) error { return s.readAnswer(p, s.c.dec.Read) }

// readAnswer reads updates, if they are not those since our last transaction, by read.
func (s *session) readAnswer(p *parser, read func(*jsontext.Decoder, Format) error) error {
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
		read = s.c.dec.Read
	}
	if err := read(p.dec, UpdateDiff); err != nil {
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
