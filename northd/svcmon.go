package northd

import (
	"cmp"
	"maps"
	"net/netip"
	"strconv"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/ovsdb"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// monitorKey is what is monitored: a service on a logical port.
type monitorKey struct {
	Port     string // name
	IP       string
	Number   int
	Protocol string
}

func (k monitorKey) String() string {
	return k.Port + " " + endpoint(k.IP, strconv.Itoa(k.Number), true) + " " + k.Protocol
}

// monitorUse is what wants a monitor. Where several do, the least decides how it
// is checked.
type monitorUse struct {
	Type   sb.ServiceMonitorType
	Owner  string // UUID of the load balancer, port or network function
	Check  string // UUID of its health check
	Source string // the address that probes come from
	Zone   string // of a backend in another availability zone
	Input  string // the port that probes are sent to, where they only come out of the monitored one
}

func (u monitorUse) less(v monitorUse) bool {
	return cmp.Or(cmp.Compare(u.Type, v.Type), cmp.Compare(u.Owner, v.Owner), cmp.Compare(u.Check, v.Check)) < 0
}

// monitorState is what the database has of a monitor.
type monitorState struct {
	Status  string // as the chassis reports it, "" for not yet
	Chassis string // name
}

// learnedMonitor is a monitor that ovn-ic has made, for a load balancer of
// another availability zone.
type learnedMonitor struct {
	Port   string // name
	Source string // the address that probes come from
}

type monitorFacts struct {
	monitorUses  *engine.Relation[monitorKey, monitorUse]
	monitorState *engine.Input[monitorKey, monitorState]
	learned      *engine.Input[string, learnedMonitor] // by UUID
	portChecks   *engine.Input[string, *nb.LogicalSwitchPortHealthCheck]
}

func (n *Northd) defineServiceMonitorInputs() {
	n.monitorState = engine.NewInput[monitorKey, monitorState](n.e)
	n.learned = engine.NewInput[string, learnedMonitor](n.e)
	n.monitorUses = engine.NewRelation[monitorKey, monitorUse](n.e, "uses of service monitors")
	n.portChecks = engine.NewInput[string, *nb.LogicalSwitchPortHealthCheck](n.e)
}

func (n *Northd) defineServiceMonitors() {
	engine.ForEach(n.e, "service monitors of load balancer", n.loadBalancers, n.deriveMonitorUses)
	engine.ForEach(n.e, "service monitor", n.monitorUses.Keys(), n.deriveMonitor)
	engine.ForEach(n.e, "learned service monitor", n.learned, n.deriveLearnedMonitor)
}

// checkedVIPs are the health checks of a load balancer, by the keys of the
// virtual addresses that they are for. Chassis cannot check SCTP.
func (n *Northd) checkedVIPs(s *engine.Scope, lb *nb.LoadBalancer) map[string]string {
	if isTemplate(lb) || deref(lb.Protocol) == nb.LoadBalancerProtocolSCTP {
		return nil
	}
	var checks map[string]string
	for _, uuid := range lb.HealthCheck {
		hc, ok := n.healthChecks.Get(s, uuid)
		if !ok {
			continue
		}
		if was, ok := checks[hc.Vip]; !ok || uuid < was {
			if checks == nil {
				checks = map[string]string{}
			}
			checks[hc.Vip] = uuid
		}
	}
	return checks
}

// monitorOf tells how a backend is monitored. Backends that no mapping gives a
// port and a source address, or whose port is missing or disabled, are not.
func (n *Northd) monitorOf(s *engine.Scope, lb *nb.LoadBalancer, v vip, b backend) (monitorKey, mapping, bool) {
	m, ok := mappingOf(lb.IPPortMappings, b, v.V6)
	if !ok || m.Source == "" {
		return monitorKey{}, m, false
	}
	if m.Zone == "" {
		p, _, ok := n.portNamed(s, m.Port)
		if !ok || !isEnabled(p) {
			return monitorKey{}, m, false
		}
	}
	protocol, _ := protocolOf(lb)
	return monitorKey{Port: m.Port, IP: b.IP, Number: b.Port, Protocol: protocol}, m, true
}

// isHealthy reports whether a backend with a health check may be chosen: it is
// monitored and not known to be down.
func (n *Northd) isHealthy(s *engine.Scope, lb *nb.LoadBalancer, check string, v vip, b backend) bool {
	key, m, ok := n.monitorOf(s, lb, v, b)
	if !ok {
		return false
	}
	status, _ := n.monitorStatus(s, key, m.Zone, "")
	return status == "" || status == sb.ServiceMonitorStatusOnline
}

// monitorStatus is the status of a monitor, "" for none yet, and the chassis that
// it is for, "" where its ports are on none. A service is not online any more as
// soon as a port of it is down: without it nobody would notice that it is gone.
func (n *Northd) monitorStatus(s *engine.Scope, key monitorKey, zone, input string) (status, chassis string) {
	state, _ := n.monitorState.Get(s, key)
	if zone != "" {
		return state.Status, ""
	}
	port, _ := n.sb.portState.Get(s, key.Port)
	c, _ := n.sb.chassis.Get(s, port.Chassis)
	up := port.Up
	if input != "" {
		in, _ := n.sb.portState.Get(s, input)
		if c == nil {
			c, _ = n.sb.chassis.Get(s, in.Chassis)
		}
		up = up && in.Up
	}
	if state.Status == sb.ServiceMonitorStatusOnline && !up {
		state.Status = sb.ServiceMonitorStatusOffline
	}
	if c == nil {
		return state.Status, ""
	}
	return state.Status, c.Name
}

// portNamed finds the port of any switch with a name, and the switch.
func (n *Northd) portNamed(s *engine.Scope, name string) (p *nb.LogicalSwitchPort, ls string, ok bool) {
	least := ""
	for uuid := range n.portByName.Of(s, name) {
		if least != "" && least < uuid {
			continue
		}
		if at := n.portOwner(s, uuid); at != "" {
			if q, found := n.nb.ports.Get(s, uuid); found {
				p, ls, ok, least = q, at, true, uuid
			}
		}
	}
	return p, ls, ok
}

// deriveMonitorUses derives the monitors that a load balancer needs, and the
// flows that answer for the addresses that its health checks come from.
func (n *Northd) deriveMonitorUses(s *engine.Scope, uuid string) {
	lb, _ := n.loadBalancers.Get(s, uuid)
	checks := n.checkedVIPs(s, lb)
	if len(checks) == 0 {
		return
	}
	mac := n.options.Get(s, struct{}{}).SvcMonitorMAC
	valid, _ := vipsOfLB(lb)
	for _, v := range valid {
		check, ok := checks[v.Key]
		if !ok {
			continue
		}
		for _, b := range v.Backends {
			key, m, ok := n.monitorOf(s, lb, v, b)
			if ok {
				n.monitorUses.Add(s, key, monitorUse{Type: sb.ServiceMonitorTypeLoadBalancer, Owner: uuid, Check: check, Source: m.Source, Zone: m.Zone})
			}
			if _, ls, found := n.portNamed(s, m.Port); found && m.Source != "" {
				n.emit(s, monitorResponse(m.Source, mac, v.V6), n.flows.Only(n.datapath(s, ls)), flows.Attrs{Hint: flows.Hint(uuid)})
			}
		}
	}
}

// deriveLearnedMonitor derives the flow that answers for the address that the
// checks of another zone's load balancer come from.
func (n *Northd) deriveLearnedMonitor(s *engine.Scope, uuid string) {
	m, _ := n.learned.Get(s, uuid)
	source, err := netip.ParseAddr(m.Source)
	if err != nil {
		return
	}
	if _, ls, ok := n.portNamed(s, m.Port); ok {
		mac := n.options.Get(s, struct{}{}).SvcMonitorMAC
		n.emit(s, monitorResponse(m.Source, mac, source.Is6()), n.flows.Only(n.datapath(s, ls)), flows.Attrs{})
	}
}

// monitorResponse answers requests for the address that health checks come from.
func monitorResponse(source, mac string, v6 bool) flows.Flow {
	f := flows.Flow{Stage: flows.SwitchInARPRsp, Priority: 110}
	if v6 {
		f.Match = "nd_ns && nd.target == " + source
		f.Actions = "nd_na { eth.dst = eth.src; eth.src = " + mac + "; ip6.src = " + source + "; nd.target = " + source +
			"; nd.tll = " + mac + "; outport = inport; flags.loopback = 1; output; };"
		return f
	}
	f.Match = "arp.tpa == " + source + " && arp.op == 1"
	f.Actions = arpReply(source, mac)
	return f
}

// arpReply turns an ARP request for ip into the reply.
func arpReply(ip, mac string) string {
	return "eth.dst = eth.src; eth.src = " + mac + "; arp.op = 2; /* ARP reply */ arp.tha = arp.sha; arp.sha = " + mac +
		"; arp.tpa = arp.spa; arp.spa = " + ip + "; outport = inport; flags.loopback = 1; output;"
}

// deriveMonitor derives the row that tells the port's chassis to monitor a
// service.
func (n *Northd) deriveMonitor(s *engine.Scope, key monitorKey) {
	var use monitorUse
	for u := range n.monitorUses.Of(s, key) {
		if use.Owner == "" || u.less(use) {
			use = u
		}
	}
	opt := n.options.Get(s, struct{}{})
	row := &sb.ServiceMonitor{
		Type: &use.Type, LogicalPort: key.Port, LogicalInputPort: use.Input, IP: key.IP, Port: key.Number, Protocol: &key.Protocol,
		SrcIP: use.Source, SrcMAC: opt.SvcMonitorMAC, Options: n.checkOptions(s, use),
	}
	if use.Type == sb.ServiceMonitorTypeNetworkFunction {
		row.MAC = opt.SvcMonitorMACDst
	}
	have, _ := n.monitorState.Get(s, key)
	status, chassis := n.monitorStatus(s, key, use.Zone, use.Input)
	if status != have.Status {
		row.Status = &status
	}
	if use.Zone != "" {
		row.Remote = true
		row.Options = maps.Clone(row.Options)
		if row.Options == nil {
			row.Options = map[string]string{}
		}
		row.Options["az-name"] = use.Zone
	} else {
		row.ChassisName = cmp.Or(chassis, have.Chassis) // stays until the port is on another
	}
	n.out.monitors.Want(s, key.String(), row)
}

// checkOptions are the options of the health check that a monitor is for.
func (n *Northd) checkOptions(s *engine.Scope, use monitorUse) map[string]string {
	switch use.Type {
	case sb.ServiceMonitorTypeLogicalSwitchPort:
		if hc, ok := n.portChecks.Get(s, use.Check); ok {
			return hc.Options
		}
	case sb.ServiceMonitorTypeNetworkFunction:
		if hc, ok := n.nfChecks.Get(s, use.Check); ok {
			return hc.Options
		}
	default:
		if hc, ok := n.healthChecks.Get(s, use.Check); ok {
			return hc.Options
		}
	}
	return nil
}

func keyOfMonitor(r *sb.ServiceMonitor) monitorKey {
	return monitorKey{Port: r.LogicalPort, IP: r.IP, Number: r.Port, Protocol: deref(r.Protocol)}
}

// observeMonitor takes the state of a monitor.
func (n *Northd) observeMonitor(uuid string, old, new *sb.ServiceMonitor) {
	if new != nil && new.IcLearned {
		n.learned.Set(uuid, learnedMonitor{Port: new.LogicalPort, Source: new.SrcIP})
	} else {
		n.learned.Delete(uuid)
	}
	if old != nil && (new == nil || keyOfMonitor(new) != keyOfMonitor(old)) {
		n.monitorState.Delete(keyOfMonitor(old))
	}
	if new == nil {
		return
	}
	key, state := keyOfMonitor(new), monitorState{Status: deref(new.Status), Chassis: new.ChassisName}
	// That it has neither yet is no news.
	if was, _ := n.monitorState.Peek(key); was != state {
		n.monitorState.Set(key, state)
	}
}

// mendMonitor writes the status that a monitor must not keep.
func mendMonitor(txn *ovsdb.Txn, have, want *sb.ServiceMonitor) {
	if want.Status != nil && deref(have.Status) != *want.Status {
		txn.Update("Service_Monitor", have.UUID).String("status", *want.Status)
	}
}
