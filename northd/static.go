package northd

import (
	"slices"
	"strconv"

	"northwall/acl"
	"northwall/flows"
	"northwall/northd/engine"
)

// switchFlow is a flow that does not depend on configuration.
type switchFlow struct {
	on       string // the set of switches
	stage    flows.Stage
	priority int
	match    string
	actions  string
	desc     string
}

// dropAction stands for what options.Drop says.
const dropAction = "drop;"

const (
	commitPlain  = "ct_mark.blocked = 0; ct_mark.allow_established = reg0[20]; "
	commitSample = "ct_mark.obs_stage = reg8[19..20]; ct_mark.obs_collector_id = reg8[8..15]; ct_label.obs_point_id = reg9; "
	commitACL    = "ct_label.acl_id = reg2[16..31]; "
	commitNoNF   = "ct_label.nf = 0; ct_label.nf_id = 0; "
	commitNF     = "ct_label.nf = 1; ct_label.nf_id = reg0[22..29]; "

	matchNDAndMLD = "nd || nd_rs || nd_ra || mldv1 || mldv2"
	matchSvcIn    = "eth.dst == $svc_monitor_mac"
	matchSvcOut   = "eth.src == $svc_monitor_mac"
)

// switchFlows are the flows of all switches, by stage, beside those of package
// acl. The tables are described in ovn-northd(8).
var switchFlows = []switchFlow{
	// What the chassis's own check of port security does not see.
	{allSwitches, flows.SwitchInCheckPortSec, 100, "eth.src[40]", dropAction, "Incoming Broadcast/multicast sourceaddress is invalid"},
	{untaggedSwitches, flows.SwitchInCheckPortSec, 100, "vlan.present", dropAction, "VLANs blocked due to vlan-passthru option"},
	{allSwitches, flows.SwitchInCheckPortSec, 105, matchTooBig + " && flags.tunnel_rx == 1", dropAction, "ICMP: packet too big"},
	{allSwitches, flows.SwitchInCheckPortSec, 50, "1", "reg0[15] = check_in_port_sec(); next;", ""},
	{allSwitches, flows.SwitchInApplyPortSec, 50, "reg0[15] == 1", dropAction, "Broadcast/multicast port security invalid"},
	{allSwitches, flows.SwitchInApplyPortSec, 0, "1", "next;", ""},

	{allSwitches, flows.SwitchInMirror, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutMirror, 0, "1", "next;", ""},

	{allSwitches, flows.SwitchInLookupFDB, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutLookupFDB, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInPutFDB, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutPutFDB, 0, "1", "next;", ""},

	// Never to the load balancer: what has no connection, and what a stateless
	// rule lets past.
	{allSwitches, flows.SwitchInPreLB, 110, matchNDAndMLD, "next;", ""},
	{allSwitches, flows.SwitchOutPreLB, 110, matchNDAndMLD, "next;", ""},
	{allSwitches, flows.SwitchInPreLB, 110, "eth.mcast", "next;", ""},
	{allSwitches, flows.SwitchOutPreLB, 110, "eth.mcast", "next;", ""},
	{allSwitches, flows.SwitchInPreLB, 110, matchSvcIn, "next;", ""},
	{allSwitches, flows.SwitchOutPreLB, 110, matchSvcOut, "next;", ""},
	{allSwitches, flows.SwitchInPreLB, 110, "reg0[16] == 1", "next;", ""},
	{allSwitches, flows.SwitchOutPreLB, 110, "reg0[16] == 1", "next;", ""},
	{allSwitches, flows.SwitchInPreLB, 110, "((ip4 && icmp4.type == 3 && icmp4.code == 4) ||(ip6 && icmp6.type == 2 && icmp6.code == 0)) && flags.tunnel_rx == 1", "next;", ""},
	{allSwitches, flows.SwitchInPreLB, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutPreLB, 0, "1", "next;", ""},

	// To connection tracking, as the tables before have asked.
	{allSwitches, flows.SwitchInPreStateful, 115, "reg0[2] == 1 && ip.is_frag", "reg0[19] = 1; ct_lb_mark;", ""},
	{allSwitches, flows.SwitchInPreStateful, 110, "reg0[2] == 1", "ct_lb_mark;", ""},
	{allSwitches, flows.SwitchOutPreStateful, 110, "reg0[2] == 1", "ct_lb_mark;", ""},
	{allSwitches, flows.SwitchInPreStateful, 100, "reg0[0] == 1", "ct_next;", ""},
	{allSwitches, flows.SwitchOutPreStateful, 100, "reg0[0] == 1", "ct_next;", ""},
	{allSwitches, flows.SwitchInPreStateful, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutPreStateful, 0, "1", "next;", ""},

	{allSwitches, flows.SwitchInQoS, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutQoS, 0, "1", "next;", ""},

	{allSwitches, flows.SwitchInCTExtract, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInLBAffCheck, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInLB, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInLBAffLearn, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInPreHairpin, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInNATHairpin, 0, "1", "next;", ""},
	{vtepSwitches, flows.SwitchInHairpin, 1000, bitFromVTEP + " == 1", "next(pipeline=ingress, table=" + strconv.Itoa(flows.SwitchInL2Lkup.Table()) + ");", ""},
	{allSwitches, flows.SwitchInHairpin, 0, "1", "next;", ""},

	{allSwitches, flows.SwitchInPreNetworkFunction, 1, "reg8[21] == 1 && reg8[22] == 1", "reg0[22..29] = 0; next;", ""},
	{allSwitches, flows.SwitchOutPreNetworkFunction, 1, "reg8[21] == 1 && reg8[22] == 1", "reg0[22..29] = 0; next;", ""},
	{allSwitches, flows.SwitchInPreNetworkFunction, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutPreNetworkFunction, 0, "1", "next;", ""},

	// Connections that a rule has asked to be committed, with or without a sample
	// and a network function.
	{allSwitches, flows.SwitchInStateful, 110, "reg0[1] == 1 && reg0[13] == 0 && reg8[21] == 1", "ct_commit { " + commitPlain + commitACL + commitNF + "}; next;", ""},
	{allSwitches, flows.SwitchInStateful, 110, "reg0[1] == 1 && reg0[13] == 1 && reg8[21] == 1", "ct_commit { " + commitPlain + commitSample + commitACL + commitNF + "}; next;", ""},
	{allSwitches, flows.SwitchInStateful, 100, "reg0[1] == 1 && reg0[13] == 0", "ct_commit { " + commitPlain + commitACL + commitNoNF + "}; next;", ""},
	{allSwitches, flows.SwitchInStateful, 100, "reg0[1] == 1 && reg0[13] == 1", "ct_commit { " + commitPlain + commitSample + commitACL + commitNoNF + "}; next;", ""},
	{allSwitches, flows.SwitchInStateful, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutStateful, 110, "reg0[1] == 1 && reg0[13] == 0 && reg8[21] == 1", "ct_commit { " + commitPlain + commitACL + commitNF + "}; next;", ""},
	{allSwitches, flows.SwitchOutStateful, 110, "reg0[1] == 1 && reg0[13] == 1 && reg8[21] == 1", "ct_commit { " + commitPlain + commitSample + commitACL + commitNF + "}; next;", ""},
	{allSwitches, flows.SwitchOutStateful, 100, "reg0[1] == 1 && reg0[13] == 0", "ct_commit { " + commitPlain + commitACL + commitNoNF + "}; next;", ""},
	{allSwitches, flows.SwitchOutStateful, 100, "reg0[1] == 1 && reg0[13] == 1", "ct_commit { " + commitPlain + commitSample + commitACL + commitNoNF + "}; next;", ""},
	{allSwitches, flows.SwitchOutStateful, 0, "1", "next;", ""},

	{allSwitches, flows.SwitchInNetworkFunction, 100, "reg8[21] == 1 && eth.mcast", "next;", ""},
	{allSwitches, flows.SwitchOutNetworkFunction, 100, "reg8[21] == 1 && eth.mcast", "next;", ""},
	{allSwitches, flows.SwitchInNetworkFunction, 1, "reg8[21] == 1", dropAction, ""},
	{allSwitches, flows.SwitchOutNetworkFunction, 1, "reg8[21] == 1", dropAction, ""},
	{allSwitches, flows.SwitchInNetworkFunction, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchOutNetworkFunction, 0, "1", "next;", ""},

	{vtepSwitches, flows.SwitchInARPRsp, 65535, bitFromVTEP + " == 1 && (arp || nd_ns)", "flags.loopback = 1; next;", ""},
	{allSwitches, flows.SwitchInARPRsp, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInDHCPOptions, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInDHCPResponse, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInDNSLookup, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInDNSResponse, 0, "1", "next;", ""},
	{allSwitches, flows.SwitchInExternalPort, 0, "1", "next;", ""},

	{allSwitches, flows.SwitchInL2Lkup, 100, "reg8[23] == 1", "output;", ""},
	{allSwitches, flows.SwitchInL2Lkup, 72, "eth.mcast && (nd_na || nd_rs || nd_ra)", `outport = "` + mcFlood + `"; output;`, ""},
	{allSwitches, flows.SwitchInL2Lkup, 71, "eth.mcast && arp", `outport = "` + mcFlood + `"; output;`, ""},
	{snoopingSwitches, flows.SwitchInL2Lkup, 85, "ip4.mcast && ip4.dst == 224.0.0.0/24", `outport = "` + mcFloodL2 + `"; output;`, ""},
	{snoopingSwitches, flows.SwitchInL2Lkup, 85, "ip6.mcast_flood", `outport = "` + mcFlood + `"; output;`, ""},
	{registeredAndStatic, flows.SwitchInL2Lkup, 80, "ip4.mcast || ip6.mcast", `outport ="` + mcStatic + `"; output;`, ""},
	{registeredOnly, flows.SwitchInL2Lkup, 80, "ip4.mcast || ip6.mcast", dropAction, ""},
	{routerSparing, flows.SwitchInL2Lkup, 72, "eth.mcast && (arp.op == 1 || nd_ns)", `outport = "` + mcFloodL2 + `"; output;`, ""},
	{floodingMulticast, flows.SwitchInL2Lkup, 71, "eth.mcast && ip", `outport = "` + mcFloodL2 + `"; output;`, ""},
	{floodingAndStatic, flows.SwitchInL2Lkup, 71, "eth.mcast && ip", `clone { outport = "` + mcStatic + `"; output; }; outport = "` + mcFloodL2 + `"; output;`, ""},
	{allSwitches, flows.SwitchInL2Lkup, 70, "eth.mcast", `outport = "` + mcFloodL2 + `"; output;`, ""},
	{floodingSwitches, flows.SwitchInL2Unknown, 50, `outport == "none"`, `outport = "` + mcUnknown + `"; output;`, ""},
	{nonFloodingSwitches, flows.SwitchInL2Unknown, 50, `outport == "none"`, dropAction, "No L2 destination"},

	{allSwitches, flows.SwitchOutCheckPortSec, 100, "eth.mcast", "reg0[15] = 0; next;", ""},
	{allSwitches, flows.SwitchOutCheckPortSec, 0, "1", "reg0[15] = check_out_port_sec(); next;", ""},
	{allSwitches, flows.SwitchOutApplyPortSec, 50, "reg0[15] == 1", dropAction, "Packet does not follow port security rules"},
	{allSwitches, flows.SwitchOutApplyPortSec, 0, "1", "output;", ""},
}

