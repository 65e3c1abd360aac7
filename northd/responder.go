package northd

import (
	"net/netip"
	"strings"

	"northwall/flows"
	"northwall/northd/engine"
)

// responder answers ARP requests and neighbour solicitations for the port's
// addresses, so that they need not be flooded.
func (f *portFlows) responder(addrs []address, name string, state portState) {
	p := f.p
	if p.Type == "virtual" {
		f.virtual(name)
		return
	}
	options := f.n.options.Get(f.s, struct{}{})
	down := p.Type != "localport" && !isRouterLike(p) && !options.IgnoreLSPDown && !(state.Chassis != "" && state.Up)
	switch {
	case p.Type == "external":
		return
	case f.ctx.Tagged, down, isUnknown(p):
		return
	case p.Type == "" && optBool(p.Options, "disable_arp_nd_rsp", false): // an option of VIFs
		return
	}
	// Where a physical network is attached, only the port's own chassis answers
	// what comes from there.
	here := ""
	if f.ctx.HasLocalnet {
		here = " && ((flags.localnet == 1 && is_chassis_resident(" + name + ")) || flags.localnet == 0)"
	}
	na := "nd_na"
	if p.Type == "router" {
		na = "nd_na_router"
	}
	for _, a := range addrs {
		for _, ip := range a.IP4 {
			match := "arp.tpa == " + ip + " && arp.op == 1 && eth.dst == ff:ff:ff:ff:ff:ff"
			f.add(flows.SwitchInARPRsp, 50, match+here,
				"eth.dst = eth.src; eth.src = "+a.MAC+"; arp.op = 2; /* ARP reply */ arp.tha = arp.sha; arp.sha = "+a.MAC+
					"; arp.tpa = arp.spa; arp.spa = "+ip+"; outport = inport; flags.loopback = 1; output;")
			// Not to the port itself, which looks for a duplicate of its address.
			f.addHere(flows.SwitchInARPRsp, 100, match+" && "+f.in, "next;")
		}
		for _, ip := range a.IP6 {
			match := "nd_ns_mcast && ip6.dst == " + solicitedNode(ip) + " && nd.target == " + ip.String()
			f.addMetered(flows.SwitchInARPRsp, 50, f.n.meterFor.Get(f.s, control{f.ls, protoNA}), match+here,
				na+" { eth.src = "+a.MAC+"; ip6.src = "+ip.String()+"; nd.target = "+ip.String()+"; nd.tll = "+a.MAC+
					"; outport = inport; flags.loopback = 1; output; };")
			f.addHere(flows.SwitchInARPRsp, 100, match+" && "+f.in, "next;")
		}
	}
}

// portOn finds the port with a name on a switch.
func (n *Northd) portOn(s *engine.Scope, name, ls string) (uuid string, ok bool) {
	for uuid := range n.portByName.Of(s, name) {
		if n.portOwner(s, uuid) == ls {
			return uuid, true
		}
	}
	return "", false
}

// virtual binds a virtual port to whichever of its parents announces its
// address.
func (f *portFlows) virtual(name string) {
	a := f.p.Options["virtual-ip"] // stays as it is written
	ip, err := netip.ParseAddr(a)
	parents := f.p.Options["virtual-parents"]
	if err != nil || ip.Zone() != "" || parents == "" {
		return
	}
	for parent := range strings.SplitSeq(parents, ",") {
		uuid, ok := f.n.portOn(f.s, parent, f.ls)
		if !ok {
			continue
		}
		in := "inport == " + flows.Quote(parent)
		match := in + " && ((arp.op == 1 && arp.spa == " + a + " && arp.tpa == " + a + ") || (arp.op == 2 && arp.spa == " + a + "))"
		if ip.Is6() {
			match = in + " && ((nd_ns && ip6.dst == {" + a + ", " + solicitedNode(ip) + "} && nd.target == " + a + ") ||(nd_na && nd.target == " + a + "))"
		}
		f.n.emit(f.s, flows.Flow{Stage: flows.SwitchInARPRsp, Priority: 100, Match: match, Actions: "bind_vport(" + name + ", inport); next;"},
			f.set, flows.Attrs{Hint: flows.Hint(uuid), Port: parent})
	}
}
