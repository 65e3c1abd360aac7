package acl

import (
	"strconv"

	"northwall/flows"
)

// Matches that several of the fixed flows share.
const (
	matchReply       = "ct.est && !ct.rel && ct.rpl && ct_mark.blocked == 0"
	matchRelated     = "!ct.est && ct.rel && !ct.new && ct_mark.blocked == 0"
	matchPersistent  = "ct.est && ct_mark.allow_established == 1"
	matchBlocked     = "(ct.est && ct.rpl && ct_mark.blocked == 1)"
	matchNeighbour   = "nd || nd_ra || nd_rs || mldv1 || mldv2"
	matchSvcMonIn    = "eth.dst == $svc_monitor_mac"
	matchSvcMonOut   = "eth.src == $svc_monitor_mac"
	matchTooBig      = "((ip4 && icmp4.type == 3 && icmp4.code == 4) || (ip6 && icmp6.type == 2 && icmp6.code == 0)) && flags.tunnel_rx == 1"
	matchUntracked   = "nd || nd_rs || nd_ra || mldv1 || mldv2 || (udp && udp.src == 546 && udp.dst == 547)"
	actionAllow      = bitAllow + " = 1; next;"
	actionAllowNF    = bitNF + " = ct_label.nf; " + bitAllow + " = 1; next;"
	actionRelated    = bitNF + " = ct_label.nf; " + bitAllow + " = 1; ct_commit_nat;"
	actionAgain      = bitHintNew + " = 1; " + bitHintDrop + " = 1; " + bitCommit + " = 1; next;"
	resetVerdict     = bitAllow + " = 0; " + bitDrop + " = 0; " + bitReject + " = 0; "
	resetTier        = regTier + " = 0; "
	rejectBody       = "reg0 = 0; reject { /* eth.dst <-> eth.src; ip.dst <-> ip.src; is implicit. */ outport <-> inport; "
	actionReplyAgain = bitHintDrop + " = 0; " + bitHintBlock + " = 0; " + bitReply + " = 1; "
)

func flow(stage flows.Stage, priority int, match, actions string) flows.Flow {
	return flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions}
}

// Always are the flows of the ACL tables that every switch has.
var Always = []flows.Flow{
	flow(flows.SwitchInPreACL, 0, "1", "next;"),
	flow(flows.SwitchOutPreACL, 0, "1", "next;"),
	flow(flows.SwitchInPreACL, 110, matchSvcMonIn, "next;"),
	flow(flows.SwitchOutPreACL, 110, matchSvcMonOut, "next;"),
	flow(flows.SwitchInACLEval, priorityFixed, matchNeighbour, actionAllow),
	flow(flows.SwitchOutACLEval, priorityFixed, matchNeighbour, actionAllow),
	flow(flows.SwitchInACLAfterLBEval, priorityFixed, matchNeighbour, actionAllow),
	flow(flows.SwitchInACLAfterLBEval, 0, "1", "next;"),
	flow(flows.SwitchInACLSample, 0, "1", "next;"),
	flow(flows.SwitchInACLAfterLBSample, 0, "1", "next;"),
	flow(flows.SwitchOutACLSample, 0, "1", "next;"),
}

// Unfiltered are the flows of switches with neither rules nor load balancers:
// one look at each table.
var Unfiltered = []flows.Flow{
	flow(flows.SwitchInACLHint, priorityNone, "1", "next;"),
	flow(flows.SwitchOutACLHint, priorityNone, "1", "next;"),
	flow(flows.SwitchInACLEval, priorityNone, "1", "next;"),
	flow(flows.SwitchOutACLEval, priorityNone, "1", "next;"),
}

// Filtered are the flows of switches that have rules or load balancers.
var Filtered = []flows.Flow{
	flow(flows.SwitchInACLHint, 0, "1", "next;"),
	flow(flows.SwitchOutACLHint, 0, "1", "next;"),
	flow(flows.SwitchInACLEval, 0, "1", "next;"),
	flow(flows.SwitchOutACLEval, 0, "1", "next;"),
	flow(flows.SwitchInACLEval, prioritySvcMon, matchSvcMonIn, actionAllow),
	flow(flows.SwitchOutACLEval, prioritySvcMon, matchSvcMonOut, actionAllow),
}

// WithoutRules are the action flows of switches that have no rules.
var WithoutRules = []flows.Flow{
	flow(flows.SwitchInACLAction, 0, "1", "next;"),
	flow(flows.SwitchInACLAfterLBAction, 0, "1", "next;"),
	flow(flows.SwitchOutACLAction, 0, "1", "next;"),
}

// Stateful are the flows that send packets to connection tracking, on switches
// with an allow-related rule. Neighbour discovery, MLD, DHCPv6 and multicast
// never go there; multicast does with options:acl_ct_translation.
func Stateful(trackMulticast bool) []flows.Flow {
	out := []flows.Flow{
		flow(flows.SwitchInPreACL, 100, "ip", bitTrack+" = 1; next;"),
		flow(flows.SwitchOutPreACL, 100, "ip", bitTrack+" = 1; next;"),
		flow(flows.SwitchInPreACL, 110, matchUntracked, "next;"),
		flow(flows.SwitchOutPreACL, 110, matchUntracked, "next;"),
		flow(flows.SwitchInPreACL, 110, matchTooBig, "next;"),
	}
	if !trackMulticast {
		out = append(out,
			flow(flows.SwitchInPreACL, 110, "eth.mcast", "next;"),
			flow(flows.SwitchOutPreACL, 110, "eth.mcast", "next;"))
	}
	return out
}

