package northd

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"sort"
	"strings"

	"northwall/northd/engine"
	"northwall/schema/nb"
)

// ipamConfig is a switch's address management, ovn-nb(5), "IP Address
// Assignment".
type ipamConfig struct {
	Subnet  netip.Prefix // not valid without IPv4 assignment
	Exclude string
	Prefix6 netip.Addr // not valid without IPv6 assignment
	MACOnly bool
}

func (c ipamConfig) enabled() bool { return c.Subnet.IsValid() || c.Prefix6.IsValid() || c.MACOnly }

func ipamOf(ls *nb.LogicalSwitch) ipamConfig {
	o := ls.OtherConfig
	if len(o) == 0 {
		return ipamConfig{}
	}
	c := ipamConfig{Exclude: o["exclude_ips"]}
	if p, err := netip.ParsePrefix(o["subnet"]); err == nil && p.Addr().Is4() && p.Bits() < 31 {
		c.Subnet = p.Masked()
	}
	if a, err := netip.ParseAddr(strings.TrimSuffix(o["ipv6_prefix"], "/64")); err == nil && a.Is6() {
		c.Prefix6 = a
	}
	// A subnet that is none does not make the switch one of Ethernet addresses only.
	_, subnet := o["subnet"]
	c.MACOnly = !subnet && !c.Prefix6.IsValid() && optBool(o, "mac_only", false)
	return c
}

// dynamicRequest is what an element of Logical_Switch_Port.addresses asks for.
type dynamicRequest struct {
	MAC string     // "" for one to be chosen
	IP4 netip.Addr // not valid: to be chosen
	IP6 netip.Addr
}

// parseDynamic reads "dynamic [IP] [IPV6]" or "MAC dynamic".
func parseDynamic(s string) (dynamicRequest, bool) {
	var r dynamicRequest
	if !strings.Contains(s, "dynamic") {
		return r, false // most, and quickly
	}
	words := strings.Fields(s)
	if len(words) == 2 && words[1] == "dynamic" {
		m, ok := parseMAC(words[0])
		r.MAC = m.String()
		return r, ok
	}
	if len(words) == 0 || words[0] != "dynamic" || len(words) > 3 {
		return r, false
	}
	for _, w := range words[1:] {
		ip, err := netip.ParseAddr(w)
		switch {
		case err != nil:
			return r, false
		case ip.Is4() && !r.IP4.IsValid():
			r.IP4 = ip
		case ip.Is6() && !r.IP6.IsValid():
			r.IP6 = ip
		default:
			return r, false
		}
	}
	return r, true
}

func requestOf(p *nb.LogicalSwitchPort) (dynamicRequest, bool) {
	for _, a := range p.Addresses {
		if r, ok := parseDynamic(a); ok {
			return r, true
		}
	}
	return dynamicRequest{}, false
}

// asksAddress: the northd is to choose an address of the port, or a part of one.
func asksAddress(p *nb.LogicalSwitchPort) bool {
	_, ok := requestOf(p)
	return ok
}

type ipamFacts struct {
	assigning    *engine.Fact[string, bool]                        // switches that assign addresses
	dynamicPorts *engine.Relation[string, string]                  // ports that ask for addresses, by switch
	staticAddrs  *engine.Relation[string, string]                  // IPv4 addresses that ports of a switch have
	staticMACs   *engine.Relation[string, string]                  // ports by their own Ethernet addresses
	assigned     *engine.Fact[string, map[string]string]           // by switch: dynamic_addresses by port
	dynamicOf    *engine.Fact[engine.Pair[string, string], string] // of a port on a switch
	macHolder    map[string]string                                 // chosen Ethernet addresses, and for whom
	macOf        map[string]string                                 // the reverse
}

func (n *Northd) defineIPAM() {
	e := n.e
	n.macHolder, n.macOf = map[string]string{}, map[string]string{}
	n.dynamicPorts = engine.NewRelation[string, string](e, "ports with dynamic addresses")
	n.staticAddrs = engine.NewRelation[string, string](e, "static addresses")
	n.staticMACs = engine.NewRelation[string, string](e, "static Ethernet addresses")
	n.assigned = engine.NewFactFunc(e, "addresses assigned on switch", n.assign, maps.Equal[map[string]string])
	n.dynamicOf = engine.NewFact(e, "addresses assigned to port", func(s *engine.Scope, at engine.Pair[string, string]) string {
		return n.assigned.Get(s, at.Elem)[at.Key]
	})
}

// deriveAddressRequest notes what a port asks for, and what it has for itself.
func (n *Northd) deriveAddressRequest(s *engine.Scope, at engine.Pair[string, string], p *nb.LogicalSwitchPort) {
	if !n.assigning.Get(s, at.Elem) {
		return
	}
	if asksAddress(p) {
		n.dynamicPorts.Add(s, at.Elem, at.Key)
	}
	for _, a := range staticAddresses(p) {
		n.staticMACs.Add(s, a.MAC, at.Key)
		for _, ip := range a.IP4 {
			n.staticAddrs.Add(s, at.Elem, ip)
		}
	}
}

