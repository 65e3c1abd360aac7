package nbctl

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"northwall/ovsdb/ctl"
)

const lbGroup = "Load balancer commands"

func loadBalancerCommands() []*ctl.Command {
	const lb = "Load_Balancer name protocol vips"
	attached := func(k kind, prefix, what, example string) []*ctl.Command {
		reads := ctl.Reading(k.table+" name load_balancer", lb)
		return []*ctl.Command{
			{Name: prefix + "-lb-add", Group: lbGroup, Args: what + " LB", Min: 2, Max: 2, Options: []ctl.Option{mayExist},
				Help: "add load balancer LB to " + what, Example: prefix + "-lb-add " + example + " lb0", Reads: reads,
				Run: func(c *ctl.Call) error { return attachLB(c, k) }},
			{Name: prefix + "-lb-del", Group: lbGroup, Args: what + " [LB]", Min: 1, Max: 2, Options: []ctl.Option{ifExists},
				Help: "remove one load balancer from " + what + ", or all", Example: prefix + "-lb-del " + example + " lb0", Reads: reads,
				Run: func(c *ctl.Call) error { return detachLB(c, k) }},
			{Name: prefix + "-lb-list", Group: lbGroup, Args: what, Min: 1, Max: 1, Help: "print the load balancers of " + what,
				Example: prefix + "-lb-list " + example, Reads: reads, ReadOnly: true, Run: func(c *ctl.Call) error {
					row, err := k.find(c.Tx, c.Args[0])
					if err == nil {
						printLBs(c, row.Refs("load_balancer"))
					}
					return err
				}},
		}
	}
	return append(append([]*ctl.Command{
		{Name: "lb-add", Group: lbGroup, Args: "LB VIP[:PORT] IP[:PORT],... [PROTOCOL [ADDRESS-FAMILY]]", Min: 3, Max: 5,
			Options: []ctl.Option{mayExist, addDuplicate,
				ctl.Flag("reject", "answer with an error where no backend is up"),
				ctl.Flag("event", "report an event where no backend is up"),
				ctl.Flag("template", "VIP and backends may contain ^VARIABLES of the chassis")},
			Help: "create a load balancer, or add a VIP to one", Example: "lb-add lb0 10.0.0.10:80 10.0.0.1:8080,10.0.0.2:8080 tcp",
			Reads: ctl.Reading("Load_Balancer name vips protocol options"), Run: lbAdd},
		{Name: "lb-del", Group: lbGroup, Args: "LB [VIP]", Min: 1, Max: 2, Options: []ctl.Option{ifExists},
			Help: "remove a load balancer, or just a VIP of it", Example: "lb-del lb0 10.0.0.10:80", Reads: ctl.Reading(lb), Run: lbDel},
		{Name: "lb-list", Group: lbGroup, Args: "[LB]", Max: 1, Help: "print one load balancer, or all", Example: "lb-list",
			Reads: ctl.Reading(lb), ReadOnly: true, Run: func(c *ctl.Call) error {
				rows := c.Tx.Rows("Load_Balancer")
				if len(c.Args) == 1 {
					lb, err := loadBalancer.lookup(c.Tx, c.Args[0])
					if err != nil {
						return err
					}
					rows = only(lb)
				}
				printLBs(c, rows)
				return nil
			}},
	}, attached(logicalSwitch, "ls", "SWITCH", "sw0")...), attached(logicalRouter, "lr", "ROUTER", "lr0")...)
}

// endpoint is an IP address, with a port or without (0).
type endpoint struct {
	ip   netip.Addr
	port uint16
}

func (e endpoint) String() string {
	if e.port == 0 {
		return e.ip.String()
	}
	return netip.AddrPortFrom(e.ip, e.port).String()
}

