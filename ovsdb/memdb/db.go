package memdb

import (
	"maps"
	"slices"
	"sync"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// DB is a database in memory. Its methods may be called from any goroutine.
type DB struct {
	schema *libovsdb.DatabaseSchema

	mu      sync.Mutex
	tables  map[string]*table
	conns   []*Conn
	locks   locks
	version uint64 // counts the transactions that changed something
}

// New returns an empty database of a schema. It panics where the schema is
// inconsistent in itself, which is an error of the program.
//
// Two things that libovsdb's type drops from a schema are not enforced: the
// least length of strings, and, but for LimitRows, the most rows of a table.
func New(schema *libovsdb.DatabaseSchema) *DB {
	return &DB{schema: schema, tables: newTables(schema), locks: locks{}}
}

// LimitRows sets what a schema calls "maxRows" of a table; no table of that
// name is no error.
func (db *DB) LimitRows(table string, rows int) *DB {
	db.mu.Lock()
	defer db.mu.Unlock()
	if t := db.tables[table]; t != nil {
		t.maxRows = rows
	}
	return db
}

// Schema is the schema that the database was made with.
func (db *DB) Schema() *libovsdb.DatabaseSchema { return db.schema }

// Transact executes t at once, as some other client of the database would: what
// it changes reaches all connections, and no fault of theirs touches it. It
// returns a result for each operation, or a *ovsdb.TxnError.
func (db *DB) Transact(t *ovsdb.Txn) ([]ovsdb.Result, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.transact(t.Params(db.schema.Name), nil)
}

// transact executes a transaction for the holder of by's locks and tells the
// connections what it changed.
func (db *DB) transact(params []byte, by *Conn) ([]ovsdb.Result, error) {
	ops, err := parseOperations(params)
	if err != nil {
		return nil, &ovsdb.TxnError{Kind: syntaxError, Details: err.Error()}
	}
	t := newTxn(db, by)
	results := make([]ovsdb.Result, len(ops))
	for i := range ops {
		var err *failure
		if results[i], err = t.execute(&ops[i]); err != nil {
			return nil, &ovsdb.TxnError{Op: i, Kind: err.kind, Details: err.details}
		}
	}
	changes, failed := t.commit()
	if failed != nil {
		return nil, &ovsdb.TxnError{Op: len(ops), Kind: failed.kind, Details: failed.details}
	}
	if len(changes) > 0 {
		for _, c := range db.conns {
			c.changed(changes)
		}
	}
	return results, nil
}

// Version counts the transactions that changed something.
func (db *DB) Version() uint64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.version
}

// Len is the number of rows in a table.
func (db *DB) Len(table string) int {
	db.mu.Lock()
	defer db.mu.Unlock()
	if t := db.tables[table]; t != nil {
		return len(t.rows)
	}
	return 0
}

// Snapshot returns the contents: by table the rows in the order of their UUIDs,
// with all columns in libovsdb's form (a set of one element is that element).
func (db *DB) Snapshot() map[string][]*ovsdb.Row {
	db.mu.Lock()
	defer db.mu.Unlock()
	out := make(map[string][]*ovsdb.Row, len(db.tables))
	for name, t := range db.tables {
		rows := make([]*ovsdb.Row, 0, len(t.rows))
		for _, uuid := range slices.Sorted(maps.Keys(t.rows)) {
			r := &ovsdb.Row{UUID: uuid, Columns: make(map[string]any, len(t.columns))}
			for _, c := range t.columns {
				r.Columns[c.name] = t.rows[uuid].values[c.number].native(c)
			}
			rows = append(rows, r)
		}
		out[name] = rows
	}
	return out
}
