package northd

import (
	"errors"
	"strconv"

	"northwall/acl"
	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// nfUse is a network function group that ACLs of a switch send packets to.
type nfUse struct {
	Group string
	From  bool // by from-lport ACLs; else by to-lport ones
}

type nfFacts struct {
	nfGroups   *engine.Input[string, *nb.NetworkFunctionGroup]
	nfs        *engine.Input[string, *nb.NetworkFunction]
	nfChecks   *engine.Input[string, *nb.NetworkFunctionHealthCheck]
	nfUses     *engine.Relation[string, nfUse]  // by switch
	nfOnSwitch *engine.Relation[string, string] // network functions that a switch's ACLs may use
	childPorts *engine.Relation[string, string] // ports by the name of their parent
	nfActive   *engine.Fact[string, string]     // the active network function of a group
}

func (n *Northd) defineNFInputs() {
	n.nfGroups = engine.NewInput[string, *nb.NetworkFunctionGroup](n.e)
	n.nfs = engine.NewInput[string, *nb.NetworkFunction](n.e)
	n.nfChecks = engine.NewInput[string, *nb.NetworkFunctionHealthCheck](n.e)
	n.nfUses = engine.NewRelation[string, nfUse](n.e, "network function groups of switches")
	n.nfOnSwitch = engine.NewRelation[string, string](n.e, "network functions of switches")
	n.childPorts = engine.NewRelation[string, string](n.e, "ports by parent")
	n.nfActive = engine.NewFact(n.e, "active network function", n.deriveNFActive)
}

// deriveNFActive chooses among the healthy network functions of a group: the one
// that is active, so that connections stay where they are, or the one with the
// least UUID; "" where there is none.
func (n *Northd) deriveNFActive(s *engine.Scope, group string) string {
	g, ok := n.nfGroups.Get(s, group)
	if !ok {
		return ""
	}
	least := ""
	for _, id := range g.NetworkFunction {
		active := deref(g.NetworkFunctionActive) == id
		if (active || least == "" || id < least) && n.isNFHealthy(s, id) {
			if active {
				return id
			}
			least = id
		}
	}
	return least
}

// isNFHealthy reports whether a network function may be used: it has no health
// check, or is known to be online.
func (n *Northd) isNFHealthy(s *engine.Scope, uuid string) bool {
	f, ok := n.nfs.Get(s, uuid)
	if !ok || f.HealthCheck == nil {
		return ok
	}
	key, use, err := n.nfMonitor(s, f)
	if err != nil {
		return false
	}
	status, _ := n.monitorStatus(s, key, "", use.Input)
	return status == sb.ServiceMonitorStatusOnline
}

// nfMonitor tells how a network function with a health check is monitored: what
// is sent to its inport must come out of its outport.
func (n *Northd) nfMonitor(s *engine.Scope, f *nb.NetworkFunction) (monitorKey, monitorUse, error) {
	opt := n.options.Get(s, struct{}{})
	if opt.SvcMonitorIP == "" || opt.SvcMonitorIPDst == "" {
		return monitorKey{}, monitorUse{}, errors.New("svc_monitor_ip and svc_monitor_ip_dst in the options of NB_Global are not both IP addresses")
	}
	in, ok1 := n.nb.ports.Get(s, f.Inport)
	out, ok2 := n.nb.ports.Get(s, f.Outport)
	if !ok1 || !ok2 || n.portOwner(s, f.Inport) == "" || n.portOwner(s, f.Outport) == "" {
		return monitorKey{}, monitorUse{}, errors.New("a port of it is on no switch")
	}
	return monitorKey{Port: out.Name, IP: opt.SvcMonitorIPDst, Protocol: sb.ServiceMonitorProtocolICMP},
		monitorUse{Type: sb.ServiceMonitorTypeNetworkFunction, Owner: f.UUID, Check: *f.HealthCheck, Source: opt.SvcMonitorIP, Input: in.Name}, nil
}

// nfGroupID is what an ACL leaves in the packet of the group that it is sent to;
// 0 for none.
func (n *Northd) nfGroupID(s *engine.Scope, a *nb.ACL) int {
	if a.NetworkFunctionGroup == nil {
		return 0
	}
	if g, ok := n.nfGroups.Get(s, *a.NetworkFunctionGroup); ok {
		return g.ID
	}
	return 0
}

// defineNF comes after the groups and before nothing that reads it.
func (n *Northd) defineNF() {
	engine.ForEach(n.e, "network function group on switch", n.nfUses.Pairs(), n.deriveNFGroupFlows)
	engine.ForEach(n.e, "network function on switch", n.nfOnSwitch.Pairs(), n.deriveNFPortFlows)
	engine.ForEach(n.e, "network function group", n.nfGroups, func(s *engine.Scope, uuid string) {
		n.writes.active.Want(s, uuid, n.nfActive.Get(s, uuid))
	})
	engine.ForEach(n.e, "network function", n.nfs, func(s *engine.Scope, uuid string) {
		f, _ := n.nfs.Get(s, uuid)
		if f.HealthCheck == nil {
			return
		}
		key, use, err := n.nfMonitor(s, f)
		if err != nil {
			n.problems.Report(s, "network function "+f.Name+" ("+uuid+")", "health_check: it cannot be checked and is not used, as "+err.Error())
			return
		}
		n.monitorUses.Add(s, key, use)
	})
}

// deriveNFUse notes the network function group that an ACL of an owner sends
// packets to.
func (n *Northd) deriveNFUse(s *engine.Scope, o owner, a *nb.ACL) {
	if n.nfGroupID(s, a) == 0 {
		return
	}
	use := nfUse{*a.NetworkFunctionGroup, stageOf(a) != acl.Egress}
	if !o.Group {
		n.nfUses.Add(s, o.UUID, use)
		return
	}
	for ls := range n.groupSwitches.Of(s, o.UUID) {
		n.nfUses.Add(s, ls, use)
	}
}

// deriveNFGroupFlows choose the group's active function for requests, and send
// requests and replies of its connections to its ports. ACL rules of the one
// direction see the replies in the other.
func (n *Northd) deriveNFGroupFlows(s *engine.Scope, at engine.Pair[string, nfUse]) {
	g, ok := n.nfGroups.Get(s, at.Elem.Group)
	if !ok {
		return
	}
	dp := n.datapath(s, at.Key)
	want := func(stage flows.Stage, priority int, match, actions string) {
		n.emit(s, flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions}, n.flows.Only(dp), flows.Attrs{})
	}
	pre := flows.SwitchOutPreNetworkFunction
	if at.Elem.From {
		pre = flows.SwitchInPreNetworkFunction
	}
	request := acl.MatchNFRequest + " && " + acl.RegNF + " == "
	if deref(g.Fallback) == nb.NetworkFunctionGroupFallbackFailOpen {
		want(pre, 10, request+strconv.Itoa(g.ID), acl.ActionNFSkip)
	}
	f, ok := n.nfs.Get(s, n.nfActive.Get(s, g.UUID))
	if !ok {
		return
	}
	id := strconv.Itoa(f.ID)
	n.nfOnSwitch.Add(s, at.Key, f.UUID)
	in, ok1 := n.nfPort(s, f.Inport, at.Key)
	out, ok2 := n.nfPort(s, f.Outport, at.Key)
	if !ok1 || !ok2 {
		return // dropped further on, unless the group fails open
	}
	want(pre, 99, request+strconv.Itoa(g.ID), acl.RegNF+" = "+id+"; next;")
	toIn := "outport = " + flows.Quote(in) + "; output;"
	toOut := "outport = " + flows.Quote(out) + "; reg8[23] = 1; next(pipeline=ingress, table=" + strconv.Itoa(flows.SwitchInL2Lkup.Table()) + ");"
	if at.Elem.From {
		want(flows.SwitchInNetworkFunction, 99, request+id, toIn)
		want(flows.SwitchOutNetworkFunction, 99, acl.MatchNFReply+" && ct_label.nf_id == "+id, toOut)
	} else {
		want(flows.SwitchOutNetworkFunction, 99, request+id, toOut)
		want(flows.SwitchInNetworkFunction, 99, acl.MatchNFReply+" && ct_label.nf_id == "+id, toIn)
	}
}

