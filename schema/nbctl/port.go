package nbctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"northwall/ovsdb/ctl"
)

const portGroupName = "Logical switch port commands"

// portTypes are the types that a logical switch port may have.
var portTypes = []string{"", "l2gateway", "localnet", "localport", "router", "switch", "vtep", "external", "virtual", "remote"}

// onPort makes a command about one port that reads column.
func onPort(name, args string, min, max int, help, example string, reads []ctl.Read, readOnly bool, run func(*ctl.Call, *ctl.Row) error) *ctl.Command {
	return &ctl.Command{Name: name, Group: portGroupName, Args: args, Min: min, Max: max, Help: help, Example: example,
		Reads: reads, ReadOnly: readOnly, Run: func(c *ctl.Call) error {
			port, err := switchPort.find(c.Tx, c.Args[0])
			if err != nil {
				return err
			}
			return run(c, port)
		}}
}

func portCommands() []*ctl.Command {
	reading := func(columns string) []ctl.Read { return ctl.Reading("Logical_Switch_Port name " + columns) }
	return []*ctl.Command{
		{Name: "lsp-add", Group: portGroupName, Args: "SWITCH PORT [PARENT TAG]", Min: 2, Max: 4, Options: []ctl.Option{mayExist},
			Help: "add logical port PORT to SWITCH, optionally inside PARENT with TAG", Example: "lsp-add sw0 vm1",
			Notes: "With TAG 0 a northd chooses a tag that is free at PARENT.",
			Reads: ctl.Reading("Logical_Switch name ports", "Logical_Switch_Port name parent_name tag_request"), Run: lspAdd},
		{Name: "lsp-add-router-port", Group: portGroupName, Args: "SWITCH PORT PEER", Min: 3, Max: 3, Options: []ctl.Option{mayExist},
			Help: "add a port of type router to SWITCH, connected to router port PEER", Example: "lsp-add-router-port sw0 sw0-lr0 lr0-sw0",
			Reads: ctl.Reading("Logical_Switch name ports", "Logical_Switch_Port name parent_name tag_request"),
			Run:   func(c *ctl.Call) error { return lspAddTyped(c, "router", "router", "router-port") }},
		{Name: "lsp-add-localnet-port", Group: portGroupName, Args: "SWITCH PORT NETWORK", Min: 3, Max: 3, Options: []ctl.Option{mayExist},
			Help: "add a port of type localnet to SWITCH, connected to NETWORK", Example: "lsp-add-localnet-port sw0 ln phys",
			Reads: ctl.Reading("Logical_Switch name ports", "Logical_Switch_Port name parent_name tag_request"),
			Run:   func(c *ctl.Call) error { return lspAddTyped(c, "localnet", "unknown", "network_name") }},
		{Name: "lsp-del", Group: portGroupName, Args: "PORT", Min: 1, Max: 1, Options: []ctl.Option{ifExists},
			Help: "delete PORT from its switch", Example: "lsp-del vm1",
			Reads: ctl.Reading("Logical_Switch ports", "Logical_Switch_Port name"), Run: lspDel},
		{Name: "lsp-list", Group: portGroupName, Args: "SWITCH", Min: 1, Max: 1, Help: "print the names of all logical ports of SWITCH",
			Example: "lsp-list sw0", Reads: ctl.Reading("Logical_Switch name ports", "Logical_Switch_Port name"), ReadOnly: true,
			Run: func(c *ctl.Call) error {
				ls, err := logicalSwitch.find(c.Tx, c.Args[0])
				if err == nil {
					printNamed(c, ls.Refs("ports"))
				}
				return err
			}},
		onPort("lsp-get-parent", "PORT", 1, 1, "print the parent of PORT if it has one", "lsp-get-parent vm1", reading("parent_name"), true,
			func(c *ctl.Call, p *ctl.Row) error {
				printLines(c, p, "parent_name")
				return nil
			}),
		onPort("lsp-get-tag", "PORT", 1, 1, "print the tag of PORT's traffic if it has one", "lsp-get-tag vm1", reading("tag"), true,
			func(c *ctl.Call, p *ctl.Row) error {
				if tag, ok := p.Int("tag"); ok {
					c.Printf("%d\n", tag)
				}
				return nil
			}),
		onPort("lsp-set-addresses", "PORT [ADDRESS]...", 1, -1, "set the Ethernet and IP addresses of PORT",
			`lsp-set-addresses vm1 "50:54:00:00:00:01 10.0.0.1"`,
			ctl.Reading("Logical_Switch name ports", "Logical_Switch_Port name addresses dynamic_addresses"), false, lspSetAddresses),
		onPort("lsp-get-addresses", "PORT", 1, 1, "print the addresses of PORT", "lsp-get-addresses vm1", reading("addresses"), true,
			func(c *ctl.Call, p *ctl.Row) error {
				printLines(c, p, "addresses")
				return nil
			}),
		onPort("lsp-set-port-security", "PORT [ADDRESS]...", 1, -1, "set the addresses that PORT may send from; none for any",
			`lsp-set-port-security vm1 "50:54:00:00:00:01 10.0.0.1"`, reading("port_security"), false,
			func(c *ctl.Call, p *ctl.Row) error {
				p.Set("port_security", ctl.Strings(c.Args[1:]...))
				return nil
			}),
		onPort("lsp-get-port-security", "PORT", 1, 1, "print the addresses that PORT may send from", "lsp-get-port-security vm1",
			reading("port_security"), true, func(c *ctl.Call, p *ctl.Row) error {
				printLines(c, p, "port_security")
				return nil
			}),
		onPort("lsp-get-up", "PORT", 1, 1, "print the state of PORT, up or down", "lsp-get-up vm1", reading("up"), true,
			func(c *ctl.Call, p *ctl.Row) error {
				state := "down"
				if up, _ := p.Bool("up"); up {
					state = "up"
				}
				c.Printf("%s\n", state)
				return nil
			}),
		onPort("lsp-set-enabled", "PORT STATE", 2, 2, "set the administrative state of PORT, enabled or disabled", "lsp-set-enabled vm1 disabled",
			reading("enabled"), false, setEnabled),
		onPort("lsp-get-enabled", "PORT", 1, 1, "print the administrative state of PORT", "lsp-get-enabled vm1", reading("enabled"), true, getEnabled),
		onPort("lsp-set-type", "PORT TYPE [peer=PEER]", 2, 3, "set the type of PORT", "lsp-set-type ln localnet", reading("type peer"), false, lspSetType),
		onPort("lsp-get-type", "PORT", 1, 1, "print the type of PORT", "lsp-get-type ln", reading("type"), true,
			func(c *ctl.Call, p *ctl.Row) error {
				c.Printf("%s\n", p.Str("type"))
				return nil
			}),
		onPort("lsp-set-options", "PORT [KEY=VALUE]...", 1, -1, "set the options of PORT's type, in place of those it had",
			"lsp-set-options ln network_name=phys", reading("options"), false, func(c *ctl.Call, p *ctl.Row) error {
				p.Set("options", ctl.StringMap(keyValues(c.Args[1:])))
				return nil
			}),
		onPort("lsp-get-options", "PORT", 1, 1, "print the options of PORT's type", "lsp-get-options ln", reading("options"), true,
			func(c *ctl.Call, p *ctl.Row) error {
				printMap(c, p, "options")
				return nil
			}),
		lspSetDHCP("4"), lspGetDHCP("4"), lspSetDHCP("6"), lspGetDHCP("6"),
		onPort("lsp-get-ls", "PORT", 1, 1, "print the logical switch that PORT belongs to", "lsp-get-ls vm1",
			ctl.Reading("Logical_Switch name ports", "Logical_Switch_Port name"), true, func(c *ctl.Call, p *ctl.Row) error {
				if ls := holder(c.Tx, "Logical_Switch", "ports", p.UUID); ls != nil {
					printNamed(c, only(ls))
				}
				return nil
			}),
	}
}

