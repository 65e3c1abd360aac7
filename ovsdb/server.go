package ovsdb

import (
	"errors"
	"fmt"
	"slices"
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
	CID       *string `ovsdb:"cid"`
	Index     *int    `ovsdb:"index"`
}

// serverColumns are what servers have had since there is a _Server; cid and
// index came later.
var serverColumns = []string{"name", "model", "connected", "leader", "schema"}

// clusterIndex is how far the contents of a cluster's database had come when
// they were seen last.
type clusterIndex struct {
	cid   string
	index int
}

const (
	serverName      = "_Server"
	serverMonitorID = "northwall-server" // the id of its monitor
)

// watchServer monitors _Server, where there is one.
func (s *session) watchServer() error {
	raw, err := s.call("get_schema", params(serverName), nil)
	var rpc *rpcError
	if errors.As(err, &rpc) {
		return nil // before Open vSwitch 2.9
	}
	if err != nil {
		return err
	}
	schema, err := readSchema(raw, serverName)
	if err != nil {
		return err
	}
	ts := schema.Table("Database")
	if ts == nil {
		return nil
	}
	columns := slices.Clone(serverColumns)
	for _, col := range columns {
		if ts.Columns[col] == nil {
			return nil
		}
	}
	for _, col := range []string{"cid", "index"} {
		if ts.Columns[col] != nil {
			columns = append(columns, col)
		}
	}
	table, err := tableOf[serverDatabase](schema, "Database", columns...)
	if err != nil {
		return nil // another _Server than that of ovsdb-server(5)
	}
	dec := newDecoder(s.c.dec.in, table)
	_, err = s.call("monitor_cond", params(serverName, serverMonitorID, map[string][]monitorRequest{"Database": {{Columns: columns}}}),
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
	case !s.c.advance(r):
		return fmt.Errorf("this server lags behind: its contents are of index %d, and those of index %d were seen before", *r.Index, s.c.newest.index)
	case old != nil && !equalStrings(old.Schema, r.Schema):
		return fmt.Errorf("%w: the schema has changed", errReload)
	}
	return nil
}

// advance notes how far the contents have come, and reports whether they are not
// older than those seen before, perhaps of another member of the cluster: a
// database must not go back in time.
func (c *Client) advance(r *serverDatabase) bool {
	if r.CID == nil || r.Index == nil {
		return true
	}
	if c.forgetIndex.Swap(false) {
		c.newest = clusterIndex{}
	}
	if *r.CID == c.newest.cid && *r.Index < c.newest.index {
		return false
	}
	c.newest = clusterIndex{*r.CID, *r.Index}
	return true
}

// ResetClusterState takes whatever a cluster has from now on, older or not: for one
// that has been built anew.
func (c *Client) ResetClusterState() { c.forgetIndex.Store(true) }

func equalStrings(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
