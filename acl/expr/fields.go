package expr

import "fmt"

// Field is one of the values that a packet has. The symbols of the language are
// names for these, for bits of them, and for expressions over them.
type Field uint8

const (
	XXReg0 Field = iota // reg0 (high bits) to reg3
	XXReg1              // reg4 to reg7
	XReg4               // reg8 and reg9
	Flags
	PktMark
	CTState
	CTMark
	CTLabel
	EthSrc
	EthDst
	EthType
	VLANTCI
	IPProto
	IPDSCP
	IPECN
	IPTTL
	IPFrag // bit 0: a fragment; bit 1: not the first one
	IP4Src
	IP4Dst
	IP6Src
	IP6Dst
	IP6Label
	ARPOp // of RARP too
	ARPSPA
	ARPTPA
	ARPSHA
	ARPTHA
	TCPSrc
	TCPDst
	TCPFlags
	UDPSrc
	UDPDst
	SCTPSrc
	SCTPDst
	ICMP4Type
	ICMP4Code
	ICMP6Type
	ICMP6Code
	NDTarget
	NDSLL
	NDTLL
	numInts

	Inport Field = iota - 1 // string, as are those that follow
	Outport
	numFields
)

const numStrings = numFields - numInts

// fieldSpecs are the whole fields. A nominal one is what Open vSwitch cannot
// match bit by bit.
var fieldSpecs = []struct {
	name    string
	field   Field
	width   int
	measure Measure
	prereq  string
}{
	{"inport", Inport, 0, Nominal, ""},
	{"outport", Outport, 0, Nominal, ""},
	{"xxreg0", XXReg0, 128, Ordinal, ""},
	{"xxreg1", XXReg1, 128, Ordinal, ""},
	{"xreg4", XReg4, 64, Ordinal, ""},
	{"flags", Flags, 32, Ordinal, ""},
	{"pkt.mark", PktMark, 32, Ordinal, ""},
	{"ct_state", CTState, 32, Ordinal, ""},
	{"ct_mark", CTMark, 32, Ordinal, ""},
	{"ct_label", CTLabel, 128, Ordinal, ""},
	{"eth.src", EthSrc, 48, Ordinal, ""},
	{"eth.dst", EthDst, 48, Ordinal, ""},
	{"eth.type", EthType, 16, Nominal, ""},
	{"vlan.tci", VLANTCI, 16, Ordinal, ""},
	{"ip.proto", IPProto, 8, Nominal, "ip"},
	{"ip.dscp", IPDSCP, 6, Nominal, "ip"},
	{"ip.ecn", IPECN, 2, Nominal, "ip"},
	{"ip.ttl", IPTTL, 8, Nominal, "ip"},
	{"ip.frag", IPFrag, 2, Ordinal, "ip"},
	{"ip4.src", IP4Src, 32, Ordinal, "ip4"},
	{"ip4.dst", IP4Dst, 32, Ordinal, "ip4"},
	{"ip6.src", IP6Src, 128, Ordinal, "ip6"},
	{"ip6.dst", IP6Dst, 128, Ordinal, "ip6"},
	{"ip6.label", IP6Label, 20, Ordinal, "ip6"},
	{"arp.op", ARPOp, 16, Nominal, "arp"},
	{"arp.spa", ARPSPA, 32, Ordinal, "arp"},
	{"arp.sha", ARPSHA, 48, Ordinal, "arp"},
	{"arp.tpa", ARPTPA, 32, Ordinal, "arp"},
	{"arp.tha", ARPTHA, 48, Ordinal, "arp"},
	{"rarp.op", ARPOp, 16, Nominal, "rarp"},
	{"rarp.spa", ARPSPA, 32, Ordinal, "rarp"},
	{"rarp.sha", ARPSHA, 48, Ordinal, "rarp"},
	{"rarp.tpa", ARPTPA, 32, Ordinal, "rarp"},
	{"rarp.tha", ARPTHA, 48, Ordinal, "rarp"},
	{"icmp4.type", ICMP4Type, 8, Nominal, "icmp4"},
	{"icmp4.code", ICMP4Code, 8, Nominal, "icmp4"},
	{"icmp6.type", ICMP6Type, 8, Nominal, "icmp6"},
	{"icmp6.code", ICMP6Code, 8, Nominal, "icmp6"},
	{"nd.target", NDTarget, 128, Ordinal, "nd"},
	{"nd.sll", NDSLL, 48, Ordinal, "nd_ns"},
	{"nd.tll", NDTLL, 48, Ordinal, "nd_na"},
	{"tcp.src", TCPSrc, 16, Ordinal, "tcp"},
	{"tcp.dst", TCPDst, 16, Ordinal, "tcp"},
	{"tcp.flags", TCPFlags, 12, Ordinal, "tcp"},
	{"udp.src", UDPSrc, 16, Ordinal, "udp"},
	{"udp.dst", UDPDst, 16, Ordinal, "udp"},
	{"sctp.src", SCTPSrc, 16, Ordinal, "sctp"},
	{"sctp.dst", SCTPDst, 16, Ordinal, "sctp"},
}

