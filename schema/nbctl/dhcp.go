package nbctl

import (
	"fmt"
	"strings"

	"northwall/ovsdb/ctl"
)

const dhcpGroup = "DHCP options commands"

func dhcpCommands() []*ctl.Command {
	about := func(name, args string, max int, help, example, columns string, readOnly bool, run func(*ctl.Call, *ctl.Row)) *ctl.Command {
		return &ctl.Command{Name: name, Group: dhcpGroup, Args: args, Min: 1, Max: max, Help: help, Example: example,
			Reads: ctl.Reading("DHCP_Options cidr " + columns), ReadOnly: readOnly, Run: func(c *ctl.Call) error {
				row, err := findDHCP(c, c.Args[0])
				if err == nil && row != nil {
					run(c, row)
				}
				return err
			}}
	}
	const uuid = " 7ad2f5c2-7d22-4d5a-a1f4-3a9bc2ee7b41"
	del := about("dhcp-options-del", "DHCP_OPTIONS", 1, "delete a row of DHCP options", "dhcp-options-del"+uuid, "", false,
		func(_ *ctl.Call, row *ctl.Row) { row.Delete() })
	del.Options = []ctl.Option{ifExists}
	return []*ctl.Command{
		{Name: "dhcp-options-create", Group: dhcpGroup, Args: "CIDR [KEY=VALUE]...", Min: 1, Max: -1,
			Help: "create a row of DHCP options for CIDR; KEYs are external IDs", Example: "dhcp-options-create 10.0.0.0/24",
			Reads: ctl.Reading("DHCP_Options cidr"), Run: func(c *ctl.Call) error {
				if _, _, ok := normalizePrefix(c.Args[0]); !ok || !strings.Contains(c.Args[0], "/") {
					return fmt.Errorf("invalid cidr format '%s'; it is like 10.0.0.0/24 or fd00::/64", c.Args[0])
				}
				row := c.Tx.Insert("DHCP_Options")
				row.SetString("cidr", c.Args[0])
				row.Set("external_ids", ctl.StringMap(keyValues(c.Args[1:])))
				return nil
			}},
		del,
		{Name: "dhcp-options-list", Group: dhcpGroup, Help: "print the UUIDs of all DHCP options", Example: "dhcp-options-list",
			Reads: ctl.Reading("DHCP_Options cidr"), ReadOnly: true, Run: func(c *ctl.Call) error {
				for _, row := range c.Tx.Rows("DHCP_Options") {
					c.Printf("%s\n", row.UUID)
				}
				return nil
			}},
		about("dhcp-options-set-options", "DHCP_OPTIONS [KEY=VALUE]...", -1, "set the options, in place of those before",
			"dhcp-options-set-options"+uuid+" router=10.0.0.254 lease_time=3600", "options", false,
			func(c *ctl.Call, row *ctl.Row) { row.Set("options", ctl.StringMap(keyValues(c.Args[1:]))) }),
		about("dhcp-options-get-options", "DHCP_OPTIONS", 1, "print the options", "dhcp-options-get-options"+uuid, "options", true,
			func(c *ctl.Call, row *ctl.Row) { printMap(c, row, "options") }),
	}
}

// findDHCP returns a row of DHCP options, which have no name.
func findDHCP(c *ctl.Call, id string) (*ctl.Row, error) {
	if ctl.IsUUID(id) {
		if row := c.Tx.Row("DHCP_Options", strings.ToLower(id)); row != nil {
			return row, nil
		}
	}
	if c.Has("if-exists") {
		return nil, nil
	}
	return nil, fmt.Errorf("no DHCP options with UUID '%s'; `nwctl dhcp-options-list` shows the UUIDs", id)
}
