package nbctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"northwall/ovsdb/ctl"
)

const routerGroup = "Logical router commands"

func routerCommands() []*ctl.Command {
	onPort := func(name, args string, min, max int, help, example, columns string, readOnly bool, run func(*ctl.Call, *ctl.Row) error) *ctl.Command {
		return &ctl.Command{Name: name, Group: routerGroup, Args: args, Min: min, Max: max, Help: help, Example: example,
			Reads: ctl.Reading("Logical_Router_Port name " + columns), ReadOnly: readOnly, Run: func(c *ctl.Call) error {
				port, err := routerPort.find(c.Tx, c.Args[0])
				if err != nil {
					return err
				}
				return run(c, port)
			}}
	}
	return []*ctl.Command{
		{Name: "lr-add", Group: routerGroup, Args: "[ROUTER]", Max: 1, Options: []ctl.Option{mayExist, addDuplicate},
			Help: "create a logical router named ROUTER", Example: "lr-add lr0", Reads: ctl.Reading("Logical_Router name"),
			Run: func(c *ctl.Call) error { return addDatapath(c, logicalRouter, "router") }},
		{Name: "lr-del", Group: routerGroup, Args: "ROUTER", Min: 1, Max: 1, Options: []ctl.Option{ifExists},
			Help: "delete ROUTER and all its ports", Example: "--if-exists lr-del lr0",
			Reads: ctl.Reading("Logical_Router name ports", "Logical_Router_Port name"),
			Run:   func(c *ctl.Call) error { return deleteDatapath(c, logicalRouter) }},
		{Name: "lr-list", Group: routerGroup, Help: "print the names of all logical routers", Example: "lr-list",
			Reads: ctl.Reading("Logical_Router name"), ReadOnly: true, Run: func(c *ctl.Call) error {
				printNamed(c, c.Tx.Rows("Logical_Router"))
				return nil
			}},
		{Name: "lrp-add", Group: routerGroup, Args: "ROUTER PORT MAC [NETWORK]... [peer=PEER]", Min: 3, Max: -1, Options: []ctl.Option{mayExist},
			Help: "add port PORT to ROUTER", Example: "lrp-add lr0 lr0-sw0 00:00:00:00:ff:00 10.0.0.1/24",
			Reads: ctl.Reading("Logical_Router name ports", "Logical_Router_Port name mac networks peer"), Run: lrpAdd},
		{Name: "lrp-del", Group: routerGroup, Args: "PORT", Min: 1, Max: 1, Options: []ctl.Option{ifExists},
			Help: "delete PORT from its router", Example: "lrp-del lr0-sw0",
			Reads: ctl.Reading("Logical_Router ports", "Logical_Router_Port name"), Run: lrpDel},
		{Name: "lrp-list", Group: routerGroup, Args: "ROUTER", Min: 1, Max: 1, Help: "print the names of all ports of ROUTER",
			Example: "lrp-list lr0", Reads: ctl.Reading("Logical_Router name ports", "Logical_Router_Port name"), ReadOnly: true,
			Run: func(c *ctl.Call) error {
				lr, err := logicalRouter.find(c.Tx, c.Args[0])
				if err == nil {
					printNamed(c, lr.Refs("ports"))
				}
				return err
			}},
		onPort("lrp-set-enabled", "PORT STATE", 2, 2, "set the administrative state of PORT, enabled or disabled", "lrp-set-enabled lr0-sw0 disabled",
			"enabled", false, setEnabled),
		onPort("lrp-get-enabled", "PORT", 1, 1, "print the administrative state of PORT", "lrp-get-enabled lr0-sw0", "enabled", true, getEnabled),
		onPort("lrp-set-options", "PORT [KEY=VALUE]...", 1, -1, "set the options of PORT, in place of those it had",
			"lrp-set-options lr0-sw0 gateway_mtu=1400", "options", false, func(c *ctl.Call, p *ctl.Row) error {
				p.Set("options", ctl.StringMap(keyValues(c.Args[1:])))
				return nil
			}),
		{Name: "lr-route-add", Group: routerGroup, Args: "ROUTER PREFIX NEXTHOP [PORT]", Min: 3, Max: 4,
			Options: []ctl.Option{mayExist, ctl.Valued("policy", "POLICY", "dst-ip (the default) or src-ip"),
				ctl.Valued("route-table", "TABLE", "route table, the main one by default"),
				ctl.Flag("ecmp", "another next hop for the same prefix"),
				ctl.Flag("ecmp-symmetric-reply", "with --ecmp, and replies return by the way that requests came")},
			Help: "add a route to ROUTER; NEXTHOP may be discard", Example: "lr-route-add lr0 0.0.0.0/0 10.0.0.254",
			Reads: ctl.Reading("Logical_Router name static_routes",
				"Logical_Router_Static_Route ip_prefix nexthop policy route_table output_port options"), Run: routeAdd},
		{Name: "lr-route-del", Group: routerGroup, Args: "ROUTER [PREFIX [NEXTHOP [PORT]]]", Min: 1, Max: 4,
			Options: []ctl.Option{ifExists, ctl.Valued("policy", "POLICY", "only routes of this policy"),
				ctl.Valued("route-table", "TABLE", "route table, the main one by default")},
			Help: "remove routes from ROUTER", Example: "lr-route-del lr0 0.0.0.0/0",
			Reads: ctl.Reading("Logical_Router name static_routes",
				"Logical_Router_Static_Route ip_prefix nexthop policy route_table output_port"), Run: routeDel},
		{Name: "lr-policy-add", Group: routerGroup, Args: "ROUTER PRIORITY MATCH ACTION [NEXTHOP,...] [KEY=VALUE]...", Min: 4, Max: -1,
			Options: []ctl.Option{mayExist}, Help: "add a policy to ROUTER; ACTION is allow, drop or reroute",
			Example: "lr-policy-add lr0 100 'ip4.src == 10.0.0.10' reroute 10.0.1.254",
			Reads:   ctl.Reading("Logical_Router name policies", "Logical_Router_Policy priority match"), Run: policyAdd},
		{Name: "lr-policy-del", Group: routerGroup, Args: "ROUTER [{PRIORITY|UUID} [MATCH]]", Min: 1, Max: 3, Options: []ctl.Option{ifExists},
			Help: "remove policies from ROUTER", Example: "lr-policy-del lr0 100",
			Reads: ctl.Reading("Logical_Router name policies", "Logical_Router_Policy priority match"), Run: policyDel},
	}
}

