package flows

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeDB is a database that does what a Table writes: flows and the rows of
// another table refer to groups, and a group that nothing refers to goes at the
// end of a transaction.
type fakeDB struct {
	t      *testing.T
	flows  map[string]fakeRow
	groups map[string]map[string]bool
	refs   map[string]string
	ops    int
}

// knownRow is a Row that is a Known.
type knownRow Known

func (r knownRow) ID() string   { return r.UUID }
func (r knownRow) Known() Known { return Known(r) }

type fakeRow struct {
	Flow Flow
	At   Placement
	A    Attrs
}

func newFakeDB(t *testing.T) *fakeDB {
	return &fakeDB{t: t, flows: map[string]fakeRow{}, groups: map[string]map[string]bool{}, refs: map[string]string{}}
}

func (db *fakeDB) Len() int { return db.ops }

func (db *fakeDB) InsertGroup(uuid string, dps []string) {
	db.ops++
	if db.groups[uuid] != nil {
		db.t.Errorf("group %s inserted twice", uuid)
	}
	db.groups[uuid] = map[string]bool{}
	for _, d := range dps {
		db.groups[uuid][d] = true
	}
}

func (db *fakeDB) ChangeGroup(uuid string, add, remove []string) {
	db.ops++
	if db.groups[uuid] == nil {
		db.t.Errorf("change of group %s, which is not there", uuid)
		return
	}
	for _, d := range remove {
		delete(db.groups[uuid], d)
	}
	for _, d := range add {
		db.groups[uuid][d] = true
	}
}

func (db *fakeDB) InsertFlow(uuid string, f *Flow, at Placement, a Attrs) {
	db.ops++
	db.flows[uuid] = fakeRow{*f, at, a}
}

func (db *fakeDB) UpdateFlow(f *Flow, old Known, at Placement, a Attrs) {
	db.ops++
	if _, ok := db.flows[old.UUID]; !ok {
		db.t.Errorf("update of flow %s, which is not there", old.UUID)
	}
	db.flows[old.UUID] = fakeRow{*f, at, a}
}

func (db *fakeDB) DeleteFlow(uuid string) {
	db.ops++
	if _, ok := db.flows[uuid]; !ok {
		db.t.Errorf("deletion of flow %s, which is not there", uuid)
	}
	delete(db.flows, uuid)
}

// commit ends the transaction and reports everything that changed to t.
func (db *fakeDB) commit(t *Table, before *fakeDB) {
	used := map[string]bool{}
	for uuid, r := range db.flows {
		if g := r.At.Group; g != "" {
			used[g] = true
			if db.groups[g] == nil {
				db.t.Errorf("flow %s refers to group %s, which is not there", uuid, g)
			}
		}
	}
	for name, g := range db.refs {
		used[g] = true
		if db.groups[g] == nil {
			db.t.Errorf("row %s refers to group %s, which is not there", name, g)
		}
	}
	for g := range db.groups {
		if !used[g] {
			delete(db.groups, g)
		}
	}
	db.report(t, before)
}

func (db *fakeDB) report(t *Table, before *fakeDB) {
	for g := range before.groups {
		if db.groups[g] == nil {
			t.ObserveGroup(g, nil)
		}
	}
	for g, m := range db.groups {
		t.ObserveGroup(g, sortedKeys(m))
	}
	for uuid, r := range before.flows {
		if _, ok := db.flows[uuid]; !ok {
			t.Forget(r.Flow, uuid)
		}
	}
	for uuid, r := range db.flows {
		t.Observe(r.Flow, knownRow{UUID: uuid, Placement: r.At, Attrs: r.A, Clean: true})
	}
}

func (db *fakeDB) clone() *fakeDB {
	c := newFakeDB(db.t)
	for k, v := range db.flows {
		c.flows[k] = v
	}
	maps.Copy(c.refs, db.refs)
	for k, m := range db.groups {
		c.groups[k] = map[string]bool{}
		for d := range m {
			c.groups[k][d] = true
		}
	}
	return c
}

