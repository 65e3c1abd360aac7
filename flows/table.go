package flows

import (
	"hash/maphash"
	"iter"
	"slices"
)

// Table is the set of flows that are wanted, by whom and on which datapaths,
// beside the rows that the database has. Owners come and go through
// contributions; Flush writes the difference.
//
// It is for one goroutine. What Flush wrote counts as nothing until Observe and
// ObserveGroup tell that the database has it: after a transaction that failed,
// Retry and the next Flush write the same again.
type Table struct {
	seed        maphash.Seed
	rows        map[uint64]*row // chained by row.next
	size        int
	wanted      int
	dirty       []*row
	left        []*row // of dirty, those that the last Flush has not come to
	sets        map[SetKey]*Set
	dirtySets   []*Set
	datapaths   map[string]*datapath
	groupBySum  map[digest]*group // that sets are on
	groupByUUID map[string]*group
	vacant      map[digest][]*group // rows that no set is on, by what the database has of them
	groupRows   map[string]int      // flows that the database has on a group, by its UUID
	dirtyGroups map[*group]struct{}
	newUUID     func() string

	// Spare, if set, reports whether rows that nobody ever wanted in this table
	// are somebody else's, to be left alone.
	Spare func() bool

	follows bool // another writes the database

	refused map[*row]struct{} // rows that the server will not take
	more    map[*row][]Row    // what the database has of a row beside row.known

	flush uint64  // the number of the Flush that writes, or wrote last
	begun bool    // its Groups have been asked for
	sent  writing // in the transaction that was sent last
	ahead writing // in the one that is prepared
}

// writing is what a transaction writes.
type writing struct {
	rows   []writtenRow
	groups []*group // that change
}

// row is one logical flow: who wants it, and what the database has of it. There are
// more of them than of anything else, and nearly all have one owner and are known
// once: neither takes a slice.
type row struct {
	Flow
	next  *row      // with the same hash
	owner *emission // the first, and the one that came last; chained by emission.next
	set   *Set      // that it is on: its owners', or a union of its own; nil when unwanted
	known Row       // nil for none; further ones are in Table.more
	dirty bool
	ours  bool  // was wanted once
	place int32 // in set.users
}

// writtenRow is a row that a transaction writes, in operations from to to-1 of
// the writer.
type writtenRow struct {
	row      *row
	inserted string // UUID, "" for a row that was there
	from, to int
}

// emission is a flow that at least one owner wants with these attributes on
// this set. It implements the engine's Contribution.
type emission struct {
	row   *row
	next  *emission // of the row's owners
	set   *Set
	attrs Attrs
	count int32
}

// owners are those who want the row.
func (r *row) owners() iter.Seq[*emission] {
	return func(yield func(*emission) bool) {
		for e := r.owner; e != nil && yield(e); e = e.next {
		}
	}
}

// A Row is a row that the database has, as whoever follows the database holds
// it: the table keeps no copy. It does not change.
type Row interface {
	ID() string // its UUID
	Known() Known
}

// Known is what the table needs to know of a Row.
type Known struct {
	UUID      string
	Placement Placement
	Attrs     Attrs
	// Clean is whether the row's remaining columns are as a northd writes them
	// (external_ids:stage-name, for one); others are written again.
	Clean bool
}

// A Writer receives what has to change in the database for it to hold the
// wanted flows.
type Writer interface {
	// Len is the number of operations so far.
	Len() int
	InsertGroup(uuid string, datapaths []string)
	ChangeGroup(uuid string, add, remove []string)
	InsertFlow(uuid string, f *Flow, at Placement, a Attrs)
	// UpdateFlow changes the placement and attributes of a row from old.
	UpdateFlow(f *Flow, old Known, at Placement, a Attrs)
	DeleteFlow(uuid string)
}

// NewTable returns an empty table. newUUID provides the UUIDs of new rows.
func NewTable(newUUID func() string) *Table {
	return &Table{
		seed:        maphash.MakeSeed(),
		rows:        map[uint64]*row{},
		sets:        map[SetKey]*Set{},
		datapaths:   map[string]*datapath{},
		groupBySum:  map[digest]*group{},
		groupByUUID: map[string]*group{},
		vacant:      map[digest][]*group{},
		groupRows:   map[string]int{},
		dirtyGroups: map[*group]struct{}{},
		refused:     map[*row]struct{}{},
		more:        map[*row][]Row{},
		newUUID:     newUUID,
	}
}