// gatewayChassis of a router port, the highest priority first.
func gatewayChassis(port *ctl.Row) []*ctl.Row {
	rows := port.Refs("gateway_chassis")
	slices.SortStableFunc(rows, func(a, b *ctl.Row) int {
		pa, _ := a.Int("priority")
		pb, _ := b.Int("priority")
		return pb - pa
	})
	return rows
}

func lrpAdd(c *ctl.Call) error {
	lr, err := logicalRouter.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	name, networks, peer := c.Args[1], c.Args[3:], ""
	for len(networks) > 0 && strings.Contains(networks[len(networks)-1], "=") {
		last := networks[len(networks)-1]
		p, ok := strings.CutPrefix(last, "peer=")
		if !ok {
			return fmt.Errorf("%s: the only setting of a router port is peer=PORT", last)
		}
		peer, networks = p, networks[:len(networks)-1]
	}
	mac, rest, ok := parseMAC(c.Args[2])
	if !ok || rest != "" {
		return fmt.Errorf("%s: invalid mac address", c.Args[2])
	}
	for _, network := range networks {
		if _, _, ok := normalizePrefix(network); !ok {
			return fmt.Errorf("%s: invalid network address; it is like 10.0.0.1/24", network)
		}
	}
	if rows := c.Tx.Where("Logical_Router_Port", "name", name); len(rows) > 0 {
		return sameRouterPort(c, rows[0], lr, mac, networks, peer)
	}
	port := c.Tx.Insert("Logical_Router_Port")
	port.SetString("name", name)
	port.SetString("mac", c.Args[2])
	port.Set("networks", ctl.Strings(networks...))
	if peer != "" {
		port.Set("peer", ctl.Strings(peer))
	}
	lr.Insert("ports", ctl.UUID(port.UUID))
	return nil
}