func lspAdd(c *ctl.Call) error {
	ls, err := logicalSwitch.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	name, parent, tag := c.Args[1], "", -1
	if len(c.Args) == 3 {
		return fmt.Errorf("lsp-add with parent must also specify a tag")
	}
	if len(c.Args) == 4 {
		parent = c.Args[2]
		if tag, err = strconv.Atoi(c.Args[3]); err != nil || tag < 0 || tag > 4095 {
			return fmt.Errorf("%s: invalid tag (must be in range 0 to 4095)", c.Args[3])
		}
	}
	if rows := c.Tx.Where("Logical_Switch_Port", "name", name); len(rows) > 0 {
		return samePort(c, rows[0], ls, parent, tag)
	}
	addPort(c, ls, name, parent, tag)
	return nil
}

// addPort creates a port. The name is unique by the schema.
func addPort(c *ctl.Call, ls *ctl.Row, name, parent string, tag int) *ctl.Row {
	port := c.Tx.Insert("Logical_Switch_Port")
	port.SetString("name", name)
	if tag >= 0 {
		port.SetString("parent_name", parent)
		port.Set("tag_request", ctl.Set(tag))
	}
	ls.Insert("ports", ctl.UUID(port.UUID))
	return port
}

// samePort says whether a port that exists is the one that was to be added.
func samePort(c *ctl.Call, port, ls *ctl.Row, parent string, tag int) error {
	name := port.Str("name")
	if !c.Has("may-exist") {
		return fmt.Errorf("%s: a port with this name already exists; --may-exist keeps it", name)
	}
	if !ls.Get("ports").Has(ctl.UUID(port.UUID)) {
		where := "no switch"
		if other := holder(c.Tx, "Logical_Switch", "ports", port.UUID); other != nil {
			where = "switch " + other.Str("name")
		}
		return fmt.Errorf("%s: port already exists but in %s", name, where)
	}
	hasParent := port.Get("parent_name").Len() > 0
	switch {
	case tag < 0 && hasParent:
		return fmt.Errorf("%s: port already exists but has parent %s", name, port.Str("parent_name"))
	case tag < 0:
		return nil
	case !hasParent:
		return fmt.Errorf("%s: port already exists but has no parent", name)
	case port.Str("parent_name") != parent:
		return fmt.Errorf("%s: port already exists with different parent %s", name, port.Str("parent_name"))
	}
	if has, ok := port.Int("tag_request"); !ok {
		return fmt.Errorf("%s: port already exists but has no tag_request", name)
	} else if has != tag {
		return fmt.Errorf("%s: port already exists with different tag_request %d", name, has)
	}
	return nil
}