// Len is the number of flows that are wanted by an owner.
func (t *Table) Len() int { return t.wanted }

// Contribution is what Want returns; the engine's interface of the same name.
type Contribution interface {
	Add()
	Remove()
}

// Want returns the contribution of f with attributes a on the datapaths of s.
func (t *Table) Want(f Flow, s *Set, a Attrs) Contribution {
	r := t.row(f)
	for e := range r.owners() {
		if e.set == s && e.attrs == a {
			return e
		}
	}
	return &emission{row: r, set: s, attrs: a}
}

// Again is Want for a caller that has last, what it contributes already: where
// that is what it wants, nothing need be searched for.
func (t *Table) Again(last any, f Flow, s *Set, a Attrs) Contribution {
	if e, ok := last.(*emission); ok && e.set == s && e.attrs == a && e.row.Flow == f {
		return e
	}
	return t.Want(f, s, a)
}

// Add implements the engine's Contribution.
func (e *emission) Add() {
	if e.count++; e.count > 1 {
		return
	}
	r, t := e.row, e.set.t
	if r.owner == nil {
		t.wanted++
	}
	r.ours = true
	delete(t.refused, r)
	e.next, r.owner = r.owner, e
	t.placeRow(r, nil)
	r.touch(t)
}

// Remove implements the engine's Contribution.
func (e *emission) Remove() {
	if e.count--; e.count > 0 {
		return
	}
	r, t := e.row, e.set.t
	p := &r.owner
	for *p != e {
		p = &(*p).next
	}
	if *p, e.next = e.next, nil; r.owner == nil {
		t.wanted--
	}
	t.placeRow(r, e.set)
	r.touch(t)
}

// placeRow puts the row on the set of its owners, or on a union of its own where
// they are on several. lost is the set of an owner that has just gone.
func (t *Table) placeRow(r *row, lost *Set) {
	var one *Set
	several := false
	for e := range r.owners() {
		if one == nil {
			one = e.set
		} else if e.set != one {
			several = true
			break
		}
	}
	switch {
	case several && r.set != nil && r.set.private:
		if lost != nil {
			r.set.part(lost)
		} else {
			r.set.join(r.owner.set)
		}
	case several:
		u := t.newSet(SetKey{Kind: "union"})
		u.private = true
		for e := range r.owners() {
			u.join(e.set)
		}
		r.moveTo(u)
	default:
		u := r.set
		r.moveTo(one) // before the union goes: a set that nothing is on is forgotten
		if u != nil && u.private {
			for e := range r.owners() {
				u.part(e.set)
			}
			if lost != nil {
				u.part(lost)
			}
		}
	}
}

func (r *row) moveTo(s *Set) {
	if r.set == s {
		return
	}
	if r.set != nil {
		r.set.removeUser(r)
	}
	if r.set = s; s != nil {
		s.addUser(r)
	}
}

// index implements user.
func (r *row) index() *int32 { return &r.place }

// moved implements user.
func (r *row) moved(t *Table) { r.touch(t) }

func (r *row) touch(t *Table) {
	if !r.dirty {
		r.dirty = true
		if len(t.dirty) == cap(t.dirty) {
			t.dirty = slices.Grow(t.dirty, len(t.dirty)+1) // append makes a large one grow by a quarter at a time
		}
		t.dirty = append(t.dirty, r)
	}
}

// attrs are the least of those that the owners want.
func (r *row) attrs() Attrs {
	a := r.owner.attrs
	for e := range r.owners() {
		if e.attrs.less(a) {
			a = e.attrs
		}
	}
	return a
}

// Observe tells that the database has the row have for flow f. have is kept, and
// f's strings in place of the table's own, which so share the memory of the rows
// that the caller holds.
func (t *Table) Observe(f Flow, have Row) {
	r := t.row(f)
	r.Flow = f
	delete(t.refused, r)
	t.countRow(have, 1)
	switch at := t.find(r, have.ID()); {
	case at != nil:
		t.countRow(*at, -1)
		*at = have
	case r.known == nil:
		r.known = have
	default:
		t.more[r] = append(t.more[r], have)
	}
	r.touch(t)
}

// Forget tells that the database has no row uuid for flow f any more.
func (t *Table) Forget(f Flow, uuid string) {
	r := t.row(f)
	if at := t.find(r, uuid); at != nil {
		t.countRow(*at, -1)
		// The last of several takes its place.
		more := t.more[r]
		if len(more) == 0 {
			*at = nil
		} else {
			last := len(more) - 1
			*at, more[last] = more[last], nil
			if t.more[r] = more[:last]; last == 0 {
				delete(t.more, r)
			}
		}
	}
	r.touch(t)
}

