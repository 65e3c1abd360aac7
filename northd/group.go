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

// groupFamily is a port group's addresses of one version of IP.
type groupFamily struct {
	Group string
	IP6   bool
}

type groupFacts struct {
	groupsOfPort   *engine.Relation[string, string]      // port to groups
	groupSwitches  *engine.Relation[string, string]      // group to switches that its ports are on
	groupsOfSwitch *engine.Relation[string, string]      // the reverse
	groupMembers   *engine.Relation[groupSwitch, string] // ports of a group on a switch, "" for none
	groupName      *engine.Fact[string, string]
	groupAddresses *engine.Relation[groupFamily, string] // of the group's ports

	addressSetNames *engine.Relation[string, string] // the operator's address sets, by name
}

// deriveGroupPort relates a group to the switch of one of its ports. A port that
// is on no switch gives the group its addresses, and counts for nothing else.
func (n *Northd) deriveGroupPort(s *engine.Scope, at engine.Pair[string, string]) {
	port, pg := at.Key, at.Elem
	ls := n.portOwner(s, port)
	n.groupMembers.Add(s, groupSwitch{pg, ls}, port)
	if ls == "" {
		return
	}
	n.groupSwitches.Add(s, pg, ls)
	n.groupsOfSwitch.Add(s, ls, pg)
}

func (n *Northd) defineGroups() {
	n.groupAddresses = engine.NewRelation[groupFamily, string](n.e, "addresses of groups")
	n.groupName = engine.NewFact(n.e, "name of port group", func(s *engine.Scope, uuid string) string {
		pg, ok := n.nb.groups.Get(s, uuid)
		if !ok {
			return ""
		}
		return pg.Name
	})
	engine.ForEach(n.e, "port group on switch", n.groupMembers.Keys(), n.deriveGroupOnSwitch)
	engine.ForEach(n.e, "port group addresses", n.nb.groups, n.deriveGroupAddresses)
	engine.ForEach(n.e, "switch of group", n.groupSwitches.Pairs(), n.deriveSwitchOfGroup)
}

// deriveGroupOnSwitch derives the southbound row that lists the ports which the
// group has on one switch, whose name begins with the datapath's key, and the
// addresses of those ports. It does not read the group's row, which changes with
// each port and rule.
func (n *Northd) deriveGroupOnSwitch(s *engine.Scope, at groupSwitch) {
	var names []string
	for port := range n.groupMembers.Of(s, at) {
		p, ok := n.nb.ports.Get(s, port)
		if !ok {
			continue
		}
		names = append(names, p.Name)
		for _, a := range n.addresses(s, p) {
			for _, ip := range a.IP4 {
				n.groupAddresses.Add(s, groupFamily{at.Group, false}, ip)
			}
			for _, ip := range a.IP6 {
				n.groupAddresses.Add(s, groupFamily{at.Group, true}, ip.String())
			}
		}
	}
	key := n.switchKeyOf.Get(s, at.Switch)
	if key == 0 {
		return
	}
	slices.Sort(names) // as a server has them, which makes comparing quick
	row := &sb.PortGroup{Name: strconv.Itoa(key) + "_" + n.groupName.Get(s, at.Group), Ports: names}
	n.out.groups.Want(s, row.Name, row)
}

// deriveGroupAddresses derives the two address sets $group_ip4 and $group_ip6.
func (n *Northd) deriveGroupAddresses(s *engine.Scope, uuid string) {
	name := n.groupName.Get(s, uuid)
	for _, of := range [...]struct {
		family groupFamily
		suffix string
	}{{groupFamily{uuid, false}, "_ip4"}, {groupFamily{uuid, true}, "_ip6"}} {
		set := &sb.AddressSet{Name: name + of.suffix}
		if n.addressSetNames.Any(s, set.Name) {
			continue // one that the operator made goes before
		}
		set.Addresses = slices.Sorted(n.groupAddresses.Of(s, of.family))
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
		n.join(s, groupSet(pg, stage, v), dp)
	}
}
