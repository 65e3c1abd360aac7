package flows

// Watch asks for a Logical_DP_Group of a set's content, even of a single
// datapath, for a row outside of the table that refers to the group. It
// implements the engine's Contribution.
type Watch struct {
	set   *Set
	tell  func()
	count int32
	place int32 // in set.users
}

// Watch returns a watch on s. tell is called by Place when another
// group becomes the set's.
func (s *Set) Watch(tell func()) *Watch { return &Watch{set: s, tell: tell} }

// Add implements the engine's Contribution.
func (w *Watch) Add() {
	if w.count++; w.count > 1 {
		return
	}
	w.set.watches++
	w.set.addUser(w)
	w.set.touch()
}

// Remove implements the engine's Contribution.
func (w *Watch) Remove() {
	if w.count--; w.count > 0 {
		return
	}
	w.set.watches--
	w.set.touch()
	w.set.removeUser(w)
}

// index implements user.
func (w *Watch) index() *int32 { return &w.place }

// moved implements user.
func (w *Watch) moved(*Table) { w.tell() }

// Place settles which datapath or group each set is on. Flush does so itself;
// callers whose rows refer to groups do it before they write those.
func (t *Table) Place() { t.place() }

// Group is the UUID of the group of a set, which must have members and a watch,
// and have been placed. If the database lacks the group, it is written to w:
// the caller writes a row that refers to it in the same transaction, and calls
// Flush for that transaction afterwards.
func (t *Table) Group(w Writer, key SetKey) string {
	s := t.sets[key]
	if s == nil || s.group == nil {
		return ""
	}
	t.begin()
	t.ensureGroup(w, s)
	return s.group.uuid
}
