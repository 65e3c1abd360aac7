package flows

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// SetKey identifies a Set. Kind says what the set means ("all switches", "the
// switches of a port group"), Owner and Variant which one of that kind.
type SetKey struct {
	Kind    string
	Owner   string
	Variant uint32
}

// datapath is a Datapath_Binding, by its UUID.
type datapath struct {
	uuid string
	sum  digest
	refs int
}

// digest identifies the content of a set: the sum over its members of 128 bits
// drawn from each one's UUID. It is kept by adding and subtracting; equal
// contents have equal digests, and unequal ones do not, but for a chance in
// 2^128.
type digest [2]uint64

func (d digest) plus(o digest) digest  { return digest{d[0] + o[0], d[1] + o[1]} }
func (d digest) minus(o digest) digest { return digest{d[0] - o[0], d[1] - o[1]} }
func (d digest) less(o digest) bool {
	return d[0] < o[0] || d[0] == o[0] && d[1] < o[1]
}

func digestOf(uuid string) digest {
	h := sha256.Sum256([]byte(uuid))
	return digest{binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:])}
}

// A Set is a set of datapaths with identity. Members are counted: a datapath is
// in the set while at least one contribution of it is.
type Set struct {
	t       *Table
	key     SetKey
	members map[*datapath]int32
	sum     digest
	unions  map[*Set]int32 // sets of rows that are unions with this one as a part
	users   []user
	at      Placement // where its users were told to be
	group   *group    // of at, or for the watches; nil unless grouped
	watches int       // of the users
	listed  []string  // what the members were once, sorted; may be a group's known, nil for never
	changed []string  // members that came or went since, some more than once
	dirty   bool
	private bool // the union of one row, not in t.sets
}

// grouped reports whether the set needs a group: its rows do if there are two
// members or more, its watches always.
func (s *Set) grouped() bool {
	return len(s.members) > 1 || len(s.members) == 1 && s.watches > 0
}

// user is what is placed on a set: a row, or a Watch.
type user interface {
	moved(*Table)
	index() *int32 // where it keeps its place in Set.users
}

// Member is a contribution of one datapath to one set. It implements the
// engine's Contribution.
type Member struct {
	set *Set
	dp  *datapath
}

// Set returns the set with the given key, which exists while it has members or
// flows are on it.
func (t *Table) Set(key SetKey) *Set {
	s, ok := t.sets[key]
	if !ok {
		s = t.newSet(key)
		t.sets[key] = s
	}
	return s
}

func (t *Table) newSet(key SetKey) *Set {
	return &Set{t: t, key: key, members: map[*datapath]int32{}}
}

// Only is the set of the one datapath with the given UUID.
func (t *Table) Only(uuid string) *Set { return t.Set(OnlyKey(uuid)) }

// OnlyKey identifies the set of the one datapath with the given UUID.
func OnlyKey(uuid string) SetKey { return SetKey{Kind: "datapath", Owner: uuid} }

// With returns the contribution of the datapath with the given UUID to s.
func (s *Set) With(uuid string) Member { return Member{set: s, dp: s.t.datapath(uuid)} }

// Member returns the contribution of the datapath with the given UUID to the set with
// the given key, for a caller that has last, what it contributes already: where that is
// what it wants, nothing is searched for or made.
func (t *Table) Member(last any, key SetKey, uuid string) Contribution {
	if m, ok := last.(Member); ok && m.dp.uuid == uuid && m.set.t == t && m.set.key == key {
		return last.(Contribution)
	}
	return t.Set(key).With(uuid)
}

// Add implements the engine's Contribution.
func (m Member) Add() { m.set.inc(m.dp) }

// Remove implements the engine's Contribution.
func (m Member) Remove() {
	m.set.dec(m.dp)
	m.set.release()
}

// Key returns the set's identity.
func (s *Set) Key() SetKey { return s.key }

func (s *Set) inc(dp *datapath) {
	n := s.members[dp] + 1
	s.members[dp] = n
	if n > 1 {
		return
	}
	dp.refs++
	s.sum = s.sum.plus(dp.sum)
	s.note(dp)
	s.touch()
	for u := range s.unions {
		u.inc(dp)
	}
}

