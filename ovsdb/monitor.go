package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
	"go.uber.org/zap"
)

const zeroTxn = "00000000-0000-0000-0000-000000000000"

// noteSchema takes the server's schema, and names once what it lacks.
func (c *Client) noteSchema(schema *libovsdb.DatabaseSchema) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schema = schema
	c.dec.SetSchema(schema)
	lacks := func(what string) {
		if !c.missing[what] {
			c.missing[what] = true
			c.o.Log.Warn("the server's schema lacks something, which is done without",
				zap.String("database", schema.Name), zap.String("version", schema.Version), zap.String("missing", what))
		}
	}
	for _, t := range c.o.Tables {
		if schema.Table(t.Name) == nil {
			lacks("table " + t.Name)
			continue
		}
		for _, col := range t.Columns() {
			if !hasColumn(schema, t.Name, col) {
				lacks("column " + t.Name + "." + col)
			}
		}
	}
}

// monitorRequests is the <monitor-cond-requests> for the columns that the
// server has.
func (c *Client) monitorRequests(schema *libovsdb.DatabaseSchema) []byte {
	b := []byte{'{'}
	for _, t := range c.o.Tables {
		ts := schema.Table(t.Name)
		if ts == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendString(b, t.Name)
		b = append(b, `:[{`...)
		if cols := t.Columns(); t.typ != nil || cols != nil {
			b = append(b, `"columns":[`...)
			first := true
			for _, col := range cols {
				if ts.Columns[col] == nil {
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
func (s *session) monitor(schema *libovsdb.DatabaseSchema) error {
	c := s.c
	c.mu.Lock()
	last := c.lastTxn
	c.loading = true
	c.lastTxn = ""
	c.mu.Unlock()
	s.slow.Store(true)
	defer s.slow.Store(false)

	head := appendString([]byte{'['}, c.o.Database)
	head = append(append(append(head, ','), strconv.Quote(monitorID)...), ',')
	head = append(head, c.monitorRequests(schema)...)
	with := func(tail string) []byte { return append(append([]byte{}, head...), tail...) }
	if last == "" {
		last = zeroTxn
	}

	var rpc *rpcError
	newest := ""
	s.onResult = func() error {
		var err error
		newest, err = s.readSince()
		return err
	}
	_, err := s.call("monitor_cond_since", with(`,"`+last+`"]`))
	for _, old := range []struct {
		method string
		format Format
	}{{"monitor_cond", UpdateDiff}, {"monitor", UpdateOldNew}} {
		if !errors.As(err, &rpc) {
			break
		}
		c.o.Log.Debug("an older method must do", zap.String("method", old.method), zap.Error(err))
		s.onResult = nil
		var raw []byte
		if raw, err = s.call(old.method, with("]")); err == nil {
			c.dec.BeginSnapshot()
			if err = s.readRaw(raw, old.format); err == nil {
				c.dec.EndSnapshot()
			}
		}
	}
	s.onResult = nil
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	c.mu.Lock()
	if newest != zeroTxn {
		c.lastTxn = newest
	}
	c.mu.Unlock()
	return nil
}

// readSince reads the result of monitor_cond_since from the stream: whether the
// server knew our last transaction, its newest one, and the updates since, or
// all.
func (s *session) readSince() (newest string, err error) {
	dec := s.c.dec
	p := &parser{dec: s.dec, in: dec.in}
	if err := p.expect('['); err != nil {
		return "", err
	}
	tok, err := s.dec.ReadToken()
	if err != nil {
		return "", err
	}
	found := tok.Kind() == 't'
	if newest, err = p.readString(); err != nil {
		return "", err
	}
	if !found {
		dec.BeginSnapshot()
	}
	if err := dec.Read(s.dec, UpdateDiff); err != nil {
		return "", err
	}
	if found {
		dec.Fresh()
	} else {
		dec.EndSnapshot()
	}
	return newest, p.expect(']')
}

// readRaw reads updates that were received as a whole.
func (s *session) readRaw(raw []byte, format Format) error {
	return s.c.dec.Read(newDecoder(raw), format)
}

// leaderState watches the server's own database for what it says of ours.
type leaderState struct {
	dec *Decoder
	row *serverDatabase
}

// serverDatabase is a row of _Server's table Database (ovsdb-server(5)).
type serverDatabase struct {
	UUID      string  `ovsdb:"_uuid"`
	Name      string  `ovsdb:"name"`
	Model     string  `ovsdb:"model"`
	Connected bool    `ovsdb:"connected"`
	Leader    bool    `ovsdb:"leader"`
	Schema    *string `ovsdb:"schema"`
}

// watchServer monitors _Server, where there is one.
func (s *session) watchServer() error {
	raw, err := s.call("get_schema", []byte(`["_Server"]`))
	var rpc *rpcError
	if errors.As(err, &rpc) {
		return nil // before 2.9
	}
	if err != nil {
		return err
	}
	var schema libovsdb.DatabaseSchema
	if err := json.Unmarshal(raw, &schema); err != nil || schema.Table("Database") == nil {
		return nil
	}
	s.server = &leaderState{dec: NewDecoder(TableOf[serverDatabase](&schema, "Database"))}
	raw, err = s.call("monitor_cond", []byte(`["_Server","`+serverMonitorID+
		`",{"Database":[{"columns":["name","model","connected","leader","schema"]}]}]`))
	if errors.As(err, &rpc) {
		s.server = nil
		return nil
	}
	if err != nil {
		return err
	}
	s.server.dec.BeginSnapshot()
	if err := s.server.dec.Read(newDecoder(raw), UpdateDiff); err != nil {
		return err
	}
	s.server.dec.EndSnapshot()
	return s.server.check(s)
}

// check ends the session where the server's copy of the database is not one to
// use, or its schema has changed.
func (l *leaderState) check(s *session) error {
	b := l.dec.Take()
	if b == nil {
		return nil
	}
	name := s.c.o.Database
	known := l.row != nil
	var old *string
	if known {
		old = l.row.Schema
	}
	Each(b, "Database", func(_ string, was, is *serverDatabase) {
		switch {
		case is != nil && is.Name == name:
			l.row = is
		case is == nil && was.Name == name:
			l.row = nil
		}
	})
	switch r := l.row; {
	case r == nil:
		return fmt.Errorf("the server has no database %s", name)
	case r.Model == "clustered" && !r.Connected:
		return errors.New("this server is cut off from its cluster")
	case r.Model == "clustered" && s.c.o.LeaderOnly && !r.Leader:
		return errors.New("this server does not lead its cluster")
	case known && (old == nil) != (r.Schema == nil) || known && old != nil && *old != *r.Schema:
		return errors.New("the schema has changed")
	}
	return nil
}
