package northd

import (
	"slices"
	"strings"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// evpn is how a switch is extended by an Ethernet VPN, RFC 7432: what its chassis
// learn from remote VTEPs, and what they announce there.
type evpn struct {
	On         bool // other_config:dynamic-routing-vni
	LocalFirst bool // other_config:dynamic-routing-fdb-prefer-local
	Announce   bool // addresses of ports; other_config:dynamic-routing-redistribute has "ip"
}

// maxVNI is the highest VXLAN network identifier, RFC 7348.
const maxVNI = 1<<24 - 1

func evpnOf(ls *nb.LogicalSwitch) evpn {
	if vni, ok := parseUint(ls.OtherConfig["dynamic-routing-vni"]); !ok || vni > maxVNI {
		return evpn{}
	}
	return evpn{
		On:         true,
		LocalFirst: optBool(ls.OtherConfig, "dynamic-routing-fdb-prefer-local", false),
		Announce:   slices.Contains(strings.Split(ls.OtherConfig["dynamic-routing-redistribute"], ","), "ip"),
	}
}

// Sets of switches that flows of Ethernet VPNs are put on.
const (
	evpnSwitches        = "switches in an EVPN"
	plainSwitches       = "switches in no EVPN"
	statefulEVPN        = "switches in an EVPN with a stateful ACL"
	statelessEVPN       = "switches in an EVPN without a stateful ACL"
	floodingEVPN        = "switches in an EVPN with unknown addresses"
	nonFloodingEVPN     = "switches in an EVPN without unknown addresses"
	remoteFirstSwitches = "switches in an EVPN that prefer what they learn there"
	localFirstSwitches  = "switches in an EVPN that prefer what they know themselves"
)

const nowhere = `outport == "none" && remote_outport == "none"`

// evpnFlows look destinations up among what was learned from remote VTEPs, too,
// and keep what comes from there or goes there out of connection tracking.
var evpnFlows = []switchFlow{
	{statefulEVPN, flows.SwitchInPreACL, 110, "from_evpn_vtep", "next;", ""},
	{statefulEVPN, flows.SwitchOutPreACL, 110, "to_evpn_vtep", "next;", ""},
	{evpnSwitches, flows.SwitchInPreLB, 110, "from_evpn_vtep", "next;", ""},
	{statefulEVPN, flows.SwitchOutPreLB, 110, "to_evpn_vtep", "next;", ""},
	{statelessEVPN, flows.SwitchOutPreLB, 110, "to_evpn_vtep", "flags.pkt_sampled = 0; ct_clear; next;", ""},

	{plainSwitches, flows.SwitchInL2Lkup, 0, "1", "outport = get_fdb(eth.dst); next;", ""},
	{evpnSwitches, flows.SwitchInL2Lkup, 0, "1", "outport = get_fdb(eth.dst); remote_outport = get_remote_fdb(eth.dst); next;", ""},

	{floodingEVPN, flows.SwitchInL2Unknown, 50, nowhere, `outport = "` + mcUnknown + `"; output;`, ""},
	{nonFloodingEVPN, flows.SwitchInL2Unknown, 50, nowhere, dropAction, "No L2 destination"},
	{remoteFirstSwitches, flows.SwitchInL2Unknown, 25, `remote_outport == "none"`, "output;", ""},
	{remoteFirstSwitches, flows.SwitchInL2Unknown, 0, "1", "outport = remote_outport; output;", ""},
	{localFirstSwitches, flows.SwitchInL2Unknown, 25, `outport == "none"`, "outport = remote_outport; output;", ""},
	{localFirstSwitches, flows.SwitchInL2Unknown, 0, "1", "output;", ""},
	{plainSwitches, flows.SwitchInL2Unknown, 0, "1", "output;", ""},
}

// evpnSets are the sets of those that a switch is in.
func (t switchTraits) evpnSets() []string {
	pick := func(cond bool, yes, no string) string {
		if cond {
			return yes
		}
		return no
	}
	if !t.EVPN.On {
		return []string{plainSwitches, pick(t.Unknown, floodingSwitches, nonFloodingSwitches)}
	}
	return []string{
		evpnSwitches,
		pick(t.ACLs.Stateful, statefulEVPN, statelessEVPN),
		pick(t.Unknown, floodingEVPN, nonFloodingEVPN),
		pick(t.EVPN.LocalFirst, localFirstSwitches, remoteFirstSwitches),
	}
}

// evpnIDs are the keys of a switch's other_config that chassis want to know where
// it has a VNI.
var evpnIDs = [...]string{"dynamic-routing-vni", "dynamic-routing-bridge-ifname", "dynamic-routing-vxlan-ifname",
	"dynamic-routing-advertise-ifname", "dynamic-routing-redistribute", "dynamic-routing-arp-prefer-local"}

// announce derives what is announced of a VIF: the IP addresses that go with its
// first Ethernet address.
func (n *Northd) announce(s *engine.Scope, p *nb.LogicalSwitchPort, datapath string) {
	addrs := n.addresses(s, p)
	if p.Type != "" || len(addrs) == 0 {
		return
	}
	port := n.out.ports.UUID(s, p.Name)
	ips := slices.Clone(addrs[0].IP4)
	for _, ip := range addrs[0].IP6 {
		ips = append(ips, ip.String())
	}
	slices.Sort(ips)
	for _, ip := range slices.Compact(ips) {
		row := &sb.AdvertisedMACBinding{Datapath: datapath, LogicalPort: port, IP: ip, MAC: addrs[0].MAC}
		n.out.advertised.Want(s, announcementKey(row), row)
	}
}

func announcementKey(r *sb.AdvertisedMACBinding) string {
	return r.LogicalPort + " " + r.IP + " " + r.MAC
}
