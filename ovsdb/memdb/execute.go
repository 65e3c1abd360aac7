package memdb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// execute runs one operation (RFC 7047 section 5.2).
func (t *txn) execute(o *operation) (ovsdb.Result, *failure) {
	switch o.op {
	case libovsdb.OperationAssert:
		if !t.db.locks.heldBy(o.lock, t.by) {
			return ovsdb.Result{}, failf("not owner", "Asserted lock %s not held.", o.lock)
		}
		return ovsdb.Result{}, nil
	case libovsdb.OperationComment, libovsdb.OperationCommit:
		return ovsdb.Result{}, nil
	case libovsdb.OperationAbort:
		return ovsdb.Result{}, failf("aborted", "aborted by request")
	}
	var run func(*txn, *table, *operation) (ovsdb.Result, *failure)
	switch o.op {
	case libovsdb.OperationInsert:
		run = (*txn).insert
	case libovsdb.OperationSelect:
		run = (*txn).selectRows
	case libovsdb.OperationUpdate:
		run = (*txn).update
	case libovsdb.OperationMutate:
		run = (*txn).mutate
	case libovsdb.OperationDelete:
		run = (*txn).delete
	case libovsdb.OperationWait:
		run = (*txn).wait
	default:
		return ovsdb.Result{}, failf(syntaxError, "No operation %q.", o.op)
	}
	on := t.db.tables[o.table]
	if on == nil {
		return ovsdb.Result{}, failf(syntaxError, "No table named %s.", o.table)
	}
	return run(t, on, o)
}

// row reads an object of column values.
func (t *txn) row(table *table, p *parser) (map[*column]datum, *failure) {
	values := map[*column]datum{}
	var failed *failure
	p.object(func(name string) {
		col := table.column(name)
		if col == nil && failed == nil {
			failed = failf("unknown column", "No column %s in table %s.", name, table.name)
		}
		if failed != nil {
			p.raw()
			return
		}
		values[col], failed = t.datum(p, col.shape())
		if failed != nil {
			p.fail(failed.error()) // in the middle of a value
		}
	})
	if failed != nil {
		return nil, failed
	}
	return values, p.failure()
}

func (t *txn) insert(table *table, o *operation) (ovsdb.Result, *failure) {
	uuid := lower(o.uuid)
	switch {
	case uuid == "":
	case !isUUID(uuid):
		return ovsdb.Result{}, failf(syntaxError, "bad uuid %q", o.uuid)
	case table.rows[uuid] != nil || t.get(rowKey{table, uuid}) != nil:
		return ovsdb.Result{}, failf("duplicate uuid",
			"This UUID would duplicate a UUID already present within the table or deleted within the same transaction.")
	}
	if o.uuidName != "" {
		n := t.name(o.uuidName)
		if n.created {
			return ovsdb.Result{}, failf("duplicate uuid-name", "This \"uuid-name\" appeared on an earlier \"insert\" operation.")
		}
		n.created = true
		if uuid != "" {
			n.uuid = uuid
		}
		uuid = n.uuid
	}
	if uuid == "" {
		uuid = ovsdb.NewUUID()
	}
	given, err := t.row(table, newParser(o.row))
	if err != nil {
		return ovsdb.Result{}, err
	}
	values := make([]datum, len(table.columns))
	for _, col := range table.columns {
		d, ok := given[col]
		if !ok {
			// A default need not satisfy the constraints.
			d = col.initial
			if err := d.check(col); err != nil {
				return ovsdb.Result{}, err
			}
		}
		values[col.number] = d
	}
	t.touch(rowKey{table, uuid}).new = values
	return ovsdb.Result{UUID: uuid}, nil
}

// matching returns the rows that satisfy o's "where", by UUID.
func (t *txn) matching(table *table, o *operation) ([]rowKey, *failure) {
	where, err := t.conditions(table, o.where)
	if err != nil {
		return nil, err
	}
	// A row that is given by its UUID needs no search.
	for _, c := range where {
		if c.column == uuidType && c.function == libovsdb.ConditionEqual {
			k := rowKey{table, c.arg.keys[0].s}
			if values := t.get(k); values != nil && where.match(t, k, values) {
				return []rowKey{k}, nil
			}
			return nil, nil
		}
	}
	var out []rowKey
	for uuid, r := range table.rows {
		k := rowKey{table, uuid}
		if t.changes[k] == nil && where.match(t, k, r.values) {
			out = append(out, k)
		}
	}
	for _, c := range t.order {
		if c.table == table && c.new != nil && where.match(t, c.rowKey, c.new) {
			out = append(out, c.rowKey)
		}
	}
	slices.SortFunc(out, func(a, b rowKey) int { return cmp.Compare(a.uuid, b.uuid) })
	return out, nil
}