// sameRouterPort says whether a port that exists is the one to be added.
func sameRouterPort(c *ctl.Call, port, lr *ctl.Row, mac string, networks []string, peer string) error {
	name := port.Str("name")
	if !c.Has("may-exist") {
		return fmt.Errorf("%s: a port with this name already exists; --may-exist keeps it", name)
	}
	if !lr.Get("ports").Has(ctl.UUID(port.UUID)) {
		return fmt.Errorf("%s: port already exists but in another router", name)
	}
	has, _, _ := parseMAC(port.Str("mac"))
	normal := func(list []string) []string {
		out := slices.Clone(list)
		for i := range out {
			out[i] = strings.ToLower(out[i])
		}
		return ctlStrings(out)
	}
	switch {
	case has != mac:
		return fmt.Errorf("%s: port already exists with mac %s", name, port.Str("mac"))
	case !slices.Equal(normal(port.Strs("networks")), normal(networks)):
		return fmt.Errorf("%s: port already exists with different network", name)
	case port.Str("peer") != peer:
		return fmt.Errorf("%s: port already exists with mismatching peer", name)
	}
	return nil
}

// ctlStrings sorts strings and drops duplicates.
func ctlStrings(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func lrpDel(c *ctl.Call) error {
	port, err := routerPort.findUnless(c, c.Args[0])
	if err != nil || port == nil {
		return err
	}
	if lr := holder(c.Tx, "Logical_Router", "ports", port.UUID); lr != nil {
		lr.Remove("ports", ctl.UUID(port.UUID))
		port.Collect()
	}
	return nil
}

// A route is what tells static routes apart.
type route struct{ prefix, nexthop, policy, table, port string }

func routeOf(row *ctl.Row) route {
	r := route{row.Str("ip_prefix"), row.Str("nexthop"), row.Str("policy"), row.Str("route_table"), row.Str("output_port")}
	if p, _, ok := normalizePrefix(r.prefix); ok {
		r.prefix = p
	}
	if n, _, ok := normalizePrefix(r.nexthop); ok {
		r.nexthop = n
	}
	if r.policy == "" {
		r.policy = "dst-ip"
	}
	return r
}

func parseRoute(c *ctl.Call) (route, error) {
	r := route{policy: "dst-ip", table: c.Options["route-table"], port: c.Arg(3)}
	if p, ok := c.Options["policy"]; ok {
		if r.policy = p; p != "dst-ip" && p != "src-ip" {
			return r, fmt.Errorf("bad policy: %s; it is dst-ip or src-ip", p)
		}
	}
	if len(c.Args) > 1 {
		var ok bool
		if r.prefix, _, ok = normalizePrefix(c.Args[1]); !ok {
			return r, fmt.Errorf("bad prefix argument: %s", c.Args[1])
		}
	}
	if len(c.Args) > 2 {
		if r.nexthop = c.Args[2]; r.nexthop != "discard" {
			n, p, ok := normalizePrefix(r.nexthop)
			if !ok || !p.IsSingleIP() {
				// A next hop may also be the name of a port.
				return r, fmt.Errorf("bad nexthop argument: %s", r.nexthop)
			}
			r.nexthop = n
		}
	}
	return r, nil
}

func routeAdd(c *ctl.Call) error {
	lr, err := logicalRouter.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	r, err := parseRoute(c)
	if err != nil {
		return err
	}
	ecmp := c.Has("ecmp") || c.Has("ecmp-symmetric-reply")
	for _, row := range lr.Refs("static_routes") {
		other := routeOf(row)
		if other.prefix != r.prefix || other.policy != r.policy || other.table != r.table {
			continue
		}
		switch {
		case ecmp && (other.nexthop != r.nexthop || other.port != r.port):
			continue
		case !c.Has("may-exist") && ecmp:
			return fmt.Errorf("duplicate nexthop for the same ECMP route")
		case !c.Has("may-exist"):
			return fmt.Errorf("duplicate prefix: %s (policy: %s); use option --ecmp to allow this for ECMP routing", r.prefix, r.policy)
		}
		row.SetString("nexthop", r.nexthop)
		row.Set("output_port", optional(r.port))
		return nil
	}
	row := c.Tx.Insert("Logical_Router_Static_Route")
	row.SetString("ip_prefix", r.prefix)
	row.SetString("nexthop", r.nexthop)
	row.SetString("route_table", r.table)
	row.Set("output_port", optional(r.port))
	if c.Has("policy") {
		row.Set("policy", ctl.Strings(r.policy))
	}
	if c.Has("ecmp-symmetric-reply") {
		row.Put("options", "ecmp_symmetric_reply", "true")
	}
	lr.Insert("static_routes", ctl.UUID(row.UUID))
	return nil
}

func optional(s string) ctl.Datum {
	if s == "" {
		return ctl.Datum{}
	}
	return ctl.Strings(s)
}

func routeDel(c *ctl.Call) error {
	lr, err := logicalRouter.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	want, err := parseRoute(c)
	if err != nil {
		return err
	}
	found := false
	for _, row := range lr.Refs("static_routes") {
		r := routeOf(row)
		if c.Has("policy") && r.policy != want.policy || len(c.Args) > 1 && (r.prefix != want.prefix || r.table != want.table) ||
			len(c.Args) > 2 && r.nexthop != want.nexthop || len(c.Args) > 3 && r.port != want.port {
			continue
		}
		found = true
		lr.Remove("static_routes", ctl.UUID(row.UUID))
		row.Collect()
	}
	if !found && len(c.Args) > 1 && !c.Has("if-exists") {
		return fmt.Errorf("no matching route on router %s for %s", c.Args[0], strings.Join(c.Args[1:], " "))
	}
	return nil
}

func policyAdd(c *ctl.Call) error {
	lr, err := logicalRouter.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	priority, err := parsePriority(c.Args[1])
	if err != nil {
		return err
	}
	match, action, rest := c.Args[2], c.Args[3], c.Args[4:]
	var nexthops []string
	switch action {
	case "reroute":
		if len(rest) == 0 {
			return fmt.Errorf("nexthop is required when action is reroute")
		}
		for _, hop := range strings.Split(rest[0], ",") {
			n, p, ok := normalizePrefix(strings.TrimSpace(hop))
			if !ok || !p.IsSingleIP() {
				return fmt.Errorf("bad nexthop argument: %s", hop)
			}
			nexthops = append(nexthops, n)
		}
		rest = rest[1:]
	case "allow", "drop":
	default:
		return fmt.Errorf(`%s: action must be one of "allow", "drop" and "reroute"`, action)
	}
	for _, other := range lr.Refs("policies") {
		if p, _ := other.Int("priority"); p == priority && other.Str("match") == match {
			if c.Has("may-exist") {
				return nil
			}
			return fmt.Errorf("the same policy (priority %d, match %q) is on router %s already; --may-exist keeps it", priority, match, c.Args[0])
		}
	}
	row := c.Tx.Insert("Logical_Router_Policy")
	row.Set("priority", ctl.Set(priority))
	row.SetString("match", match)
	row.SetString("action", action)
	row.Set("nexthops", ctl.Strings(nexthops...))
	row.Set("options", ctl.StringMap(keyValues(rest)))
	lr.Insert("policies", ctl.UUID(row.UUID))
	return nil
}

func policyDel(c *ctl.Call) error {
	lr, err := logicalRouter.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	priority, uuid := -1, ""
	if id := c.Arg(1); ctl.IsUUID(id) {
		uuid = strings.ToLower(id)
	} else if id != "" {
		if priority, err = strconv.Atoi(id); err != nil || priority < 0 || priority > 32767 {
			return fmt.Errorf("%s: neither a priority in range 0 to 32767 nor a UUID", id)
		}
	}
	found := false
	for _, row := range lr.Refs("policies") {
		p, _ := row.Int("priority")
		if uuid != "" && row.UUID != uuid || priority >= 0 && p != priority || len(c.Args) > 2 && row.Str("match") != c.Args[2] {
			continue
		}
		found = true
		lr.Remove("policies", ctl.UUID(row.UUID))
		row.Collect()
	}
	if uuid != "" && !found && !c.Has("if-exists") {
		return fmt.Errorf("no policy %s on router %s", uuid, c.Args[0])
	}
	return nil
}