// lspAddTyped adds a port of a type with one address and the option that names
// what it connects to.
func lspAddTyped(c *ctl.Call, portType, address, option string) error {
	ls, err := logicalSwitch.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	if rows := c.Tx.Where("Logical_Switch_Port", "name", c.Args[1]); len(rows) > 0 {
		return samePort(c, rows[0], ls, "", -1)
	}
	port := addPort(c, ls, c.Args[1], "", -1)
	port.SetString("type", portType)
	port.Set("addresses", ctl.Strings(address))
	port.Set("options", ctl.StringMap(map[string]string{option: c.Args[2]}))
	return nil
}

func lspDel(c *ctl.Call) error {
	port, err := switchPort.findUnless(c, c.Args[0])
	if err != nil || port == nil {
		return err
	}
	if ls := holder(c.Tx, "Logical_Switch", "ports", port.UUID); ls != nil {
		ls.Remove("ports", ctl.UUID(port.UUID))
		port.Collect()
	}
	return nil
}

func lspSetAddresses(c *ctl.Call, port *ctl.Row) error {
	ls := holder(c.Tx, "Logical_Switch", "ports", port.UUID)
	for _, address := range c.Args[1:] {
		word, _, _ := strings.Cut(address, " ")
		_, _, mac := parseMAC(address)
		if !mac && address != "unknown" && address != "router" && word != "dynamic" {
			return fmt.Errorf("%s: invalid address format; it is an Ethernet address and then IP addresses in one argument, or unknown, dynamic or router", address)
		}
		if err := duplicateIP(ls, port, address); err != nil {
			return err
		}
	}
	port.Set("addresses", ctl.Strings(c.Args[1:]...))
	return nil
}

