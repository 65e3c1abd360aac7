package northd

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"northwall/flows"
	"northwall/ovsdb"
)

// contentErrors are the kinds of refusal that are about what a row holds, of an
// operation and of a commit: the same row would be refused again. All others (no
// space, no permission, a lock that is lost, a cluster without a leader) say
// nothing about rows.
var (
	contentErrors = []string{"constraint violation", "referential integrity violation", "domain error", "range error", "syntax error", "ovsdb error"}
	commitErrors  = []string{"constraint violation", "referential integrity violation"}
)

// refusals are the rows that the southbound database does not take, each said
// once.
type refusals struct {
	said map[string]bool // names, until they are written after all
}

// Refusal says which row is left out.
type Refusal struct {
	Row       string // "Port_Binding vm1"
	Referrers int    // rows that are left out with it, as they refer to it
	Again     bool   // it was left out before, and has been tried again
}

// Refused tells that the southbound database has refused the last transaction, one
// of ops operations.
// Where the cause can be found in one row, that row is left out from now on, and
// with it what refers to it, so that the rest can be written at once; ok is false
// where it cannot, and the same is to be tried again later. Retry in any case.
//
// A row that is left out is tried again when something else is wanted in its
// place, when the database changes what it has there, and after Reconsider.
func (n *Northd) Refused(ops int, err *ovsdb.TxnError) (r Refusal, ok bool) {
	var found bool
	var id string
	switch {
	case slices.Contains(contentErrors, err.Kind) && err.Op >= 0 && err.Op < ops:
		r.Row, id, found = n.refuse(func(from, to int, _ string) bool { return from <= err.Op && err.Op < to })
	case slices.Contains(commitErrors, err.Kind) && err.Op == ops:
		// The operations are all right, but not what they lead to. What is wrong is
		// said with the UUIDs of rows; of two of ours it is about the later one.
		ids := uuids.FindAllString(err.Details, -1)
		for _, id := range ids {
			if name, ok := n.leftOut(id); ok { // and more refers to it
				if count := n.refuseReferrers(id); count > 0 {
					return Refusal{Row: name, Referrers: count, Again: true}, true
				}
			}
		}
		for i := len(ids) - 1; i >= 0 && !found; i-- {
			r.Row, id, found = n.refuse(func(_, _ int, uuid string) bool { return uuid == ids[i] })
		}
	}
	if !found {
		return r, false
	}
	r.Referrers = n.refuseReferrers(id)
	r.Again = n.refusals.said[r.Row]
	n.refusals.said[r.Row] = true
	return r, true
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// refuse leaves the first row out for which is holds, of those that the last
// transaction wrote: in operations from to to-1, with the given UUID.
func (n *Northd) refuse(is func(from, to int, uuid string) bool) (name, id string, ok bool) {
	for _, t := range n.out.all {
		if name, id, ok = t.refuse(is); ok {
			return name, id, true
		}
	}
	f, id, ok := n.flows.Refuse(is)
	return flowName(f), id, ok
}

func flowName(f flows.Flow) string {
	return fmt.Sprintf("Logical_Flow %s priority %d, match %s", f.Stage, f.Priority, f.Match)
}

// refuseReferrers leaves the rows out that the last transaction wrote and that
// cannot be without row id, and returns their number.
func (n *Northd) refuseReferrers(id string) (count int) {
	for ids := []string{id}; len(ids) > 0; ids = ids[1:] {
		var more []string
		for _, t := range n.out.all {
			more = append(more, t.refuseReferrers(ids[0])...)
		}
		count += len(more) + n.flows.RefuseOn(ids[0])
		ids = append(ids, more...)
	}
	return count
}

// leftOut returns the name of a row if it is left out.
func (n *Northd) leftOut(id string) (name string, ok bool) {
	for _, t := range n.out.all {
		if name, ok = t.leftOut()[id]; ok {
			return name, true
		}
	}
	return "", false
}

// LeftOut is the number of rows that the southbound database does not take.
func (n *Northd) LeftOut() int {
	count := n.flows.Refused()
	for _, t := range n.out.all {
		count += len(t.leftOut())
	}
	return count
}

// Reconsider makes the next WriteSouthbound try the rows again that are left out.
func (n *Northd) Reconsider() {
	var still []string
	for _, t := range n.out.all {
		still = slices.AppendSeq(still, maps.Values(t.leftOut()))
		t.reconsider()
	}
	for _, f := range n.flows.Reconsider() {
		still = append(still, flowName(f))
	}
	for name := range n.refusals.said {
		if !slices.Contains(still, name) {
			delete(n.refusals.said, name)
		}
	}
}
