package northd

import (
	"slices"
	"strings"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/ovsdb"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// Sets of switches that flows of load balancing are put on.
const (
	vipSwitches          = "switches with virtual addresses"
	statelessLBSwitches  = "switches with virtual addresses and stateless ACLs"
	loadBalancerSwitches = "switches of load balancer"                           // Owner: the load balancer
	lbGroupSwitches      = "switches of load balancer group"                     // Owner: the group
	statelessOfLB        = "switches of load balancer that have stateless rules" // Owner: the load balancer
)

type lbFacts struct {
	loadBalancers *engine.Input[string, *nb.LoadBalancer]
	lbGroups      *engine.Input[string, *nb.LoadBalancerGroup]
	healthChecks  *engine.Input[string, *nb.LoadBalancerHealthCheck]

	ownersOfLB        *engine.Relation[string, owner] // switches and groups that list a load balancer
	vipsOf            *engine.Relation[owner, string] // load balancers with virtual addresses, by what lists them
	lbGroupsOfSwitch  *engine.Relation[string, string]
	switchesOfLBGroup *engine.Relation[string, string]
	statelessLB       *engine.Relation[struct{}, string] // switches with enable-stateless-acl-with-lb
	lbMeters          *engine.Relation[protocol, string] // meters of protocols on switches with virtual addresses
}

// defineLBMembership relates load balancers to the switches and groups that
// list them.
func (n *Northd) defineLBMembership() {
	e := n.e
	n.loadBalancers = engine.NewInput[string, *nb.LoadBalancer](e)
	n.lbGroups = engine.NewInput[string, *nb.LoadBalancerGroup](e)
	n.healthChecks = engine.NewInput[string, *nb.LoadBalancerHealthCheck](e)
	n.ownersOfLB = engine.NewRelation[string, owner](e, "owners of load balancers")
	n.vipsOf = engine.NewRelation[owner, string](e, "load balancers with virtual addresses")
	n.lbGroupsOfSwitch = engine.NewRelation[string, string](e, "load balancer groups of switches")
	n.switchesOfLBGroup = engine.NewRelation[string, string](e, "switches of load balancer groups")
	n.statelessLB = engine.NewRelation[struct{}, string](e, "switches with stateless ACLs beside load balancers")

	engine.ForEach(e, "load balancers of switch", n.nb.switches, func(s *engine.Scope, uuid string) {
		ls, _ := n.nb.switches.Get(s, uuid)
		for _, lb := range ls.LoadBalancer {
			n.ownersOfLB.Add(s, lb, owner{UUID: uuid})
		}
		for _, g := range ls.LoadBalancerGroup {
			n.lbGroupsOfSwitch.Add(s, uuid, g)
			n.switchesOfLBGroup.Add(s, g, uuid)
		}
		if isStatelessLB(ls) {
			n.statelessLB.Add(s, struct{}{}, uuid)
		}
	})
	engine.ForEach(e, "load balancers of group", n.lbGroups, func(s *engine.Scope, uuid string) {
		g, _ := n.lbGroups.Get(s, uuid)
		for _, lb := range g.LoadBalancer {
			n.ownersOfLB.Add(s, lb, owner{UUID: uuid, Group: true})
		}
	})
	engine.ForEach(e, "virtual addresses", n.ownersOfLB.Pairs(), func(s *engine.Scope, at engine.Pair[string, owner]) {
		// Those that are not valid count too.
		if lb, ok := n.loadBalancers.Get(s, at.Key); ok && len(lb.Vips) > 0 {
			n.vipsOf.Add(s, at.Elem, at.Key)
		}
	})
}

// isStatelessLB: other_config:enable-stateless-acl-with-lb lets stateless rules
// and load balancers be on the same switch. It concerns the load balancers that
// the switch itself lists.
func isStatelessLB(ls *nb.LogicalSwitch) bool {
	return optBool(ls.OtherConfig, "enable-stateless-acl-with-lb", false)
}

// hasVIP reports whether a load balancer with virtual addresses is on a switch.
func (n *Northd) hasVIP(s *engine.Scope, ls string) bool {
	if n.vipsOf.Any(s, owner{UUID: ls}) {
		return true
	}
	for g := range n.lbGroupsOfSwitch.Of(s, ls) {
		if n.vipsOf.Any(s, owner{UUID: g, Group: true}) {
			return true
		}
	}
	return false
}

func (n *Northd) defineLoadBalancers() {
	n.lbMeters = engine.NewRelation[protocol, string](n.e, "meters beside load balancers")
	engine.ForEach(n.e, "meters beside load balancers", n.nb.switches, func(s *engine.Scope, uuid string) {
		if n.hasVIP(s, uuid) {
			for _, p := range lbProtocols {
				n.lbMeters.Add(s, p, n.meterFor.Get(s, control{uuid, p}))
			}
		}
	})
	engine.ForEach(n.e, "switch of load balancer group", n.switchesOfLBGroup.Pairs(), func(s *engine.Scope, at engine.Pair[string, string]) {
		n.joinLBSet(s, flows.SetKey{Kind: lbGroupSwitches, Owner: at.Key}, at.Elem)
	})
	engine.ForEach(n.e, "switches of load balancer", n.ownersOfLB.Keys(), n.deriveLBSwitches)
	engine.ForEach(n.e, "load balancer flows", n.ownersOfLB.Keys(), n.deriveLBFlows)
	engine.ForEach(n.e, "load balancer", n.ownersOfLB.Keys(), n.deriveLB)
	engine.ForEach(n.e, "load balancer checks", n.loadBalancers, n.checkLB)
}

// joinLBSet puts a switch into the set with the given key, and its parts.
func (n *Northd) joinLBSet(s *engine.Scope, key flows.SetKey, ls string) {
	dp := n.datapath(s, ls)
	n.join(s, key, dp)
	for _, p := range lbProtocols {
		if n.lbMeters.Len(s, p) > 1 {
			n.join(s, limitedSet(key, p, n.meterFor.Get(s, control{ls, p})), dp)
		}
	}
}

// lbProtocols are what flows of load balancers hand to controllers.
var lbProtocols = [...]protocol{protoReject, protoEmptyLB}

// limitedSet is the part of a set where a meter limits a protocol. There are
// parts only where switches with virtual addresses differ in that.
func limitedSet(key flows.SetKey, p protocol, meter string) flows.SetKey {
	key.Kind += ", " + string(p) + " limited by " + meter
	return key
}

// lbSet is the set of a load balancer's switches. One that a single group lists,
// as most are in large networks, is on the group's set, so that a switch that
// joins the group concerns no load balancer.
func (n *Northd) lbSet(s *engine.Scope, lb string) flows.SetKey {
	if n.ownersOfLB.Len(s, lb) == 1 {
		for o := range n.ownersOfLB.Of(s, lb) {
			if o.Group {
				return flows.SetKey{Kind: lbGroupSwitches, Owner: o.UUID}
			}
		}
	}
	return flows.SetKey{Kind: loadBalancerSwitches, Owner: lb}
}

// deriveLBSwitches fills the sets that a load balancer has for itself.
func (n *Northd) deriveLBSwitches(s *engine.Scope, uuid string) {
	key := n.lbSet(s, uuid)
	if key.Kind != loadBalancerSwitches {
		return
	}
	stateless := flows.SetKey{Kind: statelessOfLB, Owner: uuid}
	for o := range n.ownersOfLB.Of(s, uuid) {
		if !o.Group {
			n.joinLBSet(s, key, o.UUID)
			if n.statelessLB.Has(s, struct{}{}, o.UUID) {
				n.join(s, stateless, n.datapath(s, o.UUID))
			}
			continue
		}
		for ls := range n.switchesOfLBGroup.Of(s, o.UUID) {
			n.joinLBSet(s, key, ls)
		}
	}
}

// isOnSwitch reports whether a load balancer is on any switch.
func (n *Northd) isOnSwitch(s *engine.Scope, lb string) bool {
	for o := range n.ownersOfLB.Of(s, lb) {
		if !o.Group || n.switchesOfLBGroup.Any(s, o.UUID) {
			return true
		}
	}
	return false
}

// deriveLB derives the southbound row of a load balancer, which has its UUID and
// refers to the group of its switches' datapaths.
func (n *Northd) deriveLB(s *engine.Scope, uuid string) {
	lb, ok := n.loadBalancers.Get(s, uuid)
	if !ok || !n.isOnSwitch(s, uuid) {
		return
	}
	row := &sb.LoadBalancer{Name: lb.Name, Protocol: lb.Protocol, Options: lb.Options, Vips: southboundVIPs(lb)}
	key := n.lbSet(s, uuid)
	set := ptr("") // the group's UUID, when it is written
	if n.options.Get(s, struct{}{}).SwitchGroups {
		row.LsDatapathGroup = set
	} else {
		row.DatapathGroup = set
	}
	n.out.loadBalancers.use(uuid, uuid)
	n.out.loadBalancers.WantLate(s, uuid, row, func(txn *ovsdb.Txn) { *set = n.flows.Group(flowWriter{txn}, key) })
	s.Emit(n.flows.Set(key).Watch(func() { n.out.loadBalancers.touch(uuid) }))
}

// loadBalancerKey is the UUID of a load balancer's row, which is that of the
// northbound row too; "" for one that is on routers only.
func loadBalancerKey(r *sb.LoadBalancer) string {
	if r.LrDatapathGroup != nil && r.LsDatapathGroup == nil && r.DatapathGroup == nil {
		return ""
	}
	return r.UUID
}

// southboundVIPs are the virtual addresses as chassis read them: variables that
// stand for IPv6 addresses are in brackets.
func southboundVIPs(lb *nb.LoadBalancer) map[string]string {
	if !isTemplate(lb) || !isTemplate6(lb) {
		return lb.Vips
	}
	valid, _ := vipsOfLB(lb)
	if len(valid) == 0 {
		return lb.Vips
	}
	out := make(map[string]string, len(valid))
	for _, v := range valid {
		key := v.IP
		if key[0] == '^' {
			key = "[" + key + "]"
		}
		if v.Port != "" {
			key += ":" + v.Port
		}
		out[key] = v.Text
	}
	return out
}

// protocolOf is the name and number of a load balancer's protocol.
func protocolOf(lb *nb.LoadBalancer) (name, number string) {
	switch deref(lb.Protocol) {
	case nb.LoadBalancerProtocolUDP:
		return "udp", "17"
	case nb.LoadBalancerProtocolSCTP:
		return "sctp", "132"
	}
	return "tcp", "6"
}

// vipsOfLB are the virtual addresses of a load balancer that are valid.
func vipsOfLB(lb *nb.LoadBalancer) (valid []vip, invalid []string) {
	template := isTemplate(lb)
	for key, backends := range lb.Vips {
		v, ok := vip{}, false
		if template {
			v, ok = parseTemplateVIP(key, backends, isTemplate6(lb))
		} else {
			v, ok = parseVIP(key, backends)
		}
		if ok {
			valid = append(valid, v)
		} else {
			invalid = append(invalid, key)
		}
	}
	slices.SortFunc(valid, func(a, b vip) int { return strings.Compare(a.Key, b.Key) })
	slices.Sort(invalid)
	return valid, invalid
}

func isTemplate(lb *nb.LoadBalancer) bool { return optBool(lb.Options, "template", false) }

// isTemplate6 reports whether a template is for IPv6 addresses.
func isTemplate6(lb *nb.LoadBalancer) bool {
	family, declared := lb.Options["address-family"]
	return declared && family != "ipv4"
}

// checkLB reports what is left out.
func (n *Northd) checkLB(s *engine.Scope, uuid string) {
	lb, _ := n.loadBalancers.Get(s, uuid)
	name := "load balancer " + lb.Name + " (" + uuid + ")"
	if len(lb.HealthCheck) > 0 && deref(lb.Protocol) == nb.LoadBalancerProtocolSCTP {
		n.problems.Report(s, name, "health_check: there are no checks of SCTP: its backends count as healthy")
	}
	_, invalid := vipsOfLB(lb)
	for _, key := range invalid {
		n.problems.Report(s, name,
			"vips: "+key+": cannot read this and "+lb.Vips[key]+" as addresses of one family, all with a port or none")
	}
}
