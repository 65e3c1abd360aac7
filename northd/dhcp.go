package northd

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
)

type dhcpFacts struct {
	dhcpOptions *engine.Input[string, *nb.DHCPOptions]
}

// dhcpReply is what a chassis answers to a client that is offered an address.
type dhcpReply struct {
	put    string // the action that turns the request into a reply
	ethSrc string // the server's Ethernet address
	ipSrc  string // and its IP address
}

// dhcpFamily is what differs between DHCPv4 and DHCPv6.
type dhcpFamily struct {
	protocol protocol
	reply    func(p *nb.LogicalSwitchPort, d *nb.DHCPOptions, offer netip.Addr) (dhcpReply, bool, error)
	request  func(dhcpReply, netip.Addr) string // matches requests, but for their sender
	// replied matches the transformed request, here on the chassis where a
	// match of that is asked for.
	replied  func(here string) string
	respond  func(dhcpReply) string // sends the reply
	incoming func(dhcpReply) string // matches replies on their way out
}

var dhcp4 = dhcpFamily{
	protocol: protoDHCPv4,
	reply:    dhcp4Reply,
	request: func(r dhcpReply, offer netip.Addr) string {
		return "(ip4.src == {" + offer.String() + ", 0.0.0.0} && ip4.dst == {" + r.ipSrc + ", 255.255.255.255}) && udp.src == 68 && udp.dst == 67"
	},
	replied: func(here string) string {
		return "ip4 && udp.src == 68 && udp.dst == 67 && " + bitDHCPReplied + here
	},
	respond: func(r dhcpReply) string {
		return "eth.dst = eth.src; eth.src = " + r.ethSrc + "; ip4.src = " + r.ipSrc + "; udp.src = 67; udp.dst = 68; outport = inport; flags.loopback = 1; output;"
	},
	incoming: func(r dhcpReply) string {
		return "eth.src == " + r.ethSrc + " && ip4.src == " + r.ipSrc + " && udp && udp.src == 67 && udp.dst == 68"
	},
}

const matchDHCP6 = "ip6.mcast && ip6.dst == ff02::1:2 && udp.src == 546 && udp.dst == 547"

var dhcp6 = dhcpFamily{
	protocol: protoDHCPv6,
	reply:    dhcp6Reply,
	request:  func(dhcpReply, netip.Addr) string { return matchDHCP6 },
	replied:  func(here string) string { return matchDHCP6 + here + " && " + bitDHCPReplied },
	respond: func(r dhcpReply) string {
		return "eth.dst = eth.src; eth.src = " + r.ethSrc + "; ip6.dst = ip6.src; ip6.src = " + r.ipSrc +
			"; udp.src = 547; udp.dst = 546; outport = inport; flags.loopback = 1; output;"
	},
	incoming: func(r dhcpReply) string {
		return "eth.src == " + r.ethSrc + " && ip6.src == " + r.ipSrc + " && udp && udp.src == 547 && udp.dst == 546"
	},
}

// bitDHCPReplied is set where the request has become a reply.
const bitDHCPReplied = "reg0[3]"

// dhcp answers the DHCP requests of the port. Those of an external port come in
// from the physical network and are answered where the port is bound.
func (f *portFlows) dhcp(addrs []address, name string) {
	p := f.p
	if !isEnabled(p) || p.Type == "router" {
		return
	}
	if p.Dhcpv4Options != nil {
		f.dhcpOf(&dhcp4, *p.Dhcpv4Options, addrs, name)
	}
	if p.Dhcpv6Options != nil {
		f.dhcpOf(&dhcp6, *p.Dhcpv6Options, addrs, name)
	}
}

func (f *portFlows) dhcpOf(family *dhcpFamily, options string, addrs []address, name string) {
	d, ok := f.n.dhcpOptions.Get(f.s, options)
	if !ok {
		return
	}
	inports, here := []string{f.p.Name}, ""
	external := f.p.Type == "external"
	if external {
		if f.p.HaChassisGroup == nil {
			return
		}
		inports, here = f.localnets(), " && is_chassis_resident("+name+")"
	}
	meter := f.n.meterFor.Get(f.s, control{f.ls, family.protocol})
	for _, a := range addrs {
		offer, r, ok := f.offer(family, d, a)
		if !ok {
			continue
		}
		for _, in := range inports {
			want := func(fl flows.Flow) {
				f.n.emit(f.s, fl, f.set, flows.Attrs{Hint: flows.Hint(d.UUID), Port: in})
			}
			from := "inport == " + flows.Quote(in) + " && eth.src == " + a.MAC + " && "
			want(flows.Flow{Stage: flows.SwitchInDHCPOptions, Priority: 100, Meter: meter,
				Match: from + family.request(r, offer) + here, Actions: r.put})
			want(flows.Flow{Stage: flows.SwitchInDHCPResponse, Priority: 100,
				Match: from + family.replied(here), Actions: family.respond(r)})
			if !external {
				// No rule keeps a port from the replies that it is sent.
				want(flows.Flow{Stage: flows.SwitchOutACLEval, Priority: 34000,
					Match: f.out + " && " + family.incoming(r), Actions: "reg8[16] = 1; next;"})
			}
		}
	}
}

