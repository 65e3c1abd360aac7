package edits

import (
	"fmt"
	"slices"
	"strings"

	"northwall/ovsdb"
)

// A generator makes one edit, as command lines chained by " -- ".
type generator struct {
	name   string
	weight int
	// alone makes it a step of its own: several allocations in one transaction
	// have no order.
	alone bool
	// edit returns "" where the database has nothing for it.
	edit func(g *gen) string
}

// generators is the table of all; a test wants each to have changed something.
var generators = slices.Concat(switching, balancing, services, functions)

// switching are the generators of switches, ports, groups of ports, ACLs with what
// they refer to, QoS rules, and of what chassis do.
var switching = []generator{
	{"switch", 5, false, func(g *gen) string { return "--may-exist ls-add " + g.aSwitch() }},
	{"switch deletion", 1, false, func(g *gen) string { return "ls-del " + g.name("Logical_Switch") }},
	{"switch made again", 1, false, func(g *gen) string {
		s := g.name("Logical_Switch")
		return "ls-del " + s + " -- ls-add " + s
	}},
	{"switch renamed", 1, false, func(g *gen) string {
		return "set logical_switch " + g.name("Logical_Switch") + " name=" + g.aSwitch()
	}},
	{"switch option", 7, false, func(g *gen) string { return g.option("logical_switch", "other_config", switchOptions) }},
	{"port", 10, true, func(g *gen) string {
		p := g.aPort()
		return fmt.Sprintf("lsp-add %s %s -- lsp-set-addresses %s %s", g.name("Logical_Switch"), p, p, g.addresses())
	}},
	{"nested port", 2, true, func(g *gen) string {
		return fmt.Sprintf("lsp-add %s %s %s %d", g.name("Logical_Switch"), g.aPort(), g.aPort(), g.IntN(5))
	}},
	{"port deletion", 2, false, func(g *gen) string { return "lsp-del " + g.port() }},
	{"port moved", 1, true, func(g *gen) string {
		p := g.port()
		ls := g.name("Logical_Switch")
		if s := g.switchOf(p); s != nil && s.Columns["name"] == ls {
			return "" // whether it is up then, depends on what the original knows of before
		}
		return fmt.Sprintf("lsp-del %s -- lsp-add %s %s -- lsp-set-addresses %s %s", p, ls, p, p, g.addresses())
	}},
	{"addresses", 5, false, func(g *gen) string {
		return "lsp-set-addresses " + g.port() + " " + g.addresses() + g.one("", "", " "+g.addresses())
	}},
	{"port security", 4, false, func(g *gen) string { return "lsp-set-port-security " + g.port() + " " + g.portSecurity() }},
	{"enabled", 2, false, func(g *gen) string {
		return g.one("lsp-set-enabled "+g.port()+" enabled", "lsp-set-enabled "+g.port()+" disabled", "clear logical_switch_port "+g.port()+" enabled")
	}},
	{"port type", 4, false, func(g *gen) string {
		p := g.port()
		return "lsp-set-type " + p + " " + g.one(
			"localnet -- lsp-set-addresses "+p+" unknown -- lsp-set-options "+p+" network_name=phys",
			"localnet -- lsp-set-addresses "+p+" unknown -- set logical_switch_port "+p+" options:network_name=other",
			`"" -- lsp-set-options `+p, `""`, "localport", "external",
			"virtual -- set logical_switch_port "+p+" options:virtual-ip=10.0.0.9 options:virtual-parents="+g.aPort()+","+g.aPort(),
			"l2gateway -- set logical_switch_port "+p+" options:network_name=phys options:l2gateway-chassis=hv0",
			"vtep -- set logical_switch_port "+p+" options:vtep-physical-switch=ps options:vtep-logical-switch=ls",
			"remote")
	}},
	{"peers", 1, true, func(g *gen) string {
		a, b := g.port(), g.port()
		if a == b {
			return ""
		}
		return fmt.Sprintf("lsp-set-type %s switch -- lsp-set-type %s switch -- set logical_switch_port %s peer=%s -- set logical_switch_port %s peer=%s", a, b, a, b, b, a)
	}},
	{"port option", 6, false, func(g *gen) string { return g.option("logical_switch_port", "options", portOptions) }},
	{"tag", 2, true, func(g *gen) string {
		return g.one("set logical_switch_port "+g.port()+fmt.Sprintf(" tag=%d", 1+g.IntN(5)),
			"set logical_switch_port "+g.port()+fmt.Sprintf(" tag_request=%d", g.IntN(3)),
			"clear logical_switch_port "+g.port()+" tag tag_request")
	}},
	{"port external id", 1, false, func(g *gen) string {
		return "set logical_switch_port " + g.port() + " external_ids:" + g.one("name=web", "neutron:port_name=db", "x=y")
	}},
	{"port group", 5, false, func(g *gen) string { return "pg-add " + g.aGroup() + " " + g.ports() }},
	{"group ports", 5, false, func(g *gen) string { return "pg-set-ports " + g.name("Port_Group") + " " + g.port() + " " + g.ports() }},
	{"group emptied", 1, false, func(g *gen) string { return "clear port_group " + g.name("Port_Group") + " ports" }},
	{"group deletion", 1, false, func(g *gen) string { return "pg-del " + g.name("Port_Group") }},
	{"group made again", 1, false, func(g *gen) string {
		p := g.name("Port_Group")
		return "pg-del " + p + " -- pg-add " + p + " " + g.ports()
	}},
	{"ACL", 26, false, newACL},
	{"ACL edited", 16, false, editACL},
	{"ACL deletion", 5, false, func(g *gen) string {
		acl := g.uuid("ACL")
		return g.one(
			fmt.Sprintf("remove logical_switch %s acls %s", g.name("Logical_Switch"), acl),
			fmt.Sprintf("remove port_group %s acls %s", g.name("Port_Group"), acl),
			"acl-del "+g.name("Logical_Switch")+g.one("", " to-lport", " from-lport"),
			"--type=port-group acl-del "+g.name("Port_Group")+g.one("", " to-lport", " from-lport"))
	}},
	{"ACL in another place", 3, false, func(g *gen) string { return g.place(g.uuid("ACL")) }},
	{"address set", 3, false, func(g *gen) string {
		return "create address_set name=" + g.one("as0", "as1") + " addresses=" + g.setAddresses()
	}},
	{"address set edited", 3, false, func(g *gen) string {
		return "set address_set " + g.name("Address_Set") + " addresses=" + g.setAddresses()
	}},
	{"address set deletion", 1, false, func(g *gen) string { return "destroy address_set " + g.name("Address_Set") }},
	{"meter", 3, false, func(g *gen) string {
		return g.one("", "--fair ") + fmt.Sprintf("meter-add %s drop %d %s %d", g.one("m0", "m1"), 1+g.IntN(9), g.one("kbps", "pktps"), g.IntN(3))
	}},
	{"meter edited", 2, false, func(g *gen) string {
		return g.one(fmt.Sprintf("set meter %s fair=%s", g.name("Meter"), g.one("true", "false", "[]")),
			fmt.Sprintf("set meter_band %s rate=%d", g.uuid("Meter_Band"), 1+g.IntN(9)))
	}},
	{"meter deletion", 1, false, func(g *gen) string { return "meter-del " + g.name("Meter") }},
	{"collector", 3, false, func(g *gen) string {
		u := g.newUUID()
		return fmt.Sprintf("--id=%s create sample_collector name=c%d id=%d set_id=%d probability=%d", u, g.IntN(9), 1+g.IntN(6), 1+g.IntN(3), g.oneInt(0, 1, 1000, 65535))
	}},
	{"collector edited", 1, false, func(g *gen) string {
		return fmt.Sprintf("set sample_collector %s %s=%d", g.uuid("Sample_Collector"), g.one("set_id", "probability"), 1+g.IntN(5))
	}},
	{"collector deletion", 2, false, func(g *gen) string {
		unused := slices.DeleteFunc(slices.Clone(g.rows["Sample_Collector"]), func(r *ovsdb.Row) bool { return g.refers("Sample", r.UUID) })
		if len(unused) == 0 {
			return "" // what is referred to stays
		}
		return "destroy sample_collector " + unused[g.IntN(len(unused))].UUID
	}},
	{"sampling app", 3, false, func(g *gen) string {
		return g.one(fmt.Sprintf("create sampling_app type=%s id=%d", g.one("drop", "acl-new", "acl-est"), 1+g.IntN(255)),
			fmt.Sprintf("set sampling_app %s id=%d", g.uuid("Sampling_App"), 1+g.IntN(255)), "destroy sampling_app "+g.uuid("Sampling_App"))
	}},
	{"sample", 4, false, func(g *gen) string {
		u := g.newUUID()
		collectors := g.uuid("Sample_Collector")
		if g.IntN(3) == 0 {
			collectors += "," + g.uuid("Sample_Collector")
		}
		return fmt.Sprintf("--id=%s create sample metadata=%d collectors=%s -- set acl %s %s=%s", u, 1+g.IntN(5000), collectors,
			g.uuid("ACL"), g.one("sample_new", "sample_est"), u)
	}},
	{"QoS rule", 4, false, func(g *gen) string {
		u := g.newUUID()
		d, where := g.direction()
		return fmt.Sprintf("--id=%s create qos direction=%s priority=%d match='%q' %s -- add logical_switch %s qos_rules %s", u, d, g.IntN(5),
			g.one("ip4", "tcp.dst == 80", where+` == "p1"`, "udp"), g.qosAction(), g.name("Logical_Switch"), u)
	}},
	{"QoS rule edited", 2, false, func(g *gen) string {
		u := g.uuid("QoS")
		return g.one("set qos "+u+" "+g.qosAction(), "clear qos "+u+" "+g.one("action", "bandwidth"), fmt.Sprintf("set qos %s priority=%d", u, g.IntN(5)),
			"remove logical_switch "+g.name("Logical_Switch")+" qos_rules "+u)
	}},
	{"global option", 6, false, func(g *gen) string {
		key := g.one(globalOptions...)
		name, _, _ := strings.Cut(key, "=")
		return g.one("set nb_global . options:"+key, "set nb_global . options:"+key, "remove nb_global . options "+name)
	}},
	{"global column", 1, false, func(g *gen) string {
		return "set nb_global . " + g.one("ipsec=true", "ipsec=false", "external_ids:a=b", "name=region")
	}},
	{"chassis", 2, false, func(g *gen) string {
		return Southbound + g.one("chassis-add hv0 geneve 127.0.0.1", "chassis-add hv1 geneve 127.0.0.2", "chassis-del hv0", "chassis-del hv1")
	}},
	{"chassis feature", 3, false, func(g *gen) string {
		c := g.chassis()
		features := []string{"ct-label-flush", "ovn-sample-with-registers", "ct-no-masked-label", "mac-binding-timestamp", "fdb-timestamp", "ls-dpg-column",
			"ct-commit-nat-v2", "ct-commit-to-zone", "ct-next-zone", "ct-state-save", "port-up-notif", "is-remote"}
		if g.IntN(2) == 0 {
			return Southbound + "set chassis " + c + " other_config:" + g.one(features...) + "=" + g.one("true", "true", "false")
		}
		return Southbound + "set chassis " + c + " other_config:" + strings.Join(features[:len(features)-1], "=true other_config:") + "=true"
	}},
	{"port claimed", 4, false, func(g *gen) string {
		return Southbound + g.one("lsp-bind "+g.port()+" hv0", "lsp-bind "+g.port()+" hv1", "lsp-unbind "+g.port())
	}},
}

