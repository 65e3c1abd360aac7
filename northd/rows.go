package northd

import (
	"maps"
	"slices"
	"sort"

	"northwall/northd/engine"
	"northwall/ovsdb"
)

// rows keeps one southbound table, all but Logical_Flow: the rows that
// derivations want, by a natural key, beside the rows that the database has.
type rows[R any] struct {
	table *ovsdb.Table                        // the columns that are a northd's to write
	first *ovsdb.Table                        // and those that it writes in a new row only, if there are any
	mend  func(txn *ovsdb.Txn, have, want *R) // writes what a row in the database must not be without, or not keep; may be nil
	// changing is told that a row in the database is to be another, or nil. It may
	// be nil.
	changing func(have, want *R)
	uuid     func(*R) *string
	key      func(*R) string // notOurs for rows that are not ours to touch

	want    map[string]*wanted[R]
	have    map[string][]*R               // more than one where the database has duplicates
	ids     *engine.Input[string, string] // key to UUID, of rows that others refer to: the database's, or drawn for a row to be
	touched map[string]struct{}
	begun   bool                // the flush: late, as one of another table may touch rows of this
	left    []string            // keys that it has yet to look at
	sent    []writtenRow        // in the transaction that was sent last
	ahead   []writtenRow        // in the one that is prepared
	refused map[string]struct{} // keys of rows that the server will not take

	// spare reports whether a row that was never wanted here is another's, to be
	// left alone.
	spare func(*R) bool
	ours  map[string]struct{} // keys that were wanted once
}

// notOurs is the key of rows that are left alone. It is no UTF-8, as all strings of
// a database are; the empty one is a name like any other.
const notOurs = "\xff"

// orNotOurs is key, which says with "" that a row is not ours.
func orNotOurs[R any](key func(*R) string) func(*R) string {
	return func(r *R) string {
		if k := key(r); k != "" {
			return k
		}
		return notOurs
	}
}

// wanted is a row that a derivation wants. It implements engine.Contribution.
type wanted[R any] struct {
	t    *rows[R]
	key  string
	row  *R
	late func(*ovsdb.Txn) // fills in row before it is written; may be nil
	in   bool             // the one in t.want
	// delivered is whether row is one that the database has delivered, which does not
	// change.
	delivered bool
}

func newRows[R any](e *engine.Engine, table *ovsdb.Table, uuid func(*R) *string, key func(*R) string) *rows[R] {
	return &rows[R]{
		table: table, uuid: uuid, key: key,
		want: map[string]*wanted[R]{}, have: map[string][]*R{},
		ids: engine.NewInput[string, string](e), touched: map[string]struct{}{},
		ours: map[string]struct{}{}, refused: map[string]struct{}{}, spare: func(*R) bool { return false },
	}
}

// Want contributes row, whose natural key is key. At most one derivation may
// want a key at a time. The row's UUID is filled in when it is written.
func (t *rows[R]) Want(s *engine.Scope, key string, row *R) {
	// What is to be mended is in none of the table's columns, and looked at each time.
	if w, ok := s.Previous().(*wanted[R]); ok && w.in && w.late == nil && t.mend == nil && w.t == t && w.key == key && t.table.Equal(w.row, row) {
		s.Emit(w)
		return
	}
	s.Emit(&wanted[R]{t: t, key: key, row: row})
}

// WantLate is Want for a row of which parts are known only when it is written;
// complete fills them in. It may write to txn what the row refers to.
func (t *rows[R]) WantLate(s *engine.Scope, key string, row *R, complete func(txn *ovsdb.Txn)) {
	s.Emit(&wanted[R]{t: t, key: key, row: row, late: complete})
}

// touch makes the next flush look at a row.
func (t *rows[R]) touch(key string) { t.touched[key] = struct{}{} }

// Add implements engine.Contribution.
func (w *wanted[R]) Add() {
	if was := w.t.want[w.key]; was != nil {
		was.in = false
	}
	w.t.want[w.key], w.in = w, true
	w.t.ours[w.key] = struct{}{}
	delete(w.t.refused, w.key)
	w.t.touched[w.key] = struct{}{}
}

// Remove implements engine.Contribution.
func (w *wanted[R]) Remove() {
	if w.in { // else it has been replaced already
		delete(w.t.want, w.key)
		w.in = false
		delete(w.t.refused, w.key)
		w.t.touched[w.key] = struct{}{}
	}
}

// UUID is that of the row with the given key: the database's, or the one that
// the row will be inserted with. It is how rows refer to each other.
func (t *rows[R]) UUID(s *engine.Scope, key string) string {
	if id, ok := t.ids.Get(s, key); ok {
		return id
	}
	return t.id(key)
}

// id is UUID for callers outside of derivations. What it answers is remembered:
// that is no change for anybody, as nobody has been told another.
func (t *rows[R]) id(key string) string {
	id, ok := t.ids.Peek(key)
	if !ok {
		if list := t.have[key]; len(list) > 0 {
			id = *t.uuid(list[0])
		} else {
			id = ovsdb.NewUUID()
		}
		t.ids.Set(key, id)
	}
	return id
}

