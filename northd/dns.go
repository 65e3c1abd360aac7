package northd

import (
	"strconv"
	"strings"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

type dnsFacts struct {
	dns   *engine.Input[string, *nb.DNS]
	dnsAt *engine.Relation[string, string] // DNS rows to the switches that list them
	named *engine.Relation[string, string] // switches to their DNS rows that have records
}

// defineDNSMembership relates DNS rows to switches.
func (n *Northd) defineDNSMembership() {
	n.dns = engine.NewInput[string, *nb.DNS](n.e)
	n.dnsAt = engine.NewRelation[string, string](n.e, "switches of DNS rows")
	n.named = engine.NewRelation[string, string](n.e, "switches with DNS records")
	engine.ForEach(n.e, "DNS rows of switch", n.nb.switches, func(s *engine.Scope, uuid string) {
		ls, _ := n.nb.switches.Get(s, uuid)
		for _, d := range ls.DNSRecords {
			n.dnsAt.Add(s, d, uuid)
		}
	})
	engine.ForEach(n.e, "DNS records of switch", n.dnsAt.Pairs(), func(s *engine.Scope, at engine.Pair[string, string]) {
		if d, ok := n.dns.Get(s, at.Key); ok && len(d.Records) > 0 {
			n.named.Add(s, at.Elem, at.Key)
		}
	})
}

func (n *Northd) defineDNS() {
	engine.ForEach(n.e, "DNS", n.dnsAt.Keys(), n.deriveDNS)
}

// deriveDNS derives the southbound row of a DNS row, which has the same UUID.
func (n *Northd) deriveDNS(s *engine.Scope, uuid string) {
	d, ok := n.dns.Get(s, uuid)
	if !ok {
		return
	}
	row := &sb.DNS{
		Records: dnsRecords(d.Records),
		Options: map[string]string{"ovn-owned": strconv.FormatBool(optBool(d.Options, "ovn-owned", false))},
	}
	for ls := range n.dnsAt.Of(s, uuid) {
		row.Datapaths = append(row.Datapaths, n.datapath(s, ls))
	}
	n.out.dns.use(uuid, uuid)
	n.out.dns.Want(s, uuid, row)
}

// dnsRecords are the records as chassis compare them: names are in lower case
// where they are answers, and as they were written where they are asked for.
func dnsRecords(records map[string]string) map[string]string {
	out := make(map[string]string, len(records))
	for name, answer := range records {
		out[name] = strings.ToLower(answer)
	}
	return out
}

// The flows of switches with DNS records, beside the one that asks the
// controller (see controlFlows).
var dnsFlows = []switchFlow{
	{namingSwitches, flows.SwitchInDNSResponse, 100, "udp.dst == 53 && reg0[4]", dnsReply("ip4"), ""},
	{namingSwitches, flows.SwitchInDNSResponse, 100, "udp.dst == 53 && reg0[4]", dnsReply("ip6"), ""},
	// The answers come from the controller and pass any rule.
	{untrackedNaming, flows.SwitchOutACLEval, 34000, "flags.from_ctrl && udp.src == 53", "reg8[16] = 1; next;", ""},
	{trackedNaming, flows.SwitchOutACLEval, 34000, "flags.from_ctrl && udp.src == 53", "reg8[16] = 1; ct_commit; next;", ""},
}

func dnsReply(ip string) string {
	return "eth.dst <-> eth.src; " + ip + ".src <-> " + ip + ".dst; udp.dst = udp.src; udp.src = 53; outport = inport; flags.loopback = 1; output;"
}