// subfieldSpecs are the named bit ranges of whole fields.
var subfieldSpecs = []struct {
	name   string
	of     string
	lo, hi int
	prereq string
}{
	{"flags.loopback", "flags", 0, 0, ""},
	{"flags.force_snat_for_dnat", "flags", 2, 2, ""},
	{"flags.force_snat_for_lb", "flags", 3, 3, ""},
	{"flags.skip_snat_for_lb", "flags", 9, 9, ""},
	{"flags.use_snat_zone", "flags", 11, 11, ""},
	{"flags.localnet", "flags", 15, 15, ""},
	{"flags.tunnel_rx", "flags", 16, 16, ""},
	{"flags.icmp_snat", "flags", 17, 17, ""},
	{"flags.from_ctrl", "flags", 19, 19, ""},
	{"flags.unsnat_new", "flags", 20, 20, ""},
	{"flags.unsnat_not_tracked", "flags", 21, 21, ""},
	{"flags.igmp_loopback", "flags", 22, 22, ""},
	{"flags.pkt_sampled", "flags", 23, 23, ""},
	{"flags.network_id", "flags", 28, 31, ""},

	{"ct_mark.blocked", "ct_mark", 0, 0, ""},
	{"ct_mark.natted", "ct_mark", 1, 1, ""},
	{"ct_mark.skip_snat", "ct_mark", 2, 2, ""},
	{"ct_mark.force_snat", "ct_mark", 3, 3, ""},
	{"ct_mark.obs_stage", "ct_mark", 4, 5, ""},
	{"ct_mark.allow_established", "ct_mark", 6, 6, ""},
	{"ct_mark.obs_collector_id", "ct_mark", 16, 23, ""},
	{"ct_mark.ecmp_reply_port", "ct_mark", 16, 31, ""},

	{"ct_label.nf", "ct_label", 7, 7, ""},
	{"ct_label.tun_if", "ct_label", 8, 8, ""},
	{"ct_label.nf_id", "ct_label", 17, 24, ""},
	{"ct_label.ecmp_reply_eth", "ct_label", 32, 79, ""},
	{"ct_label.acl_id", "ct_label", 80, 95, ""},
	{"ct_label.tun_if_id", "ct_label", 80, 95, ""},
	{"ct_label.label", "ct_label", 96, 127, ""},
	{"ct_label.obs_point_id", "ct_label", 96, 127, ""},
	{"ct_label.obs_unused", "ct_label", 0, 95, ""},

	{"ct.trk", "ct_state", 5, 5, ""},
	{"ct.new", "ct_state", 0, 0, "ct.trk"},
	{"ct.est", "ct_state", 1, 1, "ct.trk"},
	{"ct.rel", "ct_state", 2, 2, "ct.trk"},
	{"ct.rpl", "ct_state", 3, 3, "ct.trk"},
	{"ct.inv", "ct_state", 4, 4, "ct.trk"},
	{"ct.snat", "ct_state", 6, 6, "ct.trk"},
	{"ct.dnat", "ct_state", 7, 7, "ct.trk"},

	{"eth.mcast", "eth.dst", 40, 40, ""},
	{"vlan.pcp", "vlan.tci", 13, 15, "vlan.present"},
	{"vlan.vid", "vlan.tci", 0, 11, "vlan.present"},
}