// dynamicAddresses are those that a port of switch ls has been assigned, "" for
// none. A port that has lost its switch, "", keeps its last ones.
func (n *Northd) dynamicAddresses(s *engine.Scope, p *nb.LogicalSwitchPort, ls string) string {
	switch {
	case ls == "":
		return deref(p.DynamicAddresses)
	case !asksAddress(p):
		return ""
	}
	return n.dynamicOf.Get(s, engine.Pair[string, string]{Key: p.UUID, Elem: ls})
}

// assign gives each port of a switch that asks for it the addresses that it has
// already, if they still fit, or else the lowest free one of the subnet, with an
// Ethernet address made from it.
func (n *Northd) assign(s *engine.Scope, uuid string) map[string]string {
	ls, ok := n.nb.switches.Get(s, uuid)
	if !ok {
		return nil
	}
	cfg := ipamOf(ls)
	var ports []*nb.LogicalSwitchPort
	for id := range n.dynamicPorts.Of(s, uuid) {
		if p, ok := n.nb.ports.Get(s, id); ok {
			ports = append(ports, p)
		}
	}
	if len(ports) == 0 || !cfg.enabled() {
		return nil
	}
	sort.Slice(ports, func(i, j int) bool { return ports[i].Name < ports[j].Name })
	used := n.reserved(s, uuid, cfg)
	requests := make(map[string]dynamicRequest, len(ports))
	had := make(map[string]address, len(ports))
	ip4s := map[string]netip.Addr{}
	take := func(p *nb.LogicalSwitchPort, ip netip.Addr) bool {
		if _, taken := used[ip]; taken || !cfg.Subnet.IsValid() || !cfg.Subnet.Contains(ip) {
			return false
		}
		used[ip], ip4s[p.UUID] = p.UUID, ip
		return true
	}
	holds := map[string]netip.Addr{}
	for _, p := range ports {
		requests[p.UUID], _ = requestOf(p)
		had[p.UUID], _ = parseAddress(deref(p.DynamicAddresses))
		if len(had[p.UUID].IP4) > 0 {
			holds[p.UUID], _ = netip.ParseAddr(had[p.UUID].IP4[0])
		}
	}
	// An address that is asked for goes before one that was assigned, and what ports
	// have before others are given any.
	for _, p := range ports {
		if ip := requests[p.UUID].IP4; ip.IsValid() && ip == holds[p.UUID] {
			take(p, ip)
		}
	}
	for _, p := range ports {
		ip := requests[p.UUID].IP4
		if ip.IsValid() && cfg.Subnet.IsValid() && ip4s[p.UUID] != ip && !take(p, ip) {
			n.problems.Report(s, portName(p), fmt.Sprintf("addresses: %s is not free in subnet %s of %s: another is assigned", ip, cfg.Subnet, switchName(ls)))
		}
	}
	used[lastOf(cfg.Subnet)] = uuid // only for who asks for it
	for _, p := range ports {
		if ip := holds[p.UUID]; ip.IsValid() && !ip4s[p.UUID].IsValid() {
			take(p, ip)
		}
	}
	out := map[string]string{}
	for _, p := range ports {
		r := requests[p.UUID]
		if cfg.Subnet.IsValid() && !ip4s[p.UUID].IsValid() {
			if n.standsBy(s) {
				continue
			}
			if free := lowestFree(cfg.Subnet, used); !take(p, free) {
				n.problems.Report(s, portName(p), "subnet "+cfg.Subnet.String()+" of "+switchName(ls)+" has no free address")
				continue
			}
		}
		ip4 := ip4s[p.UUID]
		m := r.MAC
		if m == "" {
			from := ip4
			if r.IP4.IsValid() && had[p.UUID].MAC == "" {
				from = r.IP4 // as the original has it, wherever that address is not free
			}
			m = n.chooseMAC(s, p.UUID, had[p.UUID], from)
		} else {
			n.releaseMAC(p.UUID)
		}
		if m == "" {
			continue
		}
		words := []string{m}
		if ip4.IsValid() {
			words = append(words, ip4.String())
		}
		if cfg.Prefix6.IsValid() {
			ip6, within := r.IP6, netip.PrefixFrom(cfg.Prefix6, 64)
			if !ip6.IsValid() && had[p.UUID].MAC == m && len(had[p.UUID].IP6) > 0 {
				ip6 = had[p.UUID].IP6[0]
			}
			if !within.Contains(ip6) {
				ip6 = eui64(cfg.Prefix6, m)
			}
			words = append(words, ip6.String())
		}
		out[p.UUID] = strings.Join(words, " ")
	}
	return out
}

