package nbctl

import (
	"fmt"
	"strconv"
	"strings"

	"northwall/ovsdb/ctl"
)

const meterGroup = "Meter commands"

func meterCommands() []*ctl.Command {
	return []*ctl.Command{
		{Name: "meter-add", Group: meterGroup, Args: "NAME ACTION RATE UNIT [BURST]", Min: 4, Max: 5,
			Options: []ctl.Option{mayExist, ctl.Flag("fair", "limit each user of the meter alone, not all together")},
			Help:    "add a meter", Example: "meter-add acl-log drop 10 pktps 5",
			Notes: "ACTION is drop, UNIT kbps or pktps. With --may-exist a meter of that name gets these values.",
			Reads: ctl.Reading("Meter name unit fair bands", "Meter_Band action"), Run: meterAdd},
		{Name: "meter-del", Group: meterGroup, Args: "[NAME]", Max: 1, Help: "remove one meter, or all", Example: "meter-del acl-log",
			Reads: ctl.Reading("Meter name"), Run: func(c *ctl.Call) error {
				for _, m := range c.Tx.Rows("Meter") {
					if len(c.Args) == 0 || m.Str("name") == c.Args[0] {
						m.Delete()
					}
				}
				return nil
			}},
		{Name: "meter-list", Group: meterGroup, Help: "print all meters", Example: "meter-list",
			Reads: ctl.Reading("Meter", "Meter_Band"), ReadOnly: true, Run: meterList},
	}
}

// parseRange reads a number between two bounds, which the error names.
func parseRange(s, what string, low, high uint64) (int, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s: %s must be in the range %d...%d", s, what, low, high)
	}
	return int(n), nil
}

func meterAdd(c *ctl.Call) error {
	name, action, unit := c.Args[0], c.Args[1], c.Args[3]
	if strings.HasPrefix(name, "__") {
		return fmt.Errorf(`%s: meter names that begin with "__" are reserved`, name)
	}
	if action != "drop" {
		return fmt.Errorf(`%s: action must be "drop"`, action)
	}
	rate, err := parseRange(c.Args[2], "rate", 1, 1<<32-1)
	if err != nil {
		return err
	}
	if unit != "kbps" && unit != "pktps" {
		return fmt.Errorf(`%s: unit must be "kbps" or "pktps"`, unit)
	}
	burst := 0
	if len(c.Args) == 5 {
		if burst, err = parseRange(c.Args[4], "burst", 0, 1<<32-1); err != nil {
			return err
		}
	}
	m, err := meter.lookup(c.Tx, name)
	if err != nil {
		return err
	}
	switch {
	case m == nil:
		m = c.Tx.Insert("Meter")
		m.SetString("name", name)
	case !c.Has("may-exist"):
		return fmt.Errorf("meter with name %q already exists; --may-exist changes it", name)
	}
	band := c.Tx.Insert("Meter_Band")
	band.SetString("action", action)
	band.Set("rate", ctl.Set(rate))
	band.Set("burst_size", ctl.Set(burst))
	m.SetString("unit", unit)
	if c.Has("fair") {
		m.Set("fair", ctl.Set(true))
	} else if !m.New() {
		m.Set("fair", ctl.Set(false))
	}
	m.Set("bands", ctl.UUIDs(band.UUID))
	return nil
}

func meterList(c *ctl.Call) error {
	for _, m := range byName(c.Tx.Rows("Meter")) {
		fair := ""
		if f, _ := m.Bool("fair"); f {
			fair = " (fair)"
		}
		c.Printf("%s:%s bands:\n", m.Str("name"), fair)
		for _, band := range m.Refs("bands") {
			rate, _ := band.Int("rate")
			c.Printf("  %s: %d %s", band.Str("action"), rate, m.Str("unit"))
			if burst, _ := band.Int("burst_size"); burst > 0 {
				unit := "kb"
				if m.Str("unit") == "pktps" {
					unit = "packet"
				}
				c.Printf(", %d %s burst", burst, unit)
			}
			c.Printf("\n")
		}
	}
	return nil
}
