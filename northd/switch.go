package northd

import (
	"slices"
	"strconv"

	"northwall/acl"
	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// Sets of switches that flows are put on. A switch is in those that its traits
// say; see deriveSwitchSets.
const (
	allSwitches         = "switches"
	statefulSwitches    = "switches with a stateful ACL"
	trackedSwitches     = "switches with connection tracking"
	strictSwitches      = "switches with connection tracking that drop invalid packets"
	lenientSwitches     = "switches with connection tracking that pass invalid packets"
	filteredSwitches    = "switches with ACLs or load balancers"
	unfilteredSwitches  = "switches without ACLs and load balancers"
	ruledSwitches       = "switches with ACLs" // Variant: see tierVariant
	unruledSwitches     = "switches without ACLs"
	reallowSwitches     = "tracked switches" // Variant: see tierVariant
	taggedSwitches      = "switches that pass VLAN tags"
	untaggedSwitches    = "switches that drop VLAN tags"
	floodingSwitches    = "switches in no EVPN with unknown addresses"
	nonFloodingSwitches = "switches in no EVPN without unknown addresses"
	namingSwitches      = "switches with DNS records"
	trackedNaming       = "tracked switches with DNS records"
	untrackedNaming     = "untracked switches with DNS records"
	vtepSwitches        = "switches with VTEPs"
)

// tierVariant tells apart the sets of switches by the highest tier of an ACL
// stage.
func tierVariant(stage acl.Stage, tier uint8) uint32 { return uint32(stage)<<8 | uint32(tier) }

// trait is a property that ports give to their switch.
type trait uint8

const (
	hasUnknown  trait = iota // a port with unknown addresses
	hasLocalnet              // a port to a physical network
	hasVTEP                  // a port to a VTEP
	hasStatic                // a port that gets all multicast traffic
)

type switchTrait struct {
	Switch string
	Trait  trait
}

// switchTraits is what the flows of a switch depend on.
type switchTraits struct {
	ACLs    aclSummary
	VIP     bool // a load balancer with a virtual address
	Unknown bool
	Tagged  bool // other_config:vlan-passthru
	EVPN    evpn
	// StatelessLB is other_config:enable-stateless-acl-with-lb.
	StatelessLB bool
	ListsLB     bool // load balancers of its own, not by group

	Snooping snooping
}

// tracked: packets pass connection tracking.
func (t switchTraits) tracked() bool { return t.ACLs.Stateful || t.VIP }

// filtered: packets pass the ACL tables.
func (t switchTraits) filtered() bool { return t.ACLs.Any || t.VIP }

type switchFacts struct {
	switchesOfPort *engine.Relation[string, string]      // port to switches that list it
	traitPorts     *engine.Relation[switchTrait, string] // ports that give a trait
	requestedDP    *engine.Relation[int, string]         // switches that request a tunnel key
	switchKeyOf    *engine.Fact[string, int]             // tunnel keys, 0 for none
	traits         *engine.Fact[string, switchTraits]
	switchKeyPool  *keyPool
}

// defineMembership relates ports and ACLs to the switches and groups that list
// them.
func (n *Northd) defineMembership() {
	e := n.e
	n.switchesOfPort = engine.NewRelation[string, string](e, "switches of ports")
	n.groupsOfPort = engine.NewRelation[string, string](e, "groups of ports")
	n.ownersOfACL = engine.NewRelation[string, owner](e, "owners of ACLs")
	n.requestedDP = engine.NewRelation[int, string](e, "requested datapath keys")
	n.traitPorts = engine.NewRelation[switchTrait, string](e, "ports that give traits")
	n.groupSwitches = engine.NewRelation[string, string](e, "switches of groups")
	n.groupsOfSwitch = engine.NewRelation[string, string](e, "groups of switches")
	n.groupMembers = engine.NewRelation[groupSwitch, string](e, "ports of groups by switch")
	n.switchKeyPool = newKeyPool()

	engine.ForEach(e, "switch members", n.nb.switches, func(s *engine.Scope, uuid string) {
		ls, _ := n.nb.switches.Get(s, uuid)
		for _, p := range ls.Ports {
			n.switchesOfPort.Add(s, p, uuid)
		}
		for _, a := range ls.ACLs {
			n.ownersOfACL.Add(s, a, owner{UUID: uuid})
		}
		if key := requestedKey(ls.OtherConfig); key > 0 {
			n.requestedDP.Add(s, key, uuid)
		}
	})
	engine.ForEach(e, "group members", n.nb.groups, func(s *engine.Scope, uuid string) {
		pg, _ := n.nb.groups.Get(s, uuid)
		for _, p := range pg.Ports {
			n.groupsOfPort.Add(s, p, uuid)
		}
		for _, a := range pg.ACLs {
			n.ownersOfACL.Add(s, a, owner{UUID: uuid, Group: true})
		}
	})
	n.addressSetNames = engine.NewRelation[string, string](e, "address sets by name")
	engine.ForEach(e, "address set names", n.nb.addresses, func(s *engine.Scope, uuid string) {
		as, _ := n.nb.addresses.Get(s, uuid)
		n.addressSetNames.Add(s, as.Name, uuid)
	})
	n.assigning = engine.NewFact(e, "address assignment of switch", func(s *engine.Scope, ls string) bool {
		row, ok := n.nb.switches.Get(s, ls)
		return ok && ipamOf(row).enabled()
	})
	engine.ForEach(e, "group port", n.groupsOfPort.Pairs(), n.deriveGroupPort)
	engine.ForEach(e, "port on switch", n.switchesOfPort.Pairs(), n.derivePortOnSwitch)
}

// portOwner is the switch that a port is on, "" for none: of those that list it, the
// one with the least UUID.
func (n *Northd) portOwner(s *engine.Scope, port string) string {
	return engine.Least(s, n.switchesOfPort, port)
}

// derivePortOnSwitch relates a port to what depends on which ports there are on
// a switch, and under which names. It is one rule, as there are more ports than
// anything else.
func (n *Northd) derivePortOnSwitch(s *engine.Scope, at engine.Pair[string, string]) {
	if n.portOwner(s, at.Key) != at.Elem {
		return
	}
	if p, ok := n.nb.ports.Get(s, at.Key); ok {
		n.derivePortNames(s, p)
		n.derivePortTraits(s, at, p)
		n.deriveAddressRequest(s, at, p)
		n.derivePortRequest(s, at, p)
	}
}

// derivePortNames relates a port to the names by which others refer to it.
func (n *Northd) derivePortNames(s *engine.Scope, p *nb.LogicalSwitchPort) {
	n.portByName.Add(s, p.Name, p.UUID)
	if parent := deref(p.ParentName); parent != "" {
		n.childPorts.Add(s, parent, p.UUID)
	}
}

// derivePortTraits tells what a port makes of its switch.
func (n *Northd) derivePortTraits(s *engine.Scope, at engine.Pair[string, string], p *nb.LogicalSwitchPort) {
	if isUnknown(p) {
		n.traitPorts.Add(s, switchTrait{at.Elem, hasUnknown}, at.Key)
	}
	var groups [maxGroups]string
	if slices.Contains(multicastGroups(&groups, p), mcStatic) {
		n.traitPorts.Add(s, switchTrait{at.Elem, hasStatic}, at.Key)
	}
	for _, m := range p.MirrorRules {
		n.mirroredBy.Add(s, m, mirrored{at.Elem, at.Key})
	}
	if p.Type == "vtep" {
		n.traitPorts.Add(s, switchTrait{at.Elem, hasVTEP}, at.Key)
	}
	if p.Type == "localnet" {
		n.traitPorts.Add(s, switchTrait{at.Elem, hasLocalnet}, at.Key)
	}
}

func (n *Northd) defineSwitches() {
	n.traits = engine.NewFact(n.e, "traits of switch", func(s *engine.Scope, uuid string) switchTraits {
		ls, _ := n.nb.switches.Get(s, uuid)
		t := switchTraits{
			ACLs:    n.aclsOfSwitch.Get(s, uuid),
			VIP:     n.hasVIP(s, uuid),
			Unknown: n.traitPorts.Any(s, switchTrait{uuid, hasUnknown}),
		}
		if ls != nil {
			t.EVPN = evpnOf(ls)
			t.Tagged = optBool(ls.OtherConfig, "vlan-passthru", false)
			t.StatelessLB, t.ListsLB = isStatelessLB(ls), len(ls.LoadBalancer) > 0
			t.Snooping = snoopingOf(ls)
			t.Snooping.FloodStatic = n.traitPorts.Any(s, switchTrait{uuid, hasStatic})
		}
		return t
	})
	n.switchKeyOf = engine.NewFact(n.e, "tunnel key of switch", func(s *engine.Scope, uuid string) int {
		if ls, ok := n.nb.switches.Get(s, uuid); ok {
			return n.switchKey(s, ls)
		}
		return 0
	})
	engine.ForEach(n.e, "switch", n.nb.switches, n.deriveSwitch)
	engine.ForEach(n.e, "switch sets", n.nb.switches, n.deriveSwitchSets)
}

// datapath is the UUID of the switch's Datapath_Binding.
func (n *Northd) datapath(s *engine.Scope, ls string) string { return n.out.datapaths.UUID(s, ls) }

// deriveSwitch derives the rows that a switch has for itself.
func (n *Northd) deriveSwitch(s *engine.Scope, uuid string) {
	ls, _ := n.nb.switches.Get(s, uuid)
	key := n.switchKeyOf.Get(s, uuid)
	if key == 0 {
		n.shortage(s, switchName(ls), "no tunnel key is left for it: it is not compiled")
		return
	}
	n.out.datapaths.Want(s, uuid, &sb.DatapathBinding{
		TunnelKey:   key,
		NbUUID:      &uuid,
		Type:        ptr(sb.DatapathBindingTypeLogicalSwitch),
		ExternalIDs: datapathIDs(ls),
	})
	if vni, ok := ls.OtherConfig["dynamic-routing-vni"]; ok && !evpnOf(ls).On {
		n.problems.Report(s, switchName(ls), "other_config:dynamic-routing-vni "+vni+" is not in the range of 0 to 16777215: it is in no EVPN")
	}
	n.deriveFDBAge(s, ls)
	dp := n.datapath(s, uuid)
	n.out.ipMcast.Want(s, dp, ipMulticast(dp, ls))
}

// datapathIDs are the external_ids of a switch's datapath: its identity for
// those who know no nb_uuid, and the names to show.
func datapathIDs(ls *nb.LogicalSwitch) map[string]string {
	ids := map[string]string{"logical-switch": ls.UUID, "name": ls.Name}
	if v := ls.ExternalIDs["neutron:network_name"]; v != "" {
		ids["name2"] = v
	}
	copyKeys := func(keys ...string) {
		for _, key := range keys {
			if v, ok := ls.OtherConfig[key]; ok {
				ids[key] = v
			}
		}
	}
	copyKeys("fdb_age_threshold", "interconn-ts")
	if _, ok := ls.OtherConfig["dynamic-routing-vni"]; ok {
		copyKeys(evpnIDs[:]...)
	}
	if limit, err := strconv.ParseInt(ls.OtherConfig["ct-zone-limit"], 10, 64); err == nil && limit > 0 {
		ids["ct-zone-limit"] = strconv.FormatInt(limit, 10)
	}
	return ids
}

// switchKey is the tunnel key of a switch: the one that it requests, the one
// that it has, or the lowest free one.
func (n *Northd) switchKey(s *engine.Scope, ls *nb.LogicalSwitch) int {
	max := n.options.Get(s, struct{}{}).MaxDatapathKey
	n.sb.switchKeys.Await(s, ls.UUID) // derive again when the database shows another
	if want := requestedKey(ls.OtherConfig); want > 0 {
		if want <= max && engine.Least(s, n.requestedDP, want) == ls.UUID {
			n.request(s, n.switchKeyPool, ls.UUID, want)
			return want
		}
		n.problems.Report(s, switchName(ls), "other_config:requested-tnl-key "+strconv.Itoa(want)+" is in use or above "+strconv.Itoa(max))
	}
	return n.allocate(s, n.switchKeyPool, ls.UUID, max, func(k int) bool { return !n.requestedDP.Any(s, k) })
}

// join puts a datapath, by its UUID, into the set with the given key.
func (n *Northd) join(s *engine.Scope, key flows.SetKey, datapath string) {
	s.Emit(n.flows.Member(s.Previous(), key, datapath))
}

// deriveSwitchSets puts a switch into the sets that its traits say.
func (n *Northd) deriveSwitchSets(s *engine.Scope, uuid string) {
	t := n.traits.Get(s, uuid)
	dp := n.datapath(s, uuid)
	in := func(kind string, variant uint32) {
		n.join(s, flows.SetKey{Kind: kind, Variant: variant}, dp)
	}
	either := func(cond bool, yes, no string) {
		if cond {
			in(yes, 0)
		} else {
			in(no, 0)
		}
	}
	in(allSwitches, 0)
	n.joinMetered(s, uuid, dp, protoSvcMonitor, allSwitches, 0)
	if t.Snooping.Enabled {
		n.joinMetered(s, uuid, dp, protoIGMP, snoopingSwitches, 0)
	}
	if n.traitPorts.Any(s, switchTrait{uuid, hasVTEP}) {
		in(vtepSwitches, 0)
	}
	if n.named.Any(s, uuid) {
		in(namingSwitches, 0)
		either(t.tracked(), trackedNaming, untrackedNaming)
		n.joinMetered(s, uuid, dp, protoDNS, namingSwitches, 0)
	}
	n.join(s, flows.OnlyKey(dp), dp)
	either(t.filtered(), filteredSwitches, unfilteredSwitches)
	either(t.Tagged, taggedSwitches, untaggedSwitches)
	for _, kind := range t.evpnSets() {
		in(kind, 0)
	}
	if t.ACLs.Stateful {
		in(statefulSwitches, 0)
	}
	if t.tracked() {
		in(trackedSwitches, 0)
		either(t.StatelessLB, lenientSwitches, strictSwitches)
	}
	if t.VIP {
		in(vipSwitches, 0)
		if t.StatelessLB && t.ListsLB {
			in(statelessLBSwitches, 0)
		}
	}
	if !t.ACLs.Any {
		in(unruledSwitches, 0)
	}
	for _, kind := range t.Snooping.sets() {
		in(kind, 0)
	}
	for stage := range acl.NumStages {
		v := tierVariant(stage, t.ACLs.Tier[stage])
		if t.ACLs.Any {
			in(ruledSwitches, v)
			n.joinMetered(s, uuid, dp, protoReject, ruledSwitches, v)
		}
		if t.tracked() && stage != acl.AfterLB {
			in(reallowSwitches, v)
		}
	}
}

func switchName(ls *nb.LogicalSwitch) string {
	return "logical switch " + ls.Name + " (" + ls.UUID + ")"
}

// requestedKey reads requested-tnl-key; 0 where there is none.
func requestedKey(o map[string]string) int {
	v, ok := o["requested-tnl-key"]
	if !ok {
		return 0
	}
	k, err := strconv.Atoi(v)
	if err != nil || k < 1 {
		return 0
	}
	return k
}

// observeSwitchKey keeps the pool of datapath keys as the database has them.
func (n *Northd) observeSwitchKey(old, new *sb.DatapathBinding) {
	if new == nil {
		delete(n.fdb.keys, old.UUID)
		if who := n.keyHolder(old); n.free(n.switchKeyPool, who, old.TunnelKey) {
			n.sb.switchKeys.Raise(who)
		}
		return
	}
	n.fdb.keys[new.UUID] = new.TunnelKey
	who := n.keyHolder(new)
	if n.switchKeyPool.key[who] == new.TunnelKey {
		return
	}
	n.learn(n.switchKeyPool, who, new.TunnelKey, n.sb.switchKeys.Raise)
	n.sb.switchKeys.Raise(who)
}

// keyHolder names the holder of a datapath's key: its northbound row, or, of
// datapaths that are not ours, itself.
func (n *Northd) keyHolder(r *sb.DatapathBinding) string {
	if k := n.datapathKey(r); k != notOurs {
		return k
	}
	return r.UUID
}

func ptr[T any](v T) *T { return &v }
