package northd

import (
	"net/netip"
	"slices"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// checkPort derives the monitors that a port's health checks call for, the flows
// that answer for the addresses that they come from, and the status that the
// northbound database is told. A port that is disabled is not checked.
func (n *Northd) checkPort(s *engine.Scope, p *nb.LogicalSwitchPort, datapath string) {
	if len(p.HealthChecks) == 0 {
		return
	}
	addrs, static := n.addresses(s, p), staticAddresses(p)
	mac := n.options.Get(s, struct{}{}).SvcMonitorMAC
	for _, id := range p.HealthChecks {
		hc, ok := n.portChecks.Get(s, id)
		if !ok {
			continue
		}
		source, err := netip.ParseAddr(hc.SrcIP)
		switch {
		case err != nil || source.Zone() != "":
			n.problems.Report(s, portName(p), "health check "+id+": src_ip "+hc.SrcIP+" is not an IP address: there is no check")
			continue
		case !hasAddress(addrs, hc.Address):
			n.problems.Report(s, portName(p), "health check "+id+": "+hc.Address+" is not an address of the port: there is no check")
			continue
		}
		n.emit(s, monitorResponse(hc.SrcIP, mac, source.Is6()), n.flows.Only(datapath), flows.Attrs{Hint: flows.Hint(p.UUID)})
		if !hasAddress(static, hc.Address) {
			n.problems.Report(s, portName(p), "health check "+id+": "+hc.Address+" is an address that it was assigned: there is no check")
			continue
		}
		if !isEnabled(p) {
			continue
		}
		key := monitorKey{Port: p.Name, IP: hc.Address, Number: hc.Port, Protocol: hc.Protocol}
		n.monitorUses.Add(s, key, monitorUse{Type: sb.ServiceMonitorTypeLogicalSwitchPort, Owner: p.UUID, Check: id, Source: hc.SrcIP})
		if status, _ := n.monitorStatus(s, key, "", ""); status != "" {
			n.writes.status.Want(s, id, status)
		}
	}
}

// hasAddress reports whether an IP address, however it is written, is among a
// port's.
func hasAddress(addrs []address, s string) bool {
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(addrs, func(a address) bool {
		return slices.Contains(a.IP4, ip.String()) || slices.Contains(a.IP6, ip)
	})
}
