package ovsdb

import (
	"bytes"
	"errors"
	"fmt"
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
	raw, err := s.call("get_schema", appendParams(c.o.Database), nil)
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

// monitorRequests is the <monitor-cond-requests> for what the server has of the
// tables.
func (c *Client) monitorRequests(schema *libovsdb.DatabaseSchema) []byte {
	b := []byte{'{'}
	for _, t := range c.o.Tables {
		if schema.Table(t.Name) == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendString(b, t.Name), `:[{`...)
		if cols := t.Columns(); t.typ != nil || cols != nil {
			b = append(b, `"columns":[`...)
			first := true
			for _, col := range cols {
				if !c.Has(t.Name, col) {
					continue
				}
				if !first {
					b = append(b, ',')
				}
				first = false
				b = appendString(b, col)
			}
			b = append(b, ']')
		}
		b = append(b, `}]`...)
	}
	return append(b, '}')
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
	params := []byte{'['}
	params = append(appendString(params, c.o.Database), ',')
	params = append(appendString(params, s.monitorID), ',')
	params = append(params, c.monitorRequests(schema)...)
	with := func(tail string) []byte { return append(bytes.Clone(params), tail...) }

	last := c.lastTxn
	if last == "" {
		last = zeroUUID
	}
	newest := ""
	var rpc *rpcError
	_, err = s.call("monitor_cond_since", with(`,"`+last+`"]`), func(p *parser) (err error) {
		newest, err = s.readSince(p)
		return err
	})
	for _, older := range []struct {
		method string
		format Format
	}{{"monitor_cond", UpdateDiff}, {"monitor", UpdateOldNew}} {
		if !errors.As(err, &rpc) {
			break
		}
		c.o.Log.Debug("an older method must do", zap.String("method", older.method), zap.Error(err))
		_, err = s.call(older.method, with("]"), func(p *parser) error { return c.dec.ReadSnapshot(p.dec, older.format) })
	}
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	if newest == zeroUUID {
		newest = ""
	}
	c.lastTxn = newest
	return nil
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
func (s *session) readSince(p *parser) (newest string, err error) {
	if err := p.expect('['); err != nil {
		return "", err
	}
	tok, err := p.dec.ReadToken()
	if err != nil {
		return "", err
	}
	found := tok.Kind() == 't' && s.c.lastTxn != ""
	if newest, err = p.readString(); err != nil {
		return "", err
	}
	if found {
		err = s.c.dec.Read(p.dec, UpdateDiff)
	} else {
		err = s.c.dec.ReadSnapshot(p.dec, UpdateDiff)
	}
	if err != nil {
		return "", err
	}
	// From here on the rows are those after newest, whatever becomes of the rest
	// of the message.
	s.c.lastTxn = newest
	return newest, p.expect(']')
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
