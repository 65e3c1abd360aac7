package northd

import (
	"slices"
	"strconv"

	"northwall/acl"
	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/sb"
)

// groupSwitch is a port group on one of its switches.
type groupSwitch struct {
	Group, Switch string
}

type groupFacts struct {
	groupsOfPort   *engine.Relation[string, string]      // port to groups
	groupSwitches  *engine.Relation[string, string]      // group to switches that its ports are on
	groupsOfSwitch *engine.Relation[string, string]      // the reverse
	groupMembers   *engine.Relation[groupSwitch, string] // ports of a group on a switch

	addressSetNames *engine.Relation[string, string] // the operator's address sets, by name
}

// deriveGroupPort relates a group to the switch of one of its ports. A port that
// is on no switch counts for nothing.
func (n *Northd) deriveGroupPort(s *engine.Scope, at engine.Pair[string, string]) {
	port, pg := at.Key, at.Elem
	ls := n.portOwner(s, port)
	if ls == "" {
		return
	}
	n.groupSwitches.Add(s, pg, ls)
	n.groupsOfSwitch.Add(s, ls, pg)
	n.groupMembers.Add(s, groupSwitch{pg, ls}, port)
}

func (n *Northd) defineGroups() {
	engine.ForEach(n.e, "port group on switch", n.groupMembers.Keys(), n.deriveGroupOnSwitch)
	engine.ForEach(n.e, "port group addresses", n.nb.groups, n.deriveGroupAddresses)
	engine.ForEach(n.e, "switch of group", n.groupSwitches.Pairs(), n.deriveSwitchOfGroup)
}

// deriveGroupOnSwitch derives the southbound row that lists the ports which the
// group has on one switch; its name begins with the datapath's key.
func (n *Northd) deriveGroupOnSwitch(s *engine.Scope, at groupSwitch) {
	pg, ok := n.nb.groups.Get(s, at.Group)
	if !ok {
		return
	}
	key := n.switchKeyOf.Get(s, at.Switch)
	if key == 0 {
		return
	}
	row := &sb.PortGroup{Name: strconv.Itoa(key) + "_" + pg.Name}
	for port := range n.groupMembers.Of(s, at) {
		if p, ok := n.nb.ports.Get(s, port); ok {
			row.Ports = append(row.Ports, p.Name)
		}
	}
	slices.Sort(row.Ports) // as a server has them, which makes comparing quick
	n.out.groups.Want(s, row.Name, row)
}

// deriveGroupAddresses derives the two address sets $group_ip4 and $group_ip6.
func (n *Northd) deriveGroupAddresses(s *engine.Scope, uuid string) {
	pg, _ := n.nb.groups.Get(s, uuid)
	ip4 := &sb.AddressSet{Name: pg.Name + "_ip4"}
	ip6 := &sb.AddressSet{Name: pg.Name + "_ip6"}
	for _, port := range pg.Ports {
		p, ok := n.nb.ports.Get(s, port)
		if !ok {
			continue
		}
		for _, a := range n.addresses(s, p) {
			ip4.Addresses = append(ip4.Addresses, a.IP4...)
			for _, ip := range a.IP6 {
				ip6.Addresses = append(ip6.Addresses, ip.String())
			}
		}
	}
	for _, set := range []*sb.AddressSet{ip4, ip6} {
		slices.Sort(set.Addresses)
		set.Addresses = slices.Compact(set.Addresses)
		if n.addressSetNames.Any(s, set.Name) {
			continue // one that the operator made goes before
		}
		n.out.addresses.Want(s, set.Name, set)
	}
}

// groupSet names the set of a group's switches that are alike for the text of
// its rules in one stage.
func groupSet(group string, stage acl.Stage, v variant) flows.SetKey {
	return flows.SetKey{Kind: "port group", Owner: group, Variant: uint32(stage)<<16 | uint32(v)}
}

// deriveSwitchOfGroup puts a switch into the group's sets, one for each stage,
// by what the text of a rule depends on there.
func (n *Northd) deriveSwitchOfGroup(s *engine.Scope, at engine.Pair[string, string]) {
	pg, ls := at.Key, at.Elem
	dp := n.datapath(s, ls)
	t := n.traits.Get(s, ls)
	for stage := range acl.NumStages {
		v := variantOf(t, stage)
		n.groupVariants.Add(s, groupStage{pg, stage}, v)
		s.Emit(n.flows.Set(groupSet(pg, stage, v)).With(dp))
	}
}
