package nbctl

import (
	"fmt"

	"northwall/ovsdb/ctl"
)

const networkFunctionGroup = "Network function commands"

func networkFunctionCommands() []*ctl.Command {
	groups := ctl.Reading("Network_Function_Group name id mode network_function", "Network_Function name")
	member := func(name, help string, options []ctl.Option, run func(c *ctl.Call, group, function *ctl.Row) error) *ctl.Command {
		return &ctl.Command{Name: name, Group: networkFunctionGroup, Args: "NFG NF", Min: 2, Max: 2, Options: options, Help: help,
			Example: name + " nfg0 nf0", Reads: groups, Run: func(c *ctl.Call) error {
				group, err := functionGroup.find(c.Tx, c.Args[0])
				if err != nil {
					return err
				}
				function, err := networkFunction.find(c.Tx, c.Args[1])
				if err != nil {
					return err
				}
				return run(c, group, function)
			}}
	}
	remove := func(name string, k kind, what, example string) *ctl.Command {
		return &ctl.Command{Name: name, Group: networkFunctionGroup, Args: what, Min: 1, Max: 1, Options: []ctl.Option{ifExists},
			Help: "delete " + what, Example: name + " " + example, Reads: ctl.Reading(k.table + " name"), Run: func(c *ctl.Call) error {
				row, err := k.findUnless(c, c.Args[0])
				if err == nil && row != nil {
					row.Delete()
				}
				return err
			}}
	}
	return []*ctl.Command{
		{Name: "nf-add", Group: networkFunctionGroup, Args: "NF ID INPORT OUTPORT", Min: 4, Max: 4, Options: []ctl.Option{mayExist},
			Help: "create network function NF between two ports of a switch", Example: "nf-add nf0 1 fw-in fw-out",
			Notes: "With --may-exist a function of that name gets these values.",
			Reads: ctl.Reading("Network_Function name id inport outport", "Logical_Switch_Port name"), Run: nfAdd},
		remove("nf-del", networkFunction, "NF", "nf0"),
		{Name: "nf-list", Group: networkFunctionGroup, Help: "print all network functions", Example: "nf-list",
			Reads:    ctl.Reading("Network_Function name id inport outport", "Logical_Switch_Port name"),
			ReadOnly: true, Run: nfList},
		{Name: "nfg-add", Group: networkFunctionGroup, Args: "NFG ID MODE [NF]...", Min: 3, Max: -1, Options: []ctl.Option{mayExist},
			Help: "create network function group NFG; MODE is inline", Example: "nfg-add nfg0 1 inline nf0",
			Notes: "With --may-exist a group of that name gets these values.", Reads: groups, Run: nfgAdd},
		remove("nfg-del", functionGroup, "NFG", "nfg0"),
		{Name: "nfg-list", Group: networkFunctionGroup, Help: "print all network function groups", Example: "nfg-list",
			Reads: ctl.Reading("Network_Function_Group name"), ReadOnly: true, Run: func(c *ctl.Call) error {
				printNamed(c, c.Tx.Rows("Network_Function_Group"))
				return nil
			}},
		member("nfg-add-nf", "add network function NF to group NFG", []ctl.Option{mayExist}, func(c *ctl.Call, group, function *ctl.Row) error {
			if group.Get("network_function").Has(ctl.UUID(function.UUID)) && !c.Has("may-exist") {
				return fmt.Errorf("network function %s is in group %s already; --may-exist keeps it", c.Args[1], c.Args[0])
			}
			group.Insert("network_function", ctl.UUID(function.UUID))
			return nil
		}),
		member("nfg-del-nf", "remove network function NF from group NFG", []ctl.Option{ifExists}, func(c *ctl.Call, group, function *ctl.Row) error {
			if !group.Get("network_function").Has(ctl.UUID(function.UUID)) && !c.Has("if-exists") {
				return fmt.Errorf("network function %s is not in group %s", c.Args[1], c.Args[0])
			}
			group.Remove("network_function", ctl.UUID(function.UUID))
			return nil
		}),
	}
}

func nfAdd(c *ctl.Call) error {
	id, err := parseRange(c.Args[1], "network function id", 1, 255)
	if err != nil {
		return err
	}
	nf, err := networkFunction.lookup(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	if nf != nil && !c.Has("may-exist") {
		return fmt.Errorf("%s: a network function with this name already exists; --may-exist changes it", c.Args[0])
	}
	in, err := switchPort.find(c.Tx, c.Args[2])
	if err != nil {
		return err
	}
	out, err := switchPort.find(c.Tx, c.Args[3])
	if err != nil {
		return err
	}
	if nf == nil {
		nf = c.Tx.Insert("Network_Function")
		nf.SetString("name", c.Args[0])
	}
	nf.Set("id", ctl.Set(id))
	nf.Set("inport", ctl.UUIDs(in.UUID))
	nf.Set("outport", ctl.UUIDs(out.UUID))
	return nil
}

func nfList(c *ctl.Call) error {
	for _, nf := range byName(c.Tx.Rows("Network_Function")) {
		id, _ := nf.Int("id")
		port := func(column string) string {
			for _, p := range nf.Refs(column) {
				return p.Str("name")
			}
			return ""
		}
		c.Printf("%s (%s) id:%d in:%s out:%s\n", nf.UUID, nf.Str("name"), id, port("inport"), port("outport"))
	}
	return nil
}

func nfgAdd(c *ctl.Call) error {
	id, err := parseRange(c.Args[1], "network function group id", 1, 255)
	if err != nil {
		return err
	}
	if c.Args[2] != "inline" {
		return fmt.Errorf("%s: unsupported mode of network function group %s; it is inline", c.Args[2], c.Args[0])
	}
	group, err := functionGroup.lookup(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	if group != nil && !c.Has("may-exist") {
		return fmt.Errorf("%s: a network function group with this name already exists; --may-exist changes it", c.Args[0])
	}
	var uuids []string
	for _, name := range c.Args[3:] {
		nf, err := networkFunction.find(c.Tx, name)
		if err != nil {
			return err
		}
		uuids = append(uuids, nf.UUID)
	}
	if group == nil {
		group = c.Tx.Insert("Network_Function_Group")
		group.SetString("name", c.Args[0])
	}
	group.Set("id", ctl.Set(id))
	group.SetString("mode", c.Args[2])
	group.Set("network_function", ctl.UUIDs(uuids...))
	return nil
}
