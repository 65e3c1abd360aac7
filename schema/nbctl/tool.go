// Package nbctl is the northbound database's command line: the commands of
// ovn-nbctl with their names, options, output and effects, as functions over a
// ctl.Txn, so that they work the same on a server and on a database in memory.
//
// It knows no sockets and no flags of the process; cmd/nwctl has those. Read
// New, then one of the command files, such as switch.go.
package nbctl

import (
	"fmt"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb/ctl"
)

// New returns the commands. schema is the project's northbound schema, which
// says what tables and columns a command line may name; the one that the
// commands find at the server may have less.
func New(schema *libovsdb.DatabaseSchema) *ctl.Tool {
	t := &ctl.Tool{
		Name:         "nwctl",
		Schema:       schema,
		Names:        rowNames(),
		PrepareReads: ctl.Reading("NB_Global name"),
		Prepare: func(tx *ctl.Txn) error {
			_, err := global(tx)
			return err
		},
	}
	for _, family := range [][]*ctl.Command{
		generalCommands(), switchCommands(), aclCommands(), portCommands(),
		portGroupCommands(), addressSetCommands(), qosCommands(), meterCommands(),
		loadBalancerCommands(), dhcpCommands(), mirrorCommands(), coppCommands(),
		forwardingGroupCommands(), networkFunctionCommands(), haChassisCommands(),
		routerCommands(), connectionCommands(), sslCommands(),
		ctl.Generic("logical_switch_port", "vm1", "name", "options"),
	} {
		t.Commands = append(t.Commands, family...)
	}
	return t
}

// rowNames are the ways in which ovn-nbctl names rows.
func rowNames() map[string][]ctl.RowName {
	name := ctl.RowName{Column: "name"}
	only := ctl.RowName{}
	byName := []ctl.RowName{name}
	return map[string][]ctl.RowName{
		"ACL":                        byName,
		"Address_Set":                byName,
		"Chassis_Template_Var":       {{Column: "chassis"}},
		"Connection":                 {{Column: "target"}},
		"Copp":                       byName,
		"Forwarding_Group":           byName,
		"HA_Chassis":                 {{Column: "chassis_name"}},
		"HA_Chassis_Group":           byName,
		"Load_Balancer":              byName,
		"Load_Balancer_Group":        byName,
		"Logical_Router":             {name, {Column: "external_ids", Key: "neutron:router_name"}},
		"Logical_Router_Port":        byName,
		"Logical_Switch":             {name, {Column: "external_ids", Key: "neutron:network_name"}},
		"Logical_Switch_Port":        {name, {Column: "external_ids", Key: "neutron:port_name"}},
		"Meter":                      byName,
		"Mirror":                     byName,
		"NAT":                        {{Column: "external_ip"}},
		"NB_Global":                  {only},
		"Network_Function":           byName,
		"Network_Function_Group":     byName,
		"Port_Group":                 byName,
		"SSL":                        {only},
		"Sample_Collector":           byName,
		"Load_Balancer_Health_Check": {{Column: "vip"}},
		"DHCP_Options": {
			{Via: "Logical_Switch_Port", Ref: "dhcpv4_options", Column: "name"},
			{Via: "Logical_Switch_Port", Ref: "dhcpv4_options", Column: "external_ids", Key: "neutron:port_name"},
			{Via: "Logical_Switch_Port", Ref: "dhcpv6_options", Column: "name"},
			{Via: "Logical_Switch_Port", Ref: "dhcpv6_options", Column: "external_ids", Key: "neutron:port_name"},
		},
	}
}

// A kind is something that commands find by name or UUID.
type kind struct {
	table, what string
	lister      string // the command that shows which there are
}