// hints tell the rules' flows in one bit what they would otherwise match in
// many. The priorities make the sets of bits exclusive.
var hints = []struct {
	priority       int
	match, actions string
}{
	{7, "ct.new && !ct.est", actionAgain},
	{6, "!ct.new && ct.est && !ct.rpl && ct_mark.blocked == 1", actionAgain},
	{5, "!ct.trk", bitHintAllow + " = 1; " + bitHintDrop + " = 1; next;"},
	{4, "!ct.new && ct.est && !ct.rpl && ct_mark.blocked == 0", bitHintAllow + " = 1; " + bitHintBlock + " = 1; next;"},
	{3, "!ct.est", bitHintDrop + " = 1; next;"},
	{2, "ct.est && ct_mark.blocked == 1", bitHintDrop + " = 1; next;"},
	{1, "ct.est && ct_mark.blocked == 0", bitHintBlock + " = 1; next;"},
}

// Tracked are the flows of switches whose packets pass connection tracking.
// useInv is NB_Global options:use_ct_inv_match.
func Tracked(useInv bool) []flows.Flow {
	var out []flows.Flow
	for _, h := range hints {
		out = append(out,
			flow(flows.SwitchInACLHint, h.priority, h.match, h.actions),
			flow(flows.SwitchOutACLHint, h.priority, h.match, h.actions))
	}
	invalid := matchBlocked
	if useInv {
		invalid = "ct.inv || " + invalid
	}
	for _, stage := range [...]flows.Stage{flows.SwitchInACLEval, flows.SwitchOutACLEval} {
		reply, established, related := actionReplyAgain+actionAllowNF, bitEstablished+" = 1; "+actionAllowNF, bitReply+" = 1; "+actionRelated
		if stage == flows.SwitchOutACLEval {
			reply, established, related = actionAllowNF, actionAllowNF, actionRelated
		}
		out = append(out,
			flow(stage, 1, "ip && !ct.est", "next;"),
			flow(stage, priorityFixed, matchReply, reply),
			flow(stage, priorityFixed, matchPersistent, established),
			flow(stage, priorityFixed, matchRelated, related),
			flow(stage, priorityFixed, invalid, bitDrop+" = 1; next;"))
	}
	return append(out,
		flow(flows.SwitchInACLAfterLBEval, priorityFixed, bitReply+" == 1", actionAllow),
		flow(flows.SwitchInACLAfterLBEval, priorityFixed, bitEstablished+" == 1", actionAllow))
}

// Reallow returns the flow that lets a connection through again that a rule
// blocked which is gone: reaching the end of the rules of the highest tier
// without a verdict. The gate on the tier keeps it from deciding for a later
// tier (OVN 26.03.1 and .2 lack it).
func Reallow(stage Stage, highestTier int) flows.Flow {
	match := "ip && ct.est && ct_mark.blocked == 1"
	if highestTier > 0 {
		match += " && " + regTier + " == " + strconv.Itoa(highestTier)
	}
	return flow(eval[stage], 1, match, actionAllow)
}

// Actions are the flows that carry out the verdict, on switches with rules, of
// which the highest tier in the stage is given. drop is the action that drops a
// packet. The flow that rejects is RejectReply's.
func Actions(stage Stage, highestTier int, defaultDrop bool, drop string) []flows.Flow {
	reset := resetOf(highestTier)
	last := "next;"
	if defaultDrop {
		last = drop
	}
	st := action[stage]
	out := []flows.Flow{
		flow(st, 1000, bitAllow+" == 1", reset+"next;"),
		flow(st, 1000, bitDrop+" == 1", reset+drop),
		flow(st, 0, "1", reset+last),
	}
	// Without a verdict the next tier is tried.
	for tier := range highestTier {
		out = append(out, flow(st, 500, regTier+" == "+strconv.Itoa(tier),
			regTier+" = "+strconv.Itoa(tier+1)+"; next(pipeline="+st.Pipeline().String()+",table="+strconv.Itoa(eval[stage].Table())+");"))
	}
	return out
}

// RejectReply is the flow that answers what a rule rejects, on switches with rules,
// of which the highest tier in the stage is given.
func RejectReply(stage Stage, highestTier int) flows.Flow {
	to := "next(pipeline=egress,table=" + strconv.Itoa(flows.SwitchOutQoS.Table()) + "); };"
	if stage == Egress {
		to = "next(pipeline=ingress,table=" + strconv.Itoa(flows.SwitchInL2Lkup.Table()) + "); };"
	}
	return flow(action[stage], 1000, bitReject+" == 1", resetOf(highestTier)+rejectBody+to)
}

// resetOf forgets the verdict, and the tier where there are several.
func resetOf(highestTier int) string {
	if highestTier > 0 {
		return resetVerdict + resetTier
	}
	return resetVerdict
}
