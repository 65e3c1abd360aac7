package northd_test

import (
	"math/rand/v2"
	"strings"
)

// FuzzNorthbound's texts, beside bytes of its own. Their order is part of the
// corpus: append only.

// hostileTexts fit nowhere.
var hostileTexts = []string{
	"", "x", " ", "true", "false", "0", "-1", "1", "99999999999999999999", "0x10", "1e3", "NaN",
	`"`, `\`, `"; drop; "`, "'", "\n\t\r\b\f", "\x01\x7f", "\x00", "é\U0001F600\u2028\uFFFD", "%s%d", "../..", "$x", "@x", "!", "(((", "))",
	",,,", ":", "^", "[", "]", "::", "/", "..", "{}", "<!-- -->", "10.0.0.1/99", "zz:50 10.0.0", "10.0.0.300", "[fd00::1",
	strings.Repeat("a", 300), strings.Repeat("(", 5000), strings.Repeat(`"\`, 2000), strings.Repeat("long ", 1<<20/5),
}

var (
	names     = []string{"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x0", "x 8", `x"9`, "mp-x0-x1", "_MC_flood", "as0", "hv0"}
	addresses = []string{
		"unknown", "dynamic", "router", "50:54:00:00:00:0a", "50:54:00:00:00:0a 10.0.0.10", "50:54:00:00:00:0b 10.0.0.11 fd00::b", "50:54:00:00:00:0a dynamic",
		"dynamic 10.0.0.9", "dynamic fd00::9", "50:54:00:00:00:0a 10.0.0.10/24 10.0.0.0/0 fd00::/129", "ff:ff:ff:ff:ff:ff 255.255.255.255",
		"01:00:5e:00:00:01 224.0.0.1 ff02::1", "50:54:00:00:00:0a 10.0.0.10 10.0.0.10 fd00::a fe80::1", "! 50:54:00:00:00:0a", "50:54:00:00:00:0A\t10.0.0.10",
	}
	ips         = []string{"10.0.0.1", "10.0.0.2", "fd00::1", "::ffff:10.0.0.1", "224.0.0.1", "0.0.0.0", "255.255.255.255", "ff02::1", "10.0.0.01"}
	networks    = []string{"10.0.0.0/24", "10.0.0.0/30", "10.0.0.0/31", "10.0.0.7/8", "0.0.0.0/0", "10.0.0.1/32", "fd00::/64", "fd00::/127", "::/0", "fd00::1/128"}
	vips        = []string{"10.9.0.1:80", "10.9.0.2", "[fd09::1]:80", "fd09::1", "10.9.0.1:0", "10.9.0.1:99999", "[fd09::1", "^vip:^port", "^vip", "10.0.0.1:80", "0.0.0.0:1"}
	backends    = []string{"10.0.0.1:80", "10.0.0.1:80,10.0.0.2:81", "[fd00::1]:80,[fd00::2]:80", "fd00::1", "10.0.0.1", ",", "10.0.0.1:80,fd00::1", "^backends", "^b:^p", "10.0.0.1:80,10.0.0.1:80"}
	matches     = []string{"ip4", "ip4.src == 10.0.0.1", "outport == @x0 && ip4.src == $as0", "inport == @x1", "tcp.dst == {80, 443}", "1", "0", "ip4 &&", "inport == \"x\\\"9\"", "eth.type == 0x1234", "ct.est && !ct.rpl", "ip6 && icmp6", "udp.src == 53 || arp"}
	columnTexts = map[string][]string{
		"name": names, "parent_name": names, "peer": names, "child_port": names, "meter": names, "sink": append([]string{"10.0.0.9", "fd00::9"}, names...), "copp": names,
		"addresses": addresses, "port_security": addresses, "dynamic_addresses": addresses,
		"type":         {"", "router", "localnet", "switch", "virtual", "external", "vtep", "l2gateway", "remote", "localport", "patch", "l3gateway"},
		"external_ids": {"name", "neutron:port_name", "neutron:network_name", "interconn-ts", "ovn-owned"},
		"Logical_Switch.other_config": {
			"subnet", "subnet", "exclude_ips", "ipv6_prefix", "mac_only", "requested-tnl-key", "mcast_snoop", "mcast_querier", "mcast_eth_src", "mcast_ip4_src", "mcast_ip6_src",
			"mcast_table_size", "mcast_flood_unregistered", "vlan-passthru", "enable-stateless-acl-with-lb", "broadcast-arps-to-all-routers", "fdb_age_threshold", "interconn-ts",
		},
		"Logical_Switch_Port.options": {
			"router-port", "network_name", "requested-chassis", "virtual-ip", "virtual-parents", "mcast_flood", "mcast_flood_reports", "disable_arp_nd_rsp", "requested-tnl-key",
			"qos_max_rate", "qos_min_rate", "qos_burst", "localnet_learn_fdb", "lsp_learn_fdb", "force_fdb_lookup", "pkt_clone_type", "receive_multicast", "peer", "hostname", "arp_proxy",
		},
		"DHCP_Options.options":  {"server_id", "server_id", "server_mac", "server_mac", "lease_time", "lease_time", "router", "dns_server", "domain_name", "classless_static_route", "mtu", "ia_addr", "dhcpv6_stateless"},
		"Load_Balancer.options": {"hairpin_snat_ip", "affinity_timeout", "reject", "event", "skip_snat", "template", "address-family", "distributed", "neighbor_responder"},
		"NB_Global.options": {
			"mac_prefix", "svc_monitor_mac", "svc_monitor_mac_dst", "use_ct_inv_match", "default_acl_drop", "debug_drop_domain_id", "debug_drop_collector_set", "vxlan_mode", "max_tunid",
			"ignore_lsp_down", "northd_internal_version", "use_common_zone", "enable_chassis_nb_cfg_update", "ls_dnat_mod_dl_dst",
		},
		"options": {"log-related", "apply-after-lb", "persist-established", "interval", "timeout", "ct-zone-limit"},
		"vips":    vips, "vip": vips, "vips=": backends, "ip_port_mappings": ips, "ip_port_mappings=": {"x0:10.0.0.254", "x1:fd00::fe", "x0", "x0:10.0.0.254:az", ":", "x 8:10.0.0.254"},
		"match": matches, "cidr": networks, "records": {"a.example", "A.EXAMPLE", "1.0.0.10.in-addr.arpa", ""}, "records=": {"10.0.0.1", "10.0.0.1 fd00::1", "b.example", "x"},
		"meters": {"arp", "nd-ns", "event-elb", "dhcpv4-opts", "reject", "dns", "igmp", "svc-monitor", "nosuch"}, "meters=": names,
		"chassis": names, "chassis_name": names, "vmac": {"50:54:00:00:00:aa", "zz"}, "unit": {"kbps"}, "variables": {"vip", "port", "backends", "p"}, "variables=": append(vips, backends...),
	}
	optionTexts = map[string][]string{ // by key
		"subnet": networks, "exclude_ips": {"10.0.0.5..10.0.0.3", "10.0.0.2..10.0.0.9", "10.0.0.1 10.0.0.2", "10.0.0.1..", "fd00::1..fd00::9"}, "ipv6_prefix": networks,
		"mac_prefix": {"0a:00:00", "zz", "0a:00:00:00:00:01"}, "svc_monitor_mac": {"0a:00:00:00:00:01", "zz"}, "svc_monitor_mac_dst": {"0a:00:00:00:00:02"}, "server_mac": {"50:54:00:00:00:fe"},
		"requested-chassis": {"hv0", "hv0,hv1", ","}, "virtual-ip": ips, "virtual-parents": {"x0,x1", "x0,,x9", ","}, "server_id": {"10.0.0.254", "50:54:00:00:00:fe"}, "router": ips,
		"requested-tnl-key": {"1", "5", "5", "32767", "32768", "16711680", "16777216", "-5"}, "router-port": names, "peer": names, "hairpin_snat_ip": ips, "mcast_ip4_src": ips, "mcast_ip6_src": ips,
		"mcast_eth_src": {"50:54:00:00:00:fd"}, "affinity_timeout": {"10", "65536", "-1"}, "address-family": {"ipv4", "ipv6"}, "mcast_table_size": {"1", "-1", "32767", "99999999999"},
		"ia_addr": ips, "dns_server": ips, "classless_static_route": {"{30.0.0.0/24,10.0.0.1}", "{"}, "lease_time": {"3600"}, "qos_max_rate": {"1000"}, "log-related": {"true"},
		"debug_drop_domain_id": {"1", "256", "-1"}, "debug_drop_collector_set": {"1", "-1", "99999999999"}, "max_tunid": {"1", "4", "16777215"},
	}
)

// hostilePrograms are what FuzzNorthbound starts from.
func hostilePrograms() (out [][]byte) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 0))
		program := make([]byte, 100+r.IntN(900))
		for i := range program {
			program[i] = byte(r.Uint32())
		}
		out = append(out, program)
	}
	return out
}