// contents are the flows with the datapaths that they are on.
func (db *fakeDB) contents() []string {
	var out []string
	for _, r := range db.flows {
		dps := []string{r.At.Datapath}
		if r.At.Group != "" {
			dps = sortedKeys(db.groups[r.At.Group])
		}
		out = append(out, fmt.Sprintf("%v %v %v", r.Flow, r.A, dps))
	}
	slices.Sort(out)
	return out
}

func sortedKeys(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func newTestTable() *Table {
	n := 0
	return NewTable(func() string { n++; return fmt.Sprintf("uuid%d", n) })
}

// flush writes and commits until nothing is left, each transaction prepared before
// the one ahead of it is reported, and checks that then nothing more is written.
func flush(t *testing.T, tab *Table, db *fakeDB, limit int) {
	t.Helper()
	before := db.clone()
	for more := tab.Flush(db, limit); more; {
		sent := db.clone()
		more = tab.Continue(db, limit)
		sent.commit(tab, before)
		for g := range before.groups {
			if sent.groups[g] == nil {
				delete(db.groups, g)
			}
		}
		tab.Advance()
		before = sent
	}
	db.commit(tab, before)
	ops := db.ops
	tab.Flush(db, 0)
	if db.ops != ops {
		t.Errorf("flushing again wrote %d operations", db.ops-ops)
	}
	checkGroups(t, tab)
}

// checkGroups checks what Table keeps of groups: sets of one content are on one
// group, and on one that the database has, if it has one.
func checkGroups(t *testing.T, tab *Table) {
	t.Helper()
	for sum, gs := range tab.vacant {
		for _, g := range gs {
			if len(g.sets) > 0 || g.sum != sum || !g.right() {
				t.Errorf("group %s is listed as vacant: %d sets are on it, right %t", g.uuid, len(g.sets), g.right())
			}
		}
	}
	for _, s := range tab.sets {
		if s.group != nil && (s.group.sum != s.sum || tab.groupBySum[s.sum] != s.group || tab.groupOf(s.sum) != s.group) {
			t.Errorf("set %v is on group %s, which is not that of its content", s.key, s.group.uuid)
		}
	}
}

// setOf is a set of the given kind with datapaths in it.
func setOf(tab *Table, kind string, datapaths ...string) *Set {
	s := tab.Set(SetKey{Kind: kind})
	for _, dp := range datapaths {
		s.With(dp).Add()
	}
	return s
}

func aFlow(i int) Flow {
	return Flow{Stage: SwitchInACLEval, Priority: 1000 + i, Match: fmt.Sprintf("m%d", i), Actions: "next;"}
}

// TestGroupMovesWithItsFlows: a set whose members change changes its group, and
// no flow; sets that part get groups of their own.
func TestGroupMovesWithItsFlows(t *testing.T) {
	tab, db := newTestTable(), newFakeDB(t)
	a, b := tab.Set(SetKey{Kind: "a"}), tab.Set(SetKey{Kind: "b"})
	for _, dp := range []string{"dp1", "dp2"} {
		a.With(dp).Add()
		b.With(dp).Add()
	}
	for i := range 10 {
		tab.Want(aFlow(i), a, Attrs{}).Add()
	}
	tab.Want(aFlow(10), b, Attrs{}).Add()
	flush(t, tab, db, 0)
	if len(db.groups) != 1 {
		t.Errorf("equal sets: got %d groups, want 1", len(db.groups))
	}

	// Both change alike: the group moves, in one operation.
	a.With("dp3").Add()
	b.With("dp3").Add()
	db.ops = 0
	flush(t, tab, db, 0)
	if db.ops != 1 || len(db.groups) != 1 {
		t.Errorf("one more member: got %d operations and %d groups, want 1 and 1", db.ops, len(db.groups))
	}

	// They part: the few flows of b get a group, the many of a stay.
	b.With("dp4").Add()
	db.ops = 0
	flush(t, tab, db, 0)
	if db.ops != 2 || len(db.groups) != 2 {
		t.Errorf("parting: got %d operations and %d groups, want 2 and 2", db.ops, len(db.groups))
	}

	// They meet again: one group goes, and the few flows of b move.
	a.With("dp4").Add()
	db.ops = 0
	flush(t, tab, db, 0)
	if db.ops != 2 || len(db.groups) != 1 {
		t.Errorf("meeting: got %d operations and %d groups, want 2 and 1", db.ops, len(db.groups))
	}

	// The many part from the few: the group goes with the many all the same.
	a.With("dp5").Add()
	db.ops = 0
	flush(t, tab, db, 0)
	if db.ops != 3 || len(db.groups) != 2 {
		t.Errorf("the many part: got %d operations and %d groups, want 3 and 2", db.ops, len(db.groups))
	}

	// And come back.
	a.With("dp5").Remove()
	db.ops = 0
	flush(t, tab, db, 0)
	if db.ops != 2 || len(db.groups) != 1 {
		t.Errorf("the many come back: got %d operations and %d groups, want 2 and 1", db.ops, len(db.groups))
	}
}

func TestPlacement(t *testing.T) {
	tab, db := newTestTable(), newFakeDB(t)
	s := tab.Set(SetKey{Kind: "s"})
	f := tab.Want(aFlow(0), s, Attrs{Hint: "h"})
	f.Add()
	flush(t, tab, db, 0)
	if len(db.flows) != 0 {
		t.Errorf("on an empty set: got %d rows, want 0", len(db.flows))
	}
	m1, m2 := s.With("dp1"), s.With("dp2")
	m1.Add()
	flush(t, tab, db, 0)
	if diff := cmp.Diff([]string{"{ls_in_acl_eval 1000 m0 next; } { false  h} [dp1]"}, db.contents()); diff != "" {
		t.Errorf("on one datapath (-want +got):\n%s", diff)
	}
	for _, r := range db.flows {
		if r.At.Datapath != "dp1" {
			t.Errorf("a set of one: got placement %+v, want the datapath itself", r.At)
		}
	}
	m2.Add()
	flush(t, tab, db, 0)
	if len(db.groups) != 1 {
		t.Errorf("a set of two: got %d groups, want 1", len(db.groups))
	}
	m1.Remove()
	m2.Remove()
	flush(t, tab, db, 0)
	if len(db.flows)+len(db.groups) != 0 {
		t.Errorf("empty again: got %d rows and %d groups", len(db.flows), len(db.groups))
	}
	f.Remove()
	flush(t, tab, db, 0)
	if n := len(tab.sets) + tab.size + len(tab.datapaths); n != 0 {
		t.Errorf("%d things are kept of nothing", n)
	}
}

// TestTakeOver: rows that are right already are not written, duplicates and
// strangers go, and of groups with one content the one with most flows stays.
func TestTakeOver(t *testing.T) {
	tab, db := newTestTable(), newFakeDB(t)
	db.groups["g1"] = map[string]bool{"dp1": true, "dp2": true}
	db.groups["g2"] = map[string]bool{"dp1": true, "dp2": true}
	db.flows["x1"] = fakeRow{aFlow(1), Placement{Group: "g2"}, Attrs{Hint: "h"}}
	db.flows["x2"] = fakeRow{aFlow(2), Placement{Group: "g2"}, Attrs{}}
	db.flows["x3"] = fakeRow{aFlow(3), Placement{Group: "g2"}, Attrs{}}
	db.flows["x4"] = fakeRow{aFlow(4), Placement{Group: "g1"}, Attrs{}}
	db.report(tab, newFakeDB(t))
	s := setOf(tab, "s", "dp1", "dp2")
	tab.Want(aFlow(1), s, Attrs{Hint: "h"}).Add()
	tab.Want(aFlow(2), s, Attrs{}).Add()
	tab.Want(aFlow(4), s, Attrs{}).Add()
	before := db.clone()
	tab.Flush(db, 0)
	var changed []string
	for uuid, r := range before.flows {
		if now, ok := db.flows[uuid]; !ok || now != r {
			changed = append(changed, uuid)
		}
	}
	slices.Sort(changed)
	if want := []string{"x3", "x4"}; !slices.Equal(changed, want) || db.ops != 2 {
		t.Errorf("got changes of %v in %d operations, want x3 gone and x4 on the group with more flows", changed, db.ops)
	}
}

// TestDuplicates: of rows of one flow that come and go in any order one stays, and none
// of a flow that nobody wants; what the database has no more leaves nothing behind.
func TestDuplicates(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		tab, db := newTestTable(), newFakeDB(t)
		s := setOf(tab, "s", "dp1")
		var want Contribution
		wanted := rnd.IntN(2) == 0
		if wanted {
			want = tab.Want(aFlow(1), s, Attrs{})
			want.Add()
		}
		for range rnd.IntN(20) {
			before := db.clone()
			uuid := fmt.Sprint("x", rnd.IntN(5))
			if _, ok := db.flows[uuid]; ok && rnd.IntN(2) == 0 {
				delete(db.flows, uuid)
			} else {
				db.flows[uuid] = fakeRow{aFlow(1), Placement{Datapath: "dp1"}, Attrs{Desc: fmt.Sprint(rnd.IntN(2))}}
			}
			db.report(tab, before)
		}
		flush(t, tab, db, 0)
		if got := len(db.flows); got > 1 || (got == 1) != wanted {
			t.Errorf("wanted %t: %d rows are left", wanted, got)
		}
		if wanted {
			want.Remove()
			flush(t, tab, db, 0)
		}
		if len(db.flows)+tab.size+len(tab.more) > 0 {
			t.Errorf("%d rows are left, %d in the table, %d with further ones", len(db.flows), tab.size, len(tab.more))
		}
	}
}

