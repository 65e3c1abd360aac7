package northd

import (
	"maps"
	"strconv"
	"strings"

	"northwall/northd/engine"
	"northwall/ovsdb"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// dpKey is a tunnel key of ports of one datapath.
type dpKey struct {
	Datapath string
	Key      int
}

// portContext is what the flows of a port depend on, of its switch.
type portContext struct {
	Datapath    string
	HasLocalnet bool
	Tagged      bool // other_config:vlan-passthru
	Announces   bool // addresses to an Ethernet VPN
}

type portFacts struct {
	requestedPort *engine.Relation[dpKey, string] // ports that request a tunnel key, by name
	context       *engine.Fact[string, portContext]
	portKeyPool   portPools
	tagPool       portPools // tags of container ports, by the parent's name
}

func (n *Northd) definePorts() {
	e := n.e
	n.portKeyPool, n.tagPool = portPools{}, portPools{}
	n.requestedPort = engine.NewRelation[dpKey, string](e, "requested port keys")
	n.context = engine.NewFact(e, "context of ports", func(s *engine.Scope, ls string) portContext {
		row, _ := n.nb.switches.Get(s, ls)
		return portContext{
			Announces:   row != nil && evpnOf(row).Announce,
			Tagged:      row != nil && optBool(row.OtherConfig, "vlan-passthru", false),
			Datapath:    n.datapath(s, ls),
			HasLocalnet: n.traitPorts.Any(s, switchTrait{ls, hasLocalnet}),
		}
	})
	engine.ForEach(e, "port", n.switchesOfPort.Pairs(), n.derivePort)
}

// derivePortRequest notes the tunnel key that a port requests.
func (n *Northd) derivePortRequest(s *engine.Scope, at engine.Pair[string, string], p *nb.LogicalSwitchPort) {
	if key := requestedKey(p.Options); key > 0 {
		n.requestedPort.Add(s, dpKey{n.datapath(s, at.Elem), key}, p.Name)
	}
}

// derivePort derives all that follows from one port on one switch.
func (n *Northd) derivePort(s *engine.Scope, at engine.Pair[string, string]) {
	p, ok := n.nb.ports.Get(s, at.Key)
	if !ok {
		return
	}
	if n.portOwner(s, at.Key) != at.Elem {
		ls, _ := n.nb.switches.Get(s, at.Elem)
		n.problems.Report(s, portName(p), "is on another switch too, and not compiled for "+switchName(ls))
		return
	}
	ctx := n.context.Get(s, at.Elem)
	key := n.tunnelKeyOf(s, p, ctx.Datapath)
	if key == 0 {
		n.shortage(s, portName(p), "no tunnel key is left for it: it is not compiled")
		return
	}
	state, _ := n.sb.portState.Get(s, p.Name)
	if p.Type != "" && p.Type != "switch" && bindingType(p) == "" {
		n.problems.Report(s, portName(p), "type "+p.Type+" is not known: it counts as a VIF")
	}
	binding := n.portBinding(s, p, at.Elem, ctx, key, state)
	n.writes.up.Want(s, p.UUID, n.isUp(s, p, state))
	n.writes.dynamic.Want(s, p.UUID, n.dynamicAddresses(s, p, at.Elem))
	var groups [maxGroups]string
	for _, g := range multicastGroups(&groups, p) {
		n.mcastPorts.Add(s, mcastGroup{ctx.Datapath, g}, p.Name)
	}
	n.emitPortFlows(s, p, at.Elem, ctx, state)
	n.checkPort(s, p, ctx.Datapath)
	if ctx.Announces {
		n.announce(s, p, ctx.Datapath)
	}
	// Last: it is contributed anew each time, unlike what comes before.
	n.out.ports.Want(s, p.Name, binding)
}

// isUp is what the northbound database is told of a port. No chassis reports what
// is up in other zones.
func (n *Northd) isUp(s *engine.Scope, p *nb.LogicalSwitchPort, st portState) bool {
	return isRouterLike(p) || st.Chassis != "" && (st.Up || n.remoteChassis.Get(s, st.Chassis))
}

// portBinding is the southbound row of a port of switch ls. It is not to depend on
// the switch's row, which changes with each port and rule.
func (n *Northd) portBinding(s *engine.Scope, p *nb.LogicalSwitchPort, ls string, ctx portContext, key int, state portState) *sb.PortBinding {
	r := &sb.PortBinding{
		LogicalPort:  p.Name,
		Datapath:     ctx.Datapath,
		TunnelKey:    key,
		Type:         bindingType(p),
		MAC:          p.Addresses,
		PortSecurity: p.PortSecurity,
		ExternalIDs:  bindingIDs(p),
		Tag:          n.portTag(s, p),
		Up:           ptr(false),
	}
	r.HaChassisGroup = n.haGroup(s, p)
	r.MirrorRules = n.mirrorsOf(s, p)
	if deref(p.ParentName) != "" {
		r.ParentPort = p.ParentName
	}
	// The first that there is, is the main one.
	for name := range strings.SplitSeq(p.Options["requested-chassis"], ",") {
		if name == "" {
			continue
		}
		uuid, ok := n.chassisUUID(s, name)
		switch {
		case !ok:
		case r.RequestedChassis == nil:
			r.RequestedChassis = &uuid
		default:
			r.RequestedAdditionalChassis = append(r.RequestedAdditionalChassis, uuid)
		}
	}
	var more moreOptions
	n.place(s, p, r, state, &more)
	n.addQueue(s, p, ls, &more)
	more.add("peer", n.peerOf(s, p))
	if ctx.Tagged {
		more.add("vlan-passthru", "true")
	}
	r.Options = more.to(p.Options)
	return r
}

// bindingType is the type of a port's binding: a port to another switch is
// joined to its peer as ports to routers are. Types that no chassis knows are
// those of VIFs.
func bindingType(p *nb.LogicalSwitchPort) string {
	switch p.Type {
	case "switch":
		return "patch"
	case "", "l2gateway", "localnet", "localport", "router", "vtep", "external", "virtual", "remote":
		return p.Type
	}
	return ""
}

// peerOf is the port of another switch that a port is joined to by its peer
// column: one on a switch that says the same of this one. "" for none.
func (n *Northd) peerOf(s *engine.Scope, p *nb.LogicalSwitchPort) string {
	if p.Type != "switch" || deref(p.Peer) == "" {
		return ""
	}
	return n.joined(s, p)
}

// joined is the port that peerOf finds. By itself, as a loop over a relation takes memory
// also where it is not come to, which would be for each port.
func (n *Northd) joined(s *engine.Scope, p *nb.LogicalSwitchPort) string {
	for uuid := range n.portByName.Of(s, *p.Peer) {
		if n.portOwner(s, uuid) == "" {
			continue
		}
		if o, ok := n.nb.ports.Get(s, uuid); ok && o.Type == "switch" && deref(o.Peer) == p.Name {
			return o.Name
		}
	}
	return ""
}

// moreOptions are the options that a port's binding has beside those of the port. Most
// have none.
type moreOptions []ovsdb.KV

// add adds an option, unless its value is empty.
func (m *moreOptions) add(key, value string) {
	if value != "" {
		*m = append(*m, ovsdb.KV{Key: key, Value: value})
	}
}

// to returns the port's options with these added.
func (m moreOptions) to(options map[string]string) map[string]string {
	if len(m) == 0 {
		return options
	}
	all := make(map[string]string, len(options)+len(m))
	maps.Copy(all, options)
	for _, o := range m {
		all[o.Key] = o.Value
	}
	return all
}

func bindingIDs(p *nb.LogicalSwitchPort) map[string]string {
	name := p.ExternalIDs["neutron:port_name"]
	if name == "" {
		return p.ExternalIDs
	}
	ids := maps.Clone(p.ExternalIDs)
	ids["name"] = name
	return ids
}

// tunnelKeyOf is the tunnel key of a port: the one that it requests, the one that
// it has, or one above all that its datapath has used.
func (n *Northd) tunnelKeyOf(s *engine.Scope, p *nb.LogicalSwitchPort, datapath string) int {
	max := n.options.Get(s, struct{}{}).MaxPortKey
	pool := n.portKeyPool.of(datapath)
	n.sb.portState.Get(s, p.Name) // derive again when the database shows another
	if want := requestedKey(p.Options); want > 0 {
		if want <= max && engine.Least(s, n.requestedPort, dpKey{datapath, want}) == p.Name {
			n.request(s, pool, p.Name, want)
			pool.note(want)
			return want
		}
		n.problems.Report(s, portName(p), "options:requested-tnl-key "+strconv.Itoa(want)+" is in use or above "+strconv.Itoa(max))
	}
	return n.portKeyOf(s, p.Name, datapath)
}

// portKeyOf is the tunnel key of a port that requests none.
func (n *Northd) portKeyOf(s *engine.Scope, name, datapath string) int {
	n.sb.portState.Get(s, name)
	pool := n.portKeyPool.of(datapath)
	key := n.allocate(s, pool, name, n.options.Get(s, struct{}{}).MaxPortKey, func(k int) bool { return !n.requestedPort.Any(s, dpKey{datapath, k}) })
	pool.note(key)
	return key
}

// portTag is the VLAN tag of a port: what tag_request says, or, where that is 0
// and the port has a parent, one that no other port of the parent has.
func (n *Northd) portTag(s *engine.Scope, p *nb.LogicalSwitchPort) *int {
	tag := 0
	switch parent := deref(p.ParentName); {
	case p.TagRequest == nil:
		return p.Tag
	case *p.TagRequest != 0:
		tag = *p.TagRequest
	case parent == "":
		return p.Tag
	case p.Tag != nil:
		return p.Tag
	default:
		tag = n.allocate(s, n.tagPool.of(parent), p.UUID, maxTag, func(int) bool { return true })
		if tag == 0 {
			n.shortage(s, portName(p), "all VLAN tags of its parent "+parent+" are in use")
			return nil
		}
	}
	n.writes.tag.Want(s, p.UUID, tag)
	return ptr(tag)
}

// maxTag is the highest VLAN identifier, IEEE 802.1Q.
const maxTag = 4095

// observeTag keeps the pools of tags as the database has them.
func (n *Northd) observeTag(uuid string, old, new *nb.LogicalSwitchPort) {
	if old != nil && deref(old.ParentName) != "" && (new == nil || deref(new.ParentName) != *old.ParentName) {
		pool := n.tagPool.of(*old.ParentName)
		pool.release(uuid)
		n.sb.freedKeys.Raise(pool)
	}
	if new != nil && new.Tag != nil && deref(new.ParentName) != "" {
		n.learn(n.tagPool.of(*new.ParentName), uuid, *new.Tag, n.deriveAgain)
	}
}

func portName(p *nb.LogicalSwitchPort) string {
	return "logical switch port " + p.Name + " (" + p.UUID + ")"
}

func isEnabled(p *nb.LogicalSwitchPort) bool { return p.Enabled == nil || *p.Enabled }

// isRouterLike: the port's other side is another datapath.
func isRouterLike(p *nb.LogicalSwitchPort) bool { return p.Type == "router" || p.Type == "switch" }

// isUnknown: packets for addresses that no port is known to have go there.
func isUnknown(p *nb.LogicalSwitchPort) bool {
	if p.Type == "switch" {
		return true
	}
	for _, a := range p.Addresses {
		if a == "unknown" {
			return true
		}
	}
	return false
}

// addresses are the port's own, and those that it has been assigned.
func (n *Northd) addresses(s *engine.Scope, p *nb.LogicalSwitchPort) []address {
	out := staticAddresses(p)
	if p.DynamicAddresses == nil && !asksAddress(p) {
		return out
	}
	if a, ok := parseAddress(n.dynamicAddresses(s, p, n.portOwner(s, p.UUID))); ok {
		out = append(out, a)
	}
	return out
}

// staticAddresses are the port's own addresses, without the words that stand for
// others.
func staticAddresses(p *nb.LogicalSwitchPort) []address {
	var out []address
	for _, s := range p.Addresses {
		switch {
		case s == "unknown" || s == "router" || isDynamic(s):
		default:
			if a, ok := parseAddress(s); ok {
				out = append(out, a)
			}
		}
	}
	return out
}

// isDynamic: the northd chooses at least a part of the address.
func isDynamic(s string) bool {
	for w := range strings.FieldsSeq(s) {
		if w == "dynamic" {
			return true
		}
	}
	return false
}