var (
	logicalSwitch   = kind{"Logical_Switch", "logical switch", "ls-list"}
	logicalRouter   = kind{"Logical_Router", "logical router", "lr-list"}
	switchPort      = kind{"Logical_Switch_Port", "logical switch port", "lsp-list SWITCH"}
	routerPort      = kind{"Logical_Router_Port", "logical router port", "lrp-list ROUTER"}
	portGroup       = kind{"Port_Group", "port group", "--columns=name list port_group"}
	addressSet      = kind{"Address_Set", "address set", "as-list"}
	loadBalancer    = kind{"Load_Balancer", "load balancer", "lb-list"}
	meter           = kind{"Meter", "meter", "meter-list"}
	mirror          = kind{"Mirror", "mirror", "mirror-list"}
	copp            = kind{"Copp", "control plane protection policy", "list copp"}
	forwardingGroup = kind{"Forwarding_Group", "forwarding group", "fwd-group-list"}
	networkFunction = kind{"Network_Function", "network function", "nf-list"}
	functionGroup   = kind{"Network_Function_Group", "network function group", "nfg-list"}
	haChassisGroup  = kind{"HA_Chassis_Group", "HA chassis group", "ha-chassis-group-list"}
)

// lookup returns the row that id names, nil where there is none.
func (k kind) lookup(tx *ctl.Txn, id string) (*ctl.Row, error) {
	if ctl.IsUUID(id) {
		if row := tx.Row(k.table, strings.ToLower(id)); row != nil {
			return row, nil
		}
	}
	rows := tx.Where(k.table, "name", id)
	if len(rows) > 1 {
		return nil, fmt.Errorf("multiple %ss named '%s': use a UUID (`nwctl %s` shows them)", k.what, id, k.lister)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return rows[0], nil
}

// find is lookup, and an error where there is none.
func (k kind) find(tx *ctl.Txn, id string) (*ctl.Row, error) {
	row, err := k.lookup(tx, id)
	if err == nil && row == nil {
		err = k.missing(id)
	}
	return row, err
}

// findUnless is find, unless the command has an --if-exists.
func (k kind) findUnless(c *ctl.Call, id string) (*ctl.Row, error) {
	if c.Has("if-exists") {
		return k.lookup(c.Tx, id)
	}
	return k.find(c.Tx, id)
}

func (k kind) missing(id string) error {
	return fmt.Errorf("no %s named '%s'; `nwctl %s` shows them", k.what, id, k.lister)
}

// holder returns the row of table whose column refers to uuid, nil for none.
func holder(tx *ctl.Txn, table, column, uuid string) *ctl.Row {
	for _, row := range tx.Rows(table) {
		if row.Get(column).Has(ctl.UUID(uuid)) {
			return row
		}
	}
	return nil
}

// printNamed prints rows as "UUID (NAME)", sorted by name.
func printNamed(c *ctl.Call, rows []*ctl.Row) {
	for _, row := range byName(rows) {
		c.Printf("%s (%s)\n", row.UUID, row.Str("name"))
	}
}

// byName sorts rows by name, those with the same name by UUID.
func byName(rows []*ctl.Row) []*ctl.Row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b *ctl.Row) int {
		if n := strings.Compare(a.Str("name"), b.Str("name")); n != 0 {
			return n
		}
		return strings.Compare(a.UUID, b.UUID)
	})
	return rows
}

// keyValues reads KEY=VALUE arguments; one without "=" is left out, as
// ovn-nbctl does.
func keyValues(args []string) map[string]string {
	m := map[string]string{}
	for _, arg := range args {
		if k, v, ok := strings.Cut(arg, "="); ok {
			m[k] = v
		}
	}
	return m
}

// printMap prints a map of strings, one KEY=VALUE a line, sorted.
func printMap(c *ctl.Call, row *ctl.Row, column string) {
	for _, key := range row.Strs(column) {
		value, _ := row.Key(column, key)
		c.Printf("%s=%s\n", key, value)
	}
}

// printLines prints the strings of a set, one a line, sorted.
func printLines(c *ctl.Call, row *ctl.Row, column string) {
	for _, s := range row.Strs(column) {
		c.Printf("%s\n", s)
	}
}
