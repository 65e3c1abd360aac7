package nbctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"northwall/ovsdb/ctl"
)

const aclGroup = "ACL commands"

var (
	aclActions    = []string{"allow", "allow-related", "allow-stateless", "drop", "reject", "pass"}
	aclSeverities = []string{"alert", "warning", "notice", "info", "debug"}
	entityType    = ctl.Valued("type", "{switch|port-group}", "what ENTITY is, where both have the name")
)

func aclCommands() []*ctl.Command {
	return []*ctl.Command{
		{Name: "acl-add", Group: aclGroup, Args: "{SWITCH|PG} DIRECTION PRIORITY MATCH ACTION [NFG]", Min: 5, Max: 6,
			Options: []ctl.Option{
				entityType,
				ctl.Flag("log", "log packets that the ACL decides on"),
				ctl.Valued("meter", "METER", "limit the log's rate; implies --log"),
				ctl.Valued("severity", "SEVERITY", "of log entries: alert, warning, notice, info or debug; implies --log"),
				ctl.Valued("name", "NAME", "of log entries; implies --log"),
				ctl.Valued("label", "LABEL", "number to store with connections (actions allow and allow-related)"),
				ctl.Valued("sample-new", "SAMPLE", "row of table Sample for packets of new connections"),
				ctl.Valued("sample-est", "SAMPLE", "row of table Sample for packets of established connections"),
				mayExist,
				ctl.Flag("apply-after-lb", "evaluate after load balancing (direction from-lport)"),
				ctl.Valued("tier", "TIER", "0 to 3; tiers are evaluated one after the other"),
			},
			Help:    "add an ACL to a switch or a port group",
			Example: "--tier=1 acl-add sw0 to-lport 1000 'ip4 && tcp.dst == 80' allow-related",
			Notes:   "DIRECTION is from-lport or to-lport, ACTION one of " + strings.Join(aclActions, ", ") + ". NFG is a network function group.",
			Reads: ctl.Reading("Logical_Switch name acls", "Port_Group name acls", "ACL direction priority match tier options",
				"Network_Function_Group name"),
			Run: aclAdd},
		{Name: "acl-del", Group: aclGroup, Args: "{SWITCH|PG} [DIRECTION [PRIORITY MATCH]]", Min: 1, Max: 4,
			Options: []ctl.Option{entityType, ctl.Valued("tier", "TIER", "only ACLs of this tier")},
			Help:    "remove ACLs from a switch or a port group", Example: "acl-del sw0 to-lport 1000 'ip4 && tcp.dst == 80'",
			Reads: ctl.Reading("Logical_Switch name acls", "Port_Group name acls", "ACL direction priority match tier"), Run: aclDel},
		{Name: "acl-list", Group: aclGroup, Args: "{SWITCH|PG}", Min: 1, Max: 1,
			Options: []ctl.Option{entityType, ctl.Flag("all", "also those of the port groups that ports of the switch are in")},
			Help:    "print the ACLs of a switch or a port group", Example: "acl-list sw0",
			Reads: ctl.Reading("Logical_Switch name acls ports", "Port_Group name acls ports",
				"ACL direction priority match tier options action log name severity meter label network_function_group",
				"Logical_Switch_Port name", "Network_Function_Group name"),
			ReadOnly: true, Run: aclList},
	}
}

