package flows

import (
	"slices"
	"sort"
)

// group is a Logical_DP_Group row. There is at most one for each content; the
// sets that have that content share it.
type group struct {
	uuid    string
	sum     digest            // of the content that is wanted
	sets    map[*Set]struct{} // placed on it
	known   []string          // datapaths that the database has, sorted; nil when the row is not there
	has     digest            // of known
	written uint64            // the Flush in which it was inserted last
	wrote   []string          // with what; nil once the database has it
	writes  digest            // of wrote
}

// right reports whether the database has the group as it is wanted.
func (g *group) right() bool { return g.known != nil && g.has == g.sum }

// ObserveGroup tells that the database has the Logical_DP_Group row uuid with
// these datapaths, or, where datapaths is nil, that it has no such row. datapaths is
// kept, and must not change; sorted, it need not be copied.
// Groups that no flow refers to are removed by the database itself.
func (t *Table) ObserveGroup(uuid string, datapaths []string) {
	g, ok := t.groupByUUID[uuid]
	if !ok {
		if datapaths == nil {
			return
		}
		g = &group{uuid: uuid, sets: map[*Set]struct{}{}}
		t.groupByUUID[uuid] = g
	}
	g.observe(t, datapaths)
	switch {
	case len(g.sets) == 0 && g.known == nil:
		t.forget(g)
	case len(g.sets) == 0:
		t.vacate(g)
	case !g.right():
		t.touchGroup(g)
		t.reconsider(g.sum)
	}
}

// observe makes datapaths those that the database has of g, nil where it has no
// such row. Groups are large, and change by few members; what was inserted comes
// back as it was.
func (g *group) observe(t *Table, datapaths []string) {
	if datapaths == nil {
		g.known, g.has = nil, digest{}
		return
	}
	datapaths = sorted(datapaths)
	if g.known == nil && g.wrote != nil && slices.Equal(datapaths, g.wrote) {
		g.has = g.writes
	} else {
		came, went := difference(g.known, datapaths)
		for _, dp := range came {
			g.has = g.has.plus(t.digestOf(dp))
		}
		for _, dp := range went {
			g.has = g.has.minus(t.digestOf(dp))
		}
	}
	g.known, g.wrote = datapaths, nil
	for s := range g.sets {
		if s.sum == g.has {
			s.listed, s.changed = g.known, nil
		}
	}
}

// sorted returns list sorted: list itself if it is. What comes to a row is added to its
// end, so that mostly a few of many are to be put in their places.
func sorted(list []string) []string {
	n := 1
	for n < len(list) && list[n-1] <= list[n] {
		n++
	}
	if n >= len(list) {
		return list
	}
	return merged(list[:n], slices.Sorted(slices.Values(list[n:])))
}

// merged is a new list of what two sorted ones have, sorted.
func merged(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for _, x := range a {
		for len(b) > 0 && b[0] < x {
			out, b = append(out, b[0]), b[1:]
		}
		out = append(out, x)
	}
	return append(out, b...)
}

// difference is what of two sorted lists is only in the second, and only in the first.
func difference(old, new []string) (came, went []string) {
	for len(old) > 0 && len(new) > 0 {
		switch {
		case old[0] == new[0]: // of mostly the same strings, which is quick to see
			old, new = old[1:], new[1:]
		case old[0] < new[0]:
			went, old = append(went, old[0]), old[1:]
		default:
			came, new = append(came, new[0]), new[1:]
		}
	}
	return append(came, new...), append(went, old...)
}

// digestOf is the digest of a datapath, which those in sets remember.
func (t *Table) digestOf(uuid string) digest {
	if dp, ok := t.datapaths[uuid]; ok {
		return dp.sum
	}
	return digestOf(uuid)
}

// vacate lists a group that no set is on as what the database has of it, for those
// that want that. Without a row it goes with the next Flush, if no set comes back.
func (t *Table) vacate(g *group) {
	if g.known == nil {
		t.touchGroup(g)
		return
	}
	t.unlist(g)
	g.sum = g.has
	t.vacant[g.sum] = append(t.vacant[g.sum], g)
	t.reconsider(g.sum)
}

