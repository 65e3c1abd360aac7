package ctl

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// A Txn is the transaction that the commands of one command line build: rows of
// a snapshot with the changes made so far, which the commands that follow see.
// Mistakes that a caller of Row.Set and the like cannot be told at once are kept
// and returned by Err.
type Txn struct {
	Symbols *Symbols

	schema   *libovsdb.DatabaseSchema
	names    map[string][]RowName
	snapshot Snapshot
	reads    map[string][]string // what the snapshot holds
	tables   map[string]*tableView
	touched  []*Row // in the order of their first change
	absent   []absence
	counters []*Counter
	err      error
}

// A tableView is a table's rows, wrapped when they are first asked for.
type tableView struct {
	byUUID map[string]*Row
	rows   []*Row // by UUID, inserted rows last; nil until all were asked for
	added  []*Row

	indexes map[string]map[string][]*Row // rows by column, then by its value
}

// An absence is the condition that no row of a table has a value in a column.
type absence struct{ table, column, value string }

// A Counter is a column that the transaction counts up by one.
type Counter struct {
	row    *Row
	column string
	op     int
	Value  int // after the commit
}

func newTxn(schema *libovsdb.DatabaseSchema, names map[string][]RowName, s Snapshot, reads []Read) *Txn {
	return &Txn{
		Symbols:  newSymbols(),
		schema:   schema,
		names:    names,
		snapshot: s,
		reads:    mergeReads(reads),
		tables:   map[string]*tableView{},
	}
}

// Err returns the first mistake that was made in building the transaction.
func (t *Txn) Err() error { return t.err }

func (t *Txn) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Schema is the schema of the database.
func (t *Txn) Schema() *libovsdb.DatabaseSchema { return t.schema }

// HasTable reports whether the database has the table.
func (t *Txn) HasTable(table string) bool {
	_, ok := t.schema.Tables[table]
	return ok
}

// column returns the schema of a column, nil where the server has none.
func (t *Txn) column(table, column string) *libovsdb.ColumnSchema {
	if column == "_uuid" {
		return &libovsdb.UUIDColumn
	}
	return t.schema.Tables[table].Columns[column]
}

// checkRead keeps commands honest about what they read: a column that was not
// asked for would look empty.
func (t *Txn) checkRead(table, column string) {
	columns, ok := t.reads[table]
	if !ok || columns != nil && !slices.Contains(columns, column) {
		t.fail(fmt.Errorf("internal error: column %s of table %s is read but was not asked for", column, table))
	}
}

func (t *Txn) view(table string) *tableView {
	v := t.tables[table]
	if v == nil {
		v = &tableView{byUUID: map[string]*Row{}}
		t.tables[table] = v
	}
	return v
}

// Row returns the row with that UUID, nil where there is none (any more).
func (t *Txn) Row(table, uuid string) *Row {
	v := t.view(table)
	row := v.byUUID[uuid]
	if row == nil {
		base := t.snapshot.Tables[table][uuid]
		if base == nil {
			return nil
		}
		row = &Row{tx: t, Table: table, UUID: uuid, base: base}
		v.byUUID[uuid] = row
	}
	if row.gone != alive {
		return nil
	}
	return row
}

// Rows returns the rows of a table: the stored ones by UUID, then new ones.
func (t *Txn) Rows(table string) []*Row {
	if _, ok := t.reads[table]; !ok {
		t.fail(fmt.Errorf("internal error: table %s is read but was not asked for", table))
	}
	v := t.view(table)
	if v.rows == nil {
		v.rows = make([]*Row, 0, len(t.snapshot.Tables[table]))
		for _, uuid := range slices.Sorted(maps.Keys(t.snapshot.Tables[table])) {
			if row := v.byUUID[uuid]; row != nil {
				v.rows = append(v.rows, row)
				continue
			}
			row := &Row{tx: t, Table: table, UUID: uuid, base: t.snapshot.Tables[table][uuid]}
			v.byUUID[uuid] = row
			v.rows = append(v.rows, row)
		}
	}
	out := make([]*Row, 0, len(v.rows)+len(v.added))
	for _, rows := range [][]*Row{v.rows, v.added} {
		for _, row := range rows {
			if row.gone == alive {
				out = append(out, row)
			}
		}
	}
	return out
}