// value returns a row's value of a column, _uuid and _version included.
func (t *txn) value(k rowKey, values []datum, c *column) datum {
	switch c {
	case uuidType:
		return datum{keys: []atom{{s: k.uuid}}}
	case versionType:
		var version uint64
		if r := k.table.rows[k.uuid]; r != nil {
			version = r.version
		}
		return datum{keys: []atom{{s: versionUUID(version)}}}
	}
	return values[c.number]
}

// versionUUID makes a row's version look as it should.
func versionUUID(version uint64) string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", version)
}

// columns reads a list of column names; all columns where it is absent.
func (t *txn) columns(table *table, list []byte) ([]*column, *failure) {
	if list == nil {
		return append([]*column{uuidType, versionType}, table.columns...), nil
	}
	p := newParser(list)
	var out []*column
	for _, name := range p.strings() {
		c := table.column(name)
		if c == nil {
			return nil, failf(syntaxError, "%s is not a valid column name of table %s", name, table.name)
		}
		out = append(out, c)
	}
	return out, p.failure()
}

func (t *txn) selectRows(table *table, o *operation) (ovsdb.Result, *failure) {
	keys, err := t.matching(table, o)
	if err != nil {
		return ovsdb.Result{}, err
	}
	columns, err := t.columns(table, o.columns)
	if err != nil {
		return ovsdb.Result{}, err
	}
	rows := make([]libovsdb.Row, len(keys))
	for i, k := range keys {
		values := t.get(k)
		rows[i] = libovsdb.Row{}
		for _, c := range columns {
			rows[i][c.name] = t.value(k, values, c).native(c)
		}
	}
	return ovsdb.Result{Rows: rows}, nil
}

func (t *txn) update(table *table, o *operation) (ovsdb.Result, *failure) {
	values, err := t.row(table, newParser(o.row))
	if err != nil {
		return ovsdb.Result{}, err
	}
	for _, c := range slices.SortedFunc(maps.Keys(values), func(a, b *column) int { return cmp.Compare(a.name, b.name) }) {
		if !c.mutable || c.number < 0 {
			return ovsdb.Result{}, failf(constraintViolation, "Cannot update immutable column %s in table %s.", c.name, table.name)
		}
	}
	keys, err := t.matching(table, o)
	if err != nil {
		return ovsdb.Result{}, err
	}
	for _, k := range keys {
		t.set(k, values)
	}
	return ovsdb.Result{Count: len(keys)}, nil
}

func (t *txn) delete(table *table, o *operation) (ovsdb.Result, *failure) {
	keys, err := t.matching(table, o)
	if err != nil {
		return ovsdb.Result{}, err
	}
	for _, k := range keys {
		t.touch(k).new = nil
	}
	return ovsdb.Result{Count: len(keys)}, nil
}

// wait fails where a server would go on waiting: nothing else can happen before
// the transaction ends.
func (t *txn) wait(table *table, o *operation) (ovsdb.Result, *failure) {
	if o.until != string(libovsdb.WaitConditionEqual) && o.until != string(libovsdb.WaitConditionNotEqual) {
		return ovsdb.Result{}, failf(syntaxError, "\"until\" must be \"==\" or \"!=\", not %q", o.until)
	}
	keys, err := t.matching(table, o)
	if err != nil {
		return ovsdb.Result{}, err
	}
	columns, err := t.columns(table, o.columns)
	if err != nil {
		return ovsdb.Result{}, err
	}
	// Rows are compared as sets of their columns' values.
	have, want := map[string]struct{}{}, map[string]struct{}{}
	for _, k := range keys {
		values := t.get(k)
		have[project(columns, func(c *column) datum { return t.value(k, values, c) })] = struct{}{}
	}
	p := newParser(o.rows)
	var failed *failure
	p.array(func() {
		if failed != nil {
			p.raw()
			return
		}
		var values map[*column]datum
		if values, failed = t.row(table, newParser(p.raw())); failed != nil {
			return
		}
		want[project(columns, func(c *column) datum {
			if d, ok := values[c]; ok {
				return d
			}
			if c.number < 0 {
				return datum{keys: []atom{{s: zeroUUID}}}
			}
			return c.initial
		})] = struct{}{}
	})
	if failed == nil {
		failed = p.failure()
	}
	if failed != nil {
		return ovsdb.Result{}, failed
	}
	if maps.Equal(have, want) != (o.until == string(libovsdb.WaitConditionEqual)) {
		return ovsdb.Result{}, failf("timed out", "\"wait\" timed out")
	}
	return ovsdb.Result{}, nil
}

// project is the text of some columns of a row, to compare rows by.
func project(columns []*column, value func(*column) datum) string {
	var b []byte
	for _, c := range columns {
		b = append(value(c).appendJSON(b, c), '\n')
	}
	return string(b)
}