var switchOptions = []string{
	"vlan-passthru=true", "vlan-passthru=false", "broadcast-arps-to-all-routers=false", "requested-tnl-key=77", "requested-tnl-key=78",
	"mcast_snoop=true", "mcast_snoop=true", "mcast_snoop=false", "mcast_querier=true", "mcast_querier=false", "mcast_flood_unregistered=true",
	"mcast_flood_unregistered=false", "mcast_eth_src=00:00:00:00:00:05", "mcast_ip4_src=10.0.0.200", "mcast_ip6_src=fe80::5",
	"mcast_table_size=100", "mcast_idle_timeout=60", "mcast_query_interval=30", "mcast_query_max_response=5",
	"enable-stateless-acl-with-lb=true", "fdb_age_threshold=10", "ct-zone-limit=5",
}

var portOptions = []string{
	"requested-chassis=hv0", "requested-chassis=hv0,hv1", "requested-tnl-key=55", "mcast_flood=true", "mcast_flood_reports=true",
	"mcast_flood=false", "mcast_flood_reports=false", "arp_proxy=10.0.0.50", "disable_arp_nd_rsp=true", "hostname=web",
	"localnet_learn_fdb=true", "force_fdb_lookup=true", "qos_max_rate=1000", "qos_min_rate=10", "qos_burst=5", "network_name=phys2",
	"iface-id-ver=7", "activation-strategy=rarp", "disable_garp_rarp=true", "pkt_clone_type=mc_unknown", "enable_router_port_acl=true",
}

var globalOptions = []string{
	"default_acl_drop=true", "default_acl_drop=false", "use_ct_inv_match=false", "use_ct_inv_match=true", "ignore_lsp_down=false",
	"ignore_lsp_down=true", "acl_ct_translation=true", "acl_ct_translation=false", "debug_drop_domain_id=7", "debug_drop_collector_set=3",
	"enable_chassis_nb_cfg_update=false", "disable_garp_rarp=true", "ct_lb_related=true", "vxlan_mode=false", "use_logical_dp_groups=false", "x=y",
	"fdb_removal_limit=10", "mac_binding_removal_limit=5", "always_tunnel=true", "bfd-min-tx=5", "use_common_zone=true", "mcast_privileged=true",
}