// Where returns the rows whose column holds just the string.
func (t *Txn) Where(table, column, value string) []*Row {
	var out []*Row
	holds := func(d Datum) bool { return len(d.Keys) == 1 && d.Keys[0] == any(value) }
	for _, row := range t.index(table, column)[value] {
		if row.gone == alive && holds(row.Get(column)) {
			out = append(out, row)
		}
	}
	for _, row := range t.touched { // which the index knows as they were
		if row.Table == table && row.gone == alive && holds(row.Get(column)) && !slices.Contains(out, row) {
			out = append(out, row)
		}
	}
	return out
}

// index returns the stored rows of a table by the string in a column. A long
// chain of commands asks for a name in each of them.
func (t *Txn) index(table, column string) map[string][]*Row {
	v := t.view(table)
	if v.indexes[column] == nil {
		index := map[string][]*Row{}
		t.Rows(table)
		for _, row := range v.rows {
			if d := row.stored(column); len(d.Keys) == 1 {
				if s, ok := d.Keys[0].(string); ok {
					index[s] = append(index[s], row)
				}
			}
		}
		if v.indexes == nil {
			v.indexes = map[string]map[string][]*Row{}
		}
		v.indexes[column] = index
	}
	return v.indexes[column]
}

// Insert adds a row with a UUID of its own.
func (t *Txn) Insert(table string) *Row { return t.InsertAs(table, ovsdb.NewUUID()) }

// InsertAs adds a row with that UUID.
func (t *Txn) InsertAs(table, uuid string) *Row {
	row := &Row{tx: t, Table: table, UUID: uuid}
	if !t.HasTable(table) {
		t.fail(fmt.Errorf("the server's schema has no table %s; it needs a newer schema", table))
		return row
	}
	v := t.view(table)
	v.byUUID[uuid] = row
	v.added = append(v.added, row)
	row.touch()
	return row
}

// VerifyAbsent makes the commit depend on no stored row having that string in
// the column: two who add the same name at once do not both succeed.
func (t *Txn) VerifyAbsent(table, column, value string) {
	t.absent = append(t.absent, absence{table, column, value})
}

// Count counts an integer column of row up by one.
func (t *Txn) Count(row *Row, column string) *Counter {
	c := &Counter{row: row, column: column}
	t.counters = append(t.counters, c)
	return c
}

// Changes reports whether a commit would do anything.
func (t *Txn) Changes() bool {
	if len(t.counters) > 0 {
		return true
	}
	for _, row := range t.touched {
		if row.base == nil && row.gone == alive || row.base != nil && (row.gone == deleted || len(row.diff()) > 0) {
			return true
		}
	}
	return false
}

// diff names the columns that really change, sorted.
func (r *Row) diff() []string {
	var out []string
	for column, c := range r.changes {
		// A column that was not read cannot be compared: it is written.
		if r.base == nil || !r.tx.wasRead(r.Table, column) || !c.value.Equal(r.stored(column)) {
			out = append(out, column)
		}
	}
	slices.Sort(out)
	return out
}

func (t *Txn) wasRead(table, column string) bool {
	columns, ok := t.reads[table]
	return ok && (columns == nil || slices.Contains(columns, column))
}

