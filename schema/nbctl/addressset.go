package nbctl

import (
	"fmt"

	"northwall/ovsdb/ctl"
)

const addressSetGroup = "Address set commands (Northwall's own)"

// ovn-nbctl has only the generic commands for address sets.
func addressSetCommands() []*ctl.Command {
	reads := ctl.Reading("Address_Set name addresses")
	change := func(name, help, example string, apply func(*ctl.Row, []string)) *ctl.Command {
		return &ctl.Command{Name: name, Group: addressSetGroup, Args: "SET ADDRESS...", Min: 2, Max: -1, Help: help, Example: example,
			Reads: reads, Run: func(c *ctl.Call) error {
				as, err := addressSet.find(c.Tx, c.Args[0])
				if err == nil {
					apply(as, c.Args[1:])
				}
				return err
			}}
	}
	set := change("as-set-addresses", "set the addresses of SET, in place of those it had", "as-set-addresses admins 10.0.0.1 10.1.0.0/16",
		func(as *ctl.Row, addresses []string) { as.Set("addresses", ctl.Strings(addresses...)) })
	set.Args, set.Min = "SET [ADDRESS]...", 1
	return []*ctl.Command{
		{Name: "as-add", Group: addressSetGroup, Args: "SET [ADDRESS]...", Min: 1, Max: -1, Options: []ctl.Option{mayExist},
			Help: "create address set SET, optionally with ADDRESSes", Example: "as-add admins 10.0.0.1 10.1.0.0/16", Reads: reads, Run: asAdd},
		set,
		change("as-add-addresses", "add ADDRESSes to SET", "as-add-addresses admins 10.0.0.2", func(as *ctl.Row, addresses []string) {
			for _, a := range addresses {
				as.Insert("addresses", a)
			}
		}),
		change("as-del-addresses", "remove ADDRESSes from SET", "as-del-addresses admins 10.0.0.2", func(as *ctl.Row, addresses []string) {
			for _, a := range addresses {
				as.Remove("addresses", a)
			}
		}),
		{Name: "as-get-addresses", Group: addressSetGroup, Args: "SET", Min: 1, Max: 1, Help: "print the addresses of SET, one a line",
			Example: "as-get-addresses admins", Reads: reads, ReadOnly: true, Run: func(c *ctl.Call) error {
				as, err := addressSet.find(c.Tx, c.Args[0])
				if err == nil {
					printLines(c, as, "addresses")
				}
				return err
			}},
		{Name: "as-del", Group: addressSetGroup, Args: "SET", Min: 1, Max: 1, Options: []ctl.Option{ifExists},
			Help: "delete address set SET", Example: "as-del admins", Reads: ctl.Reading("Address_Set name"), Run: func(c *ctl.Call) error {
				as, err := addressSet.findUnless(c, c.Args[0])
				if err == nil && as != nil {
					as.Delete()
				}
				return err
			}},
		{Name: "as-list", Group: addressSetGroup, Help: "print the names of all address sets", Example: "as-list",
			Reads: ctl.Reading("Address_Set name"), ReadOnly: true, Run: func(c *ctl.Call) error {
				printNamed(c, c.Tx.Rows("Address_Set"))
				return nil
			}},
	}
}

func asAdd(c *ctl.Call) error {
	name := c.Args[0]
	if len(c.Tx.Where("Address_Set", "name", name)) > 0 {
		if c.Has("may-exist") {
			return nil
		}
		return fmt.Errorf("%s: an address set with this name already exists; --may-exist keeps it", name)
	}
	as := c.Tx.Insert("Address_Set")
	as.SetString("name", name)
	as.Set("addresses", ctl.Strings(c.Args[1:]...))
	return nil
}
