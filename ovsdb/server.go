package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// serverState is what the server says of the database in its own database
// _Server (ovsdb-server(5)).
type serverState struct {
	dec *Decoder
	row *serverDatabase
}

// serverDatabase is a row of _Server's table Database.
type serverDatabase struct {
	UUID      string  `ovsdb:"_uuid"`
	Name      string  `ovsdb:"name"`
	Model     string  `ovsdb:"model"`
	Connected bool    `ovsdb:"connected"`
	Leader    bool    `ovsdb:"leader"`
	Schema    *string `ovsdb:"schema"`
}

// serverMonitorID is the id of the monitor of _Server.
const serverMonitorID = "northwall-server"

// watchServer monitors _Server, where there is one.
func (s *session) watchServer() error {
	raw, err := s.call("get_schema", []byte(`["_Server"]`), nil)
	var rpc *rpcError
	if errors.As(err, &rpc) {
		return nil // before Open vSwitch 2.9
	}
	if err != nil {
		return err
	}
	var schema libovsdb.DatabaseSchema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return fmt.Errorf("schema of _Server: %w", err)
	}
	ts := schema.Table("Database")
	if ts == nil {
		return nil
	}
	for _, col := range []string{"name", "model", "connected", "leader", "schema"} {
		if ts.Columns[col] == nil {
			return nil
		}
	}
	dec := newDecoder(s.c.dec.in, TableOf[serverDatabase](&schema, "Database"))
	_, err = s.call("monitor_cond",
		[]byte(`["_Server","`+serverMonitorID+`",{"Database":[{"columns":["name","model","connected","leader","schema"]}]}]`),
		func(p *parser) error { return dec.ReadSnapshot(p.dec, UpdateDiff) })
	if errors.As(err, &rpc) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("monitor of _Server: %w", err)
	}
	s.server = &serverState{dec: dec}
	return s.server.check(s)
}

// check returns an error where the server's copy of the database is not one to
// use, and errReload where its schema has become another.
func (v *serverState) check(s *session) error {
	b := v.dec.Take()
	if b == nil {
		return nil
	}
	name := s.c.o.Database
	old := v.row
	Each(b, "Database", func(_ string, was, is *serverDatabase) {
		switch {
		case is != nil && is.Name == name:
			v.row = is
		case is == nil && was.Name == name && (v.row == nil || v.row.UUID == was.UUID):
			v.row = nil
		}
	})
	switch r := v.row; {
	case r == nil:
		return fmt.Errorf("the server has no database %s", name)
	case r.Model != "standalone" && !r.Connected:
		return errors.New("this server is cut off from its cluster")
	case r.Model == "clustered" && s.c.o.LeaderOnly && !r.Leader:
		return errors.New("this server does not lead its cluster")
	case old != nil && !equalStrings(old.Schema, r.Schema):
		return errReload
	}
	return nil
}

func equalStrings(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