// aclEntity finds the switch or port group that a command is about.
func aclEntity(c *ctl.Call) (*ctl.Row, error) {
	kinds := []kind{logicalSwitch, portGroup}
	if t, ok := c.Options["type"]; ok {
		switch t {
		case "switch":
			kinds = []kind{logicalSwitch}
		case "port-group":
			kinds = []kind{portGroup}
		default:
			return nil, fmt.Errorf(`invalid value '%s' for option --type; it is "switch" or "port-group"`, t)
		}
		return kinds[0].find(c.Tx, c.Args[0])
	}
	var found []*ctl.Row
	for _, k := range kinds {
		row, err := k.lookup(c.Tx, c.Args[0])
		if err != nil {
			return nil, err
		}
		if row != nil {
			found = append(found, row)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no logical switch or port group named '%s'; `nwctl ls-list` and `nwctl %s` show them", c.Args[0], portGroup.lister)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("'%s' names both a logical switch and a port group; give --type=switch, --type=port-group or a UUID", c.Args[0])
}

// parseDirection reads a direction, which may be abbreviated.
func parseDirection(s string) (string, error) {
	for _, direction := range []string{"from-lport", "to-lport"} {
		if s != "" && strings.HasPrefix(direction, s) {
			return direction, nil
		}
	}
	return "", fmt.Errorf(`%s: direction must be "to-lport" or "from-lport"`, s)
}

// parsePriority reads a priority of an ACL or the like.
func parsePriority(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 32767 {
		return 0, fmt.Errorf("%s: priority must be in range 0 to 32767", s)
	}
	return n, nil
}

func parseTier(c *ctl.Call) (int, error) {
	n, err := strconv.Atoi(c.Options["tier"])
	if err != nil || n < 0 || n > 3 {
		return 0, fmt.Errorf("invalid tier %s: it is in range 0 to 3", c.Options["tier"])
	}
	return n, nil
}

// aclKey is what makes two ACLs of a switch or group the same.
type aclKey struct {
	direction string
	afterLB   bool
	priority  int
	tier      int
	match     string
}

func keyOf(acl *ctl.Row) aclKey {
	k := aclKey{direction: acl.Str("direction"), match: acl.Str("match")}
	k.priority, _ = acl.Int("priority")
	k.tier, _ = acl.Int("tier")
	after, _ := acl.Key("options", "apply-after-lb")
	k.afterLB = k.direction == "from-lport" && after == "true"
	return k
}

func aclAdd(c *ctl.Call) error {
	entity, err := aclEntity(c)
	if err != nil {
		return err
	}
	key := aclKey{match: c.Args[3]}
	if key.direction, err = parseDirection(c.Args[1]); err != nil {
		return err
	}
	if key.priority, err = parsePriority(c.Args[2]); err != nil {
		return err
	}
	action := c.Args[4]
	if !slices.Contains(aclActions, action) {
		return fmt.Errorf("%s: action must be one of %s", action, strings.Join(aclActions, ", "))
	}
	if c.Has("tier") {
		if key.tier, err = parseTier(c); err != nil {
			return err
		}
	}
	key.afterLB = c.Has("apply-after-lb") && key.direction == "from-lport"
	acl := c.Tx.Insert("ACL")
	acl.SetString("direction", key.direction)
	acl.Set("priority", ctl.Set(key.priority))
	acl.SetString("match", key.match)
	acl.SetString("action", action)
	if key.tier != 0 { // the default; servers before OVN 23.06 have no tiers
		acl.Set("tier", ctl.Set(key.tier))
	}
	if key.afterLB {
		acl.Put("options", "apply-after-lb", "true")
	}
	if err := aclLogging(c, acl); err != nil {
		return err
	}
	if err := aclExtras(c, acl, action); err != nil {
		return err
	}
	for _, other := range entity.Refs("acls") {
		if keyOf(other) == key {
			acl.Delete()
			if c.Has("may-exist") {
				return nil
			}
			return fmt.Errorf("the same ACL (%s, priority %d, tier %d, match %q) is on %s already; --may-exist keeps it",
				key.direction, key.priority, key.tier, key.match, entity.Str("name"))
		}
	}
	entity.Insert("acls", ctl.UUID(acl.UUID))
	return nil
}

// aclLogging sets the columns about logging from the options.
func aclLogging(c *ctl.Call, acl *ctl.Row) error {
	for _, column := range []string{"severity", "name", "meter"} {
		value, ok := c.Options[column]
		if !ok {
			continue
		}
		if column == "severity" && !slices.Contains(aclSeverities, value) {
			return fmt.Errorf("bad severity: %s; it is one of %s", value, strings.Join(aclSeverities, ", "))
		}
		if column == "name" && len(value) > 63 {
			return fmt.Errorf("name %q is longer than 63 characters", value)
		}
		acl.Set(column, ctl.Strings(value))
		acl.Set("log", ctl.Set(true))
	}
	if c.Has("log") {
		acl.Set("log", ctl.Set(true))
	}
	return nil
}

// aclExtras sets the label, the samples and the network function group.
func aclExtras(c *ctl.Call, acl *ctl.Row, action string) error {
	if label, ok := c.Options["label"]; ok {
		n, err := strconv.ParseUint(label, 10, 32)
		if err != nil {
			return fmt.Errorf("%s: label must be in range 0 to 4294967295", label)
		}
		if action != "allow" && action != "allow-related" {
			return fmt.Errorf(`label can only be set with actions "allow" or "allow-related", not %q`, action)
		}
		acl.Set("label", ctl.Set(int(n)))
	}
	for _, option := range []string{"sample-new", "sample-est"} {
		id, ok := c.Options[option]
		if !ok {
			continue
		}
		value, err := c.Tx.ParseUUIDs(id)
		if err != nil {
			return fmt.Errorf("invalid --%s: %w", option, err)
		}
		acl.Set(strings.ReplaceAll(option, "-", "_"), value)
	}
	if len(c.Args) == 6 {
		group, err := functionGroup.find(c.Tx, c.Args[5])
		if err != nil {
			return err
		}
		acl.Set("network_function_group", ctl.UUIDs(group.UUID))
	}
	return nil
}

func aclDel(c *ctl.Call) error {
	entity, err := aclEntity(c)
	if err != nil {
		return err
	}
	matches := func(*ctl.Row) bool { return true }
	and := func(more func(*ctl.Row) bool) {
		before := matches
		matches = func(acl *ctl.Row) bool { return before(acl) && more(acl) }
	}
	if c.Has("tier") {
		tier, err := parseTier(c)
		if err != nil {
			return err
		}
		and(func(acl *ctl.Row) bool { n, _ := acl.Int("tier"); return n == tier })
	}
	if len(c.Args) > 1 {
		direction, err := parseDirection(c.Args[1])
		if err != nil {
			return err
		}
		and(func(acl *ctl.Row) bool { return acl.Str("direction") == direction })
	}
	switch len(c.Args) {
	case 3:
		return fmt.Errorf("cannot specify priority without match")
	case 4:
		priority, err := parsePriority(c.Args[2])
		if err != nil {
			return err
		}
		and(func(acl *ctl.Row) bool {
			n, _ := acl.Int("priority")
			return n == priority && acl.Str("match") == c.Args[3]
		})
	}
	for _, acl := range entity.Refs("acls") {
		if matches(acl) {
			entity.Remove("acls", ctl.UUID(acl.UUID))
			// The same row may be in another list, so that only the server can
			// tell whether it goes.
			if !aclElsewhere(c, acl) {
				acl.Collect()
			}
		}
	}
	return nil
}

func aclElsewhere(c *ctl.Call, acl *ctl.Row) bool {
	return holder(c.Tx, "Logical_Switch", "acls", acl.UUID) != nil || holder(c.Tx, "Port_Group", "acls", acl.UUID) != nil
}

func aclList(c *ctl.Call) error {
	entity, err := aclEntity(c)
	if err != nil {
		return err
	}
	printACLs(c, entity.Refs("acls"), "")
	if !c.Has("all") || entity.Table != "Logical_Switch" {
		return nil
	}
	for _, pg := range byName(c.Tx.Rows("Port_Group")) {
		if slices.ContainsFunc(pg.Strs("ports"), func(uuid string) bool { return entity.Get("ports").Has(ctl.UUID(uuid)) }) {
			printACLs(c, pg.Refs("acls"), pg.Str("name"))
		}
	}
	return nil
}

// printACLs prints ACLs in the order of their evaluation.
func printACLs(c *ctl.Call, acls []*ctl.Row, group string) {
	slices.SortStableFunc(acls, func(a, b *ctl.Row) int { return compareACLs(keyOf(a), keyOf(b)) })
	for _, acl := range acls {
		c.Printf("%10s %5d (%s) %s", acl.Str("direction"), keyOf(acl).priority, acl.Str("match"), acl.Str("action"))
		if log, _ := acl.Bool("log"); log {
			c.Printf(" log(%s)", strings.Join(logDetails(acl), ","))
		}
		if label, _ := acl.Int("label"); label > 0 {
			c.Printf(" label=%d", label)
		}
		for _, nfg := range acl.Refs("network_function_group") {
			c.Printf(" network-function-group=%s", nfg.Str("name"))
		}
		if keyOf(acl).afterLB {
			c.Printf(" [after-lb]")
		}
		if group != "" {
			c.Printf(" [%s]", group)
		}
		c.Printf("\n")
	}
}

func logDetails(acl *ctl.Row) []string {
	var out []string
	for _, column := range []string{"name", "severity"} {
		if v := acl.Str(column); v != "" {
			out = append(out, column+"="+v)
		}
	}
	if v := acl.Str("meter"); v != "" {
		out = append(out, `meter="`+v+`"`)
	}
	return out
}

// compareACLs orders as ovn-nbctl's list does: direction, before load balancing
// first, then falling priority and tier, then the match.
func compareACLs(a, b aclKey) int {
	if n := strings.Compare(a.direction, b.direction); n != 0 {
		return n
	}
	if a.afterLB != b.afterLB {
		if a.afterLB {
			return 1
		}
		return -1
	}
	if a.priority != b.priority {
		return b.priority - a.priority
	}
	if a.tier != b.tier {
		return b.tier - a.tier
	}
	return strings.Compare(a.match, b.match)
}