// reserved are the addresses of a subnet that are not to be given out: its own,
// the first, which a router has by custom, those excluded and those that ports have.
func (n *Northd) reserved(s *engine.Scope, ls string, cfg ipamConfig) map[netip.Addr]string {
	used := map[netip.Addr]string{}
	if !cfg.Subnet.IsValid() {
		return used
	}
	first := cfg.Subnet.Addr().Next()
	used[cfg.Subnet.Addr()], used[first] = ls, ls
	for _, w := range strings.Fields(strings.ReplaceAll(cfg.Exclude, ",", " ")) {
		from, to, isRange := strings.Cut(w, "..")
		if !isRange {
			to = from
		}
		a, err1 := netip.ParseAddr(from)
		b, err2 := netip.ParseAddr(to)
		if err1 != nil || err2 != nil {
			n.problems.Report(s, "logical switch "+ls, "other_config:exclude_ips: "+w+" is no address and no range")
			continue
		}
		for ip := a; cfg.Subnet.Contains(ip) && ip.Compare(b) <= 0; ip = ip.Next() {
			used[ip] = ls
		}
	}
	for a := range n.staticAddrs.Of(s, ls) {
		if ip, err := netip.ParseAddr(a); err == nil {
			used[ip] = ls
		}
	}
	return used
}

// lastOf is the broadcast address of an IPv4 subnet.
func lastOf(p netip.Prefix) netip.Addr {
	if !p.IsValid() {
		return netip.Addr{}
	}
	b := p.Addr().As4()
	v := binary.BigEndian.Uint32(b[:]) | 1<<(32-p.Bits()) - 1
	binary.BigEndian.PutUint32(b[:], v)
	return netip.AddrFrom4(b)
}

func lowestFree(p netip.Prefix, used map[netip.Addr]string) netip.Addr {
	for ip := p.Addr(); p.Contains(ip); ip = ip.Next() {
		if _, taken := used[ip]; !taken {
			return ip
		}
	}
	return netip.Addr{}
}

// chooseMAC is an Ethernet address of the configured prefix for a port: the one
// that it has, or the first free one above the low 24 bits of its IP address; ""
// where there is none, or none to be given out by a northd that stands by.
func (n *Northd) chooseMAC(s *engine.Scope, port string, had address, ip4 netip.Addr) string {
	prefix := n.options.Get(s, struct{}{}).MACPrefix
	free := func(m string) bool {
		holder, taken := n.macHolder[m]
		return (!taken || holder == port) && !n.staticMACs.Any(s, m)
	}
	take := func(m string) string {
		n.takeMAC(port, m)
		return m
	}
	for _, m := range [...]string{n.macOf[port], had.MAC} {
		if m != "" && strings.HasPrefix(m, prefix) && free(m) {
			return take(m)
		}
	}
	if n.standsBy(s) {
		return ""
	}
	var suffix uint32
	if ip4.IsValid() {
		b := ip4.As4()
		suffix = binary.BigEndian.Uint32(b[:]) & 0xffffff
	}
	for range 1 << 24 {
		suffix = (suffix + 1) & 0xffffff
		m := mac{byte(suffix >> 16), byte(suffix >> 8), byte(suffix)}
		full := prefix + ":" + m.String()[:8]
		if free(full) {
			return take(full)
		}
	}
	return ""
}

// releaseMAC frees the Ethernet address that was chosen for a port, if one was.
func (n *Northd) releaseMAC(port string) {
	if m, ok := n.macOf[port]; ok {
		delete(n.macHolder, m)
		delete(n.macOf, port)
	}
}

// observeMAC keeps the Ethernet addresses that the database has, and frees those
// of ports that are gone or ask for none any more.
func (n *Northd) observeMAC(uuid string, old, new *nb.LogicalSwitchPort) {
	if new == nil {
		n.releaseMAC(uuid)
		return
	}
	r, ok := requestOf(new)
	cleared := old != nil && old.DynamicAddresses != nil && new.DynamicAddresses == nil
	if !ok || r.MAC != "" || cleared {
		n.releaseMAC(uuid)
	}
	if a, has := parseAddress(deref(new.DynamicAddresses)); ok && has && r.MAC == "" {
		holder, taken := n.macHolder[a.MAC]
		switch _, standby := n.standby.Peek(struct{}{}); {
		case !taken && (n.macOf[uuid] == "" || standby):
			n.takeMAC(uuid, a.MAC)
		case taken && holder != uuid && standby:
			delete(n.macOf, holder)
			n.takeMAC(uuid, a.MAC)
			n.deriveAgain(holder)
		}
	}
}

// takeMAC records that a port has an Ethernet address, in place of its last one.
func (n *Northd) takeMAC(port, m string) {
	if old := n.macOf[port]; old != m {
		delete(n.macHolder, old)
	}
	n.macHolder[m], n.macOf[port] = port, m
}

// deriveAgain derives a northbound port again, for when what it was given is
// another's.
func (n *Northd) deriveAgain(port string) {
	if p, ok := n.nb.ports.Peek(port); ok {
		n.nb.ports.Set(port, p)
	}
}

// eui64 is the address that a host makes from a prefix and its Ethernet address,
// RFC 4291 appendix A.
func eui64(prefix netip.Addr, macText string) netip.Addr {
	m, ok := parseMAC(macText)
	if !ok {
		return netip.Addr{}
	}
	b := prefix.As16()
	copy(b[8:], []byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]})
	return netip.AddrFrom16(b)
}