// TestFollow: the active one keeps the group with the most flows and changes it; one
// that follows takes the group that the database has, whatever it chose before.
func TestFollow(t *testing.T) {
	for _, follow := range []bool{false, true} {
		tab, db := newTestTable(), newFakeDB(t)
		db.groups["g1"] = map[string]bool{"dp1": true, "dp2": true}
		db.flows["x1"] = fakeRow{aFlow(1), Placement{Group: "g1"}, Attrs{}}
		db.flows["x2"] = fakeRow{aFlow(2), Placement{Group: "g1"}, Attrs{}}
		db.report(tab, newFakeDB(t))
		s := setOf(tab, "s", "dp1", "dp2")
		tab.Want(aFlow(1), s, Attrs{}).Add()
		tab.Want(aFlow(2), s, Attrs{}).Add()
		flush(t, tab, db, 0)
		s.With("dp3").Add()
		tab.Want(aFlow(3), s, Attrs{}).Add()
		tab.Flush(db.clone(), 0)
		tab.Retry()
		before := db.clone()
		db.groups["g2"] = map[string]bool{"dp1": true, "dp2": true, "dp3": true}
		db.flows["x3"] = fakeRow{aFlow(3), Placement{Group: "g2"}, Attrs{}}
		db.report(tab, before)
		tab.Place() // chooses g1 again
		want := "g1"
		if follow {
			tab.Follow(true)
			want = "g2"
		}
		flush(t, tab, db, 0)
		for uuid, r := range db.flows {
			if r.At.Group != want {
				t.Errorf("following %t: %s is on %s, want %s", follow, uuid, r.At.Group, want)
			}
		}
	}
}

