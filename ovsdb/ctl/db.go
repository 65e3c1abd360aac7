package ctl

import (
	"context"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// DB is a database as the commands need it. New makes one over any ovsdb.Conn.
// Methods are called from one goroutine.
type DB interface {
	// Schema is the schema of the database that rows come from, which may lack
	// tables and columns of the Tool's, or have more.
	Schema() *libovsdb.DatabaseSchema
	// Snapshot waits until the contents are known and returns them as of one
	// transaction boundary. The snapshot is good until the next call of
	// Snapshot or Changed.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Changed waits until the database holds something newer than s.
	Changed(ctx context.Context, s Snapshot) error
	// Commit executes t. Its changes are in every later Snapshot.
	Commit(ctx context.Context, t *ovsdb.Txn) ([]ovsdb.Result, error)
}

// A Snapshot is the contents of the tables that were asked for.
type Snapshot struct {
	Tables  map[string]map[string]*ovsdb.Row // by table, then by UUID
	Version uint64                           // grows with each change
}

// A Read is a table that a command reads, with the columns it needs of it.
type Read struct {
	Table   string
	Columns []string // nil for all
}