// nfPort is the port of a network function on a switch: the port itself, or a
// child of it.
func (n *Northd) nfPort(s *engine.Scope, port, ls string) (name string, ok bool) {
	p, ok := n.nb.ports.Get(s, port)
	if !ok {
		return "", false
	}
	if n.portOwner(s, port) == ls {
		return p.Name, true
	}
	least := ""
	for uuid := range n.childPorts.Of(s, p.Name) {
		if p, ok := n.nb.ports.Get(s, uuid); ok && n.portOwner(s, uuid) == ls && (least == "" || p.Name < least) {
			least = p.Name
		}
	}
	return least, least != ""
}

// deriveNFPortFlows let packets that come from a network function, or have been
// sent to it, pass without being sent there again.
func (n *Northd) deriveNFPortFlows(s *engine.Scope, at engine.Pair[string, string]) {
	f, ok := n.nfs.Get(s, at.Elem)
	if !ok {
		return
	}
	dp := n.datapath(s, at.Key)
	want := func(stage flows.Stage, priority int, match, actions string) {
		n.emit(s, flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions}, n.flows.Only(dp), flows.Attrs{})
	}
	in, ok1 := n.nfPort(s, f.Inport, at.Key)
	out, ok2 := n.nfPort(s, f.Outport, at.Key)
	if !ok1 || !ok2 {
		return
	}
	want(flows.SwitchOutPreACL, 110, "inport == "+flows.Quote(in), "next(pipeline=egress, table="+strconv.Itoa(flows.SwitchOutCheckPortSec.Table())+");")
	const tunnel = "ct_label.tun_if_id = reg5[16..31]; "
	for _, port := range [...]string{in, out} {
		name := flows.Quote(port)
		want(flows.SwitchInNetworkFunction, 100, "inport == "+name, "reg5[16..31] = ct_label.tun_if_id; next;")
		want(flows.SwitchOutNetworkFunction, 100, "outport == "+name, "next;")
		want(flows.SwitchOutStateful, 120, "outport == "+name+" && reg0[13] == 0", "ct_commit { "+commitPlain+commitACL+tunnel+"}; next;")
		want(flows.SwitchOutStateful, 120, "outport == "+name+" && reg0[13] == 1", "ct_commit { "+commitPlain+commitACL+commitSample+tunnel+"}; next;")
	}
}
