package edits

import (
	"fmt"
	"strings"
)

// services are the generators of what a switch answers, copies and assigns
// itself.
var services = []generator{
	{"DHCPv4 options", 3, false, func(g *gen) string {
		u := g.newUUID()
		return fmt.Sprintf(`--id=%s create dhcp_options cidr=%s options:server_id=10.0.0.254 'options:server_mac="50:54:00:00:00:fe"' %s -- set logical_switch_port %s dhcpv4_options=%s`,
			u, g.one("10.0.0.0/24", "10.0.0.0/24", "10.0.0.0/30", "junk"), g.one("options:lease_time=60", "options:lease_time=60 options:mtu=1400", ""), g.port(), u)
	}},
	{"DHCPv6 options", 2, false, func(g *gen) string {
		u := g.newUUID()
		return fmt.Sprintf(`--id=%s create dhcp_options 'cidr="fd00::/64"' 'options:server_id="50:54:00:00:00:fe"' %s -- set logical_switch_port %s dhcpv6_options=%s`,
			u, g.one("", "options:dhcpv6_stateless=true", `'options:dns_server="fd00::53"'`), g.port(), u)
	}},
	{"DHCP options edited", 4, false, func(g *gen) string {
		d := "dhcp_options " + g.uuid("DHCP_Options")
		return g.one("set "+d+" options:"+g.one("lease_time=90", "router=10.0.0.254", "netmask=255.255.255.0", `domain_name='"ovn.org"'`, `dns_server='"{8.8.8.8,8.8.4.4}"'`,
			"mtu=junk", "no_such_option=1", "ip_forward_enable=1", `classless_static_route='"{30.0.0.0/24,10.0.0.4,0.0.0.0/0,10.0.0.1}"'`,
			`bootfile_name='"boot"'`, `bootfile_name_alt='"alt"'`, `offerip=10.0.0.77`, `domain_search='"a.org"'`, `tftp_server=10.0.0.7`, `hostname='"h"'`),
			"remove "+d+" options "+g.one("lease_time", "server_mac", "server_id", "mtu"),
			"set "+d+" cidr="+g.one("10.0.0.0/24", "10.0.0.0/16", `'"fd00::/80"'`, "junk"), "set "+d+" external_ids:a=b", "destroy "+d)
	}},
	{"DHCP of a port", 2, false, func(g *gen) string {
		column := g.one("dhcpv4_options", "dhcpv6_options")
		return g.one("clear logical_switch_port "+g.port()+" "+column,
			"set logical_switch_port "+g.port()+" "+column+"="+g.uuid("DHCP_Options"),
			"set logical_switch_port "+g.port()+` options:`+g.one("hostname=h", "dhcpv4_disabled_routers=true", `"ipv6_ra_send_periodic"=true`))
	}},
	{"DNS records", 2, false, func(g *gen) string {
		u := g.newUUID()
		return fmt.Sprintf(`--id=%s create dns %s -- add logical_switch %s dns_records %s`, u,
			g.one("records:a.b=10.0.0.1", `records:c.d='"10.0.0.1 fd00::1"'`, "records:Upper.Case=10.0.0.9", "external_ids:empty=yes"), g.name("Logical_Switch"), u)
	}},
	{"DNS records edited", 2, false, func(g *gen) string {
		d := "dns " + g.uuid("DNS")
		return g.one("set "+d+" records:e.f=10.0.0.5", "clear "+d+" records", "set "+d+" options:ovn-owned=true", "set "+d+" external_ids:a=b",
			"clear logical_switch "+g.name("Logical_Switch")+" dns_records",
			"add logical_switch "+g.name("Logical_Switch")+" dns_records "+g.uuid("DNS"), "destroy "+d)
	}},
	{"mirror", 2, false, func(g *gen) string {
		m, filter := g.aMirror(), g.one("both", "from-lport", "to-lport")
		return g.one(fmt.Sprintf("mirror-add %s lport %s %s", m, filter, g.aPort()), fmt.Sprintf("mirror-add %s lport %s %s", m, filter, g.aPort()),
			fmt.Sprintf("mirror-add %s %s %d %s 10.9.9.9", m, g.one("gre", "erspan"), g.IntN(9), filter),
			fmt.Sprintf("mirror-add %s local %s br-ex", m, filter))
	}},
	{"mirror edited", 1, false, func(g *gen) string {
		m := g.name("Mirror")
		return g.one("mirror-del "+m, "set mirror "+g.uuid("Mirror")+" sink="+g.aPort(), "set mirror "+g.uuid("Mirror")+" filter="+g.one("both", "from-lport"),
			"set mirror "+g.uuid("Mirror")+" external_ids:a=b", fmt.Sprintf("set mirror %s index=%d", g.uuid("Mirror"), g.IntN(5)))
	}},
	{"mirror rule", 2, false, func(g *gen) string {
		return g.one(fmt.Sprintf("mirror-rule-add %s %d %s %s", g.name("Mirror"), 100+g.IntN(3), g.one("ip4", "tcp", "'udp.dst == 53'"), g.one("mirror", "skip")),
			"mirror-rule-del "+g.name("Mirror"), fmt.Sprintf("set mirror_rule %s priority=%d", g.uuid("Mirror_Rule"), 100+g.IntN(9)),
			"set mirror_rule "+g.uuid("Mirror_Rule")+" match=icmp4 action=skip")
	}},
	{"mirrored port", 3, false, func(g *gen) string {
		return g.one("--may-exist lsp-attach-mirror ", "--may-exist lsp-attach-mirror ", "lsp-detach-mirror ") + g.port() + " " + g.name("Mirror")
	}},
	{"forwarding group", 2, false, func(g *gen) string {
		return g.one("", "--liveness ") + fmt.Sprintf("fwd-group-add %s %s 10.0.0.%d 50:54:00:00:00:aa %s", g.one("f0", "f1"), g.name("Logical_Switch"), 100+g.IntN(2), g.port())
	}},
	{"forwarding group edited", 3, false, func(g *gen) string {
		f := "forwarding_group " + g.uuid("Forwarding_Group")
		return g.one("fwd-group-del "+g.name("Forwarding_Group"), "set "+f+" vip=10.0.0.101", "set "+f+` 'vmac="50:54:00:00:00:ab"'`, "set "+f+" liveness="+g.one("true", "false"),
			"set "+f+" child_port="+g.port(), "set "+f+" external_ids:a=b")
	}},
	{"control plane protection", 3, false, func(g *gen) string {
		return "copp-add " + g.one("c0", "c1") + " " + g.one("arp", "arp-resolve", "dhcpv4-opts", "dhcpv6-opts", "dns", "event-elb", "icmp4-error", "icmp6-error", "igmp",
			"nd-na", "nd-ns", "nd-ns-resolve", "nd-ra-opts", "tcp-reset", "bfd", "reject", "svc-monitor") + " " + g.one("m0", "m1")
	}},
	{"control plane protection of a switch", 3, false, func(g *gen) string {
		s := g.name("Logical_Switch")
		return g.one("ls-copp-add "+g.name("Copp")+" "+s, "ls-copp-add "+g.name("Copp")+" "+s, "clear logical_switch "+s+" copp",
			"copp-del "+g.name("Copp"), "set copp "+g.uuid("Copp")+" external_ids:a=b", "copp-del "+g.name("Copp")+" reject")
	}},
	{"address assignment of a switch", 3, true, func(g *gen) string {
		s := g.row("Logical_Switch")
		if s == nil || g.dynamicPorts(s) > 1 {
			return "" // several at once have no order
		}
		ls, _ := s.Columns["name"].(string)
		set := "set logical_switch " + ls + " other_config:"
		return g.one(set+"subnet=10.0.2.0/29", set+"subnet=10.0.3.0/24", set+"mac_only=true", set+"mac_only=false", set+`'ipv6_prefix="fd02::"'`, set+`'ipv6_prefix="fd03::/64"'`,
			set+"exclude_ips=10.0.2.2", set+"exclude_ips=10.0.2.2..10.0.2.4", set+`exclude_ips='"10.0.2.3 10.0.3.1..10.0.3.9"'`, set+"exclude_ips=junk", set+"subnet=junk",
			"remove logical_switch "+ls+" other_config "+g.one("subnet", "mac_only", "ipv6_prefix", "exclude_ips"))
	}},
	{"assigned addresses", 4, true, func(g *gen) string {
		p := g.port()
		// Who gets an address that two ask for, or one of them has, depends on a hash
		// table: each port asks for its own, above those that are assigned.
		own := fmt.Sprintf("10.0.3.2%s", strings.TrimPrefix(p, "p"))
		if s := g.switchOf(p); s != nil && g.dynamicPorts(s) > 0 && !strings.Contains(fmt.Sprint(s.Columns["other_config"]), "subnet:10.0.3.0/24") {
			return "" // of several that ask for one outside, too
		}
		return "lsp-set-addresses " + p + " " + g.one("dynamic", "dynamic", `"50:54:00:00:00:31 dynamic"`, `"dynamic `+own+`"`,
			`"dynamic fd02::5"`, `"dynamic `+own+` fd02::6"`, `dynamic unknown`, `dynamic "50:54:00:00:00:32 10.0.3.40"`)
	}},
}

func (g *gen) aMirror() string { return fmt.Sprintf("mr%d", g.IntN(3)) }
