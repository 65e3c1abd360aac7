package northd

import (
	"strconv"
	"time"

	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// forwarding keeps the table FDB, in which chassis write behind which ports they
// have seen Ethernet addresses that no row of the northbound database says. A
// northd deletes entries of ports that are gone, and those that have not been seen
// for as long as the switch says.
type forwarding struct {
	rows    *rows[sb.FDB]              // none of which is ever wanted
	entries map[int]map[string]*sb.FDB // by the tunnel key of the datapath, and UUID
	keys    map[string]int             // tunnel keys of datapaths by the UUIDs of their bindings
	ages    map[string]time.Duration   // by switch, after which entries are too old
	expired map[string]struct{}        // UUIDs of entries that are
	next    time.Time                  // when the next one may be; zero for now
}

// Delays of ageing.
const (
	// fdbBatch is between removals, so that entries that expire one soon after the
	// other need few transactions.
	fdbBatch = time.Second
	// fdbRemovalDelay is from one full batch to the next, ovn-nb(5), fdb_removal_limit.
	fdbRemovalDelay = 5 * time.Second
)

func (n *Northd) defineFDB() {
	f := &n.fdb
	f.entries, f.keys, f.ages, f.expired = map[int]map[string]*sb.FDB{}, map[string]int{}, map[string]time.Duration{}, map[string]struct{}{}
	f.rows = newRows(n.e, sbTable[sb.FDB]("FDB"),
		func(r *sb.FDB) *string { return &r.UUID },
		func(r *sb.FDB) string { return r.UUID })
	f.rows.spare = n.isForwarding
	n.out.datapaths.changing = func(have, want *sb.DatapathBinding) {
		if want == nil || want.TunnelKey != have.TunnelKey {
			f.touch(have.TunnelKey, 0)
		}
	}
	n.out.ports.changing = func(have, want *sb.PortBinding) {
		if want == nil || want.Datapath != have.Datapath || want.TunnelKey != have.TunnelKey {
			f.touch(f.keys[have.Datapath], have.TunnelKey)
		}
	}
	n.out.all = append(n.out.all, f.rows) // after the ports, which touch them
}

// touch makes the next flush look at the entries of a port, or of all ports if it
// is 0.
func (f *forwarding) touch(datapath, port int) {
	for uuid, e := range f.entries[datapath] {
		if port == 0 || e.PortKey == port {
			f.rows.touch(uuid)
		}
	}
}

// isForwarding reports whether an entry is of a port that there is to be, and not
// too old.
func (n *Northd) isForwarding(e *sb.FDB) bool {
	if _, old := n.fdb.expired[e.UUID]; old {
		return false
	}
	dp := n.out.datapaths.want[n.switchKeyPool.holder[e.DpKey]]
	if dp == nil || dp.row.TunnelKey != e.DpKey {
		return false
	}
	uuid := n.out.datapaths.id(dp.key)
	p := n.out.ports.want[n.portKeyPool.of(uuid).holder[e.PortKey]]
	return p != nil && p.row.Datapath == uuid && p.row.TunnelKey == e.PortKey
}

// observeFDB takes a change that a chassis made.
func (n *Northd) observeFDB(uuid string, old, new *sb.FDB) {
	f := &n.fdb
	delete(f.expired, uuid)
	if old != nil {
		delete(f.entries[old.DpKey], uuid)
		if len(f.entries[old.DpKey]) == 0 {
			delete(f.entries, old.DpKey)
		}
	}
	if new == nil {
		return
	}
	if f.entries[new.DpKey] == nil {
		f.entries[new.DpKey] = map[string]*sb.FDB{}
	}
	f.entries[new.DpKey][uuid] = new
	if age, ok := f.ages[n.switchKeyPool.holder[new.DpKey]]; ok {
		if at := expiry(new, age); at.Before(f.next) {
			f.next = at
		}
	}
}

// expiry is when an entry becomes too old. A chassis writes when it has last seen
// the address, in milliseconds since 1970.
func expiry(e *sb.FDB, age time.Duration) time.Time {
	return time.UnixMilli(int64(e.Timestamp)).Add(age)
}

// deriveFDBAge tells after how long the entries of a switch are too old.
func (n *Northd) deriveFDBAge(s *engine.Scope, ls *nb.LogicalSwitch) {
	text, ok := ls.OtherConfig["fdb_age_threshold"]
	if !ok {
		return
	}
	seconds, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		n.problems.Report(s, switchName(ls), "other_config:fdb_age_threshold "+text+" is no number of seconds: its FDB entries do not age")
		return
	}
	if seconds > 0 {
		s.Emit(&fdbAge{&n.fdb, ls.UUID, time.Duration(seconds) * time.Second})
	}
}

// fdbAge is after how long entries of a switch are too old. It implements
// engine.Contribution.
type fdbAge struct {
	f   *forwarding
	ls  string
	age time.Duration
}

// Add implements engine.Contribution.
func (a *fdbAge) Add() { a.f.ages[a.ls], a.f.next = a.age, time.Time{} }

// Remove implements engine.Contribution.
func (a *fdbAge) Remove() {
	if a.f.ages[a.ls] == a.age { // else there is another already
		delete(a.f.ages, a.ls)
	}
}

// AgeFDB makes the next WriteSouthbound delete the FDB entries that are too old at
// a time, and returns when to call it again; zero for when something has changed.
func (n *Northd) AgeFDB(now time.Time) (next time.Time) {
	f := &n.fdb
	if len(f.ages) == 0 {
		return time.Time{}
	}
	if f.next.After(now) {
		return f.next
	}
	limit := 0
	if g := n.cfg.global; g != nil {
		limit = optInt(g.Options, "fdb_removal_limit", 0)
	}
	f.next = now.Add(24 * time.Hour)
	for ls, age := range f.ages {
		dp := n.out.datapaths.want[ls]
		if dp == nil {
			continue
		}
		for uuid, e := range f.entries[dp.row.TunnelKey] {
			at := expiry(e, age)
			switch {
			case at.After(now):
				if at.Before(f.next) {
					f.next = at
				}
			case limit > 0 && len(f.expired) >= limit:
				f.next = now.Add(fdbRemovalDelay)
				return f.next
			default:
				f.expired[uuid] = struct{}{}
				f.rows.touch(uuid)
			}
		}
	}
	if soon := now.Add(fdbBatch); f.next.Before(soon) {
		f.next = soon
	}
	return f.next
}