// predicateSpecs are the names for expressions. They are defined in this order,
// each together with the fields that have it as a prerequisite.
var predicateSpecs = []struct{ name, expansion string }{
	{"eth.bcast", "eth.dst == ff:ff:ff:ff:ff:ff"},
	{"eth.mcastv6", "eth.dst[32..47] == 0x3333"},
	{"vlan.present", "vlan.tci[12]"},
	{"ip4", "eth.type == 0x800"},
	{"ip6", "eth.type == 0x86dd"},
	{"ip", "ip4 || ip6"},
	{"arp", "eth.type == 0x806"},
	{"rarp", "eth.type == 0x8035"},

	{"ip.is_frag", "ip.frag[0]"},
	{"ip.later_frag", "ip.frag[1]"},
	{"ip.first_frag", "ip.is_frag && !ip.later_frag"},

	{"ip4.src_mcast", "ip4.src[28..31] == 0xe"},
	{"ip4.mcast", "eth.mcast && ip4.dst[28..31] == 0xe"},
	{"igmp", "ip4.mcast && ip.proto == 2"},

	{"ip6.mcast_rsvd", "ip6.dst[116..127] == 0xff0 && ip6.dst[0..111] == 0"},
	{"ip6.mcast_all_nodes", "ip6.dst == {ff01::1, ff02::1}"},
	{"ip6.mcast_all_rtrs", "ip6.dst == {ff01::2, ff02::2, ff05::2}"},
	{"ip6.mcast_sol_node", "ip6.dst == ff02::1:ff00:0/104"},
	{"ip6.mcast_flood", "eth.mcastv6 && (ip6.mcast_rsvd || ip6.mcast_all_nodes || ip6.mcast_all_rtrs || ip6.mcast_sol_node)"},
	{"ip6.mcast", "eth.mcastv6 && ip6.dst[120..127] == 0xff"},

	{"icmp4", "ip4 && ip.proto == 1"},
	{"icmp6", "ip6 && ip.proto == 58"},
	{"icmp", "icmp4 || icmp6"},
	{"tcp", "ip.proto == 6"},
	{"udp", "ip.proto == 17"},
	{"sctp", "ip.proto == 132"},

	{"nd", "icmp6.type == {135, 136} && icmp6.code == 0 && ip.ttl == 255"},
	{"nd_ns", "icmp6.type == 135 && icmp6.code == 0 && ip.ttl == 255"},
	{"nd_ns_mcast", "ip6.mcast && nd_ns"},
	{"nd_na", "icmp6.type == 136 && icmp6.code == 0 && ip.ttl == 255"},
	{"nd_rs", "icmp6.type == 133 && icmp6.code == 0 && ip.ttl == 255"},
	{"nd_ra", "icmp6.type == 134 && icmp6.code == 0 && ip.ttl == 255"},
	{"mldv1", "eth.mcastv6 && ip6.src == fe80::/10 && icmp6.type == {130, 131, 132}"},
	{"mldv2", "eth.mcastv6 && ip6.dst == ff02::16 && icmp6.type == 143"},
}

// actionSpecs are the fields that only actions can use.
var actionSpecs = []struct {
	name  string
	width int
}{
	{"icmp4.frag_mtu", 16},
	{"icmp6.frag_mtu", 32},
}

// symbols is the language's vocabulary. It is complete before main and never
// changes.
var symbols = newSymbols()

func newSymbols() symbolTable {
	t := symbolTable{}
	addFields := func(prereq string) {
		for _, f := range fieldSpecs {
			if f.prereq == prereq {
				t[f.name] = &Symbol{Name: f.name, Width: f.width, Measure: f.measure, field: f.field, prereq: t.prereq(prereq)}
			}
		}
	}
	addSubfields := func(prereq string) {
		for _, s := range subfieldSpecs {
			if s.prereq == prereq {
				t.subfield(s.name, s.of, s.lo, s.hi).prereq = t.prereq(prereq)
			}
		}
	}
	addFields("")
	t.registers()
	addSubfields("")
	addSubfields("ct.trk")
	for _, p := range predicateSpecs {
		n := t.define(p.name, p.expansion)
		t[p.name] = &Symbol{Name: p.name, Width: 1, Measure: measure(n), expansion: n}
		addFields(p.name)
		addSubfields(p.name)
	}
	for _, a := range actionSpecs {
		t[a.name] = &Symbol{Name: a.name, Width: a.width, action: true}
	}
	return t
}

// prereq returns the expression that a prerequisite's name stands for.
func (t symbolTable) prereq(name string) Node {
	if name == "" {
		return nil
	}
	return t.define(name, name)
}

// subfield adds a name for bits lo to hi of a field that is in the table.
func (t symbolTable) subfield(name, of string, lo, hi int) *Symbol {
	p := t[of]
	s := &Symbol{Name: name, Width: hi - lo + 1, Measure: Ordinal, field: p.field, ofs: p.ofs + lo}
	t[name] = s
	return s
}

// registers adds the registers that are parts of wider ones. The lower its
// number, the more significant the part.
func (t symbolTable) registers() {
	for i := range 4 {
		t.subfield(fmt.Sprintf("xreg%d", i), fmt.Sprintf("xxreg%d", i/2), 64*(1-i%2), 64*(1-i%2)+63)
	}
	for i := range 10 {
		t.subfield(fmt.Sprintf("reg%d", i), fmt.Sprintf("xreg%d", i/2), 32*(1-i%2), 32*(1-i%2)+31)
	}
}