// newID is the UUID that a row with this key is inserted with.
func (t *rows[R]) newID(key string) string {
	if id, ok := t.ids.Peek(key); ok {
		return id
	}
	return ovsdb.NewUUID() // nobody refers to it
}

// use makes id the UUID that a row with this key will be inserted with, unless the
// database has a row of another key with it: that one goes, but a UUID cannot go
// and come in one transaction.
func (t *rows[R]) use(key, id string) {
	if _, ok := t.ids.Peek(key); !ok && (key == id || !t.has(id)) {
		t.ids.Set(key, id)
	}
}

// has reports whether the database has the row with the given UUID.
func (t *rows[R]) has(id string) bool {
	for _, list := range t.have {
		if slices.ContainsFunc(list, func(r *R) bool { return *t.uuid(r) == id }) {
			return true
		}
	}
	return false
}

// observe takes a change that the database reports.
func (t *rows[R]) observe(old, new *R) {
	if old != nil {
		if key := t.key(old); key != notOurs && (new == nil || t.key(new) != key) {
			t.drop(key, *t.uuid(old))
		}
	}
	if new == nil {
		return
	}
	key := t.key(new)
	if key == notOurs {
		return
	}
	list := t.have[key]
	replaced := false
	for i, r := range list {
		if *t.uuid(r) == *t.uuid(new) {
			list[i], replaced = new, true
		}
	}
	if !replaced {
		list = append(list, new)
		// Of several the least UUID is kept, whatever the order they came in.
		sort.Slice(list, func(i, j int) bool { return *t.uuid(list[i]) < *t.uuid(list[j]) })
	}
	t.have[key] = list
	t.learn(key)
}

