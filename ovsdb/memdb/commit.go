package memdb

import "slices"

// references keeps account of what a transaction does to the references between
// rows until it commits.
type references struct {
	t      *txn
	strong map[rowKey]int // changes to the number of strong references
}

// commit checks what the transaction makes of the database, with what follows
// from it: rows that nothing refers to any more go, and so do weak references to
// rows that went. If all is well the changes become the contents.
func (t *txn) commit() ([]*change, *failure) {
	t.dropVoid()
	r := &references{t: t, strong: map[rowKey]int{}}
	for _, c := range t.order {
		r.count(c)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	r.collect(r.unreferenced()...)
	// Collecting rows removes weak references to them. That cannot make a row
	// invalid that was not touched, but for its column's size.
	for i := 0; i < len(t.order); i++ { // grows meanwhile
		if err := r.settleWeak(t.order[i]); err != nil {
			return nil, err
		}
	}
	t.dropVoid()
	if err := t.checkMaxRows(); err != nil {
		return nil, err
	}
	indexes, err := t.changeIndexes()
	if err != nil {
		return nil, err
	}
	for i := range indexes {
		indexes[i].apply()
	}
	t.apply(r)
	return t.order, nil
}

// dropVoid forgets changes that turned out to be none.
func (t *txn) dropVoid() {
	t.order = slices.DeleteFunc(t.order, func(c *change) bool {
		if c.void() {
			delete(t.changes, c.rowKey)
			return true
		}
		return false
	})
}

// eachReference calls f for the references of a column that are in only one of
// old and new; by is 1 for new ones and -1 for those that go.
func eachReference(col *column, old, new datum, f func(ref *baseType, uuid string, by int)) {
	old.merge(new, col.key.kind, func(i, j int) {
		switch {
		case col.isMap:
			// A pair whose value changes loses and gains the value only.
			if i >= 0 && j >= 0 && old.values[i] == new.values[j] {
				return
			}
			if i >= 0 {
				refer(&col.value, old.values[i].s, -1, f)
			}
			if j >= 0 {
				refer(&col.value, new.values[j].s, 1, f)
			}
			fallthrough
		default:
			if j < 0 {
				refer(&col.key, old.keys[i].s, -1, f)
			}
			if i < 0 {
				refer(&col.key, new.keys[j].s, 1, f)
			}
		}
	})
}

func refer(ref *baseType, uuid string, by int, f func(*baseType, string, int)) {
	if ref.ref != nil {
		f(ref, uuid, by)
	}
}

// count adds what a change does to the numbers of strong references.
func (r *references) count(c *change) {
	c.changedColumns(c.table.refs, func(col *column, old, new datum) {
		eachReference(col, old, new, func(ref *baseType, uuid string, by int) {
			r.add(c.rowKey, ref, uuid, by)
		})
	})
}

// add counts a reference from a row. One to itself does not keep a row.
func (r *references) add(from rowKey, ref *baseType, uuid string, by int) {
	if to := (rowKey{ref.ref, uuid}); !ref.weak && to != from {
		r.strong[to] += by
	}
}

// of is the number of strong references to a row after the transaction.
func (r *references) of(k rowKey) int {
	n := r.strong[k]
	if row := k.table.rows[k.uuid]; row != nil {
		n += row.refs
	}
	return n
}

// check refuses strong references to rows that there are not.
func (r *references) check() *failure {
	for _, c := range r.t.order {
		if c.new == nil {
			if n := r.of(c.rowKey); n > 0 {
				return failf(referentialIntegrity, "cannot delete %s row %s because of %d remaining reference(s)", c.table.name, c.uuid, n)
			}
		}
	}
	for k, by := range r.strong {
		if by <= 0 || r.t.get(k) != nil {
			continue
		}
		for _, c := range r.t.order {
			var err *failure
			c.changedColumns(c.table.refs, func(col *column, old, new datum) {
				eachReference(col, old, new, func(ref *baseType, uuid string, by int) {
					if by > 0 && ref.ref == k.table && uuid == k.uuid && !ref.weak {
						err = failf(referentialIntegrity, "Table %s column %s row %s references nonexistent row %s in table %s.",
							c.table.name, col.name, c.uuid, k.uuid, k.table.name)
					}
				})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// unreferenced lists rows that may have nothing that refers to them: those of
// the transaction, and those that lost a reference.
func (r *references) unreferenced() []rowKey {
	var out []rowKey
	for _, c := range r.t.order {
		out = append(out, c.rowKey)
	}
	for k, by := range r.strong {
		if by < 0 && r.t.changes[k] == nil {
			out = append(out, k)
		}
	}
	return out
}

// collect deletes those of the rows to which nothing refers any more, if they are
// not in a root table, and then those that they alone referred to.
func (r *references) collect(queue ...rowKey) {
	for len(queue) > 0 {
		k := queue[0]
		queue = queue[1:]
		if k.table.root || r.t.get(k) == nil || r.of(k) > 0 {
			continue
		}
		c := r.t.touch(k)
		values := c.new
		c.new = nil
		for _, col := range k.table.refs {
			eachReference(col, values[col.number], datum{}, func(ref *baseType, uuid string, by int) {
				r.add(k, ref, uuid, by)
				if !ref.weak {
					queue = append(queue, rowKey{ref.ref, uuid})
				}
			})
		}
	}
}

// settleWeak removes weak references to rows that are not there: from a row that
// gained them, and from those that refer to a row that went.
func (r *references) settleWeak(c *change) *failure {
	var failed *failure
	if c.new != nil {
		c.changedColumns(c.table.refs, func(col *column, old, new datum) {
			dangling := false
			eachReference(col, old, new, func(ref *baseType, uuid string, by int) {
				dangling = dangling || by > 0 && ref.weak && r.t.get(rowKey{ref.ref, uuid}) == nil
			})
			if dangling && failed == nil {
				failed = r.dropDangling(c.rowKey, col)
			}
		})
		return failed
	}
	row := c.table.rows[c.uuid]
	if row == nil {
		return nil
	}
	for by := range row.weak {
		k := rowKey{by.table, by.uuid}
		values := r.t.get(k)
		if values == nil || !values[by.column.number].mentions(by.column, c.uuid) {
			continue
		}
		if err := r.dropDangling(k, by.column); err != nil {
			return err
		}
	}
	return nil
}

// mentions reports whether a UUID is among the keys or values of d.
func (d datum) mentions(c *column, uuid string) bool {
	if _, ok := d.find(c.key.kind, atom{s: uuid}); ok && c.key.kind == kindUUID {
		return true
	}
	return c.isMap && c.value.kind == kindUUID && slices.Contains(d.values, atom{s: uuid})
}

// dropDangling removes the weak references of a row's column to rows that are
// not there.
func (r *references) dropDangling(k rowKey, col *column) *failure {
	if !(col.key.weak || col.value.weak) {
		return nil
	}
	d := r.t.get(k)[col.number]
	dangling := func(b *baseType, a atom) bool {
		return b.ref != nil && b.weak && r.t.get(rowKey{b.ref, a.s}) == nil
	}
	var gone datum
	for i, key := range d.keys {
		if dangling(&col.key, key) || col.isMap && dangling(&col.value, d.values[i]) {
			gone.keys = append(gone.keys, key)
		}
	}
	if len(gone.keys) == 0 {
		return nil
	}
	rest := d.remove(gone, col)
	if len(rest.keys) < col.min {
		return failf(constraintViolation,
			"Weak reference column %q in %q row %s contained %d reference(s), but %d of them are to rows that do not exist, which leaves fewer than the %d that it must have.",
			col.name, k.table.name, k.uuid, len(d.keys), len(gone.keys), col.min)
	}
	r.t.set(k, map[*column]datum{col: rest})
	// The other half of a pair of a map may be a strong reference.
	eachReference(col, d, rest, func(ref *baseType, uuid string, by int) {
		r.add(k, ref, uuid, by)
		if !ref.weak {
			r.collect(rowKey{ref.ref, uuid})
		}
	})
	return nil
}

func (t *txn) checkMaxRows() *failure {
	more := map[*table]int{}
	for _, c := range t.order {
		if c.table.maxRows == 0 {
			continue
		}
		if c.new != nil {
			more[c.table]++
		}
		if c.old != nil {
			more[c.table]--
		}
	}
	for table, n := range more {
		if rows := len(table.rows) + n; n > 0 && rows > table.maxRows {
			return failf(constraintViolation, "transaction causes %q table to contain %d rows, greater than the schema-defined limit of %d row(s)",
				table.name, rows, table.maxRows)
		}
	}
	return nil
}

// apply makes the changes the contents.
func (t *txn) apply(r *references) {
	if len(t.order) == 0 {
		return
	}
	t.db.version++
	for _, c := range t.order {
		if c.new == nil {
			delete(c.table.rows, c.uuid)
			continue
		}
		to := c.table.rows[c.uuid]
		if to == nil {
			to = &row{}
			c.table.rows[c.uuid] = to
		}
		to.values, to.version = c.new, t.db.version
	}
	for k, by := range r.strong {
		if to := k.table.rows[k.uuid]; to != nil {
			to.refs += by
		}
	}
	for _, c := range t.order {
		c.changedColumns(c.table.refs, func(col *column, old, new datum) {
			eachReference(col, old, new, func(ref *baseType, uuid string, by int) {
				to := ref.ref.rows[uuid]
				if !ref.weak || to == nil {
					return
				}
				if to.weak == nil {
					to.weak = map[referrer]int{}
				}
				from := referrer{c.table, c.uuid, col}
				if to.weak[from] += by; to.weak[from] == 0 {
					delete(to.weak, from)
				}
			})
		})
	}
}
