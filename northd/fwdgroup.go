package northd

import (
	"slices"
	"strings"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
)

type fwdGroupFacts struct {
	fwdGroups  *engine.Input[string, *nb.ForwardingGroup]
	fwdGroupAt *engine.Relation[string, string] // groups to the switches that list them
}

func (n *Northd) defineForwardingGroups() {
	n.fwdGroups = engine.NewInput[string, *nb.ForwardingGroup](n.e)
	n.fwdGroupAt = engine.NewRelation[string, string](n.e, "switches of forwarding groups")
	engine.ForEach(n.e, "forwarding groups of switch", n.nb.switches, func(s *engine.Scope, uuid string) {
		ls, _ := n.nb.switches.Get(s, uuid)
		for _, g := range ls.ForwardingGroups {
			n.fwdGroupAt.Add(s, g, uuid)
		}
	})
	engine.ForEach(n.e, "forwarding group", n.fwdGroupAt.Pairs(), func(s *engine.Scope, at engine.Pair[string, string]) {
		g, ok := n.fwdGroups.Get(s, at.Key)
		if !ok {
			return
		}
		for _, f := range forwardingFlows(g) {
			n.emit(s, f, n.flows.Only(n.datapath(s, at.Elem)), flows.Attrs{Hint: flows.Hint(g.UUID)})
		}
	})
}

// forwardingFlows answer ARP requests for the virtual address of a group, and
// spread what is sent to it over the group's ports. The addresses and names
// stand in the flows as they were written.
func forwardingFlows(g *nb.ForwardingGroup) []flows.Flow {
	if len(g.ChildPort) == 0 {
		return nil
	}
	liveness := ""
	if g.Liveness {
		liveness = `liveness="true",`
	}
	children := slices.Sorted(slices.Values(g.ChildPort))
	return []flows.Flow{
		{
			Stage: flows.SwitchInARPRsp, Priority: 50,
			Match: "arp.tpa == " + g.Vip + " && arp.op == 1",
			Actions: "eth.dst = eth.src; eth.src = " + g.Vmac + "; arp.op = 2; /* ARP reply */ arp.tha = arp.sha; arp.sha = " + g.Vmac +
				"; arp.tpa = arp.spa; arp.spa = " + g.Vip + "; outport = inport; flags.loopback = 1; output;",
		},
		{
			Stage: flows.SwitchInL2Lkup, Priority: 50,
			Match:   "eth.dst == " + g.Vmac,
			Actions: "fwd_group(" + liveness + `childports="` + strings.Join(children, `","`) + `");`,
		},
	}
}
