package northd

import (
	"northwall/acl"
	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
)

// protocol names packets that a chassis hands to its controller, as the keys of
// Copp.meters do.
type protocol string

const (
	protoReject     protocol = "reject"
	protoDNS        protocol = "dns"
	protoDHCPv4     protocol = "dhcpv4-opts"
	protoDHCPv6     protocol = "dhcpv6-opts"
	protoIGMP       protocol = "igmp"
	protoNA         protocol = "nd-na"
	protoSvcMonitor protocol = "svc-monitor"
	protoEmptyLB    protocol = "event-elb"
)

// control is a protocol on one switch.
type control struct {
	Switch   string
	Protocol protocol
}

// controlMeter is a protocol with the meter that limits it, "" for none.
type controlMeter struct {
	Protocol protocol
	Meter    string
}

type coppFacts struct {
	copps    *engine.Input[string, *nb.Copp]
	meterFor *engine.Fact[control, string]          // the meter of a protocol on a switch
	metered  *engine.Relation[controlMeter, string] // to the switches where it is so
}

// defineCopp works out which meters protect the controllers.
func (n *Northd) defineCopp() {
	n.copps = engine.NewInput[string, *nb.Copp](n.e)
	n.meterFor = engine.NewFact(n.e, "meter of protocol", func(s *engine.Scope, at control) string {
		ls, ok := n.nb.switches.Get(s, at.Switch)
		if !ok || ls.Copp == nil {
			return ""
		}
		policy, ok := n.copps.Get(s, *ls.Copp)
		if !ok {
			return ""
		}
		meter := policy.Meters[string(at.Protocol)]
		if !n.metersByName.Any(s, meter) {
			return ""
		}
		return meter
	})
	n.metered = engine.NewRelation[controlMeter, string](n.e, "meters of protocols")
	engine.ForEach(n.e, "control plane protection", n.nb.switches, n.checkCopp)
}

// checkCopp reports protocols that stay unlimited as their meter does not exist.
func (n *Northd) checkCopp(s *engine.Scope, uuid string) {
	ls, _ := n.nb.switches.Get(s, uuid)
	if ls.Copp == nil {
		return
	}
	policy, ok := n.copps.Get(s, *ls.Copp)
	if !ok {
		return
	}
	for p, meter := range policy.Meters {
		if !n.metersByName.Any(s, meter) {
			n.problems.Report(s, "copp "+policy.Name, "the meter "+meter+" of "+p+" does not exist: "+p+" is not limited on "+ls.Name)
		}
	}
}

// controlFlow is a flow that hands packets to the controller and does not depend
// on configuration but for its meter.
type controlFlow struct {
	protocol protocol
	on       string // the set of switches, of which each meter has a part
	stage    flows.Stage
	priority int
	match    string
	actions  string
}

var controlFlows = []controlFlow{
	{protoSvcMonitor, allSwitches, flows.SwitchInL2Lkup, 110, matchSvcIn + " && (tcp || icmp || icmp6)", "handle_svc_check(inport);"},
	{protoIGMP, snoopingSwitches, flows.SwitchInL2Lkup, 100, "flags.igmp_loopback == 0 && igmp", "igmp;"},
	{protoIGMP, snoopingSwitches, flows.SwitchInL2Lkup, 100, "flags.igmp_loopback == 0 && (mldv1 || mldv2)", "igmp;"},
	{protoDNS, namingSwitches, flows.SwitchInDNSLookup, 100, "udp.dst == 53", "reg0[4] = dns_lookup(); next;"},
}

// meteredSet is the part of a set of switches where a meter limits the protocol
// of the set's flows.
func meteredSet(p protocol, kind string, variant uint32, meter string) flows.SetKey {
	return flows.SetKey{Kind: string(p) + " on " + kind, Owner: meter, Variant: variant}
}

// joinMetered puts a switch into the part of the set that its meter says.
func (n *Northd) joinMetered(s *engine.Scope, ls, dp string, p protocol, kind string, variant uint32) {
	meter := n.meterFor.Get(s, control{ls, p})
	n.metered.Add(s, controlMeter{p, meter}, ls)
	n.join(s, meteredSet(p, kind, variant, meter), dp)
}

func (n *Northd) defineControl() {
	engine.ForEach(n.e, "flows to the controller", n.metered.Keys(), n.deriveControl)
}

// deriveControl derives the flows of a protocol that a meter limits.
func (n *Northd) deriveControl(s *engine.Scope, at controlMeter) {
	want := func(set flows.SetKey, f flows.Flow) {
		f.Meter = at.Meter
		n.emit(s, f, n.flows.Set(set), flows.Attrs{})
	}
	for _, f := range controlFlows {
		if f.protocol == at.Protocol {
			want(meteredSet(f.protocol, f.on, 0, at.Meter),
				flows.Flow{Stage: f.stage, Priority: f.priority, Match: f.match, Actions: f.actions})
		}
	}
	if at.Protocol != protoReject {
		return
	}
	for stage := range acl.NumStages {
		for tier := range maxTier + 1 {
			want(meteredSet(protoReject, ruledSwitches, tierVariant(stage, uint8(tier)), at.Meter), acl.RejectReply(stage, tier))
		}
	}
}