// reconsider has the sets of a content choose their group again, where the database
// does not have theirs: another northd may have put their flows on another.
func (t *Table) reconsider(sum digest) {
	if g := t.groupBySum[sum]; g != nil && !g.right() && len(t.vacant[sum]) > 0 {
		for s := range g.sets {
			s.touch()
		}
	}
}

// Follow tells whether another northd writes the database. Where that has put flows
// is right then, also of what was placed here before.
func (t *Table) Follow(on bool) {
	t.follows = on
	if on {
		for sum := range t.vacant {
			t.reconsider(sum)
		}
	}
}

// groupOf returns the group for a content, nil for none: the one that sets are on,
// or else, or where the database does not have that, a row that nobody is on. Of
// several it is the one with the most flows in the database, so that the fewest
// have to move; the others lose theirs and with that themselves. A table that only
// follows takes what the database has.
func (t *Table) groupOf(sum digest) *group {
	g := t.groupBySum[sum]
	if g != nil && g.right() || len(t.vacant[sum]) == 0 {
		return g
	}
	mine := g
	g = nil
	for _, c := range t.vacant[sum] {
		if g == nil {
			g = c
		} else if n, m := t.groupRows[c.uuid], t.groupRows[g.uuid]; n > m || n == m && c.uuid < g.uuid {
			g = c
		}
	}
	if mine != nil && !t.follows && t.groupRows[mine.uuid] > t.groupRows[g.uuid] {
		return mine
	}
	return g
}

// countRow keeps the numbers of flows that the database has on each group.
func (t *Table) countRow(r Row, n int) {
	group := r.Known().Placement.Group
	if group == "" {
		return
	}
	if t.groupRows[group] += n; t.groupRows[group] == 0 {
		delete(t.groupRows, group)
	}
}

// unlist takes a group out of the lists of those of its content.
func (t *Table) unlist(g *group) {
	if t.groupBySum[g.sum] == g {
		delete(t.groupBySum, g.sum)
	}
	if rest := slices.DeleteFunc(t.vacant[g.sum], func(c *group) bool { return c == g }); len(rest) > 0 {
		t.vacant[g.sum] = rest
	} else {
		delete(t.vacant, g.sum)
	}
}

func (t *Table) forget(g *group) {
	t.unlist(g)
	delete(t.groupByUUID, g.uuid)
}

func (t *Table) touchGroup(g *group) { t.dirtyGroups[g] = struct{}{} }

// place gives every set whose members changed its datapath or group. A group
// changes with the largest part of what is on it, so that the fewest flows need to
// be written; what goes another way gets a group of its own.
func (t *Table) place() {
	for len(t.dirtySets) > 0 { // a group that is left may be one for others
		t.placeDirty()
	}
}

func (t *Table) placeDirty() {
	moving := map[*group][]*Set{}
	dirty := t.dirtySets
	t.dirtySets = nil
	for _, s := range dirty {
		s.dirty = false
		if len(s.users) == 0 {
			continue
		}
		if s.group != nil && s.grouped() && s.group == t.groupOf(s.sum) {
			continue // changed and changed back
		}
		moving[s.group] = append(moving[s.group], s)
	}
	from := make([]*group, 0, len(moving))
	for g := range moving {
		if g != nil {
			from = append(from, g)
		}
	}
	sort.Slice(from, func(i, j int) bool { return from[i].uuid < from[j].uuid })
	for _, g := range from {
		t.moveGroup(g, moving[g])
		for _, s := range moving[g] {
			t.placeSet(s)
		}
	}
	for _, s := range moving[nil] {
		t.placeSet(s)
	}
}