// maxTier is the highest tier of an ACL.
const maxTier = 3

func (n *Northd) defineStatic() {
	engine.ForEach(n.e, "flows of all switches", n.once, n.deriveStatic)
}

// deriveStatic derives the flows that depend on global options at most.
func (n *Northd) deriveStatic(s *engine.Scope, _ struct{}) {
	opt := n.options.Get(s, struct{}{})
	want := func(set flows.SetKey, a flows.Attrs, fs ...flows.Flow) {
		for _, f := range fs {
			n.emit(s, f, n.flows.Set(set), a)
		}
	}
	for _, f := range slices.Concat(switchFlows, vipFlows, dnsFlows, evpnFlows) {
		if f.actions == dropAction {
			f.actions = opt.Drop
		}
		want(setOf(f.on), flows.Attrs{Desc: f.desc},
			flows.Flow{Stage: f.stage, Priority: f.priority, Match: f.match, Actions: f.actions})
	}
	none := flows.Attrs{}
	want(setOf(allSwitches), none, acl.Always...)
	want(setOf(unfilteredSwitches), none, acl.Unfiltered...)
	want(setOf(filteredSwitches), none, acl.Filtered...)
	want(setOf(unruledSwitches), none, acl.WithoutRules...)
	want(setOf(statefulSwitches), none, acl.Stateful(opt.CTTranslation)...)
	lenient := acl.Tracked(false)
	for i, f := range acl.Tracked(opt.UseCTInv) {
		if f == lenient[i] {
			want(setOf(trackedSwitches), none, f)
			continue
		}
		want(setOf(strictSwitches), none, f)
		want(setOf(lenientSwitches), none, lenient[i])
	}
	for stage := range acl.NumStages {
		for tier := range maxTier + 1 {
			v := tierVariant(stage, uint8(tier))
			want(flows.SetKey{Kind: ruledSwitches, Variant: v}, none, acl.Actions(stage, tier, opt.DefaultACLDrop, opt.ImplicitDrop)...)
			if stage != acl.AfterLB {
				want(flows.SetKey{Kind: reallowSwitches, Variant: v}, none, acl.Reallow(stage, tier))
			}
		}
	}
}
