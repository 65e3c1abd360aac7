package northd

import (
	"fmt"

	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

type haFacts struct {
	haGroups  *engine.Input[string, *nb.HAChassisGroup]
	haChassis *engine.Input[string, *nb.HAChassis]
	haUsed    *engine.Relation[string, string] // groups to the external ports that use them
	haGroupOf map[string]string                // southbound HA_Chassis rows to the names of their groups
}

func (n *Northd) defineHAInputs() {
	n.haGroups = engine.NewInput[string, *nb.HAChassisGroup](n.e)
	n.haChassis = engine.NewInput[string, *nb.HAChassis](n.e)
	n.haUsed = engine.NewRelation[string, string](n.e, "ports of HA chassis groups")
	n.haGroupOf = map[string]string{}
}

// haGroup contributes that an external port uses a group, and returns the UUID
// of the group's southbound row; nil without a group.
func (n *Northd) haGroup(s *engine.Scope, p *nb.LogicalSwitchPort) *string {
	if p.Type != "external" || p.HaChassisGroup == nil {
		return nil
	}
	g, ok := n.haGroups.Get(s, *p.HaChassisGroup)
	if !ok {
		return nil
	}
	n.haUsed.Add(s, g.UUID, p.UUID)
	return ptr(n.out.haGroups.UUID(s, g.Name))
}

// defineHA comes after the ports.
func (n *Northd) defineHA() {
	engine.ForEach(n.e, "HA chassis group", n.haUsed.Keys(), n.deriveHAGroup)
}

// deriveHAGroup derives the southbound rows of a group: which chassis a port may
// be on, the highest priority first.
func (n *Northd) deriveHAGroup(s *engine.Scope, uuid string) {
	g, ok := n.haGroups.Get(s, uuid)
	if !ok {
		return
	}
	row := &sb.HAChassisGroup{Name: g.Name}
	for _, id := range g.HaChassis {
		hc, ok := n.haChassis.Get(s, id)
		if !ok {
			continue
		}
		member := &sb.HAChassis{Priority: hc.Priority, ExternalIDs: map[string]string{"chassis-name": hc.ChassisName}}
		if c, ok := n.chassisUUID(s, hc.ChassisName); ok {
			member.Chassis = &c
		}
		key := haKey(g.Name, hc.ChassisName)
		n.out.haChassis.Want(s, key, member)
		row.HaChassis = append(row.HaChassis, n.out.haChassis.UUID(s, key))
	}
	n.out.haGroups.Want(s, g.Name, row)
}

// haKey identifies a chassis in a group.
func haKey(group, chassis string) string { return fmt.Sprintf("%q %s", group, chassis) }

// observeHAGroup learns whose members are whose.
func (n *Northd) observeHAGroup(_ string, _, new *sb.HAChassisGroup) {
	if new == nil {
		return
	}
	for _, id := range new.HaChassis {
		n.haGroupOf[id] = new.Name
	}
}

func (n *Northd) knownHAChassis(r *sb.HAChassis) string {
	return haKey(n.haGroupOf[r.UUID], r.ExternalIDs["chassis-name"])
}
