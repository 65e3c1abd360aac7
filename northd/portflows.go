package northd

import (
	"strconv"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
)

// Registers and bits of the switch pipelines beside those of package acl.
const (
	bitPortSecDrop = "reg0[15]"
	bitKnownFDB    = "reg0[11]"
	bitFromVTEP    = "reg0[14]"
	matchTooBig    = "((ip4 && icmp4.type == 3 && icmp4.code == 4) || (ip6 && icmp6.type == 2 && icmp6.code == 0))"
)

// emit contributes a flow.
func (n *Northd) emit(s *engine.Scope, f flows.Flow, on *flows.Set, a flows.Attrs) {
	s.Emit(n.flows.Again(s.Previous(), f, on, a))
}

// portFlows collects the flows of one port.
type portFlows struct {
	n   *Northd
	s   *engine.Scope
	p   *nb.LogicalSwitchPort
	set *flows.Set
	in  string // inport == "name"
	out string // outport == "name"
	ctx portContext
	ls  string // the switch's UUID

	drop string // options.Drop
}

// add contributes a flow that any chassis may need.
func (f *portFlows) add(stage flows.Stage, priority int, match, actions string) {
	f.n.emit(f.s, flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions},
		f.set, flows.Attrs{Hint: flows.Hint(f.p.UUID)})
}

// addMetered contributes a flow that hands packets to the controller.
func (f *portFlows) addMetered(stage flows.Stage, priority int, meter, match, actions string) {
	f.n.emit(f.s, flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions, Meter: meter},
		f.set, flows.Attrs{Hint: flows.Hint(f.p.UUID)})
}

// addHere contributes a flow that only the chassis of the port needs.
func (f *portFlows) addHere(stage flows.Stage, priority int, match, actions string) {
	f.n.emit(f.s, flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions},
		f.set, flows.Attrs{Hint: flows.Hint(f.p.UUID), Port: f.p.Name})
}

// emitPortFlows contributes the flows of a port of switch ls.
func (n *Northd) emitPortFlows(s *engine.Scope, p *nb.LogicalSwitchPort, ls string, ctx portContext, state portState) {
	name := flows.Quote(p.Name)
	f := &portFlows{n: n, s: s, p: p, drop: n.options.Get(s, struct{}{}).Drop, set: n.flows.Only(ctx.Datapath), ls: ls, in: "inport == " + name, out: "outport == " + name, ctx: ctx}
	addrs := n.addresses(s, p)
	f.portSecurity()
	f.packetTooBig(addrs, name)
	f.learning()
	if p.Type == "localnet" || isRouterLike(p) {
		f.untracked(n.traits.Get(s, ls))
	}
	f.responder(addrs, name, state)
	f.dhcp(addrs, name)
	f.lookup(addrs, name)
}

// portSecurity drops what comes from or goes to a disabled port, and puts what
// comes from others into their queue; the check itself is the chassis's. Packets
// of an external port come in at a localnet port.
func (f *portFlows) portSecurity() {
	switch {
	case f.p.Type == "external":
	case !isEnabled(f.p):
		f.addHere(flows.SwitchInCheckPortSec, 100, f.in, bitPortSecDrop+" = 1; next;")
		f.addHere(flows.SwitchInL2Unknown, 50, f.out, f.drop)
	case f.p.Type == "vtep":
		// A VTEP's own switch filters what comes from it.
		f.addHere(flows.SwitchInCheckPortSec, 70, f.in, f.setQueue()+bitFromVTEP+" = 1; next(pipeline=ingress, table="+
			strconv.Itoa(flows.SwitchInHairpin.Table())+");")
	default:
		f.queued()
	}
}

// packetTooBig sends an ICMP error that comes through a tunnel, from a port
// whose packet was too long, back to the port.
func (f *portFlows) packetTooBig(addrs []address, name string) {
	if f.p.Type == "router" {
		return
	}
	for _, a := range addrs {
		f.n.emit(f.s, flows.Flow{
			Stage: flows.SwitchInCheckPortSec, Priority: 110,
			Match:   matchTooBig + " && eth.src == " + a.MAC + " && " + f.out + " && !is_chassis_resident(" + name + ") && flags.tunnel_rx == 1",
			Actions: "outport <-> inport; next;",
		}, f.set, flows.Attrs{})
	}
}

// learning lets the chassis learn the addresses behind a port with unknown ones.
func (f *portFlows) learning() {
	localnet := f.p.Type == "localnet"
	mark := ""
	if localnet {
		mark = "flags.localnet = 1; "
		f.addHere(flows.SwitchInLookupFDB, 50, f.in, mark+"next;")
	}
	if f.p.Type == "remote" && optBool(f.p.Options, "lsp_learn_fdb", true) && len(f.p.PortSecurity) == 0 && isUnknown(f.p) {
		// Its packets come out of a tunnel, past the ingress pipeline.
		f.addHere(flows.SwitchOutLookupFDB, 100, f.in, bitKnownFDB+" = lookup_fdb(inport, eth.src); next;")
		f.addHere(flows.SwitchOutPutFDB, 100, f.in+" && "+bitKnownFDB+" == 0", "put_fdb(inport, eth.src); next;")
		return
	}
	learns := f.p.Type == "" || f.p.Type == "switch" || localnet && optBool(f.p.Options, "localnet_learn_fdb", false)
	if !learns || !optBool(f.p.Options, "lsp_learn_fdb", true) || len(f.p.PortSecurity) > 0 || !isUnknown(f.p) {
		return
	}
	f.addHere(flows.SwitchInLookupFDB, 100, f.in, mark+bitKnownFDB+" = lookup_fdb(inport, eth.src); next;")
	f.addHere(flows.SwitchInPutFDB, 100, f.in+" && "+bitKnownFDB+" == 0", "put_fdb(inport, eth.src); next;")
}

// untracked keeps the packets of ports to other networks out of connection
// tracking: their replies may come another way. What comes from a localnet port for
// a virtual address must be tracked.
func (f *portFlows) untracked(t switchTraits) {
	localnet := f.p.Type == "localnet"
	if !localnet || !t.VIP {
		out := "next;"
		if !t.ACLs.Stateful && localnet {
			// The state of the switch's own ports must not reach the network.
			out = "flags.pkt_sampled = 0; ct_clear; next;"
		}
		f.addHere(flows.SwitchInPreLB, 110, "ip && "+f.in, "next;")
		f.addHere(flows.SwitchOutPreLB, 110, "ip && "+f.out, out)
	}
	if t.ACLs.Stateful {
		f.addHere(flows.SwitchInPreACL, 110, "ip && "+f.in, "next;")
		f.addHere(flows.SwitchOutPreACL, 110, "ip && "+f.out, "next;")
	}
}

// lookup sends packets for the port's addresses to it.
func (f *portFlows) lookup(addrs []address, name string) {
	if f.p.Type == "external" || f.p.Type == "" && optBool(f.p.Options, "force_fdb_lookup", false) && isUnknown(f.p) {
		return
	}
	actions := "outport = " + name + "; output;"
	if f.p.Type == "" && f.p.Options["pkt_clone_type"] == "mc_unknown" && f.n.traitPorts.Any(f.s, switchTrait{f.ls, hasUnknown}) {
		actions = "clone {outport = " + name + "; output; };outport = " + flows.Quote(mcUnknown) + "; output;"
	}
	if !isEnabled(f.p) {
		actions = f.drop
	}
	for _, a := range addrs {
		f.add(flows.SwitchInL2Lkup, 50, "eth.dst == "+a.MAC, actions)
	}
}
