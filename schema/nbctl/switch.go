package nbctl

import (
	"fmt"

	"northwall/ovsdb/ctl"
)

const switchGroup = "Logical switch commands"

var (
	mayExist     = ctl.Flag("may-exist", "do nothing where it exists already")
	ifExists     = ctl.Flag("if-exists", "do nothing where it does not exist")
	addDuplicate = ctl.Flag("add-duplicate", "add another of the same name")
)

func switchCommands() []*ctl.Command {
	return []*ctl.Command{
		{Name: "ls-add", Group: switchGroup, Args: "[SWITCH]", Max: 1, Options: []ctl.Option{mayExist, addDuplicate},
			Help: "create a logical switch named SWITCH", Example: "ls-add sw0",
			Reads: ctl.Reading("Logical_Switch name"), Run: func(c *ctl.Call) error { return addDatapath(c, logicalSwitch, "switch") }},
		{Name: "ls-del", Group: switchGroup, Args: "SWITCH", Min: 1, Max: 1, Options: []ctl.Option{ifExists},
			Help: "delete SWITCH and all its ports", Example: "--if-exists ls-del sw0",
			Reads: ctl.Reading("Logical_Switch name ports", "Logical_Switch_Port name"),
			Run:   func(c *ctl.Call) error { return deleteDatapath(c, logicalSwitch) }},
		{Name: "ls-list", Group: switchGroup, Help: "print the names of all logical switches", Example: "ls-list",
			Reads: ctl.Reading("Logical_Switch name"), ReadOnly: true, Run: func(c *ctl.Call) error {
				printNamed(c, c.Tx.Rows("Logical_Switch"))
				return nil
			}},
	}
}

// addDatapath creates a switch or a router. Names are not unique in the schema,
// so that the commit has to see that there is no such name yet.
func addDatapath(c *ctl.Call, k kind, what string) error {
	if c.Has("may-exist") && c.Has("add-duplicate") {
		return fmt.Errorf("--may-exist and --add-duplicate may not be used together")
	}
	name := c.Arg(0)
	if name == "" {
		if c.Has("may-exist") || c.Has("add-duplicate") {
			return fmt.Errorf("--may-exist and --add-duplicate need the name of a %s", what)
		}
		c.Tx.Insert(k.table)
		return nil
	}
	if !c.Has("add-duplicate") {
		if len(c.Tx.Where(k.table, "name", name)) > 0 {
			if c.Has("may-exist") {
				return nil
			}
			return fmt.Errorf("%s: a %s with this name already exists; --may-exist keeps it", name, what)
		}
		c.Tx.VerifyAbsent(k.table, "name", name)
	}
	c.Tx.Insert(k.table).SetString("name", name)
	return nil
}

func deleteDatapath(c *ctl.Call, k kind) error {
	row, err := k.findUnless(c, c.Args[0])
	if err != nil || row == nil {
		return err
	}
	for _, port := range row.Refs("ports") {
		port.Collect()
	}
	row.Delete()
	return nil
}
