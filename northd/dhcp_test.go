package northd

import (
	"net/netip"
	"strings"
	"testing"

	"northwall/schema/nb"
)

func TestDHCP4Reply(t *testing.T) {
	required := func(more ...string) map[string]string {
		o := map[string]string{"server_id": "10.0.0.254", "server_mac": "50:54:00:00:00:FE", "lease_time": "3600"}
		for i := 0; i < len(more); i += 2 {
			o[more[i]] = more[i+1]
		}
		return o
	}
	for _, c := range []struct {
		name    string
		cidr    string
		options map[string]string
		port    map[string]string
		offer   string
		want    string // the arguments of put_dhcp_opts; "" where there is no reply
		err     string
	}{
		{"the least", "10.0.0.0/24", required(), nil, "10.0.0.1",
			"offerip = 10.0.0.1, lease_time = 3600, netmask = 255.255.255.0, server_id = 10.0.0.254", ""},
		{"options in order", "10.0.0.0/24", required("router", "10.0.0.253", "dns_server", "{1.1.1.1, 2.2.2.2}"), nil, "10.0.0.1",
			"offerip = 10.0.0.1, dns_server = {1.1.1.1, 2.2.2.2}, lease_time = 3600, netmask = 255.255.255.0, router = 10.0.0.253, server_id = 10.0.0.254", ""},
		{"a network's host address", "10.0.0.17/8", required(), nil, "10.9.0.1",
			"offerip = 10.9.0.1, lease_time = 3600, netmask = 255.0.0.0, server_id = 10.0.0.254", ""},
		{"a mask in words", "10.0.0.0/255.255.0.0", required(), nil, "10.0.9.1",
			"offerip = 10.0.9.1, lease_time = 3600, netmask = 255.255.0.0, server_id = 10.0.0.254", ""},
		{"a netmask of its own", "10.0.0.0/16", required("netmask", "255.0.0.0"), nil, "10.0.0.1",
			"offerip = 10.0.0.1, lease_time = 3600, netmask = 255.255.0.0, netmask = 255.0.0.0, server_id = 10.0.0.254", ""},
		{"the port's hostname goes first", "10.0.0.0/24", required("hostname", `"x"`), map[string]string{"hostname": `"y"`}, "10.0.0.1",
			`offerip = 10.0.0.1, hostname = "y", lease_time = 3600, netmask = 255.255.255.0, server_id = 10.0.0.254`, ""},
		{"another network", "10.0.0.0/24", required(), nil, "10.0.1.1", "", ""},
		{"a single address", "10.0.0.0", required(), nil, "10.0.0.1", "", ""},
		{"no server_mac", "10.0.0.0/24", map[string]string{"server_id": "10.0.0.254", "lease_time": "1"}, nil, "10.0.0.1", "", "server_mac"},
		{"an IPv6 network", "fd00::/64", required(), nil, "10.0.0.1", "", "not an IPv4 network"},
		{"no network", "junk", required(), nil, "10.0.0.1", "", "not an IPv4 network"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok, err := dhcp4Reply(&nb.LogicalSwitchPort{Options: c.port}, &nb.DHCPOptions{Cidr: c.cidr, Options: c.options}, netip.MustParseAddr(c.offer))
			checkReply(t, r, ok, err, "put_dhcp_opts", c.want, c.err)
			if ok && (r.ethSrc != "50:54:00:00:00:FE" || r.ipSrc != "10.0.0.254") {
				t.Errorf("server is %s %s", r.ethSrc, r.ipSrc)
			}
		})
	}
}

func TestDHCP6Reply(t *testing.T) {
	const id = "50:54:00:00:00:FE"
	for _, c := range []struct {
		name    string
		cidr    string
		options map[string]string
		offer   string
		want    string
		err     string
	}{
		{"stateful", "fd00::/64", map[string]string{"server_id": id, "dns_server": "fd00::53"}, "fd00::1",
			"ia_addr = fd00::1, dns_server = fd00::53, server_id = " + id, ""},
		{"stateless", "fd00::/64", map[string]string{"server_id": id, "dhcpv6_stateless": "true"}, "fd00::1", "server_id = " + id, ""},
		{"another network", "fd00::/64", map[string]string{"server_id": id}, "fd00:0:0:1::1", "", ""},
		{"no server", "fd00::/64", map[string]string{"server_mac": id}, "fd00::1", "", "server_id is missing"},
		{"a server by IP address", "fd00::/64", map[string]string{"server_id": "10.0.0.1"}, "fd00::1", "", "not an Ethernet address"},
		{"an IPv4 network", "10.0.0.0/8", map[string]string{"server_id": id}, "fd00::1", "", "not an IPv6 network"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, ok, err := dhcp6Reply(nil, &nb.DHCPOptions{Cidr: c.cidr, Options: c.options}, netip.MustParseAddr(c.offer))
			checkReply(t, r, ok, err, "put_dhcpv6_opts", c.want, c.err)
			if ok && (r.ethSrc != id || r.ipSrc != "fe80::5254:ff:fe00:fe") {
				t.Errorf("server is %s %s", r.ethSrc, r.ipSrc)
			}
		})
	}
}

func checkReply(t *testing.T, r dhcpReply, ok bool, err error, put, want, wantErr string) {
	t.Helper()
	if (err != nil) != (wantErr != "") || err != nil && !strings.Contains(err.Error(), wantErr) {
		t.Errorf("error %v, want one with %q", err, wantErr)
	}
	if ok != (want != "") {
		t.Fatalf("ok = %v, want %q", ok, want)
	}
	if ok && r.put != "reg0[3] = "+put+"("+want+"); next;" {
		t.Errorf("got  %s\nwant %s", r.put, want)
	}
}
