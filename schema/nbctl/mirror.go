package nbctl

import (
	"fmt"
	"slices"
	"strconv"

	"northwall/ovsdb/ctl"
)

const mirrorGroup = "Mirror commands"

func mirrorCommands() []*ctl.Command {
	attach := ctl.Reading("Logical_Switch_Port name mirror_rules", "Mirror name")
	rules := ctl.Reading("Mirror name type mirror_rules", "Mirror_Rule priority match action")
	return []*ctl.Command{
		{Name: "mirror-add", Group: mirrorGroup, Args: "NAME TYPE [INDEX] FILTER SINK", Min: 4, Max: 5,
			Help: "add a mirror", Example: "mirror-add m0 gre 5 both 10.9.9.9",
			Notes: "TYPE is gre or erspan, which have INDEX and an IP address for SINK; local, to an interface with external-ids:mirror-id=SINK; " +
				"or lport, to logical port SINK. FILTER is from-lport, to-lport or both.",
			Reads: ctl.Reading("Mirror name"), Run: mirrorAdd},
		{Name: "mirror-del", Group: mirrorGroup, Args: "[NAME]", Max: 1, Help: "remove one mirror, or all", Example: "mirror-del m0",
			Reads: ctl.Reading("Mirror name"), Run: func(c *ctl.Call) error {
				for _, m := range c.Tx.Rows("Mirror") {
					if len(c.Args) == 0 || m.Str("name") == c.Args[0] {
						m.Delete()
					}
				}
				return nil
			}},
		{Name: "mirror-list", Group: mirrorGroup, Help: "print all mirrors", Example: "mirror-list",
			Reads:    ctl.Reading("Mirror name type sink filter index mirror_rules", "Mirror_Rule priority match action"),
			ReadOnly: true, Run: mirrorList},
		{Name: "mirror-rule-add", Group: mirrorGroup, Args: "MIRROR PRIORITY MATCH ACTION", Min: 4, Max: 4,
			Options: []ctl.Option{mayExist}, Help: "select traffic of a mirror of type lport; ACTION is mirror or skip",
			Example: "mirror-rule-add m1 100 ip4 mirror", Reads: rules, Run: mirrorRuleAdd},
		{Name: "mirror-rule-del", Group: mirrorGroup, Args: "MIRROR [PRIORITY [MATCH]]", Min: 1, Max: 3,
			Help: "remove selections of a mirror: one, those of a priority, or all", Example: "mirror-rule-del m1 100 ip4", Reads: rules, Run: mirrorRuleDel},
		{Name: "lsp-attach-mirror", Group: portGroupName, Args: "PORT MIRROR", Min: 2, Max: 2, Options: []ctl.Option{mayExist},
			Help: "mirror PORT's traffic", Example: "lsp-attach-mirror vm1 m0", Reads: attach, Run: func(c *ctl.Call) error {
				port, m, err := portAndMirror(c)
				if err != nil {
					return err
				}
				if port.Get("mirror_rules").Has(ctl.UUID(m.UUID)) && !c.Has("may-exist") {
					return fmt.Errorf("mirror %s is already attached to logical port %s; --may-exist keeps it", c.Args[1], c.Args[0])
				}
				port.Insert("mirror_rules", ctl.UUID(m.UUID))
				return nil
			}},
		{Name: "lsp-detach-mirror", Group: portGroupName, Args: "PORT MIRROR", Min: 2, Max: 2,
			Help: "mirror PORT's traffic no longer", Example: "lsp-detach-mirror vm1 m0", Reads: attach, Run: func(c *ctl.Call) error {
				port, m, err := portAndMirror(c)
				if err == nil {
					port.Remove("mirror_rules", ctl.UUID(m.UUID))
				}
				return err
			}},
	}
}

func portAndMirror(c *ctl.Call) (port, m *ctl.Row, err error) {
	if port, err = switchPort.find(c.Tx, c.Args[0]); err == nil {
		m, err = mirror.find(c.Tx, c.Args[1])
	}
	return port, m, err
}

