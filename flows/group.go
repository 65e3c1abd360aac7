package flows

import (
	"slices"
	"sort"
)

// group is a Logical_DP_Group row. There is at most one for each content; the
// sets that have that content share it.
type group struct {
	uuid    string
	sum     digest              // of the content that is wanted
	sets    map[*Set]struct{}   // placed on it
	known   map[string]struct{} // datapaths that the database has; nil when the row is not there
	written uint64              // the Flush that inserted it last
}

// ObserveGroup tells that the database has the Logical_DP_Group row uuid with
// these datapaths, or, where datapaths is nil, that it has no such row.
// Groups that no flow refers to are removed by the database itself.
func (t *Table) ObserveGroup(uuid string, datapaths []string) {
	g, ok := t.groupByUUID[uuid]
	if datapaths == nil {
		if ok {
			g.known = nil
			if len(g.sets) == 0 {
				t.forget(g)
			}
		}
		return
	}
	var sum digest
	known := make(map[string]struct{}, len(datapaths))
	for _, dp := range datapaths {
		known[dp] = struct{}{}
		sum = sum.plus(digestOf(dp))
	}
	if !ok {
		g = &group{uuid: uuid, sum: sum, sets: map[*Set]struct{}{}}
		t.groupByUUID[uuid] = g
		t.offer(g)
	} else if len(g.sets) == 0 && g.sum != sum {
		// Nobody here wants it: follow what it has become.
		if t.groupBySum[g.sum] == g {
			delete(t.groupBySum, g.sum)
		}
		g.sum = sum
		t.offer(g)
	}
	g.known = known
	if g.sum != sum {
		t.touchGroup(g)
	}
}

// offer makes g the group of its content, unless there is one. Of several rows
// with one content, as other northds have them, groupOf chooses.
func (t *Table) offer(g *group) {
	other, taken := t.groupBySum[g.sum]
	switch {
	case !taken:
		t.groupBySum[g.sum] = g
	case len(other.sets) == 0:
		t.twins[g.sum] = append(t.twins[g.sum], g)
	}
}

// groupOf returns the group for a content, nil for none. Of several that nobody
// is on yet it is the one with the most flows in the database, so that the
// fewest have to move; the others lose theirs and with that themselves.
func (t *Table) groupOf(sum digest) *group {
	g := t.groupBySum[sum]
	if g != nil && len(g.sets) > 0 {
		return g
	}
	for _, c := range t.twins[sum] {
		if c.sum != sum || c.known == nil || len(c.sets) > 0 {
			continue // it has become another
		}
		if g == nil {
			g = c
		} else if n, m := t.groupRows[c.uuid], t.groupRows[g.uuid]; n > m || n == m && c.uuid < g.uuid {
			g = c
		}
	}
	delete(t.twins, sum)
	if g != nil {
		t.groupBySum[sum] = g
	}
	return g
}

// countRow keeps the numbers of flows that the database has on each group.
func (t *Table) countRow(group string, n int) {
	if group == "" {
		return
	}
	if t.groupRows[group] += n; t.groupRows[group] == 0 {
		delete(t.groupRows, group)
	}
}

func (t *Table) forget(g *group) {
	if twins := slices.DeleteFunc(t.twins[g.sum], func(c *group) bool { return c == g }); len(twins) > 0 {
		t.twins[g.sum] = twins
	} else {
		delete(t.twins, g.sum)
	}
	delete(t.groupByUUID, g.uuid)
	if t.groupBySum[g.sum] == g {
		delete(t.groupBySum, g.sum)
	}
}

func (t *Table) touchGroup(g *group) { t.dirtyGroups[g] = struct{}{} }

// place gives every set whose members changed its datapath or group. A group
// whose sets all change changes with the largest part of them, so that their
// flows need not be written; what goes another way gets a group of its own.
func (t *Table) place() {
	moving := map[*group][]*Set{}
	for _, s := range t.dirtySets {
		s.dirty = false
		if len(s.users) == 0 {
			continue
		}
		if s.group != nil && s.grouped() && s.sum == s.group.sum {
			continue // changed and changed back
		}
		moving[s.group] = append(moving[s.group], s)
	}
	t.dirtySets = t.dirtySets[:0]
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

// moveGroup changes what g stands for, where all its sets leave its content.
func (t *Table) moveGroup(g *group, sets []*Set) {
	if len(sets) < len(g.sets) {
		return
	}
	weight := map[digest]int{}
	for _, s := range sets {
		if _, taken := t.groupBySum[s.sum]; !taken && s.grouped() {
			weight[s.sum] += len(s.users)
		}
	}
	var best digest
	for sum, w := range weight {
		if b := weight[best]; w > b || w == b && sum.less(best) {
			best = sum
		}
	}
	if len(weight) == 0 {
		return
	}
	if t.groupBySum[g.sum] == g {
		delete(t.groupBySum, g.sum)
	}
	g.sum = best
	t.groupBySum[best] = g
	t.touchGroup(g)
}

func (t *Table) placeSet(s *Set) {
	var at Placement
	var g *group
	if s.grouped() {
		if g = t.groupOf(s.sum); g == nil {
			g = &group{uuid: t.newUUID(), sum: s.sum, sets: map[*Set]struct{}{}}
			t.groupBySum[s.sum], t.groupByUUID[g.uuid] = g, g
		}
		if len(g.sets) == 0 {
			t.touchGroup(g) // the row may have been changed while nobody was on it
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
		s.leaveGroup()
		if s.group = g; g != nil {
			g.sets[s] = struct{}{}
		}
	}
	s.at = at
	if moved {
		for u := range s.users {
			u.moved()
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
		s := g.anySet()
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
		for dp := range s.members {
			if _, ok := g.known[dp.uuid]; !ok {
				add = append(add, dp.uuid)
			}
		}
		if len(g.known)+len(add) > len(s.members) {
			for uuid := range g.known {
				if dp := t.datapaths[uuid]; dp == nil || s.members[dp] == 0 {
					remove = append(remove, uuid)
				}
			}
		}
		if len(add)+len(remove) > 0 {
			sort.Strings(add)
			sort.Strings(remove)
			w.ChangeGroup(g.uuid, add, remove)
			t.changedGroups = append(t.changedGroups, g)
		}
	}
}

// ensureGroup writes the group that s is placed on, if the database does not
// have it and this Flush has not written it yet.
func (t *Table) ensureGroup(w Writer, s *Set) {
	if g := s.group; g != nil && g.known == nil && g.written != t.flush {
		g.written = t.flush
		w.InsertGroup(g.uuid, s.uuids())
	}
}

// anySet returns one of the sets on g; their contents are the same.
func (g *group) anySet() *Set {
	for s := range g.sets {
		return s
	}
	return nil
}