// moveGroup changes what g stands for, where most of what is on it goes the same way:
// sets leave its content, with the most flows of all that are on g, and those have
// more than what is on a group that has their new content already. What stays
// behind, or is on that other group, chooses again.
func (t *Table) moveGroup(g *group, leaving []*Set) {
	weight := map[digest]int{}
	staying := g.weight()
	for _, s := range leaving {
		staying -= len(s.users)
		if o := t.groupOf(s.sum); s.grouped() && (o == nil || len(o.sets) > 0) {
			weight[s.sum] += len(s.users)
		}
	}
	var best digest
	for sum, w := range weight {
		if b := weight[best]; w > b || w == b && sum.less(best) {
			best = sum
		}
	}
	if len(weight) == 0 || staying > 0 && weight[best] <= staying {
		return
	}
	if o := t.groupOf(best); o != nil {
		if o.weight() >= weight[best] {
			return
		}
		o.touchSets()
	}
	t.unlist(g)
	g.sum = best
	t.groupBySum[best] = g
	t.touchGroup(g)
	if staying > 0 {
		g.touchSets()
	}
}

// weight is the number of flows, and watches, on g.
func (g *group) weight() (n int) {
	for s := range g.sets {
		n += len(s.users)
	}
	return n
}

// touchSets has all sets on g choose their group again.
func (g *group) touchSets() {
	for s := range g.sets {
		s.touch()
	}
}

func (t *Table) placeSet(s *Set) {
	var at Placement
	var g *group
	if s.grouped() {
		if g = t.groupOf(s.sum); g == nil {
			g = &group{uuid: t.newUUID(), sum: s.sum, sets: map[*Set]struct{}{}}
			t.groupByUUID[g.uuid] = g
		}
		if len(g.sets) == 0 {
			t.unlist(g)
			t.groupBySum[s.sum] = g
		}
	}
	switch len(s.members) {
	case 0:
	case 1:
		for dp := range s.members {
			at.Datapath = dp.uuid
		}
	default:
		at.Group = g.uuid
	}
	moved := at != s.at || g != s.group
	if g != s.group {
		s.joinGroup(g)
	}
	s.at = at
	if moved {
		for _, u := range s.users {
			u.moved(t)
		}
	}
}

// changeGroups writes what changed in the groups that the database has. New
// ones are written beside the first row on them (ensureGroup): the database
// drops a group that no row refers to when the transaction ends.
func (t *Table) changeGroups(w Writer) {
	var gs []*group
	for g := range t.dirtyGroups {
		gs = append(gs, g)
	}
	clear(t.dirtyGroups)
	sort.Slice(gs, func(i, j int) bool { return gs[i].uuid < gs[j].uuid })
	for _, g := range gs {
		s := g.aSet()
		if s == nil {
			if g.known == nil {
				t.forget(g)
			}
			continue // nobody is on it any more: the database drops it
		}
		if g.known == nil {
			continue
		}
		var add, remove []string
		if g.lists(s) {
			add, remove = s.difference()
		} else {
			add, remove = difference(g.known, s.uuids())
		}
		if len(add)+len(remove) > 0 {
			w.ChangeGroup(g.uuid, add, remove)
			t.ahead.groups = append(t.ahead.groups, g)
		}
	}
}

// ensureGroup writes the group that s is placed on, if the database does not
// have it and this Flush has not written it yet.
func (t *Table) ensureGroup(w Writer, s *Set) {
	if g := s.group; g != nil && g.known == nil && g.written != t.flush {
		g.written = t.flush
		g.wrote, g.writes = s.uuids(), s.sum
		w.InsertGroup(g.uuid, g.wrote)
	}
}

// aSet returns one of the sets on g, whose contents are the same: one that knows how
// it differs from what the database has of g, if there is one.
func (g *group) aSet() (s *Set) {
	for s = range g.sets {
		if g.lists(s) {
			return s
		}
	}
	return s
}

// lists reports whether what s has listed is what the database has of g.
func (g *group) lists(s *Set) bool {
	return len(g.known) > 0 && len(s.listed) == len(g.known) && &s.listed[0] == &g.known[0]
}
