package northd

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// options are the settings of NB_Global that more than one derivation needs.
type options struct {
	UseCTInv         bool   // match ct.inv
	DefaultACLDrop   bool   // what no rule allows is dropped
	IgnoreLSPDown    bool   // answer ARP for ports that are down
	CTTranslation    bool   // acl_ct_translation: rules match the connection's addresses
	MaxDatapathKey   int    // the highest tunnel key of a datapath
	MaxPortKey       int    // the highest tunnel key of a port
	CTLabelFlush     bool   // all chassis can flush connections by label, as persistent rules need
	SwitchGroups     bool   // all chassis know Load_Balancer.ls_datapath_group
	SampleRegisters  bool   // all chassis can take what a sample tells from registers
	Drop             string // the action that drops a packet
	ImplicitDrop     string // the same, where a packet would be dropped for want of actions
	MACPrefix        string
	SvcMonitorMAC    string
	SvcMonitorMACDst string
	SvcMonitorIP     string // "" where it is missing or no address
	SvcMonitorIPDst  string // likewise
}

// Highest tunnel keys, ovn-architecture(7): 24 bits for datapaths and 15 for
// ports, of which a VXLAN header holds only 12 and 11.
const (
	maxDatapathKey      = 1<<24 - 1
	maxPortKey          = 1<<15 - 1
	maxVXLANDatapathKey = 1<<12 - 1
	maxVXLANPortKey     = 1<<11 - 1
	// maxICVXLANDatapathKey leaves the keys above to datapaths that several
	// availability zones share.
	maxICVXLANDatapathKey = 1<<10 - 1
	// localDatapathKeys at the upper end are reserved for datapaths that are
	// local to a chassis.
	localDatapathKeys = 1 << 16
)

// What chassis can do, as they say in other_config.
const (
	featureCTLabelFlush    = "ct-label-flush"
	featureSwitchGroups    = "ls-dpg-column"
	featureSampleRegisters = "ovn-sample-with-registers"
)

var features = [...]string{featureCTLabelFlush, featureSwitchGroups, featureSampleRegisters}

type globalFacts struct {
	once          engine.Source[struct{}]
	theGlobal     *engine.Fact[struct{}, string] // the UUID of NB_Global's row
	options       *engine.Fact[struct{}, options]
	globalRows    *engine.Relation[struct{}, string]
	vxlan         *engine.Relation[struct{}, string] // chassis that tunnel by VXLAN
	icVXLAN       *engine.Relation[struct{}, string] // switches that other zones reach by VXLAN
	lacking       *engine.Relation[string, string]   // chassis by what they cannot do
	chassisID     *engine.Relation[string, string]   // chassis by name and by hostname
	remoteChassis *engine.Fact[string, bool]
	// southVersion is northd_internal_version in SB_Global.options.
	southVersion *engine.Input[struct{}, string]
	generated    map[string]string // options that this northd made up, remembered
}

func (n *Northd) defineGlobals() {
	n.once = engine.Once(n.e)
	n.southVersion = engine.NewInput[struct{}, string](n.e)
	n.generated = map[string]string{}
	n.globalRows = engine.NewRelation[struct{}, string](n.e, "NB_Global rows")
	engine.ForEach(n.e, "NB_Global", n.nb.global, func(s *engine.Scope, uuid string) {
		n.globalRows.Add(s, struct{}{}, uuid)
	})
	n.vxlan = engine.NewRelation[struct{}, string](n.e, "VXLAN chassis")
	n.icVXLAN = engine.NewRelation[struct{}, string](n.e, "switches of VXLAN between zones")
	engine.ForEach(n.e, "VXLAN between zones", n.nb.switches, func(s *engine.Scope, uuid string) {
		ls, _ := n.nb.switches.Get(s, uuid)
		if _, ok := ls.OtherConfig["ic-vxlan_mode"]; ok { // ovn-ic sets it to true, or removes it
			n.icVXLAN.Add(s, struct{}{}, uuid)
		}
	})
	n.lacking = engine.NewRelation[string, string](n.e, "chassis without a feature")
	n.remoteChassis = engine.NewFact(n.e, "remote chassis", func(s *engine.Scope, uuid string) bool {
		c, _ := n.sb.chassis.Get(s, uuid)
		return isRemoteChassis(c)
	})
	n.chassisID = engine.NewRelation[string, string](n.e, "chassis names")
	engine.ForEach(n.e, "chassis", n.sb.chassis, n.deriveChassis)
	n.theGlobal = engine.NewFact(n.e, "the NB_Global row", func(s *engine.Scope, _ struct{}) string {
		return engine.Least(s, n.globalRows, struct{}{})
	})
	n.options = engine.NewFact(n.e, "options", n.deriveOptions)
	engine.ForEach(n.e, "global options", n.once, n.deriveGlobal)
}