// TestGroupStays: a group of which all rows go keeps one of those that come, though
// these are written in a later transaction.
func TestGroupStays(t *testing.T) {
	tab, db := newTestTable(), newFakeDB(t)
	s := setOf(tab, "a", "dp1", "dp2")
	old := tab.Want(aFlow(0), s, Attrs{})
	old.Add()
	flush(t, tab, db, 0)
	s.With("dp3").Add()
	flush(t, tab, db, 0)
	tab.Want(aFlow(1), setOf(tab, "b", "dp4"), Attrs{}).Add()
	for i := range 3 {
		tab.Want(aFlow(i+2), s, Attrs{}).Add()
	}
	old.Remove()
	flush(t, tab, db, 1)
	if len(db.flows) != 4 || len(db.groups) != 1 {
		t.Errorf("%d flows on %d groups, want 4 on 1", len(db.flows), len(db.groups))
	}
}

// TestRetry: what a failed transaction would have written is written again.
func TestRetry(t *testing.T) {
	tab, db := newTestTable(), newFakeDB(t)
	s := setOf(tab, "s", "dp1", "dp2")
	tab.Want(aFlow(1), s, Attrs{}).Add()
	lost := newFakeDB(t)
	tab.Flush(lost, 0)
	tab.Retry()
	flush(t, tab, db, 0)
	if len(db.flows) != 1 {
		t.Errorf("got %d flows, want 1", len(db.flows))
	}
	s.With("dp3").Add()
	tab.Flush(db.clone(), 0)
	tab.Retry()
	flush(t, tab, db, 0)
	if got := strings.Join(db.contents(), "\n"); !strings.HasSuffix(got, "[dp1 dp2 dp3]") {
		t.Errorf("got %s, want three datapaths", got)
	}
}