// find returns where the row uuid of the database is kept that is known of r, nil
// for nowhere.
func (t *Table) find(r *row, uuid string) *Row {
	if r.known != nil && r.known.ID() == uuid {
		return &r.known
	}
	more := t.more[r]
	for i := range more {
		if more[i].ID() == uuid {
			return &more[i]
		}
	}
	return nil
}

// known are the rows that the database has of r.
func (t *Table) known(r *row) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if r.known == nil || !yield(r.known) {
			return
		}
		for _, k := range t.more[r] {
			if !yield(k) {
				return
			}
		}
	}
}

// Revisit makes the next Flush look at all rows again, for when Spare's answer
// has changed.
func (t *Table) Revisit() {
	for _, r := range t.rows {
		for ; r != nil; r = r.next {
			r.touch(t)
		}
	}
}

// Flush writes to w what has to change, for a transaction that is sent now. It
// inserts at most limit rows (0 for no limit); more reports that some are left, for
// Continue or the next Flush. Rows that go or move are never left: what they were on
// may go in the same transaction.
func (t *Table) Flush(w Writer, limit int) (more bool) {
	more = t.Prepare(w, limit)
	t.Advance()
	return more
}

// Prepare is Flush for a transaction that is prepared while one without flows is on
// its way: Advance tells that it is sent.
func (t *Table) Prepare(w Writer, limit int) (more bool) {
	t.begin()
	t.begun = false
	t.ahead = writing{}
	t.place()
	t.changeGroups(w)
	inserts := 0
	look := append(t.left, t.dirty...)
	t.left, t.dirty = look[:0], nil
	for _, r := range look {
		if limit > 0 && r.known == nil && r.placed() {
			if inserts == limit {
				t.left = append(t.left, r)
				continue
			}
			inserts++
		}
		t.writeRow(w, r)
	}
	clear(look[len(t.left):])
	t.keepGroups(w)
	t.dropLeft()
	return len(t.left) > 0
}

// keepGroups writes one of the rows that are left for each group that would have none
// after this transaction: the database would drop it, and what is left be on nothing.
func (t *Table) keepGroups(w Writer) {
	if len(t.left) == 0 {
		return
	}
	grown := map[string]int{} // rows that come to a group here, less those that go
	for _, wr := range t.ahead.rows {
		for k := range t.known(wr.row) {
			grown[k.Known().Placement.Group]--
		}
		if wr.row.placed() {
			grown[wr.row.set.at.Group]++
		}
	}
	t.left = slices.DeleteFunc(t.left, func(r *row) bool {
		g := r.set.group
		if r.set.at.Group == "" || g.known == nil || t.groupRows[g.uuid]+grown[g.uuid] > 0 {
			return false
		}
		grown[g.uuid]++
		t.writeRow(w, r)
		return true
	})
}

// begin begins another Flush, or its preparation by Group.
func (t *Table) begin() {
	if !t.begun {
		t.begun = true
		t.flush++
	}
}

// Continue writes to w more of what the last Flush had to leave. It is for a
// transaction that is prepared while the one before is on its way: what was
// written in that counts as there, and nothing but what the database reports may
// have changed since. Advance tells that the prepared one takes its place.
func (t *Table) Continue(w Writer, limit int) (more bool) {
	n := len(t.left)
	if limit > 0 {
		n = min(n, limit)
	}
	t.ahead = writing{}
	for _, r := range t.left[:n] {
		t.writeRow(w, r)
	}
	t.left = t.left[n:]
	t.dropLeft()
	return len(t.left) > 0
}

// dropLeft gives back the memory of t.left once that is empty.
func (t *Table) dropLeft() {
	if len(t.left) == 0 {
		t.left = nil
	}
}

// Advance tells that the database has taken what was written before, and is sent
// what the last Prepare or Continue wrote.
func (t *Table) Advance() { t.sent, t.ahead = t.ahead, writing{} }

// writeRow writes what the database lacks of r.
func (t *Table) writeRow(w Writer, r *row) {
	r.dirty = false
	if _, refused := t.refused[r]; !refused {
		from := w.Len()
		if inserted, wrote := t.write(w, r); wrote {
			t.ahead.rows = append(t.ahead.rows, writtenRow{r, inserted, from, w.Len()})
		}
	}
	if r.owner == nil && r.known == nil {
		t.drop(r)
	}
}

