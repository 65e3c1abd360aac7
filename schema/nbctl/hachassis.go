package nbctl

import (
	"fmt"

	"northwall/ovsdb/ctl"
)

const haChassisGroupGroup = "HA chassis group commands"

func haChassisCommands() []*ctl.Command {
	reads := ctl.Reading("HA_Chassis_Group name ha_chassis", "HA_Chassis chassis_name priority")
	return []*ctl.Command{
		{Name: "ha-chassis-group-add", Group: haChassisGroupGroup, Args: "GROUP", Min: 1, Max: 1, Help: "create HA chassis group GROUP",
			Example: "ha-chassis-group-add gateways", Reads: ctl.Reading("HA_Chassis_Group name"), Run: func(c *ctl.Call) error {
				if len(c.Tx.Where("HA_Chassis_Group", "name", c.Args[0])) > 0 {
					return fmt.Errorf("%s: an HA chassis group with this name already exists", c.Args[0])
				}
				c.Tx.Insert("HA_Chassis_Group").SetString("name", c.Args[0])
				return nil
			}},
		{Name: "ha-chassis-group-del", Group: haChassisGroupGroup, Args: "GROUP", Min: 1, Max: 1, Help: "delete HA chassis group GROUP",
			Example: "ha-chassis-group-del gateways", Reads: ctl.Reading("HA_Chassis_Group name"), Run: func(c *ctl.Call) error {
				group, err := haChassisGroup.find(c.Tx, c.Args[0])
				if err == nil {
					group.Delete()
				}
				return err
			}},
		{Name: "ha-chassis-group-list", Group: haChassisGroupGroup, Args: "[GROUP]", Max: 1, Help: "print one HA chassis group, or all, with the chassis",
			Example: "ha-chassis-group-list", Reads: reads, ReadOnly: true, Run: haChassisGroupList},
		{Name: "ha-chassis-group-add-chassis", Group: haChassisGroupGroup, Args: "GROUP CHASSIS PRIORITY", Min: 3, Max: 3,
			Help: "add CHASSIS to GROUP, or change its priority", Example: "ha-chassis-group-add-chassis gateways hv1 10", Reads: reads, Run: haChassisAdd},
		{Name: "ha-chassis-group-remove-chassis", Group: haChassisGroupGroup, Args: "GROUP CHASSIS", Min: 2, Max: 2,
			Help: "remove CHASSIS from GROUP", Example: "ha-chassis-group-remove-chassis gateways hv1", Reads: reads, Run: func(c *ctl.Call) error {
				group, chassis, err := haChassis(c)
				if err != nil {
					return err
				}
				if chassis == nil {
					return fmt.Errorf("%s: no such chassis in HA chassis group %s; `nwctl ha-chassis-group-list %s` shows them", c.Args[1], c.Args[0], c.Args[0])
				}
				group.Remove("ha_chassis", ctl.UUID(chassis.UUID))
				chassis.Collect()
				return nil
			}},
	}
}

// haChassis finds the group and the chassis in it, nil if it is not.
func haChassis(c *ctl.Call) (group, chassis *ctl.Row, err error) {
	if group, err = haChassisGroup.find(c.Tx, c.Args[0]); err != nil {
		return nil, nil, err
	}
	for _, row := range group.Refs("ha_chassis") {
		if row.Str("chassis_name") == c.Args[1] {
			return group, row, nil
		}
	}
	return group, nil, nil
}

func haChassisAdd(c *ctl.Call) error {
	group, chassis, err := haChassis(c)
	if err != nil {
		return err
	}
	priority, err := parsePriority(c.Args[2])
	if err != nil {
		return err
	}
	if chassis == nil {
		group.Verify("ha_chassis") // that it is not there was read
		chassis = c.Tx.Insert("HA_Chassis")
		chassis.SetString("chassis_name", c.Args[1])
		group.Insert("ha_chassis", ctl.UUID(chassis.UUID))
	}
	chassis.Set("priority", ctl.Set(priority))
	return nil
}

func haChassisGroupList(c *ctl.Call) error {
	groups := c.Tx.Rows("HA_Chassis_Group")
	if len(c.Args) == 1 {
		group, err := haChassisGroup.find(c.Tx, c.Args[0])
		if err != nil {
			return err
		}
		groups = only(group)
	}
	for _, group := range byName(groups) {
		c.Printf("%s (%s)\n", group.UUID, group.Str("name"))
		for _, chassis := range group.Refs("ha_chassis") {
			priority, _ := chassis.Int("priority")
			c.Printf("    %s (%s)\n    priority %d\n\n", chassis.UUID, chassis.Str("chassis_name"), priority)
		}
		c.Printf("\n")
	}
	return nil
}