func (t *rows[R]) drop(key, uuid string) {
	list := t.have[key]
	for i, r := range list {
		if *t.uuid(r) == uuid {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(t.have, key)
	} else {
		t.have[key] = list
	}
	t.learn(key)
}

// learn tells derivations that asked the UUID that the key has in the database.
// Of a row that someone deleted they have been told the UUID: it comes back with
// the same.
func (t *rows[R]) learn(key string) {
	t.touched[key] = struct{}{}
	delete(t.refused, key)
	if list := t.have[key]; len(list) > 0 {
		id := *t.uuid(list[0])
		if was, ok := t.ids.Peek(key); ok && was != id {
			t.ids.Set(key, id)
		}
	}
}

// begin begins another flush.
func (t *rows[R]) begin() {
	for _, k := range t.left {
		t.touched[k] = struct{}{}
	}
	t.begun, t.left, t.ahead = false, nil, nil
}

// flush appends to txn what the database lacks, until that has limit operations (0
// for no limit); more reports that some is left, for the next call.
func (t *rows[R]) flush(txn *ovsdb.Txn, limit int) (more bool) {
	if !t.begun {
		t.begun, t.left = true, drain(&t.touched)
	}
	for i, k := range t.left {
		if limit > 0 && txn.Len() >= limit {
			t.left = t.left[i:]
			return true
		}
		if _, refused := t.refused[k]; refused {
			continue
		}
		n := txn.Len()
		if t.write(txn, k); txn.Len() > n {
			t.ahead = append(t.ahead, writtenRow{k, n, txn.Len()})
		}
	}
	t.left = nil
	return false
}

// settle takes the rows that the database has as they are wanted out of what the next
// flush looks at, and keeps one of the two. It needs a transaction to compare by, in which
// it leaves nothing.
func (t *rows[R]) settle(txn *ovsdb.Txn) {
	// A map of its own for what is left: see drain.
	left := map[string]struct{}{}
	for k := range t.touched {
		w, have := t.want[k], t.have[k]
		if w == nil || w.late != nil || len(have) != 1 || !t.keep(txn, w, have[0]) {
			left[k] = struct{}{}
		}
		txn.Reset()
	}
	t.touched = left
}

// keep appends to txn what have, of the database, lacks of what is wanted, and reports
// whether that is nothing: then one of the two rows is kept.
func (t *rows[R]) keep(txn *ovsdb.Txn, w *wanted[R], have *R) bool {
	n := txn.Len()
	t.setUUID(w, *t.uuid(have))
	t.table.Update(txn, have, w.row)
	if t.mend != nil {
		t.mend(txn, have, w.row)
	}
	if txn.Len() > n || w.late != nil {
		return false
	}
	w.row, w.delivered = have, true
	return true
}

// advance tells that the database has taken what was written before, and is sent what
// flush wrote.
func (t *rows[R]) advance() { t.sent, t.ahead = t.ahead, nil }

// coming is the number of rows to be looked at, all of which come; ok is false where
// some are there already.
func (t *rows[R]) coming() (n int, ok bool) {
	for k := range t.touched {
		if len(t.have[k]) > 0 {
			return 0, false
		}
	}
	return len(t.touched), true
}

// setUUID gives the wanted row a UUID.
func (t *rows[R]) setUUID(w *wanted[R], id string) {
	if *t.uuid(w.row) == id {
		return
	}
	if w.delivered {
		row := *w.row
		w.row, w.delivered = &row, false
	}
	*t.uuid(w.row) = id
}

// write appends to txn what the database lacks of one row.
func (t *rows[R]) write(txn *ovsdb.Txn, k string) {
	w, have := t.want[k], t.have[k]
	if w == nil {
		_, ours := t.ours[k]
		for _, r := range have {
			if ours || !t.spare(r) {
				t.delete(txn, r)
			}
		}
		if len(have) == 0 {
			t.ids.Delete(k)
			delete(t.ours, k)
		}
		return
	}
	if w.late != nil {
		w.late(txn)
	}
	if len(have) == 0 {
		t.setUUID(w, t.newID(k))
		if t.first != nil {
			t.first.Insert(txn, w.row)
		} else {
			t.table.Insert(txn, w.row)
		}
		return
	}
	if !t.keep(txn, w, have[0]) && t.changing != nil {
		t.changing(have[0], w.row)
	}
	for _, r := range have[1:] {
		t.delete(txn, r)
	}
}

func (t *rows[R]) delete(txn *ovsdb.Txn, r *R) {
	txn.Delete(t.table.Name, *t.uuid(r))
	if t.changing != nil {
		t.changing(r, nil)
	}
}

// drain takes all keys out of m, and returns them in order. A map keeps the room that
// it once took, and to go through it takes as long as when it was full: after a
// start that would be part of every edit, so a large one is dropped.
func drain(m *map[string]struct{}) []string {
	keys := slices.AppendSeq(make([]string, 0, len(*m)), maps.Keys(*m))
	slices.Sort(keys)
	if len(keys) > 1024 {
		*m = map[string]struct{}{}
	} else {
		clear(*m)
	}
	return keys
}

// writtenRow is a row that a transaction writes, in operations from to to-1.
type writtenRow struct {
	key      string
	from, to int
}

// refuse leaves the first row out of those that the last flush wrote for which is
// holds, of its operations and a UUID. It returns its name and UUID.
func (t *rows[R]) refuse(is func(from, to int, uuid string) bool) (name, id string, ok bool) {
	for _, w := range t.sent {
		for _, id := range t.writtenIDs(w.key) {
			if is(w.from, w.to, id) {
				t.refused[w.key] = struct{}{}
				return t.name(w.key), id, true
			}
		}
	}
	return "", "", false
}

// writtenIDs are the UUIDs of the row with a key: the one that is wanted, and
// those that go.
func (t *rows[R]) writtenIDs(key string) (ids []string) {
	if w := t.want[key]; w != nil {
		ids = append(ids, *t.uuid(w.row))
	}
	for _, r := range t.have[key] {
		ids = append(ids, *t.uuid(r))
	}
	return ids
}

// name is what a row is called in messages.
func (t *rows[R]) name(key string) string { return t.table.Name + " " + key }

// refuseReferrers leaves the rows out that the last flush wrote and that must not
// be without row id, and returns their UUIDs.
func (t *rows[R]) refuseReferrers(id string) (ids []string) {
	for _, w := range t.sent {
		want := t.want[w.key]
		if _, already := t.refused[w.key]; want != nil && !already && t.table.Needs(want.row, id) {
			t.refused[w.key] = struct{}{}
			ids = append(ids, *t.uuid(want.row))
		}
	}
	return ids
}

// leftOut are the rows that the server will not take: their names by the UUIDs
// that they would have.
func (t *rows[R]) leftOut() map[string]string {
	names := map[string]string{}
	for key := range t.refused {
		if w := t.want[key]; w != nil {
			names[*t.uuid(w.row)] = t.name(key)
		}
	}
	return names
}

// reconsider makes the next flush try again what the server would not take.
func (t *rows[R]) reconsider() {
	for key := range t.refused {
		t.touched[key] = struct{}{}
	}
	clear(t.refused)
}

// spareWhile leaves rows that were never wanted here alone while a condition holds.
func (t *rows[R]) spareWhile(holds func() bool) { t.spare = func(*R) bool { return holds() } }

// revisit makes the next flush look at all rows again.
func (t *rows[R]) revisit() {
	for k := range t.have {
		t.touched[k] = struct{}{}
	}
	for k := range t.want {
		t.touched[k] = struct{}{}
	}
}

// retry makes the next flush look again at what was written last.
func (t *rows[R]) retry() {
	for _, all := range [][]writtenRow{t.sent, t.ahead} {
		for _, w := range all {
			t.touched[w.key] = struct{}{}
		}
	}
	t.sent, t.ahead = nil, nil
}

// table is what Northd does with each of its rows[R].
type table interface {
	begin()
	flush(txn *ovsdb.Txn, limit int) (more bool)
	settle(txn *ovsdb.Txn)
	advance()
	coming() (n int, ok bool)
	retry()
	refuse(is func(from, to int, uuid string) bool) (name, id string, ok bool)
	refuseReferrers(id string) (ids []string)
	leftOut() map[string]string
	reconsider()
	revisit()
}