func (s *Set) dec(dp *datapath) {
	n := s.members[dp] - 1
	if n > 0 {
		s.members[dp] = n
		return
	}
	delete(s.members, dp)
	s.sum = s.sum.minus(dp.sum)
	s.note(dp)
	s.touch()
	for u := range s.unions {
		u.dec(dp)
	}
	if dp.refs--; dp.refs == 0 {
		delete(s.t.datapaths, dp.uuid)
	}
}

func (s *Set) touch() {
	if !s.dirty {
		s.dirty = true
		s.t.dirtySets = append(s.t.dirtySets, s)
	}
}

func (s *Set) addUser(u user) {
	*u.index() = int32(len(s.users))
	s.users = append(s.users, u)
	if len(s.users) == 1 {
		s.touch() // sets without users are not placed
	}
}

func (s *Set) removeUser(u user) {
	i, last := *u.index(), len(s.users)-1
	s.users[i] = s.users[last]
	*s.users[i].index() = i
	s.users[last] = nil
	if s.users = s.users[:last]; last == 0 {
		s.joinGroup(nil)
		s.at = Placement{}
		s.release()
	}
}

// release forgets the set if nothing is left of it.
func (s *Set) release() {
	if len(s.members) == 0 && len(s.users) == 0 && len(s.unions) == 0 && !s.private && s.t.sets[s.key] == s {
		delete(s.t.sets, s.key)
	}
}

// joinGroup puts the set on g, nil for none, in place of the group that it was on.
func (s *Set) joinGroup(g *group) {
	old := s.group
	if s.group = g; g != nil {
		g.sets[s] = struct{}{}
	}
	// Last, as this may be the row for those on g.
	if old == nil {
		return
	}
	if delete(old.sets, s); len(old.sets) == 0 {
		s.t.vacate(old)
	}
}

// note keeps that a datapath has come or gone since the members were listed. Of a set
// of which much has, the list is worth nothing.
func (s *Set) note(dp *datapath) {
	if s.listed == nil {
		return
	}
	if len(s.changed) > 16+len(s.listed)/8 {
		s.listed, s.changed = nil, nil
		return
	}
	s.changed = append(s.changed, dp.uuid)
}

// difference is what has come and gone since the members were listed, sorted.
func (s *Set) difference() (came, went []string) {
	slices.Sort(s.changed)
	s.changed = slices.Compact(s.changed)
	for _, uuid := range s.changed {
		_, was := slices.BinarySearch(s.listed, uuid)
		dp := s.t.datapaths[uuid]
		is := dp != nil && s.members[dp] > 0
		switch {
		case is && !was:
			came = append(came, uuid)
		case was && !is:
			went = append(went, uuid)
		}
	}
	return came, went
}

// uuids returns the members' UUIDs, sorted; they must not be changed. A set is large,
// and mostly what it was when they were asked for last: so it is neither gone
// through nor sorted again.
func (s *Set) uuids() []string {
	switch {
	case s.listed == nil:
		s.listed = make([]string, 0, len(s.members))
		for dp := range s.members {
			s.listed = append(s.listed, dp.uuid)
		}
		slices.Sort(s.listed)
	case len(s.changed) > 0:
		came, went := s.difference()
		s.listed = merged(s.listed, came)
		if len(went) > 0 {
			s.listed = slices.DeleteFunc(s.listed, func(uuid string) bool {
				_, ok := slices.BinarySearch(went, uuid)
				return ok
			})
		}
	}
	s.changed = nil
	return s.listed
}

func (t *Table) datapath(uuid string) *datapath {
	dp, ok := t.datapaths[uuid]
	if !ok {
		dp = &datapath{uuid: uuid, sum: digestOf(uuid)}
		t.datapaths[uuid] = dp
	}
	return dp
}

// join makes part one more part of the union u.
func (u *Set) join(part *Set) {
	if part.unions == nil {
		part.unions = map[*Set]int32{}
	}
	part.unions[u]++
	if part.unions[u] > 1 {
		return
	}
	for dp := range part.members {
		u.inc(dp)
	}
}

// part takes part out of the union u again.
func (u *Set) part(part *Set) {
	if part.unions[u]--; part.unions[u] > 0 {
		return
	}
	delete(part.unions, u)
	for dp := range part.members {
		u.dec(dp)
	}
	part.release()
}