func mirrorAdd(c *ctl.Call) error {
	name, t, rest := c.Args[0], c.Args[1], c.Args[2:]
	if !slices.Contains([]string{"gre", "erspan", "local", "lport"}, t) {
		return fmt.Errorf(`%s: type must be "gre", "erspan", "local" or "lport"`, t)
	}
	index, tunnel := -1, t == "gre" || t == "erspan" // -1 as ovn-nbctl has for none
	if tunnel {
		if len(rest) < 3 {
			return fmt.Errorf("a mirror of type %s has INDEX, FILTER and SINK", t)
		}
		n, err := strconv.Atoi(rest[0])
		if err != nil || n < 0 {
			return fmt.Errorf("%s: invalid index; it is a number", rest[0])
		}
		index, rest = n, rest[1:]
	}
	if len(rest) != 2 {
		return fmt.Errorf("a mirror of type %s has FILTER and SINK only", t)
	}
	filter, sink := rest[0], rest[1]
	if filter != "both" {
		var err error
		if filter, err = parseDirection(filter); err != nil {
			return fmt.Errorf(`%s: filter must be "to-lport", "from-lport" or "both"`, rest[0])
		}
	}
	if len(c.Tx.Where("Mirror", "name", name)) > 0 {
		return fmt.Errorf("mirror with name %s already exists", name)
	}
	if _, p, ok := normalizePrefix(sink); tunnel && (!ok || !p.IsSingleIP()) {
		return fmt.Errorf("%s: sink must be an IP address", sink)
	}
	m := c.Tx.Insert("Mirror")
	m.SetString("name", name)
	m.SetString("type", t)
	m.SetString("filter", filter)
	m.SetString("sink", sink)
	m.Set("index", ctl.Set(index))
	return nil
}

func mirrorRuleAdd(c *ctl.Call) error {
	m, err := mirror.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	priority, err := parsePriority(c.Args[1])
	if err != nil {
		return err
	}
	match, action := c.Args[2], c.Args[3]
	if action != "mirror" && action != "skip" {
		return fmt.Errorf(`%s: action must be "mirror" or "skip"`, action)
	}
	for _, rule := range m.Refs("mirror_rules") {
		if p, _ := rule.Int("priority"); p == priority && rule.Str("match") == match {
			if c.Has("may-exist") {
				return nil
			}
			return fmt.Errorf("the same rule (priority %d, match %q) is on mirror %s already; --may-exist keeps it", priority, match, c.Args[0])
		}
	}
	rule := c.Tx.Insert("Mirror_Rule")
	rule.Set("priority", ctl.Set(priority))
	rule.SetString("match", match)
	rule.SetString("action", action)
	m.Insert("mirror_rules", ctl.UUID(rule.UUID))
	return nil
}

func mirrorRuleDel(c *ctl.Call) error {
	m, err := mirror.find(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	priority := -1
	if len(c.Args) > 1 {
		if priority, err = parsePriority(c.Args[1]); err != nil {
			return err
		}
	}
	for _, rule := range m.Refs("mirror_rules") {
		p, _ := rule.Int("priority")
		if priority >= 0 && p != priority || len(c.Args) > 2 && rule.Str("match") != c.Args[2] {
			continue
		}
		m.Remove("mirror_rules", ctl.UUID(rule.UUID))
		rule.Collect()
	}
	return nil
}

func mirrorList(c *ctl.Call) error {
	for _, m := range byName(c.Tx.Rows("Mirror")) {
		c.Printf("%s:\n", m.Str("name"))
		c.Printf("  Type     :  %s\n", m.Str("type"))
		c.Printf("  Sink     :  %s\n", m.Str("sink"))
		c.Printf("  Filter   :  %s\n", m.Str("filter"))
		if t := m.Str("type"); t == "gre" || t == "erspan" {
			index, _ := m.Int("index")
			c.Printf("  Index/Key:  %d\n", index)
		}
		rules := m.Refs("mirror_rules")
		slices.SortStableFunc(rules, func(a, b *ctl.Row) int {
			pa, _ := a.Int("priority")
			pb, _ := b.Int("priority")
			return pa - pb
		})
		for i, rule := range rules {
			if i == 0 {
				c.Printf("  Rules    :\n")
			}
			p, _ := rule.Int("priority")
			c.Printf("%12d %30s %15s\n", p, rule.Str("match"), rule.Str("action"))
		}
		c.Printf("\n")
	}
	return nil
}