// offer is the first of a port's addresses that the options are for.
func (f *portFlows) offer(family *dhcpFamily, d *nb.DHCPOptions, a address) (netip.Addr, dhcpReply, bool) {
	ips := a.IP6
	if family == &dhcp4 {
		ips = nil
		for _, s := range a.IP4 {
			if ip, err := netip.ParseAddr(s); err == nil {
				ips = append(ips, ip)
			}
		}
	}
	for _, ip := range ips {
		r, ok, err := family.reply(f.p, d, ip)
		if err != nil {
			f.n.problems.Report(f.s, portName(f.p), fmt.Sprintf("DHCP options %s: %v", d.UUID, err))
		}
		if ok {
			return ip, r, true
		}
	}
	return netip.Addr{}, dhcpReply{}, false
}

// localnets are the names of the switch's ports to physical networks.
func (f *portFlows) localnets() []string {
	var names []string
	for uuid := range f.n.traitPorts.Of(f.s, switchTrait{f.ls, hasLocalnet}) {
		if ln, ok := f.n.nb.ports.Get(f.s, uuid); ok {
			names = append(names, ln.Name)
		}
	}
	return names
}

// dhcp4Reply is the answer to a DHCPv4 client; not ok where the address that it
// is offered is not of the options' network.
func dhcp4Reply(p *nb.LogicalSwitchPort, d *nb.DHCPOptions, offer netip.Addr) (r dhcpReply, ok bool, err error) {
	network, mask, ok := parseMasked(d.Cidr)
	if !ok || !network.Is4() {
		return r, false, fmt.Errorf("cidr %q is not an IPv4 network", d.Cidr)
	}
	if !sameNetwork(network, offer, mask) {
		return r, false, nil
	}
	for _, k := range [...]string{"server_id", "server_mac", "lease_time"} {
		if _, ok := d.Options[k]; !ok {
			return r, false, fmt.Errorf("options:%s is missing", k)
		}
	}
	options := maps.Clone(d.Options)
	delete(options, "server_mac")
	if host, ok := p.Options["hostname"]; ok {
		options["hostname"] = host
	}
	args := []string{"offerip = " + offer.String()}
	netmask := "netmask = " + mask.String()
	for _, k := range slices.Sorted(maps.Keys(options)) {
		if k >= "netmask" && netmask != "" {
			args, netmask = append(args, netmask), ""
		}
		args = append(args, k+" = "+options[k])
	}
	return dhcpReply{
		put:    bitDHCPReplied + " = put_dhcp_opts(" + strings.Join(args, ", ") + "); next;",
		ethSrc: d.Options["server_mac"],
		ipSrc:  d.Options["server_id"],
	}, true, nil
}

// dhcp6Reply is the answer to a DHCPv6 client. The server's address is the link
// local one of its Ethernet address.
func dhcp6Reply(_ *nb.LogicalSwitchPort, d *nb.DHCPOptions, offer netip.Addr) (r dhcpReply, ok bool, err error) {
	network, mask, ok := parseMasked(d.Cidr)
	if !ok || !network.Is6() {
		return r, false, fmt.Errorf("cidr %q is not an IPv6 network", d.Cidr)
	}
	if !sameNetwork(network, offer, mask) {
		return r, false, nil
	}
	id, ok := d.Options["server_id"]
	if !ok {
		return r, false, fmt.Errorf("options:server_id is missing")
	}
	m, ok := parseMAC(id)
	if !ok {
		return r, false, fmt.Errorf("options:server_id %q is not an Ethernet address", id)
	}
	var args []string
	if !optBool(d.Options, "dhcpv6_stateless", false) {
		args = append(args, "ia_addr = "+offer.String())
	}
	for _, k := range slices.Sorted(maps.Keys(d.Options)) {
		if k != "dhcpv6_stateless" {
			args = append(args, k+" = "+d.Options[k])
		}
	}
	return dhcpReply{
		put:    bitDHCPReplied + " = put_dhcpv6_opts(" + strings.Join(args, ", ") + "); next;",
		ethSrc: id,
		ipSrc:  linkLocal(m).String(),
	}, true, nil
}

// linkLocal is the address that an interface gives itself, RFC 4291 appendix A.
func linkLocal(m mac) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]})
}

// parseMasked reads ADDRESS[/LENGTH] or ADDRESS/MASK.
func parseMasked(s string) (ip, mask netip.Addr, ok bool) {
	addr, suffix, masked := strings.Cut(s, "/")
	ip, err := netip.ParseAddr(addr)
	if err != nil || ip.Zone() != "" {
		return ip, mask, false
	}
	if !masked {
		return ip, maskOf(ip, ip.BitLen()), true
	}
	if m, err := netip.ParseAddr(suffix); err == nil {
		return ip, m, m.BitLen() == ip.BitLen() && m.Zone() == ""
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return ip, mask, false
	}
	return ip, maskOf(ip, p.Bits()), true
}

// maskOf is the mask of a prefix length of ip's family.
func maskOf(ip netip.Addr, bits int) netip.Addr {
	b := make([]byte, ip.BitLen()/8)
	for i := range bits {
		b[i/8] |= 0x80 >> (i % 8)
	}
	mask, _ := netip.AddrFromSlice(b)
	return mask
}

// sameNetwork reports whether two addresses agree where the mask has ones.
func sameNetwork(a, b, mask netip.Addr) bool {
	x, y, m := a.As16(), b.As16(), mask.As16()
	if a.Is4() {
		clear(m[:12])
	}
	for i := range m {
		if (x[i]^y[i])&m[i] != 0 {
			return false
		}
	}
	return true
}
