package nbctl

import (
	"fmt"
	"strconv"

	"northwall/ovsdb/ctl"
)

const connectionGroup = "Connection commands"

func connectionCommands() []*ctl.Command {
	reads := ctl.Reading("NB_Global name connections", "Connection target")
	return []*ctl.Command{
		{Name: "get-connection", Group: connectionGroup, Help: "print the targets that the server listens on or connects to", Example: "get-connection",
			Reads: reads, ReadOnly: true, Run: func(c *ctl.Call) error {
				nb, err := existingGlobal(c)
				if err != nil || nb == nil {
					return err
				}
				var targets []string
				for _, row := range nb.Refs("connections") {
					targets = append(targets, row.Str("target"))
				}
				for _, target := range ctl.Strings(targets...).Keys {
					c.Printf("%s\n", target)
				}
				return nil
			}},
		{Name: "del-connection", Group: connectionGroup, Help: "delete all connections", Example: "del-connection", Reads: reads,
			Run: func(c *ctl.Call) error { return setConnections(c, nil) }},
		{Name: "set-connection", Group: connectionGroup, Args: "TARGET...", Min: 1, Max: -1,
			Options: []ctl.Option{ctl.Valued("inactivity-probe", "MSECS", "idle time before a probe is sent; 0 for none")},
			Help:    "set the targets, in place of those before", Example: "--inactivity-probe=60000 set-connection ptcp:6641", Reads: reads,
			Run: func(c *ctl.Call) error { return setConnections(c, c.Args) }},
	}
}

// existingGlobal returns the row of NB_Global, nil where there is none.
func existingGlobal(c *ctl.Call) (*ctl.Row, error) {
	if len(c.Tx.Rows("NB_Global")) == 0 {
		return nil, nil
	}
	return global(c.Tx)
}

func setConnections(c *ctl.Call, targets []string) error {
	nb, err := global(c.Tx)
	if err != nil {
		return err
	}
	probe := ctl.Datum{}
	if p, ok := c.Options["inactivity-probe"]; ok {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return fmt.Errorf("%s: the inactivity probe is a number of milliseconds", p)
		}
		probe = ctl.Set(n)
	}
	for _, row := range nb.Refs("connections") {
		row.Delete()
	}
	var uuids []string
	for _, target := range targets {
		row := c.Tx.Insert("Connection")
		row.SetString("target", target)
		row.Set("inactivity_probe", probe)
		uuids = append(uuids, row.UUID)
	}
	nb.Set("connections", ctl.UUIDs(uuids...))
	return nil
}
