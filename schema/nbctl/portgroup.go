package nbctl

import (
	"fmt"
	"strings"

	"northwall/ovsdb/ctl"
)

const portGroupGroup = "Port group commands"

func portGroupCommands() []*ctl.Command {
	reads := ctl.Reading("Port_Group name ports", "Logical_Switch_Port name")
	return []*ctl.Command{
		{Name: "pg-add", Group: portGroupGroup, Args: "PG [PORT]...", Min: 1, Max: -1,
			Help: "create port group PG, optionally with PORTs", Example: "pg-add web vm1 vm2", Reads: reads, Run: pgAdd},
		{Name: "pg-set-ports", Group: portGroupGroup, Args: "PG PORT...", Min: 2, Max: -1,
			Help: "set the ports of PG, in place of those it had", Example: "pg-set-ports web vm1 vm3", Reads: reads, Run: pgSetPorts},
		{Name: "pg-get-ports", Group: portGroupGroup, Args: "PG", Min: 1, Max: 1,
			Help: "print the ports of PG", Example: "pg-get-ports web", Reads: reads, ReadOnly: true, Run: pgGetPorts},
		{Name: "pg-del", Group: portGroupGroup, Args: "PG", Min: 1, Max: 1, Options: []ctl.Option{ifExists},
			Help: "delete port group PG", Example: "pg-del web", Reads: ctl.Reading("Port_Group name"), Run: func(c *ctl.Call) error {
				pg, err := portGroup.findUnless(c, c.Args[0])
				if err == nil && pg != nil {
					pg.Delete()
				}
				return err
			}},
	}
}

// portUUIDs finds ports by name.
func portUUIDs(c *ctl.Call, names []string) (ctl.Datum, error) {
	uuids := make([]string, 0, len(names))
	for _, name := range names {
		port, err := switchPort.find(c.Tx, name)
		if err != nil {
			return ctl.Datum{}, err
		}
		uuids = append(uuids, port.UUID)
	}
	return ctl.UUIDs(uuids...), nil
}

func pgAdd(c *ctl.Call) error {
	name := c.Args[0]
	if len(c.Tx.Where("Port_Group", "name", name)) > 0 {
		return fmt.Errorf("%s: a port group with this name already exists", name)
	}
	ports, err := portUUIDs(c, c.Args[1:])
	if err != nil {
		return err
	}
	pg := c.Tx.Insert("Port_Group")
	pg.SetString("name", name)
	pg.Set("ports", ports)
	return nil
}

func pgSetPorts(c *ctl.Call) error {
	pg, err := portGroup.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	ports, err := portUUIDs(c, c.Args[1:])
	if err != nil {
		return err
	}
	pg.Set("ports", ports)
	return nil
}

func pgGetPorts(c *ctl.Call) error {
	pg, err := portGroup.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	var names []string
	for _, port := range byName(pg.Refs("ports")) {
		names = append(names, port.Str("name"))
	}
	if len(names) > 0 {
		c.Printf("%s\n", strings.Join(names, " "))
	}
	return nil
}