// Refuse leaves the first flow out of those in the transaction sent last for which is
// holds, of the operations from to to-1 that wrote it and its UUID: the server
// will not take it. It is left out until it is wanted anew, or the database has
// another row of it, or Reconsider is called.
func (t *Table) Refuse(is func(from, to int, uuid string) bool) (f Flow, uuid string, ok bool) {
	for _, w := range t.sent.rows {
		for _, uuid := range t.uuids(w) {
			if is(w.from, w.to, uuid) {
				t.refused[w.row] = struct{}{}
				return w.row.Flow, uuid, true
			}
		}
	}
	return Flow{}, "", false
}

// uuids are those of the rows of the database that were written.
func (t *Table) uuids(w writtenRow) []string {
	if w.inserted != "" {
		return []string{w.inserted}
	}
	var out []string
	for k := range t.known(w.row) {
		out = append(out, k.ID())
	}
	return out
}

// RefuseOn leaves the flows out that the transaction sent last has on one datapath,
// and returns their number.
func (t *Table) RefuseOn(datapath string) (count int) {
	for _, w := range t.sent.rows {
		if _, already := t.refused[w.row]; !already && w.row.placed() && w.row.set.at.Datapath == datapath {
			t.refused[w.row] = struct{}{}
			count++
		}
	}
	return count
}

// Refused is the number of flows that are left out.
func (t *Table) Refused() int { return len(t.refused) }

// Reconsider makes the next Flush try the flows again that are left out, and
// returns them.
func (t *Table) Reconsider() (again []Flow) {
	for r := range t.refused {
		again = append(again, r.Flow)
		r.touch(t)
	}
	clear(t.refused)
	return again
}

// Retry makes the next Flush write again what the last one wrote, and Continue,
// and the database does not have.
func (t *Table) Retry() {
	for _, all := range []writing{t.sent, t.ahead} {
		for _, w := range all.rows {
			w.row.touch(t)
		}
		for _, g := range all.groups {
			t.touchGroup(g)
		}
	}
	t.sent, t.ahead = writing{}, writing{}
}

// placed reports whether the row is wanted on at least one datapath.
func (r *row) placed() bool { return r.owner != nil && r.set.at != Placement{} }

// write writes the difference between what is wanted and known of r. It returns
// the UUID of a row that it inserts.
func (t *Table) write(w Writer, r *row) (inserted string, wrote bool) {
	if !r.placed() {
		if !r.ours && t.Spare != nil && t.Spare() {
			return "", false
		}
		for k := range t.known(r) {
			w.DeleteFlow(k.ID())
			wrote = true
		}
		return "", wrote
	}
	for _, k := range t.more[r] {
		w.DeleteFlow(k.ID())
		wrote = true
	}
	at, a := r.set.at, r.attrs()
	if r.known == nil {
		t.ensureGroup(w, r.set)
		inserted = t.newUUID()
		w.InsertFlow(inserted, &r.Flow, at, a)
		return inserted, true
	}
	k := r.known.Known()
	if a.Hint == "" {
		// A hint that another northd found is no worse than none.
		a.Hint = k.Attrs.Hint
	}
	if k.Placement != at || k.Attrs != a || !k.Clean {
		t.ensureGroup(w, r.set)
		w.UpdateFlow(&r.Flow, k, at, a)
		return "", true
	}
	return "", wrote
}

func (t *Table) row(f Flow) *row {
	h := f.hash(t.seed)
	for r := t.rows[h]; r != nil; r = r.next {
		if r.Flow == f {
			return r
		}
	}
	r := &row{Flow: f, next: t.rows[h]}
	t.rows[h] = r
	t.size++
	return r
}

func (t *Table) drop(r *row) {
	delete(t.refused, r)
	h := r.Flow.hash(t.seed)
	if first := t.rows[h]; first == r {
		if r.next == nil {
			delete(t.rows, h)
		} else {
			t.rows[h] = r.next
		}
	} else {
		for p := first; p != nil; p = p.next {
			if p.next == r {
				p.next = r.next
			}
		}
	}
	t.size--
}

func (f *Flow) hash(seed maphash.Seed) uint64 {
	h := maphash.String(seed, f.Match)
	h = h*31 + maphash.String(seed, f.Actions)
	h = h*31 + uint64(f.Priority)<<8 + uint64(f.Stage)
	if f.Meter != "" {
		h = h*31 + maphash.String(seed, f.Meter)
	}
	return h
}
