package northd

import (
	"northwall/northd/engine"
	"northwall/schema/sb"
)

// dhcp4Codes and dhcp6Codes are the options that put_dhcp_opts and
// put_dhcpv6_opts know, with their codes (IANA's, from 249 on of private use or
// OVN's own). Chassis learn them from the southbound database.
var dhcp4Codes = []sb.DHCPOptions{
	{Name: "offerip", Code: 0, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "netmask", Code: 1, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "router", Code: 3, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "dns_server", Code: 6, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "log_server", Code: 7, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "lpr_server", Code: 9, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "hostname", Code: 12, Type: sb.DHCPOptionsTypeStr},
	{Name: "domain_name", Code: 15, Type: sb.DHCPOptionsTypeStr},
	{Name: "swap_server", Code: 16, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "ip_forward_enable", Code: 19, Type: sb.DHCPOptionsTypeBool},
	{Name: "policy_filter", Code: 21, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "default_ttl", Code: 23, Type: sb.DHCPOptionsTypeUint8},
	{Name: "mtu", Code: 26, Type: sb.DHCPOptionsTypeUint16},
	{Name: "broadcast_address", Code: 28, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "router_discovery", Code: 31, Type: sb.DHCPOptionsTypeBool},
	{Name: "router_solicitation", Code: 32, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "arp_cache_timeout", Code: 35, Type: sb.DHCPOptionsTypeUint32},
	{Name: "ethernet_encap", Code: 36, Type: sb.DHCPOptionsTypeBool},
	{Name: "tcp_ttl", Code: 37, Type: sb.DHCPOptionsTypeUint8},
	{Name: "tcp_keepalive_interval", Code: 38, Type: sb.DHCPOptionsTypeUint32},
	{Name: "nis_server", Code: 41, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "ntp_server", Code: 42, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "netbios_name_server", Code: 44, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "netbios_node_type", Code: 46, Type: sb.DHCPOptionsTypeUint8},
	{Name: "lease_time", Code: 51, Type: sb.DHCPOptionsTypeUint32},
	{Name: "server_id", Code: 54, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "T1", Code: 58, Type: sb.DHCPOptionsTypeUint32},
	{Name: "T2", Code: 59, Type: sb.DHCPOptionsTypeUint32},
	{Name: "tftp_server", Code: 66, Type: sb.DHCPOptionsTypeHostID},
	{Name: "bootfile_name", Code: 67, Type: sb.DHCPOptionsTypeStr},
	{Name: "domain_search_list", Code: 119, Type: sb.DHCPOptionsTypeDomains},
	{Name: "classless_static_route", Code: 121, Type: sb.DHCPOptionsTypeStaticRoutes},
	{Name: "tftp_server_address", Code: 150, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "path_prefix", Code: 210, Type: sb.DHCPOptionsTypeStr},
	{Name: "ms_classless_static_route", Code: 249, Type: sb.DHCPOptionsTypeStaticRoutes},
	{Name: "wpad", Code: 252, Type: sb.DHCPOptionsTypeStr},
	{Name: "next_server", Code: 253, Type: sb.DHCPOptionsTypeIpv4},
	{Name: "bootfile_name_alt", Code: 254, Type: sb.DHCPOptionsTypeStr},
}

var dhcp6Codes = []sb.DHCPv6Options{
	{Name: "server_id", Code: 2, Type: sb.DHCPv6OptionsTypeMAC},
	{Name: "ia_addr", Code: 5, Type: sb.DHCPv6OptionsTypeIpv6},
	{Name: "dns_server", Code: 23, Type: sb.DHCPv6OptionsTypeIpv6},
	{Name: "domain_search", Code: 24, Type: sb.DHCPv6OptionsTypeStr},
	{Name: "fqdn", Code: 39, Type: sb.DHCPv6OptionsTypeDomain},
	{Name: "bootfile_name", Code: 59, Type: sb.DHCPv6OptionsTypeStr},
	{Name: "bootfile_name_alt", Code: 254, Type: sb.DHCPv6OptionsTypeStr},
}

func (n *Northd) defineDHCPCodes() {
	engine.ForEach(n.e, "DHCP option codes", n.once, func(s *engine.Scope, _ struct{}) {
		for _, o := range dhcp4Codes {
			n.out.dhcp4Codes.Want(s, o.Name, &o)
		}
		for _, o := range dhcp6Codes {
			n.out.dhcp6Codes.Want(s, o.Name, &o)
		}
	})
}
