package northd

import (
	"fmt"
	"slices"

	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

type meterFacts struct {
	metersByName *engine.Relation[string, string] // northbound meters by name
	meterCopies  *engine.Relation[string, string] // names of fair meters to those of their copies
	bandMeter    map[string]string                // southbound bands to the names of their meters
}

// meterOf is the name of the southbound meter of an ACL that logs. A fair meter
// is one for each ACL, its name followed by the ACL's UUID.
func (n *Northd) meterOf(s *engine.Scope, a *nb.ACL) string {
	name := deref(a.Meter)
	if name == "" {
		return ""
	}
	if m := n.meterNamed(s, name); m != nil && m.Fair != nil && *m.Fair {
		return name + "__" + a.UUID
	}
	return name
}

func (n *Northd) meterNamed(s *engine.Scope, name string) *nb.Meter {
	uuid := engine.Least(s, n.metersByName, name)
	if uuid == "" {
		return nil
	}
	m, _ := n.nb.meters.Get(s, uuid)
	return m
}

// defineMeterNames is called before anything that names meters.
func (n *Northd) defineMeterNames() {
	n.bandMeter = map[string]string{}
	n.metersByName = engine.NewRelation[string, string](n.e, "meters by name")
	n.meterCopies = engine.NewRelation[string, string](n.e, "copies of meters")
	engine.ForEach(n.e, "meter names", n.nb.meters, func(s *engine.Scope, uuid string) {
		m, _ := n.nb.meters.Get(s, uuid)
		n.metersByName.Add(s, m.Name, uuid)
	})
}

// deriveMeterCopy asks for an ACL's own copy of a fair meter.
func (n *Northd) deriveMeterCopy(s *engine.Scope, a *nb.ACL) {
	if !a.Log || a.Meter == nil {
		return
	}
	if name := n.meterOf(s, a); name != *a.Meter {
		n.meterCopies.Add(s, *a.Meter, name)
	}
}

// defineMeters comes after the ACLs, which ask for copies.
func (n *Northd) defineMeters() {
	engine.ForEach(n.e, "meter", n.metersByName.Keys(), n.deriveMeter)
}

// deriveMeter derives a meter and its copies.
func (n *Northd) deriveMeter(s *engine.Scope, name string) {
	m := n.meterNamed(s, name)
	if m == nil {
		return
	}
	n.wantMeter(s, m, name)
	for copied := range n.meterCopies.Of(s, name) {
		n.wantMeter(s, m, copied)
	}
}

func (n *Northd) wantMeter(s *engine.Scope, m *nb.Meter, name string) {
	row := &sb.Meter{Name: name, Unit: m.Unit}
	for _, uuid := range m.Bands {
		b, ok := n.nb.bands.Get(s, uuid)
		if !ok {
			continue
		}
		band := &sb.MeterBand{Action: b.Action, Rate: b.Rate, BurstSize: b.BurstSize}
		key := bandKey(name, band)
		id := n.out.bands.UUID(s, key)
		if slices.Contains(row.Bands, id) {
			continue // two equal bands are one
		}
		row.Bands = append(row.Bands, id)
		n.out.bands.Want(s, key, band)
	}
	n.out.meters.Want(s, name, row)
}

// bandKey identifies a band by its meter and content, as it has no name.
func bandKey(meter string, b *sb.MeterBand) string {
	return fmt.Sprintf("%s %s %d %d", meter, b.Action, b.Rate, b.BurstSize)
}

// observeMeter learns whose bands are whose.
func (n *Northd) observeMeter(_ string, _, new *sb.Meter) {
	if new == nil {
		return
	}
	for _, id := range new.Bands {
		n.bandMeter[id] = new.Name
	}
}

func (n *Northd) knownBandKey(b *sb.MeterBand) string {
	return bandKey(n.bandMeter[b.UUID], b)
}