func parseEndpoint(s string) (endpoint, bool) {
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		return endpoint{ip: ip}, true
	}
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 {
		return endpoint{}, false
	}
	host := s[:colon]
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	} else if strings.Contains(host, ":") {
		return endpoint{}, false
	}
	ip, err := netip.ParseAddr(host)
	port, errPort := strconv.ParseUint(s[colon+1:], 10, 16)
	if err != nil || errPort != nil || port == 0 || ip.Zone() != "" {
		return endpoint{}, false
	}
	return endpoint{ip: ip, port: uint16(port)}, true
}

// normalizeVIP checks a VIP and its backends and writes them as they are stored.
func normalizeVIP(vip, backends string) (string, string, error) {
	v, ok := parseEndpoint(vip)
	if !ok {
		return "", "", fmt.Errorf("%s: should be an IP address (or an IP address and a port number with : as a separator)", vip)
	}
	var out []string
	for _, backend := range strings.FieldsFunc(backends, func(r rune) bool { return r == ',' }) {
		b, ok := parseEndpoint(backend)
		switch {
		case v.port != 0 && (!ok || b.port == 0):
			// The address family is the likelier mistake of the two.
			if ok && b.ip.Is4() != v.ip.Is4() {
				return "", "", fmt.Errorf("%s: IP address family is different from VIP %s", backend, v.ip)
			}
			return "", "", fmt.Errorf("%s: should be an IP address and a port number with : as a separator", backend)
		case v.port == 0 && (!ok || b.port != 0):
			return "", "", fmt.Errorf("%s: should be an IP address, as VIP %s has no port", backend, v)
		case b.ip.Is4() != v.ip.Is4():
			return "", "", fmt.Errorf("%s: IP address family is different from VIP %s", backend, v.ip)
		}
		out = append(out, b.String())
	}
	return v.String(), strings.Join(out, ","), nil
}

func lbAdd(c *ctl.Call) error {
	name, vip, backends := c.Args[0], c.Args[1], c.Args[2]
	template := c.Has("template")
	if c.Has("reject") && c.Has("event") {
		return fmt.Errorf("--reject and --event can't be specified at the same time")
	}
	protocol, family := "", "ipv4"
	if len(c.Args) > 3 {
		protocol = c.Args[3]
		if !slices.Contains([]string{"tcp", "udp", "sctp"}, protocol) {
			return fmt.Errorf("%s: protocol must be one of tcp, udp or sctp", protocol)
		}
	}
	if len(c.Args) > 4 {
		if family = c.Args[4]; !template || family != "ipv4" && family != "ipv6" {
			return fmt.Errorf("%s: an address family, ipv4 or ipv6, goes with --template only", family)
		}
	}
	if !template {
		var err error
		if vip, backends, err = normalizeVIP(vip, backends); err != nil {
			return err
		}
		if v, _ := parseEndpoint(vip); v.port == 0 && protocol != "" {
			return fmt.Errorf("protocol %s is unnecessary when VIP %s has no port", protocol, vip)
		}
	}
	if !c.Has("add-duplicate") {
		if same := c.Tx.Where("Load_Balancer", "name", name); len(same) > 0 {
			return lbAddVIP(c, same, vip, backends, protocol)
		}
		c.Tx.VerifyAbsent("Load_Balancer", "name", name)
	}
	lb := c.Tx.Insert("Load_Balancer")
	lb.SetString("name", name)
	if protocol == "" {
		protocol = "tcp" // as ovn-nbctl stores even where no port makes use of it
	}
	lb.Set("protocol", ctl.Strings(protocol))
	lb.Put("vips", vip, backends)
	for _, option := range []string{"reject", "event", "template"} {
		if c.Has(option) {
			lb.Put("options", option, "true")
		}
	}
	if template {
		lb.Put("options", "address-family", family)
	}
	return nil
}