// duplicateIP reports an IP address of address that another port of the switch
// has already.
func duplicateIP(ls, port *ctl.Row, address string) error {
	ips := portAddressIPs(address)
	if ls == nil || len(ips) == 0 {
		return nil
	}
	for _, other := range ls.Refs("ports") {
		if other.UUID == port.UUID {
			continue
		}
		for _, taken := range other.Strs("addresses") {
			if word, _, _ := strings.Cut(taken, " "); word == "dynamic" {
				taken = other.Str("dynamic_addresses")
			}
			for _, ip := range portAddressIPs(taken) {
				if slices.Contains(ips, ip) {
					version := 4
					if ip.Is6() {
						version = 6
					}
					return fmt.Errorf("error on switch %s: duplicate IPv%d address '%s' found on logical switch port '%s'",
						ls.Str("name"), version, ip, other.Str("name"))
				}
			}
		}
	}
	return nil
}

// setEnabled and getEnabled serve the ports of switches and routers.
func setEnabled(c *ctl.Call, port *ctl.Row) error {
	switch strings.ToLower(c.Args[1]) {
	case "enabled":
		port.Set("enabled", ctl.Set(true))
	case "disabled":
		port.Set("enabled", ctl.Set(false))
	default:
		return fmt.Errorf(`%s: state must be "enabled" or "disabled"`, c.Args[1])
	}
	return nil
}

func getEnabled(c *ctl.Call, port *ctl.Row) error {
	state := "enabled"
	if enabled, set := port.Bool("enabled"); set && !enabled {
		state = "disabled"
	}
	c.Printf("%s\n", state)
	return nil
}

func lspSetType(c *ctl.Call, port *ctl.Row) error {
	t := c.Args[1]
	if !slices.Contains(portTypes, t) {
		return fmt.Errorf("logical switch port type '%s' is unrecognized; it is one of%s, or empty", t, strings.Join(portTypes, " "))
	}
	if len(c.Args) == 3 {
		peer, ok := strings.CutPrefix(c.Args[2], "peer=")
		if !ok || t != "switch" {
			return fmt.Errorf("%s: type '%s' takes no such argument; only type switch has peer=PORT", c.Args[2], t)
		}
		port.Set("peer", ctl.Strings(peer))
	}
	port.SetString("type", t)
	return nil
}

func lspSetDHCP(version string) *ctl.Command {
	column := "dhcpv" + version + "_options"
	return onPort("lsp-set-dhcpv"+version+"-options", "PORT [DHCP_OPTIONS]", 1, 2,
		"set the DHCPv"+version+" options of PORT, none to clear", "lsp-set-dhcpv"+version+"-options vm1 7ad2f5c2-7d22-4d5a-a1f4-3a9bc2ee7b41",
		ctl.Reading("Logical_Switch_Port name "+column, "DHCP_Options cidr"), false, func(c *ctl.Call, port *ctl.Row) error {
			if len(c.Args) == 1 {
				port.Set(column, ctl.Datum{})
				return nil
			}
			options, err := findDHCP(c, c.Args[1])
			if err != nil {
				return err
			}
			cidr := options.Str("cidr")
			_, prefix, ok := normalizePrefix(cidr)
			if !ok || prefix.Addr().Is4() != (version == "4") {
				return fmt.Errorf("DHCP options cidr '%s' is not IPv%s", cidr, version)
			}
			port.Set(column, ctl.UUIDs(options.UUID))
			return nil
		})
}

func lspGetDHCP(version string) *ctl.Command {
	column := "dhcpv" + version + "_options"
	return onPort("lsp-get-dhcpv"+version+"-options", "PORT", 1, 1, "print the DHCPv"+version+" options of PORT", "lsp-get-dhcpv"+version+"-options vm1",
		ctl.Reading("Logical_Switch_Port name "+column, "DHCP_Options cidr"), true, func(c *ctl.Call, port *ctl.Row) error {
			for _, options := range port.Refs(column) {
				c.Printf("%s (%s)\n", options.UUID, options.Str("cidr"))
			}
			return nil
		})
}