// TestRandom: after any sequence of contributions, failed transactions and
// changes by others, the database has what a list of the owners says.
func TestRandom(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testRandom(t, seed) })
	}
}

func testRandom(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	tab, db := newTestTable(), newFakeDB(t)
	rows := newRefs(tab)
	type member struct{ set, dp string }
	type want struct {
		flow int
		set  string
		a    Attrs
	}
	members, wants := map[member]int{}, map[want][]Contribution{}
	dps := func(set string) []string {
		if dp, ok := strings.CutPrefix(set, "only "); ok {
			return []string{dp}
		}
		m := map[string]bool{}
		for k, n := range members {
			if k.set == set && n > 0 {
				m[k.dp] = true
			}
		}
		return sortedKeys(m)
	}
	setOf := func(name string) *Set {
		return tab.Set(SetKey{Kind: name})
	}
	for step := range 60 {
		for range 1 + r.IntN(6) {
			switch r.IntN(5) {
			case 0:
				k := member{fmt.Sprintf("s%d", r.IntN(4)), fmt.Sprintf("dp%d", r.IntN(5))}
				setOf(k.set).With(k.dp).Add()
				members[k]++
			case 1:
				for k, n := range members {
					if n > 0 {
						setOf(k.set).With(k.dp).Remove()
						members[k]--
						break
					}
				}
			case 2:
				k := want{r.IntN(6), fmt.Sprintf("s%d", r.IntN(4)), Attrs{Hint: fmt.Sprint(r.IntN(2))}}
				c := tab.Want(aFlow(k.flow), setOf(k.set), k.a)
				c.Add()
				wants[k] = append(wants[k], c)
			case 3:
				for k, cs := range wants {
					cs[len(cs)-1].Remove()
					if wants[k] = cs[:len(cs)-1]; len(cs) == 1 {
						delete(wants, k)
					}
					break
				}
			case 4:
				rows.toggle(fmt.Sprintf("s%d", r.IntN(4)))
			}
		}
		switch r.IntN(8) {
		case 0: // the transaction is lost
			lost := db.clone()
			for _, set := range rows.write(lost) {
				rows.dirty[set] = true
			}
			if tab.Flush(lost, 1+r.IntN(3)) && r.IntN(2) == 0 { // with the next one prepared
				tab.Continue(db.clone(), 1+r.IntN(3))
			}
			tab.Retry()
			continue
		case 1: // somebody else deletes a row
			before := db.clone()
			for uuid := range db.flows {
				delete(db.flows, uuid)
				break
			}
			for set := range db.refs {
				delete(db.refs, set)
				rows.dirty[set] = true
				break
			}
			db.commit(tab, before)
		}
		flushRefs(t, tab, rows, db, r.IntN(4))

		flowDPs, flowAttrs := map[int]map[string]bool{}, map[int]Attrs{}
		for k := range wants {
			if flowDPs[k.flow] == nil {
				flowDPs[k.flow] = map[string]bool{}
				flowAttrs[k.flow] = k.a
			}
			for _, dp := range dps(k.set) {
				flowDPs[k.flow][dp] = true
			}
			if k.a.less(flowAttrs[k.flow]) {
				flowAttrs[k.flow] = k.a
			}
		}
		var expect []string
		for f, m := range flowDPs {
			if len(m) > 0 {
				expect = append(expect, fmt.Sprintf("%v %v %v", aFlow(f), flowAttrs[f], sortedKeys(m)))
			}
		}
		slices.Sort(expect)
		if diff := cmp.Diff(expect, db.contents()); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", step, diff)
		}
		for i := range 4 {
			set := fmt.Sprintf("s%d", i)
			want, got := dps(set), sortedKeys(db.groups[db.refs[set]])
			if rows.watch[set] == nil {
				want = []string{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("step %d: the row's group of %s (-want +got):\n%s", step, set, diff)
			}
		}
		contents := map[string]string{}
		for g, m := range db.groups {
			c := fmt.Sprint(sortedKeys(m))
			if other, ok := contents[c]; ok {
				t.Fatalf("step %d: groups %s and %s have the same content %s", step, g, other, c)
			}
			contents[c] = g
		}

		// Another table finds all as it would have it.
		second, same := newTestTable(), db.clone()
		same.report(second, newFakeDB(t))
		for k, n := range members {
			if n > 0 {
				second.Set(SetKey{Kind: k.set}).With(k.dp).Add()
			}
		}
		for k := range wants {
			second.Want(aFlow(k.flow), second.Set(SetKey{Kind: k.set}), k.a).Add()
		}
		same.ops = 0
		if second.Flush(same, 0); same.ops > 0 {
			t.Fatalf("step %d: another table writes %d operations", step, same.ops)
		}
	}
}

