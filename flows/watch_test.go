package flows

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// refs are rows of another table, by name, each of which refers to the group of
// the set of that name.
type refs struct {
	tab   *Table
	watch map[string]*Watch
	dirty map[string]bool
}

func newRefs(tab *Table) *refs {
	return &refs{tab: tab, watch: map[string]*Watch{}, dirty: map[string]bool{}}
}

func (r *refs) toggle(set string) {
	r.dirty[set] = true
	if w, ok := r.watch[set]; ok {
		delete(r.watch, set)
		w.Remove()
		return
	}
	w := r.tab.Set(SetKey{Kind: set}).Watch(func() { r.dirty[set] = true })
	r.watch[set] = w
	w.Add()
}

// write writes to db the rows that may differ, and returns their names.
func (r *refs) write(db *fakeDB) (written []string) {
	r.tab.Place()
	for _, set := range slices.Sorted(maps.Keys(r.dirty)) {
		g := ""
		if r.watch[set] != nil {
			g = r.tab.Group(db, SetKey{Kind: set})
		}
		switch {
		case g == "":
			delete(db.refs, set)
		case db.refs[set] != g:
			db.ops++
			db.refs[set] = g
		}
		written = append(written, set)
	}
	clear(r.dirty)
	return written
}

// TestWatch: a row that refers to the group of a set of one datapath has one of
// its own, keeps it while the set grows, and leaves it where another row's
// group has the content already.
func TestWatch(t *testing.T) {
	tab, db := newTestTable(), newFakeDB(t)
	r := newRefs(tab)
	dps := func(want string) {
		t.Helper()
		flushRefs(t, tab, r, db, 0)
		got := fmt.Sprint(len(db.refs))
		if g := db.refs["a"]; g != "" {
			got = fmt.Sprint(sortedKeys(db.groups[g]))
		}
		if got != want {
			t.Errorf("the row refers to %s, want %s", got, want)
		}
	}
	a, all := tab.Set(SetKey{Kind: "a"}), tab.Set(SetKey{Kind: "all"})
	tab.Want(aFlow(0), a, Attrs{}).Add()
	tab.Want(aFlow(1), all, Attrs{}).Add()
	for _, dp := range []string{"x", "y", "z"} {
		all.With(dp).Add()
	}
	a.With("x").Add()
	r.toggle("a")
	dps("[x]")
	for _, row := range db.flows {
		if row.Flow == aFlow(0) && row.At != (Placement{Datapath: "x"}) {
			t.Errorf("the flow is on %v, want the datapath", row.At)
		}
	}
	was := db.refs["a"]
	a.With("y").Add()
	dps("[x y]")
	if db.refs["a"] != was {
		t.Errorf("the row has moved from %s to %s", was, db.refs["a"])
	}
	a.With("z").Add()
	dps("[x y z]")
	if len(db.groups) != 1 {
		t.Errorf("%d groups, want one that is shared", len(db.groups))
	}
	a.With("z").Remove()
	a.With("y").Remove()
	dps("[x]")
	r.toggle("a")
	dps("0")
}

// flushRefs is flush for a table with refs.
func flushRefs(t *testing.T, tab *Table, r *refs, db *fakeDB, limit int) {
	t.Helper()
	for range 100 {
		before := db.clone()
		r.write(db)
		more := tab.Flush(db, limit)
		db.commit(tab, before)
		if !more {
			break
		}
	}
	ops := db.ops
	r.write(db)
	tab.Flush(db, 0)
	if db.ops != ops {
		t.Errorf("flushing again wrote %d operations", db.ops-ops)
	}
}
