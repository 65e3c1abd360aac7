package nbctl

import (
	"fmt"
	"slices"
	"strings"

	"northwall/ovsdb/ctl"
)

const qosGroup = "QoS commands"

func qosCommands() []*ctl.Command {
	reads := ctl.Reading("Logical_Switch name qos_rules", "QoS direction priority match")
	return []*ctl.Command{
		{Name: "qos-add", Group: qosGroup, Args: "SWITCH DIRECTION PRIORITY MATCH [rate=RATE [burst=BURST]] [dscp=DSCP] [mark=MARK]",
			Min: 5, Max: 8, Options: []ctl.Option{mayExist}, Help: "add a QoS rule to SWITCH",
			Example: "qos-add sw0 from-lport 100 ip4 rate=1000 burst=2000 dscp=32", Reads: reads, Run: qosAdd},
		{Name: "qos-del", Group: qosGroup, Args: "SWITCH [{DIRECTION|UUID} [PRIORITY MATCH]]", Min: 1, Max: 4,
			Help: "remove QoS rules from SWITCH", Example: "qos-del sw0 from-lport", Reads: reads, Run: qosDel},
		{Name: "qos-list", Group: qosGroup, Args: "SWITCH", Min: 1, Max: 1, Help: "print the QoS rules of SWITCH", Example: "qos-list sw0",
			Reads:    ctl.Reading("Logical_Switch name qos_rules", "QoS direction priority match action bandwidth"),
			ReadOnly: true, Run: qosList},
	}
}

func qosAdd(c *ctl.Call) error {
	ls, err := logicalSwitch.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	direction, err := parseDirection(c.Args[1])
	if err != nil {
		return err
	}
	priority, err := parsePriority(c.Args[2])
	if err != nil {
		return err
	}
	rule := c.Tx.Insert("QoS")
	rule.SetString("direction", direction)
	rule.Set("priority", ctl.Set(priority))
	rule.SetString("match", c.Args[3])
	bounds := map[string]struct {
		column    string
		low, high uint64
	}{
		"dscp": {"action", 0, 63}, "mark": {"action", 1, 1<<32 - 1},
		"rate": {"bandwidth", 1, 1<<32 - 1}, "burst": {"bandwidth", 1, 1<<32 - 1},
	}
	given := map[string]bool{}
	for _, arg := range c.Args[4:] {
		key, value, _ := strings.Cut(arg, "=")
		b, ok := bounds[key]
		if !ok {
			return fmt.Errorf(`%s: supported arguments are "dscp=", "rate=", "burst=" and "mark="`, arg)
		}
		n, err := parseRange(value, key, b.low, b.high)
		if err != nil {
			return err
		}
		given[key] = true
		rule.Set(b.column, rule.Get(b.column).Put(key, n))
	}
	if !given["dscp"] && !given["mark"] && !given["rate"] {
		return fmt.Errorf(`"mark", "rate" or "dscp" must be specified`)
	}
	for _, other := range ls.Refs("qos_rules") {
		if p, _ := other.Int("priority"); p == priority && other.Str("direction") == direction && other.Str("match") == c.Args[3] {
			rule.Delete()
			if c.Has("may-exist") {
				return nil
			}
			return fmt.Errorf("the same QoS rule (%s, priority %d, match %q) is on %s already; --may-exist keeps it",
				direction, priority, c.Args[3], ls.Str("name"))
		}
	}
	ls.Insert("qos_rules", ctl.UUID(rule.UUID))
	return nil
}

func qosDel(c *ctl.Call) error {
	ls, err := logicalSwitch.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	matches, err := qosSelection(c)
	if err != nil {
		return err
	}
	found := false
	for _, rule := range ls.Refs("qos_rules") {
		if matches(rule) {
			found = true
			ls.Remove("qos_rules", ctl.UUID(rule.UUID))
			rule.Collect()
		}
	}
	if !found && ctl.IsUUID(c.Arg(1)) {
		return fmt.Errorf("no QoS rule %s on %s; `nwctl list qos` shows the rules", c.Args[1], ls.Str("name"))
	}
	return nil
}

func qosSelection(c *ctl.Call) (func(*ctl.Row) bool, error) {
	if len(c.Args) == 1 {
		return func(*ctl.Row) bool { return true }, nil
	}
	if ctl.IsUUID(c.Args[1]) {
		if len(c.Args) > 2 {
			return nil, fmt.Errorf("uuid must be the only argument")
		}
		return func(rule *ctl.Row) bool { return rule.UUID == strings.ToLower(c.Args[1]) }, nil
	}
	direction, err := parseDirection(c.Args[1])
	if err != nil {
		return nil, err
	}
	switch len(c.Args) {
	case 2:
		return func(rule *ctl.Row) bool { return rule.Str("direction") == direction }, nil
	case 3:
		return nil, fmt.Errorf("cannot specify priority without match")
	}
	priority, err := parsePriority(c.Args[2])
	if err != nil {
		return nil, err
	}
	return func(rule *ctl.Row) bool {
		p, _ := rule.Int("priority")
		return p == priority && rule.Str("direction") == direction && rule.Str("match") == c.Args[3]
	}, nil
}

func qosList(c *ctl.Call) error {
	ls, err := logicalSwitch.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	rules := ls.Refs("qos_rules")
	slices.SortStableFunc(rules, func(a, b *ctl.Row) int { return compareACLs(keyOfQoS(a), keyOfQoS(b)) })
	for _, rule := range rules {
		priority, _ := rule.Int("priority")
		c.Printf("%10s %5d (%s)", rule.Str("direction"), priority, rule.Str("match"))
		for _, column := range []string{"bandwidth", "action"} {
			keys := []string{"rate", "burst"}
			if column == "action" {
				keys = []string{"dscp", "mark"}
			}
			for _, key := range keys {
				if v, ok := rule.Key(column, key); ok {
					c.Printf(" %s=%s", key, v)
				}
			}
		}
		c.Printf("\n")
	}
	return nil
}

func keyOfQoS(rule *ctl.Row) aclKey {
	k := aclKey{direction: rule.Str("direction"), match: rule.Str("match")}
	k.priority, _ = rule.Int("priority")
	return k
}