// Build appends the transaction to out: first what must still hold, then the
// changes.
func (t *Txn) Build(out *ovsdb.Txn, comment string) error {
	ops := t.preconditions()
	for _, row := range t.touched {
		ops = append(ops, row.operations()...)
	}
	for _, c := range t.counters {
		where := byUUID(c.row.UUID)
		ops = append(ops, libovsdb.Operation{
			Op: libovsdb.OperationMutate, Table: c.row.Table, Where: where,
			Mutations: []libovsdb.Mutation{*libovsdb.NewMutation(c.column, libovsdb.MutateOperationAdd, 1)},
		})
		c.op = len(ops) + out.Len()
		ops = append(ops, libovsdb.Operation{
			Op: libovsdb.OperationSelect, Table: c.row.Table, Where: where, Columns: []string{c.column},
		})
	}
	for _, op := range ops {
		if op.Op == libovsdb.OperationInsert && len(op.Row) == 0 {
			out.Insert(op.Table, op.UUID) // Operation leaves an empty row out
			continue
		}
		if err := out.Op(op); err != nil {
			return fmt.Errorf("%s of table %s: %w", op.Op, op.Table, err)
		}
	}
	if comment != "" {
		out.Comment(comment)
	}
	return nil
}

// finish takes the counters' values from the results of the commit.
func (t *Txn) finish(results []ovsdb.Result) error {
	for _, c := range t.counters {
		if c.op >= len(results) || len(results[c.op].Rows) != 1 {
			return fmt.Errorf("%s of table %s: the server did not return the value counted to", c.column, c.row.Table)
		}
		switch n := results[c.op].Rows[0][c.column].(type) {
		case int:
			c.Value = n
		case float64: // the form that generic JSON decoding leaves integers in
			c.Value = int(n)
		default:
			return fmt.Errorf("%s of table %s: %v is no integer", c.column, c.row.Table, n)
		}
	}
	return nil
}

func byUUID(uuid string) []libovsdb.Condition {
	return []libovsdb.Condition{libovsdb.NewCondition("_uuid", libovsdb.ConditionEqual, UUID(uuid))}
}

// replaces reports whether a stored row has what was found absent: then the
// transaction deletes or renames that row, and the value is its to give away.
func (t *Txn) replaces(a absence) bool {
	for _, base := range t.snapshot.Tables[a.table] {
		if d := fromNative(base.Columns[a.column]); len(d.Keys) == 1 && d.Keys[0] == any(a.value) {
			return true
		}
	}
	return false
}

// preconditions are "wait" operations that fail at once unless what the commands
// saw is still there.
func (t *Txn) preconditions() []libovsdb.Operation {
	now := 0
	var ops []libovsdb.Operation
	for _, row := range t.touched {
		if row.base == nil || row.gone == deleted && len(row.verify) == 0 {
			continue
		}
		columns := row.verify
		if len(columns) == 0 {
			if len(row.diff()) == 0 {
				continue
			}
			// Any column will do to see that the row still exists; a change to a
			// row that went would otherwise be lost without a word.
			columns = t.existenceColumn(row.Table)
		}
		expect := libovsdb.Row{}
		for _, column := range columns {
			expect[column] = row.stored(column).native(typeOf(t.column(row.Table, column)))
		}
		ops = append(ops, libovsdb.Operation{
			Op: libovsdb.OperationWait, Table: row.Table, Timeout: &now, Where: byUUID(row.UUID),
			Columns: columns, Until: string(libovsdb.WaitConditionEqual), Rows: []libovsdb.Row{expect},
		})
	}
	for _, a := range t.absent {
		if t.replaces(a) {
			continue
		}
		where := []libovsdb.Condition{libovsdb.NewCondition(a.column, libovsdb.ConditionEqual, a.value)}
		ops = append(ops, libovsdb.Operation{
			Op: libovsdb.OperationWait, Table: a.table, Timeout: &now, Where: where,
			Columns: []string{a.column}, Until: string(libovsdb.WaitConditionNotEqual),
			Rows: []libovsdb.Row{{a.column: a.value}},
		})
	}
	return ops
}