// lbAddVIP adds a VIP to the load balancers of a name; with --may-exist it may
// have other backends before.
func lbAddVIP(c *ctl.Call, lbs []*ctl.Row, vip, backends, protocol string) error {
	for _, lb := range lbs {
		if _, has := lb.Key("vips", vip); has && !c.Has("may-exist") {
			return fmt.Errorf("%s: a load balancer with this vip (%s) already exists; --may-exist changes its backends", c.Args[0], vip)
		}
		lb.Verify("vips")
		lb.Put("vips", vip, backends)
		if protocol != "" {
			lb.Set("protocol", ctl.Strings(protocol))
		}
		if c.Has("reject") {
			lb.Put("options", "reject", "true")
		}
		if c.Has("event") {
			lb.Put("options", "event", "true")
		}
	}
	return nil
}

func lbDel(c *ctl.Call) error {
	lbs := c.Tx.Where("Load_Balancer", "name", c.Args[0])
	if lb, err := loadBalancer.lookup(c.Tx, c.Args[0]); err == nil && lb != nil {
		lbs = only(lb)
	}
	if len(lbs) == 0 {
		if c.Has("if-exists") {
			return nil
		}
		return loadBalancer.missing(c.Args[0])
	}
	for _, lb := range lbs {
		if len(c.Args) == 1 {
			lb.Delete()
			continue
		}
		vip := c.Args[1]
		if !lb.Get("vips").Has(vip) {
			if v, ok := parseEndpoint(vip); ok {
				vip = v.String()
			}
		}
		if !lb.Get("vips").Has(vip) {
			if c.Has("if-exists") {
				continue
			}
			return fmt.Errorf("vip %s is not part of load balancer %s; `nwctl lb-list %s` shows its VIPs", vip, c.Args[0], c.Args[0])
		}
		lb.Verify("vips")
		lb.Remove("vips", vip)
		if lb.Get("vips").Len() == 0 {
			lb.Delete()
		}
	}
	return nil
}

func attachLB(c *ctl.Call, k kind) error {
	row, err := k.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	lb, err := loadBalancer.find(c.Tx, c.Args[1])
	if err != nil {
		return err
	}
	if row.Get("load_balancer").Has(ctl.UUID(lb.UUID)) && !c.Has("may-exist") {
		return fmt.Errorf("load balancer %s is on %s already; --may-exist keeps it", c.Args[1], c.Args[0])
	}
	row.Insert("load_balancer", ctl.UUID(lb.UUID))
	return nil
}

func detachLB(c *ctl.Call, k kind) error {
	row, err := k.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	if len(c.Args) == 1 {
		row.Set("load_balancer", ctl.Datum{})
		return nil
	}
	lb, err := loadBalancer.find(c.Tx, c.Args[1])
	if err != nil {
		return err
	}
	if !row.Get("load_balancer").Has(ctl.UUID(lb.UUID)) && !c.Has("if-exists") {
		return fmt.Errorf("load balancer %s is not on %s %s", c.Args[1], k.what, c.Args[0])
	}
	row.Remove("load_balancer", ctl.UUID(lb.UUID))
	return nil
}

// printLBs prints load balancers as a table, a line for each VIP.
func printLBs(c *ctl.Call, lbs []*ctl.Row) {
	width := 0
	for _, lb := range lbs {
		for _, vip := range lb.Strs("vips") {
			width = max(width, len(vip)+4)
		}
	}
	first := true
	line := func(uuid, name, protocol, vip, ips string) {
		c.Printf("%-40s%-20s%-11s%-*s%s\n", uuid, name, protocol, width, vip, ips)
	}
	for _, lb := range byName(lbs) {
		uuid, name := lb.UUID, lb.Str("name")
		if len(name) > 16 {
			name = name[:16]
		}
		for _, vip := range lb.Strs("vips") {
			if first {
				line("UUID", "LB", "PROTO", "VIP", "IPs")
				first = false
			}
			ips, _ := lb.Key("vips", vip)
			protocol := ""
			if e, ok := parseEndpoint(vip); !ok || e.port != 0 {
				if protocol = lb.Str("protocol"); protocol == "" {
					protocol = "tcp/udp"
				}
			}
			line(uuid, name, protocol, vip, ips)
			uuid, name = "", ""
		}
	}
}
