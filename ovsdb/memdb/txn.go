package memdb

import (
	"slices"

	"northwall/ovsdb"
)

// A row is a committed row.
type row struct {
	values  []datum
	version uint64           // of the commit that changed it last
	refs    int              // strong references to it
	weak    map[referrer]int // weak references to it, counted
}

// A referrer is a column of a row that refers to another row.
type referrer struct {
	table  *table
	uuid   string
	column *column
}

// A rowKey names a row. UUIDs are unique in a table only.
type rowKey struct {
	table *table
	uuid  string
}

// A change is what a transaction makes of a row: old is nil for one that it
// inserts, new for one that it deletes.
type change struct {
	rowKey
	old, new []datum
}

// A txn is a transaction being executed: its changes lie over the committed rows
// until it commits.
type txn struct {
	db      *DB
	by      *Conn // whose locks count; nil for none
	changes map[rowKey]*change
	order   []*change
	names   map[string]*namedUUID
}

// A namedUUID is the UUID that a "uuid-name" stands for in the transaction.
type namedUUID struct {
	uuid    string
	created bool
}

func newTxn(db *DB, by *Conn) *txn {
	return &txn{db: db, by: by, changes: map[rowKey]*change{}}
}

// named returns the UUID of a name, which an operation may use before the one
// that creates the row.
func (t *txn) named(name string) string { return t.name(name).uuid }

func (t *txn) name(name string) *namedUUID {
	n := t.names[name]
	if n == nil {
		if t.names == nil {
			t.names = map[string]*namedUUID{}
		}
		n = &namedUUID{uuid: ovsdb.NewUUID()}
		t.names[name] = n
	}
	return n
}

// get returns the values of a row as the transaction sees them, nil where there
// is no such row.
func (t *txn) get(k rowKey) []datum {
	if c := t.changes[k]; c != nil {
		return c.new
	}
	if r := k.table.rows[k.uuid]; r != nil {
		return r.values
	}
	return nil
}

// touch returns the change of a row, starting one if there is none.
func (t *txn) touch(k rowKey) *change {
	c := t.changes[k]
	if c == nil {
		c = &change{rowKey: k}
		if r := k.table.rows[k.uuid]; r != nil {
			c.old, c.new = r.values, r.values
		}
		t.changes[k] = c
		t.order = append(t.order, c)
	}
	return c
}

// set changes columns of a row that exists.
func (t *txn) set(k rowKey, values map[*column]datum) {
	c := t.touch(k)
	c.new = slices.Clone(c.new)
	for col, d := range values {
		c.new[col.number] = d
	}
}

// changedColumns calls f for the columns that differ, with both values; a row
// that was not there before, or is not any more, has empty ones.
func (c *change) changedColumns(columns []*column, f func(col *column, old, new datum)) {
	for _, col := range columns {
		var old, new datum
		if c.old != nil {
			old = c.old[col.number]
		}
		if c.new != nil {
			new = c.new[col.number]
		}
		if !old.same(new) && !old.equal(new) {
			f(col, old, new)
		}
	}
}

// void reports a change that changes nothing.
func (c *change) void() bool {
	if c.old == nil || c.new == nil {
		return c.old == nil && c.new == nil
	}
	void := true
	c.changedColumns(c.table.columns, func(*column, datum, datum) { void = false })
	return void
}
