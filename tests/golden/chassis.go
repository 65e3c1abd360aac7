package golden

import (
	"fmt"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb/ctl"
)

// ChassisTool has the commands of ovn-sbctl that stand in for chassis.
func ChassisTool(schema *libovsdb.DatabaseSchema) *ctl.Tool {
	t := &ctl.Tool{
		Name:   "sbctl",
		Schema: schema,
		Names: map[string][]ctl.RowName{
			"Chassis":          {{Column: "name"}},
			"Chassis_Private":  {{Column: "name"}},
			"Datapath_Binding": {{Column: "external_ids", Key: "name"}},
			"Port_Binding":     {{Column: "logical_port"}},
			"SB_Global":        {{}},
			"Service_Monitor":  {{}, {Column: "logical_port"}},
		},
		Commands: []*ctl.Command{
			{Name: "init", Help: "initialize the database", Run: func(*ctl.Call) error { return nil }},
			{Name: "chassis-add", Args: "CHASSIS ENCAP-TYPE ENCAP-IP", Min: 3, Max: 3,
				Help: "add a chassis", Reads: ctl.Reading("Chassis name"), Run: chassisAdd},
			{Name: "chassis-del", Args: "CHASSIS", Min: 1, Max: 1,
				Help: "delete a chassis", Reads: ctl.Reading("Chassis name"), Run: chassisDel},
			{Name: "lsp-bind", Args: "PORT CHASSIS", Min: 2, Max: 2,
				Help: "bind a port to a chassis", Reads: ctl.Reading("Chassis name", "Port_Binding logical_port chassis up"), Run: lspBind},
			{Name: "lsp-unbind", Args: "PORT", Min: 1, Max: 1,
				Help: "undo what lsp-bind did", Reads: ctl.Reading("Port_Binding logical_port chassis up"), Run: lspUnbind},
		},
	}
	t.Commands = append(t.Commands, ctl.Generic("port_binding", "vm1", "up", "options")...)
	return t
}

func chassisAdd(c *ctl.Call) error {
	name, ip := c.Args[0], c.Args[2]
	if len(c.Tx.Where("Chassis", "name", name)) > 0 {
		return fmt.Errorf("a chassis named %s already exists", name)
	}
	chassis := c.Tx.Insert("Chassis")
	chassis.SetString("name", name)
	var encaps []string
	for kind := range strings.SplitSeq(c.Args[1], ",") {
		encap := c.Tx.Insert("Encap")
		encap.SetString("type", kind)
		encap.SetString("ip", ip)
		encap.SetString("chassis_name", name)
		encap.Put("options", "csum", "true")
		encaps = append(encaps, encap.UUID)
	}
	chassis.Set("encaps", ctl.UUIDs(encaps...))
	return nil
}

func findChassis(c *ctl.Call, name string) (*ctl.Row, error) { return c.Tx.Record("Chassis", name) }

func chassisDel(c *ctl.Call) error {
	chassis, err := findChassis(c, c.Args[0])
	if err != nil {
		return err
	}
	chassis.Delete()
	return nil
}

func lspBind(c *ctl.Call) error {
	port, err := c.Tx.Record("Port_Binding", c.Args[0])
	if err != nil {
		return err
	}
	chassis, err := findChassis(c, c.Args[1])
	if err != nil {
		return err
	}
	port.Set("chassis", ctl.UUIDs(chassis.UUID))
	port.Set("up", ctl.Set(true))
	return nil
}

func lspUnbind(c *ctl.Call) error {
	port, err := c.Tx.Record("Port_Binding", c.Args[0])
	if err != nil {
		return err
	}
	port.Set("chassis", ctl.Set())
	port.Set("up", ctl.Set())
	return nil
}
