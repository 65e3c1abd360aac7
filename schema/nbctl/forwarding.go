package nbctl

import (
	"fmt"
	"net/netip"
	"strings"

	"northwall/ovsdb/ctl"
)

const forwardingGroupGroup = "Forwarding group commands"

func forwardingGroupCommands() []*ctl.Command {
	return []*ctl.Command{
		{Name: "fwd-group-add", Group: forwardingGroupGroup, Args: "GROUP SWITCH VIP VMAC PORT...", Min: 5, Max: -1,
			Options: []ctl.Option{ctl.Flag("liveness", "leave out ports whose BFD session is down")},
			Help:    "add a forwarding group to SWITCH", Example: "fwd-group-add fg sw0 10.0.0.100 50:54:00:00:00:aa vm1 vm2",
			Reads: ctl.Reading("Forwarding_Group name", "Logical_Switch name forwarding_groups", "Logical_Switch_Port name"), Run: fwdGroupAdd},
		{Name: "fwd-group-del", Group: forwardingGroupGroup, Args: "GROUP", Min: 1, Max: 1, Options: []ctl.Option{ifExists},
			Help: "delete a forwarding group", Example: "fwd-group-del fg",
			Reads: ctl.Reading("Forwarding_Group name", "Logical_Switch forwarding_groups"), Run: func(c *ctl.Call) error {
				group, err := forwardingGroup.findUnless(c, c.Args[0])
				if err != nil || group == nil {
					return err
				}
				if ls := holder(c.Tx, "Logical_Switch", "forwarding_groups", group.UUID); ls != nil {
					ls.Remove("forwarding_groups", ctl.UUID(group.UUID))
					group.Collect()
				}
				return nil
			}},
		{Name: "fwd-group-list", Group: forwardingGroupGroup, Args: "[SWITCH]", Max: 1, Help: "print the forwarding groups of SWITCH, or all",
			Example: "fwd-group-list", Reads: ctl.Reading("Forwarding_Group name vip vmac child_port", "Logical_Switch name forwarding_groups"),
			ReadOnly: true, Run: fwdGroupList},
	}
}

func fwdGroupAdd(c *ctl.Call) error {
	name, vip, vmac := c.Args[0], c.Args[2], c.Args[3]
	if rows := c.Tx.Where("Forwarding_Group", "name", name); len(rows) > 0 {
		return fmt.Errorf("%s: a forwarding group by this name already exists", name)
	}
	ls, err := logicalSwitch.find(c.Tx, c.Args[1])
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(vip); err != nil || ip.Zone() != "" {
		return fmt.Errorf("invalid ip address %s", vip)
	}
	if !isMAC(vmac) {
		return fmt.Errorf("invalid mac address %s", vmac)
	}
	if _, err := portUUIDs(c, c.Args[4:]); err != nil {
		return err
	}
	group := c.Tx.Insert("Forwarding_Group")
	group.SetString("name", name)
	group.SetString("vip", vip)
	group.SetString("vmac", vmac)
	group.Set("child_port", ctl.Strings(c.Args[4:]...))
	group.Set("liveness", ctl.Set(c.Has("liveness")))
	ls.Insert("forwarding_groups", ctl.UUID(group.UUID))
	return nil
}

func fwdGroupList(c *ctl.Call) error {
	switches := byName(c.Tx.Rows("Logical_Switch"))
	if len(c.Args) == 1 {
		ls, err := logicalSwitch.find(c.Tx, c.Args[0])
		if err != nil {
			return err
		}
		switches = only(ls)
	}
	first := true
	for _, ls := range switches {
		for _, group := range byName(ls.Refs("forwarding_groups")) {
			if first {
				c.Printf("%-16s%-14s%-16s%-22s%s\n", "FWD_GROUP", "LS", "VIP", "VMAC", "CHILD_PORTS")
				first = false
			}
			c.Printf("%-16s%-14s%-15s%-23s%s\n", group.Str("name"), ls.Str("name"), group.Str("vip"), group.Str("vmac"),
				strings.Join(group.Strs("child_port"), " "))
		}
	}
	return nil
}