// TestRefuse: a flow that the server will not take is left out until it is
// wanted anew, and keeps none of the others.
func TestRefuse(t *testing.T) {
	tab, db := newTestTable(), newFakeDB(t)
	s := setOf(tab, "s", "dp1")
	var bad Contribution
	for i := range 3 {
		c := tab.Want(aFlow(i), s, Attrs{})
		c.Add()
		if i == 1 {
			bad = c
		}
	}
	tab.Flush(newFakeDB(t), 0)
	f, _, ok := tab.Refuse(func(from, to int, _ string) bool { return from <= 1 && 1 < to })
	if !ok || f != aFlow(1) {
		t.Fatalf("refused %v, %v, want %v", f, ok, aFlow(1))
	}
	if _, _, ok := tab.Refuse(func(int, int, string) bool { return false }); ok {
		t.Error("a flow was refused that nobody meant")
	}
	if n := tab.Refused(); n != 1 {
		t.Errorf("%d flows are left out, want 1", n)
	}
	tab.Retry()
	flush(t, tab, db, 0)
	if len(db.flows) != 2 {
		t.Errorf("got %d flows, want the 2 others", len(db.flows))
	}
	bad.Remove()
	tab.Want(aFlow(1), s, Attrs{}).Add()
	flush(t, tab, db, 0)
	if len(db.flows) != 3 {
		t.Errorf("wanted anew: got %d flows, want 3", len(db.flows))
	}
}