func (n *Northd) deriveChassis(s *engine.Scope, uuid string) {
	c, _ := n.sb.chassis.Get(s, uuid)
	n.chassisID.Add(s, c.Name, uuid)
	if c.Hostname != "" && c.Hostname != c.Name {
		n.chassisID.Add(s, c.Hostname, uuid)
	}
	for _, feature := range features {
		if !isRemoteChassis(c) && !optBool(c.OtherConfig, feature, false) {
			n.lacking.Add(s, feature, uuid)
		}
	}
	for _, id := range c.Encaps {
		if enc, ok := n.sb.encaps.Get(s, id); ok && enc.Type == "vxlan" {
			n.vxlan.Add(s, struct{}{}, uuid)
		}
	}
}

// chassisUUID finds a chassis by name or hostname.
func (n *Northd) chassisUUID(s *engine.Scope, name string) (string, bool) {
	found := ""
	for uuid := range n.chassisID.Of(s, name) {
		if found == "" || uuid < found {
			found = uuid
		}
	}
	return found, found != ""
}

// nbOptions returns NB_Global's options, nil without such a row.
func (n *Northd) nbOptions(s *engine.Scope) map[string]string {
	if g := n.nbGlobal(s); g != nil {
		return g.Options
	}
	return nil
}

func (n *Northd) nbGlobal(s *engine.Scope) *nb.NBGlobal {
	g, _ := n.nb.global.Get(s, n.theGlobal.Get(s, struct{}{}))
	return g
}

func (n *Northd) deriveOptions(s *engine.Scope, _ struct{}) options {
	o := n.nbOptions(s)
	vxlan := o["vxlan_mode"] != "false" && n.vxlan.Any(s, struct{}{})
	opt := options{
		UseCTInv:         optBool(o, "use_ct_inv_match", true),
		DefaultACLDrop:   optBool(o, "default_acl_drop", false),
		IgnoreLSPDown:    optBool(o, "ignore_lsp_down", true),
		CTTranslation:    optBool(o, "acl_ct_translation", false),
		MaxDatapathKey:   maxDatapathKey - localDatapathKeys + 1,
		MaxPortKey:       maxPortKey,
		MACPrefix:        n.macPrefix(o),
		SvcMonitorMAC:    n.optMAC(o, "svc_monitor_mac"),
		SvcMonitorMACDst: n.optMAC(o, "svc_monitor_mac_dst"),
		SvcMonitorIP:     optIP(o, "svc_monitor_ip"),
		SvcMonitorIPDst:  optIP(o, "svc_monitor_ip_dst"),
	}
	ignore := optBool(o, "ignore_chassis_features", false)
	allCan := func(feature string) bool { return ignore || !n.lacking.Any(s, feature) }
	opt.CTLabelFlush = allCan(featureCTLabelFlush)
	opt.SwitchGroups = allCan(featureSwitchGroups)
	opt.SampleRegisters = allCan(featureSampleRegisters)
	opt.Drop, opt.ImplicitDrop = dropActions(o, n.appID.Get(s, nb.SamplingAppTypeDrop))
	if vxlan {
		opt.MaxDatapathKey, opt.MaxPortKey = maxVXLANDatapathKey, maxVXLANPortKey
	}
	if n.icVXLAN.Any(s, struct{}{}) {
		opt.MaxDatapathKey = maxICVXLANDatapathKey
	}
	return opt
}

// dropActions are the two actions that drop. With debug_drop_collector_set every
// dropped packet is sampled, in the domain of the sampling application for drops
// or, without it, debug_drop_domain_id; its observation point is the flow that
// dropped it.
func dropActions(o map[string]string, app int) (drop, implicit string) {
	set := optUint(o, "debug_drop_collector_set")
	domain := optUint(o, "debug_drop_domain_id")
	if app != 0 {
		domain = uint32(app)
	}
	if set == 0 || domain > maxDropDomain {
		return "drop;", "/* drop */"
	}
	sample := fmt.Sprintf("sample(probability=65535,collector_set=%d,obs_domain=%d,obs_point=$cookie); /* drop */", set, domain)
	return sample, sample
}

