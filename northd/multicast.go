package northd

import (
	"net/netip"
	"slices"
	"strconv"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// Multicast groups of a switch and their keys, ovn-sb(5) and
// ovn-architecture(7).
const (
	mcFlood        = "_MC_flood"
	mcUnknown      = "_MC_unknown"
	mcMRouterFlood = "_MC_mrouter_flood"
	mcStatic       = "_MC_static"
	mcFloodL2      = "_MC_flood_l2"

	firstMulticastKey = 32768
	firstIPGroupKey   = firstMulticastKey + 5
	lastMulticastKey  = 65535
)

var multicastKey = map[string]int{
	mcFlood:        firstMulticastKey,
	mcUnknown:      firstMulticastKey + 1,
	mcMRouterFlood: firstMulticastKey + 2,
	mcStatic:       firstMulticastKey + 3,
	mcFloodL2:      firstMulticastKey + 4,
}

// mcastGroup names a multicast group of a switch's datapath. IP groups, which
// chassis have learned, have their address for a name.
type mcastGroup struct {
	Datapath, Name string
}

// snooping is how a switch treats IP multicast.
type snooping struct {
	Enabled           bool // other_config:mcast_snoop
	FloodUnregistered bool // other_config:mcast_flood_unregistered
	FloodStatic       bool // a port has options:mcast_flood
	SparesRouters     bool // other_config:broadcast-arps-to-all-routers is false
}

func snoopingOf(ls *nb.LogicalSwitch) snooping {
	s := snooping{Enabled: optBool(ls.OtherConfig, "mcast_snoop", false)}
	s.SparesRouters = !optBool(ls.OtherConfig, "broadcast-arps-to-all-routers", true)
	s.FloodUnregistered = s.Enabled && optBool(ls.OtherConfig, "mcast_flood_unregistered", false)
	return s
}

type mcastFacts struct {
	mcastPorts    *engine.Relation[mcastGroup, string] // names of the ports in a group
	igmpPorts     *engine.Relation[mcastGroup, string] // names of the ports in a learned group
	switchOfDP    *engine.Relation[string, string]     // switches by the UUID of their datapath
	portByName    *engine.Relation[string, string]     // ports by name, of those on a switch
	portNameOf    *engine.Input[string, string]        // names by the UUID of the Port_Binding, from namePorts on
	portsNamed    bool
	igmp          *engine.Input[string, *sb.IGMPGroup] // by UUID
	mcastKeyPools portPools                            // keys of learned groups, by datapath
	mcastKeys     *engine.Signal[mcastGroup]           // the database has another key
}

func (n *Northd) defineMulticastInputs() {
	n.igmp = engine.NewInput[string, *sb.IGMPGroup](n.e)
	n.portNameOf = engine.NewInput[string, string](n.e)
	n.mcastKeyPools = portPools{}
	n.mcastKeys = engine.NewSignal[mcastGroup](n.e)
}

// defineMulticast comes before the ports, which contribute to its relations.
func (n *Northd) defineMulticast() {
	e := n.e
	n.mcastPorts = engine.NewRelation[mcastGroup, string](e, "ports of multicast groups")
	n.igmpPorts = engine.NewRelation[mcastGroup, string](e, "ports of learned groups")
	n.switchOfDP = engine.NewRelation[string, string](e, "switches by datapath")
	n.portByName = engine.NewRelation[string, string](e, "ports by name")
	engine.ForEach(e, "switch by datapath", n.nb.switches, func(s *engine.Scope, ls string) {
		n.switchOfDP.Add(s, n.datapath(s, ls), ls)
	})
	engine.ForEach(e, "learned group", n.igmp, n.deriveIGMP)
}

// namePorts fills portNameOf, which nobody asks before the first learned group: a
// network without any need not hold the names of all its ports.
func (n *Northd) namePorts() {
	if n.portsNamed {
		return
	}
	n.portsNamed = true
	for _, rows := range n.out.ports.have {
		for _, r := range rows {
			n.portNameOf.Set(r.UUID, r.LogicalPort)
		}
	}
}

func (n *Northd) observePortName(old, new *sb.PortBinding) {
	switch {
	case !n.portsNamed:
	case new == nil:
		n.portNameOf.Delete(old.UUID)
	default:
		if was, _ := n.portNameOf.Peek(new.UUID); was != new.LogicalPort {
			n.portNameOf.Set(new.UUID, new.LogicalPort)
		}
	}
}

// deriveIGMP puts the ports that a chassis has seen reports from into the
// group. Ports that get everything anyhow stay out.
func (n *Northd) deriveIGMP(s *engine.Scope, uuid string) {
	g, _ := n.igmp.Get(s, uuid)
	if g.Datapath == nil || g.Chassis == nil {
		return
	}
	ls, ok := n.snoopingSwitch(s, *g.Datapath)
	if !ok {
		return
	}
	name := g.Address
	mrouters := name == "mrouters"
	if mrouters {
		name = mcMRouterFlood
	} else if _, err := netip.ParseAddr(name); err != nil {
		return
	}
	for _, pb := range g.Ports {
		port, ok := n.portNameOf.Get(s, pb)
		if !ok || n.floods(s, port) && !mrouters {
			continue
		}
		n.igmpPorts.Add(s, mcastGroup{n.datapath(s, ls), name}, port)
	}
}

// snoopingSwitch is the switch of a datapath, if it snoops.
func (n *Northd) snoopingSwitch(s *engine.Scope, datapath string) (string, bool) {
	for ls := range n.switchOfDP.Of(s, datapath) {
		if row, ok := n.nb.switches.Get(s, ls); ok && snoopingOf(row).Enabled {
			return ls, true
		}
	}
	return "", false
}

// floods: a port gets all multicast traffic, or all reports.
func (n *Northd) floods(s *engine.Scope, name string) bool {
	for uuid := range n.portByName.Of(s, name) {
		if p, ok := n.nb.ports.Get(s, uuid); ok {
			return optBool(p.Options, "mcast_flood", false) || optBool(p.Options, "mcast_flood_reports", false)
		}
	}
	return false
}

// defineMulticastGroups comes after the ports.
func (n *Northd) defineMulticastGroups() {
	engine.ForEach(n.e, "learned ports", n.igmpPorts.Pairs(), func(s *engine.Scope, at engine.Pair[mcastGroup, string]) {
		n.mcastPorts.Add(s, at.Key, at.Elem)
	})
	engine.ForEach(n.e, "multicast group", n.mcastPorts.Keys(), n.deriveMulticastGroup)
	engine.ForEach(n.e, "learned group flows", n.igmpPorts.Keys(), n.deriveIGMPFlows)
}

func (n *Northd) deriveMulticastGroup(s *engine.Scope, g mcastGroup) {
	key, ok := multicastKey[g.Name]
	if !ok {
		key = n.mcastKey(s, g)
		if key == 0 {
			n.shortage(s, "IP multicast group "+g.Name, "no key is left for it")
			return
		}
	}
	row := &sb.MulticastGroup{Datapath: g.Datapath, Name: g.Name, TunnelKey: key}
	for name := range n.mcastPorts.Of(s, g) {
		row.Ports = append(row.Ports, n.out.ports.UUID(s, name))
	}
	slices.Sort(row.Ports) // as a server has them, which makes comparing quick
	n.out.mcast.Want(s, g.Datapath+" "+g.Name, row)
}

// mcastKey is the tunnel key of a learned group.
func (n *Northd) mcastKey(s *engine.Scope, g mcastGroup) int {
	n.mcastKeys.Await(s, g) // derive again when the database shows another
	k := n.allocate(s, n.mcastKeyPools.of(g.Datapath), g.Name, lastMulticastKey-firstIPGroupKey+1, func(int) bool { return true })
	if k == 0 {
		return 0
	}
	return firstIPGroupKey - 1 + k
}

func (n *Northd) observeMulticastGroup(_ string, old, new *sb.MulticastGroup) {
	if old != nil && new == nil {
		n.free(n.mcastKeyPools.of(old.Datapath), old.Name, old.TunnelKey-firstIPGroupKey+1)
		n.mcastKeys.Raise(mcastGroup{old.Datapath, old.Name})
	}
	if new == nil || multicastKey[new.Name] != 0 || new.TunnelKey < firstIPGroupKey {
		return
	}
	pool, key := n.mcastKeyPools.of(new.Datapath), new.TunnelKey-firstIPGroupKey+1
	again := func(name string) { n.mcastKeys.Raise(mcastGroup{new.Datapath, name}) }
	if pool.key[new.Name] != key && n.learn(pool, new.Name, key, again) {
		again(new.Name)
	}
}

// deriveIGMPFlows sends a learned group's packets to its ports, and to those
// that get all.
func (n *Northd) deriveIGMPFlows(s *engine.Scope, g mcastGroup) {
	ip, err := netip.ParseAddr(g.Name)
	if err != nil {
		return
	}
	ls, ok := n.snoopingSwitch(s, g.Datapath)
	if !ok {
		return
	}
	field := "ip4"
	if ip.Is6() {
		field = "ip6"
	}
	// What is flooded in any case needs no flow (RFC 4541 section 2.1.2).
	if ip.Is4() && ip.As4()[0] == 224 && ip.As4()[1] == 0 && ip.As4()[2] == 0 || ip.Is6() && ip == netip.MustParseAddr("ff02::1") {
		return
	}
	actions := ""
	if n.traits.Get(s, ls).Snooping.FloodStatic {
		actions = `clone { outport ="` + mcStatic + `"; output; };`
	}
	actions += "outport = " + flows.Quote(g.Name) + "; output; "
	n.emit(s, flows.Flow{
		Stage: flows.SwitchInL2Lkup, Priority: 90,
		Match: "eth.mcast && " + field + " && " + field + ".dst == " + g.Name + " ", Actions: actions,
	}, n.flows.Only(g.Datapath), flows.Attrs{})
}

// maxGroups is the number of groups that a port may be in.
const maxGroups = 5

// multicastGroups are those that a port is in, whether or not its switch snoops. They
// are written to in, which spares a list for each port.
func multicastGroups(in *[maxGroups]string, p *nb.LogicalSwitchPort) []string {
	if !isEnabled(p) || !optBool(p.Options, "receive_multicast", true) {
		return nil
	}
	groups := append(in[:0], mcFlood)
	if p.Type != "router" {
		groups = append(groups, mcFloodL2)
	}
	if isUnknown(p) {
		groups = append(groups, mcUnknown)
	}
	if optBool(p.Options, "mcast_flood_reports", false) {
		groups = append(groups, mcMRouterFlood)
	}
	if optBool(p.Options, "mcast_flood", false) {
		groups = append(groups, mcStatic)
	}
	return groups
}

// Limits of the snooping configuration, ovn-nb(5).
const (
	minMcastIdle, maxMcastIdle         = 15, 3600
	minMcastInterval, maxMcastInterval = 1, 3600
)

// ipMulticast is the IGMP and MLD snooping configuration, defaults as in
// ovn-nb(5).
func ipMulticast(datapath string, ls *nb.LogicalSwitch) *sb.IPMulticast {
	o := ls.OtherConfig
	idle := min(max(optInt(o, "mcast_idle_timeout", 300), minMcastIdle), maxMcastIdle)
	interval := min(max(optInt(o, "mcast_query_interval", idle/2), minMcastInterval), maxMcastInterval)
	return &sb.IPMulticast{
		Datapath:      datapath,
		Enabled:       ptr(optBool(o, "mcast_snoop", false)),
		Querier:       ptr(optBool(o, "mcast_querier", true)),
		TableSize:     ptr(optInt(o, "mcast_table_size", 2048)),
		IdleTimeout:   ptr(idle),
		QueryInterval: ptr(interval),
		QueryMaxResp:  ptr(optInt(o, "mcast_query_max_response", 1)),
		EthSrc:        o["mcast_eth_src"],
		Ip4Src:        o["mcast_ip4_src"],
		Ip6Src:        o["mcast_ip6_src"],
	}
}

// optInt reads a non-negative decimal option.
func optInt(o map[string]string, key string, def int) int {
	v, err := strconv.Atoi(o[key])
	if err != nil || v < 0 {
		return def
	}
	return v
}

// Sets of switches by how they treat IP multicast.
const (
	snoopingSwitches    = "switches that snoop multicast"
	registeredOnly      = "switches that drop unregistered multicast"
	registeredAndStatic = "switches that send unregistered multicast to static ports"
	floodingMulticast   = "switches that flood multicast"
	routerSparing       = "switches that flood ARP requests to all but routers"
	floodingAndStatic   = "switches that flood multicast, static ports first"
)

// multicastSets are those that a switch is in.
func (s snooping) sets() []string {
	var out []string
	if s.FloodStatic {
		out = append(out, floodingAndStatic)
	} else {
		out = append(out, floodingMulticast)
	}
	if s.SparesRouters {
		out = append(out, routerSparing)
	}
	if s.Enabled {
		out = append(out, snoopingSwitches)
		if !s.FloodUnregistered {
			if s.FloodStatic {
				out = append(out, registeredAndStatic)
			} else {
				out = append(out, registeredOnly)
			}
		}
	}
	return out
}
