package northd

import (
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

// monitorUse is a use of a monitor by a load balancer. Where several differ, the
// one with the least UUIDs decides.
type monitorUse struct {
	LB     string
	Check  string // UUID of the Load_Balancer_Health_Check
	Source string
	Zone   string
}

// monitorState is what the database has of a monitor.
type monitorState struct {
	Status  string // as the chassis reports it, "" for not yet
	Chassis string // name
}

type monitorFacts struct {
	monitorUses  *engine.Relation[monitorKey, monitorUse]
	monitorState *engine.Input[monitorKey, monitorState]
}

func (n *Northd) defineServiceMonitors() {
	n.monitorState = engine.NewInput[monitorKey, monitorState](n.e)
	n.monitorUses = engine.NewRelation[monitorKey, monitorUse](n.e, "uses of service monitors")
	engine.ForEach(n.e, "service monitors of load balancer", n.loadBalancers, n.deriveMonitorUses)
	engine.ForEach(n.e, "service monitor", n.monitorUses.Keys(), n.deriveMonitor)
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
	key, _, ok := n.monitorOf(s, lb, v, b)
	if !ok {
		return false
	}
	state, _ := n.monitorState.Get(s, key)
	return state.Status == "" || state.Status == sb.ServiceMonitorStatusOnline
}

// portNamed finds the port of any switch with a name, and the switch.
func (n *Northd) portNamed(s *engine.Scope, name string) (p *nb.LogicalSwitchPort, ls string, ok bool) {
	least := ""
	for uuid := range n.portByName.Of(s, name) {
		if least != "" && least < uuid {
			continue
		}
		if at := n.portOwner.Get(s, uuid); at != "" {
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
				n.monitorUses.Add(s, key, monitorUse{LB: uuid, Check: check, Source: m.Source, Zone: m.Zone})
			}
			if _, ls, found := n.portNamed(s, m.Port); found && m.Source != "" {
				s.Emit(n.flows.Want(monitorResponse(m.Source, mac, v.V6), n.flows.Only(n.datapath(s, ls)), flows.Attrs{Hint: flows.Hint(uuid)}))
			}
		}
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
		if use.LB == "" || u.LB < use.LB || u.LB == use.LB && u.Check < use.Check {
			use = u
		}
	}
	row := &sb.ServiceMonitor{
		Type: ptr(sb.ServiceMonitorTypeLoadBalancer), LogicalPort: key.Port, IP: key.IP, Port: key.Number, Protocol: &key.Protocol,
		SrcIP: use.Source, SrcMAC: n.options.Get(s, struct{}{}).SvcMonitorMAC,
	}
	if hc, ok := n.healthChecks.Get(s, use.Check); ok {
		row.Options = hc.Options
	}
	if use.Zone != "" {
		row.Remote = true
		options := map[string]string{}
		for k, v := range row.Options {
			options[k] = v
		}
		options["az-name"] = use.Zone
		row.Options = options
	} else {
		port, _ := n.sb.portState.Get(s, key.Port)
		have, _ := n.monitorState.Get(s, key)
		if c, ok := n.sb.chassis.Get(s, port.Chassis); ok {
			row.ChassisName = c.Name
		} else {
			row.ChassisName = have.Chassis // stays until the port is on another
		}
		// Without its port nobody would notice that the service is gone.
		if have.Status == sb.ServiceMonitorStatusOnline && !port.Up {
			row.Status = ptr(sb.ServiceMonitorStatusOffline)
		}
	}
	n.out.monitors.Want(s, monitorRowKey(row), row)
}

// monitorRowKey names a row of Service_Monitor that is for a load balancer; ""
// for others.
func monitorRowKey(r *sb.ServiceMonitor) string {
	if r.IcLearned || r.Type != nil && *r.Type != sb.ServiceMonitorTypeLoadBalancer {
		return ""
	}
	return keyOfMonitor(r).String()
}

func keyOfMonitor(r *sb.ServiceMonitor) monitorKey {
	return monitorKey{Port: r.LogicalPort, IP: r.IP, Number: r.Port, Protocol: deref(r.Protocol)}
}

// observeMonitor takes the state of a monitor.
func (n *Northd) observeMonitor(_ string, old, new *sb.ServiceMonitor) {
	if old != nil && monitorRowKey(old) != "" && (new == nil || keyOfMonitor(new) != keyOfMonitor(old)) {
		n.monitorState.Delete(keyOfMonitor(old))
	}
	if new == nil || monitorRowKey(new) == "" {
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