// existenceColumn is the cheapest column that was read of a table.
func (t *Txn) existenceColumn(table string) []string {
	columns := t.reads[table]
	if columns == nil {
		columns = slices.Sorted(maps.Keys(t.schema.Tables[table].Columns))
	}
	cost := func(column string) int {
		ct := typeOf(t.column(table, column))
		switch {
		case column == "name":
			return 0
		case ct.max == 1 && ct.value == nil:
			return 1
		}
		return 2
	}
	candidates := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return t.column(table, c) == nil })
	if len(candidates) == 0 {
		return nil
	}
	return []string{slices.MinFunc(candidates, func(a, b string) int { return cmp.Compare(cost(a), cost(b)) })}
}

// operations are what carries out the row's changes.
func (r *Row) operations() []libovsdb.Operation {
	columns := r.diff()
	switch {
	case r.base == nil && r.gone != alive || r.gone == collected:
		return nil
	case r.gone == deleted:
		return []libovsdb.Operation{{Op: libovsdb.OperationDelete, Table: r.Table, Where: byUUID(r.UUID)}}
	case r.base == nil:
		row := libovsdb.Row{}
		for _, column := range columns {
			t := typeOf(r.tx.column(r.Table, column))
			if value := r.changes[column].value; !value.Equal(defaultDatum(t)) {
				row[column] = value.native(t)
			}
		}
		return []libovsdb.Operation{{Op: libovsdb.OperationInsert, Table: r.Table, UUID: r.UUID, Row: row}}
	}
	update := libovsdb.Row{}
	var mutations []libovsdb.Mutation
	for _, column := range columns {
		t, c := typeOf(r.tx.column(r.Table, column)), r.changes[column]
		if c.whole || t.max == 1 && t.value == nil {
			update[column] = c.value.native(t)
			continue
		}
		mutations = append(mutations, mutate(column, r.stored(column), c, t)...)
	}
	var ops []libovsdb.Operation
	if len(update) > 0 {
		ops = append(ops, libovsdb.Operation{Op: libovsdb.OperationUpdate, Table: r.Table, Where: byUUID(r.UUID), Row: update})
	}
	if len(mutations) > 0 {
		ops = append(ops, libovsdb.Operation{Op: libovsdb.OperationMutate, Table: r.Table, Where: byUUID(r.UUID), Mutations: mutations})
	}
	return ops
}

// mutate says how elements or pairs come and go with a change.
func mutate(column string, old Datum, c *change, t columnType) []libovsdb.Mutation {
	new := c.value
	var out []libovsdb.Mutation
	var gone []Atom
	var added Datum
	for i, key := range old.Keys {
		// A pair whose value changes is deleted first: an insert mutation does
		// not replace.
		if v, ok := new.Value(key); !new.Has(key) || t.value != nil && ok && v != old.Values[i] {
			gone = append(gone, key)
		}
	}
	for i, key := range new.Keys {
		switch v, ok := old.Value(key); {
		case t.value != nil && !ok && slices.Contains(c.puts, key):
			gone = append(gone, key) // somebody may have put it there meanwhile
			added = added.Put(key, new.Values[i])
		case t.value != nil && (!ok || v != new.Values[i]):
			added = added.Put(key, new.Values[i])
		case t.value == nil && !old.Has(key):
			added = added.Add(key)
		}
	}
	if len(gone) > 0 {
		out = append(out, *libovsdb.NewMutation(column, libovsdb.MutateOperationDelete, libovsdb.OvsSet{GoSet: gone}))
	}
	if added.Len() > 0 {
		set := t
		set.min, set.max = 0, libovsdb.Unlimited
		out = append(out, *libovsdb.NewMutation(column, libovsdb.MutateOperationInsert, added.native(set)))
	}
	return out
}

// conflict reports whether err says that a precondition did not hold.
func conflict(err error) bool {
	var e *ovsdb.TxnError
	return errors.As(err, &e) && e.Kind == "timed out"
}