// maxDropDomain is the highest domain that dropped packets are sampled in.
const maxDropDomain = 254

// macPrefix is the first half of generated addresses: the configured one, or
// one drawn once.
func (n *Northd) macPrefix(o map[string]string) string {
	if p, ok := parseMACPrefix(o["mac_prefix"]); ok {
		return p
	}
	p, ok := n.generated["mac_prefix"]
	if !ok {
		p = randomMAC()[:8]
		n.generated["mac_prefix"] = p
	}
	return p
}

func (n *Northd) optMAC(o map[string]string, key string) string {
	if m, ok := parseMAC(o[key]); ok {
		return m.String()
	}
	m, ok := n.generated[key]
	if !ok {
		m = randomMAC()
		n.generated[key] = m
	}
	return m
}

// optIP reads an IP address, which stays as it is written; "" where it is none.
func optIP(o map[string]string, key string) string {
	if !isIP(o[key]) {
		return ""
	}
	return o[key]
}

// optUint reads a decimal number of 32 bits; 0 where it is missing or none.
func optUint(o map[string]string, key string) uint32 {
	v, _ := parseUint(o[key])
	return v
}

// parseUint reads a decimal number of 32 bits, as the reference does: space may
// precede it.
func parseUint(s string) (v uint32, ok bool) {
	u, err := strconv.ParseUint(strings.TrimLeft(s, " \t\n"), 10, 32)
	if err != nil {
		return 0, false
	}
	return uint32(u), true
}

// deriveGlobal derives the options of both databases and the address set of
// service monitors.
func (n *Northd) deriveGlobal(s *engine.Scope, _ struct{}) {
	g := n.nbGlobal(s)
	if g == nil {
		return
	}
	opt := n.options.Get(s, struct{}{})
	own := map[string]string{
		"mac_prefix":          opt.MACPrefix,
		"svc_monitor_mac":     opt.SvcMonitorMAC,
		"svc_monitor_mac_dst": opt.SvcMonitorMACDst,
		"max_tunid":           strconv.Itoa(opt.MaxDatapathKey),
	}
	for _, key := range [...]string{"svc_monitor_mac", "svc_monitor_mac_dst"} {
		if _, ok := parseMAC(g.Options[key]); ok {
			own[key] = g.Options[key] // as it is written
		}
	}
	if domain := optUint(g.Options, "debug_drop_domain_id"); domain > maxDropDomain {
		n.problems.Report(s, "NB_Global", fmt.Sprintf("options:debug_drop_domain_id %d is above %d: dropped packets are not sampled", domain, maxDropDomain))
	}
	n.writes.options.Want(s, g.UUID, own)

	// What chassis are to know of this northd.
	south := map[string]string{"arp_ns_explicit_output": "true", "register_consolidation": "true"}
	maps.Copy(south, g.Options)
	maps.Copy(south, own)
	// Another northd's version stays as it is: changing it would make that one
	// write all rows again.
	if v, ok := n.southVersion.Get(s, struct{}{}); ok {
		south["northd_internal_version"] = v
	}
	n.out.global.Want(s, "global", &sb.SBGlobal{Options: south, Ipsec: g.Ipsec})
	n.out.addresses.Want(s, "svc_monitor_mac", &sb.AddressSet{
		Name: "svc_monitor_mac", Addresses: dedup(opt.SvcMonitorMAC, opt.SvcMonitorMACDst),
	})
}

func dedup(a ...string) []string {
	var out []string
	for _, x := range a {
		seen := false
		for _, y := range out {
			seen = seen || x == y
		}
		if !seen {
			out = append(out, x)
		}
	}
	return out
}

// optBool reads a boolean option: "true" and "false" are read, anything else is
// the default.
func optBool(o map[string]string, key string, def bool) bool {
	switch o[key] {
	case "true":
		return true
	case "false":
		return false
	}
	return def
}

// static sets of switches; the flows on them do not depend on the switch.
func setOf(kind string) flows.SetKey { return flows.SetKey{Kind: kind} }
