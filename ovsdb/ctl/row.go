package ctl

import (
	"fmt"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// A Row is a row as its transaction sees it: what the snapshot holds, with the
// changes of the commands so far.
type Row struct {
	Table string
	UUID  string

	tx      *Txn
	base    *ovsdb.Row       // nil for a row that the transaction inserts
	read    map[string]Datum // columns of base that were asked for
	changes map[string]*change
	verify  []string // columns that must be unchanged for the commit
	gone    rowFate
	touched bool
}

// A change is what a transaction makes of a column.
type change struct {
	value Datum
	// whole is set when the command gave the entire value. Otherwise it added
	// and removed elements, and what others add and remove meanwhile is kept.
	whole bool
	puts  []Atom // keys of a map that get their value whatever they have
}

type rowFate int

const (
	alive     rowFate = iota
	deleted           // by the transaction
	collected         // by the server, when nothing refers to it any more
)

// Get returns the value of a column: empty where the server lacks it.
func (r *Row) Get(column string) Datum {
	if c := r.changes[column]; c != nil {
		return c.value
	}
	return r.stored(column)
}

// stored is the value before the transaction.
func (r *Row) stored(column string) Datum {
	if column == "_uuid" {
		return UUIDs(r.UUID)
	}
	schema := r.tx.column(r.Table, column)
	if schema == nil {
		return Datum{}
	}
	if r.base == nil {
		return defaultDatum(typeOf(schema))
	}
	if d, ok := r.read[column]; ok {
		return d
	}
	r.tx.checkRead(r.Table, column)
	d := defaultDatum(typeOf(schema)) // servers leave out what is as in a new row
	if value, ok := r.base.Columns[column]; ok {
		d = fromNative(value)
	}
	if r.read == nil {
		r.read = map[string]Datum{}
	}
	r.read[column] = d
	return d
}

// defaultDatum is what an inserted row has in a column that is not given.
func defaultDatum(t columnType) Datum {
	if t.min == 0 {
		return Datum{}
	}
	zero := map[string]Atom{
		libovsdb.TypeInteger: 0, libovsdb.TypeReal: 0.0, libovsdb.TypeBoolean: false,
		libovsdb.TypeString: "", libovsdb.TypeUUID: UUID("00000000-0000-0000-0000-000000000000"),
	}
	return Datum{Keys: []Atom{zero[t.key.Type]}}
}

// Str returns the string in a column, empty without one.
func (r *Row) Str(column string) string {
	if s := r.Strs(column); len(s) > 0 {
		return s[0]
	}
	return ""
}

// Strs returns the strings or UUIDs in a column, sorted.
func (r *Row) Strs(column string) []string {
	d := r.Get(column)
	out := make([]string, len(d.Keys))
	for i, key := range d.Keys {
		out[i] = bareAtom(key)
	}
	return out
}

// Int returns the integer in a column, and whether there is one.
func (r *Row) Int(column string) (int, bool) {
	if d := r.Get(column); len(d.Keys) > 0 {
		n, ok := d.Keys[0].(int)
		return n, ok
	}
	return 0, false
}

// Bool returns the boolean in a column, and whether there is one.
func (r *Row) Bool(column string) (value, set bool) {
	if d := r.Get(column); len(d.Keys) > 0 {
		b, ok := d.Keys[0].(bool)
		return b, ok
	}
	return false, false
}

// Key returns what a map of strings has at key.
func (r *Row) Key(column, key string) (string, bool) {
	v, ok := r.Get(column).Value(key)
	if !ok {
		return "", false
	}
	return bareAtom(v), true
}

// Refs returns the rows that a column refers to and that exist, in order of UUID.
func (r *Row) Refs(column string) []*Row {
	schema := r.tx.column(r.Table, column)
	if schema == nil {
		return nil
	}
	table, err := typeOf(schema).key.RefTable()
	if err != nil || table == "" {
		return nil
	}
	var out []*Row
	for _, uuid := range r.Strs(column) {
		if row := r.tx.Row(table, uuid); row != nil {
			out = append(out, row)
		}
	}
	return out
}

// Set gives a column a value, whatever it holds at the commit.
func (r *Row) Set(column string, value Datum) {
	r.change(column, value).whole = true
}

// SetString is Set of one string.
func (r *Row) SetString(column, value string) { r.Set(column, Strings(value)) }

// Insert adds an element to a set.
func (r *Row) Insert(column string, element Atom) { r.change(column, r.Get(column).Add(element)) }

// Put gives a key of a map a value.
func (r *Row) Put(column, key, value string) { r.put(column, key, value) }

func (r *Row) put(column string, key, value Atom) {
	c := r.change(column, r.Get(column).Put(key, value))
	c.puts = append(c.puts, key)
}

// Remove takes an element out of a set, or a key out of a map.
func (r *Row) Remove(column string, key Atom) { r.change(column, r.Get(column).Remove(key)) }

func (r *Row) change(column string, value Datum) *change {
	schema := r.tx.column(r.Table, column)
	if schema == nil {
		if value.Len() > 0 {
			r.tx.fail(fmt.Errorf("the server's schema has no column %s in table %s; it needs a newer schema", column, r.Table))
		}
		return &change{}
	}
	r.touch()
	c := r.changes[column]
	if c == nil {
		c = &change{}
		if r.changes == nil {
			r.changes = map[string]*change{}
		}
		r.changes[column] = c
	}
	c.value = value
	return c
}

// Verify makes the commit depend on the column being unchanged: what a command
// decided by reading it then still holds, or the commands run again.
func (r *Row) Verify(column string) {
	if r.base == nil || slices.Contains(r.verify, column) || r.tx.column(r.Table, column) == nil {
		return
	}
	r.verify = append(r.verify, column)
	r.touch()
}

// Delete deletes the row.
func (r *Row) Delete() {
	r.touch()
	r.gone = deleted
}

// Collect hides a row that the server will collect as garbage because the last
// reference to it goes, so that the commands that follow do not find it.
func (r *Row) Collect() {
	if r.gone == alive {
		r.gone = collected
	}
}

func (r *Row) touch() {
	if !r.touched {
		r.touched = true
		r.tx.touched = append(r.tx.touched, r)
	}
}

// New reports whether the row is one that the transaction inserts.
func (r *Row) New() bool { return r.base == nil }
