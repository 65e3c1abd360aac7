package edits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"northwall/ovsdb"
	"northwall/tests/golden/sbdump"
)

// gen makes edits at random from few names, so that edits meet. Rows without a
// name get their UUID from it: a command line names the same row each time that
// it is run.
type gen struct {
	*rand.Rand
	rows sbdump.Contents // of the northbound database as it is
}

func (g *gen) one(options ...string) string { return options[g.IntN(len(options))] }
func (g *gen) oneInt(options ...int) int    { return options[g.IntN(len(options))] }

func (g *gen) aSwitch() string { return fmt.Sprintf("s%d", g.IntN(4)) }
func (g *gen) aPort() string   { return fmt.Sprintf("p%d", g.IntN(8)) }
func (g *gen) aGroup() string  { return fmt.Sprintf("g%d", g.IntN(3)) }

// row is one that exists, nil if none does.
func (g *gen) row(table string) *ovsdb.Row {
	rows := g.rows[table]
	if len(rows) == 0 {
		return nil
	}
	return rows[g.IntN(len(rows))]
}

// name is that of a row that exists.
func (g *gen) name(table string) string {
	r := g.row(table)
	if r == nil {
		return "none"
	}
	name, _ := r.Columns["name"].(string)
	return name
}

func (g *gen) port() string { return g.name("Logical_Switch_Port") }

// uuid is that of a row that exists, if any does.
func (g *gen) uuid(table string) string {
	r := g.row(table)
	if r == nil {
		return "none"
	}
	return r.UUID
}

// refers says whether a row of a table has this UUID in some column.
func (g *gen) refers(table, uuid string) bool {
	return slices.ContainsFunc(g.rows[table], func(r *ovsdb.Row) bool { return strings.Contains(fmt.Sprint(r.Columns), uuid) })
}

// dynamicPorts counts the ports of a switch whose addresses are assigned.
func (g *gen) dynamicPorts(s *ovsdb.Row) int {
	n := 0
	for _, p := range g.rows["Logical_Switch_Port"] {
		if strings.Contains(fmt.Sprint(s.Columns["ports"]), p.UUID) && strings.Contains(fmt.Sprint(p.Columns["addresses"]), "dynamic") {
			n++
		}
	}
	return n
}

// switchOf is the switch that a port is on, nil for none.
func (g *gen) switchOf(port string) *ovsdb.Row {
	for _, p := range g.rows["Logical_Switch_Port"] {
		if p.Columns["name"] != port {
			continue
		}
		for _, s := range g.rows["Logical_Switch"] {
			if strings.Contains(fmt.Sprint(s.Columns["ports"]), p.UUID) {
				return s
			}
		}
	}
	return nil
}

func (g *gen) newUUID() string {
	a, b := g.Uint64(), g.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(a>>32), uint16(a>>16), uint16(a)&0xfff, uint16(b>>48)&0xfff, b&0xffffffffffff)
}

func (g *gen) ports() string {
	var out []string
	for range g.IntN(4) {
		out = append(out, g.port())
	}
	return strings.Join(out, " ")
}

func (g *gen) addresses() string {
	n := g.IntN(6)
	return g.one("unknown", fmt.Sprintf(`"50:54:00:00:00:%02x"`, n), fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.%d"`, n, n),
		fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.%d 10.0.1.%d fd00::%d"`, n, n, n, n), fmt.Sprintf(`"50:54:00:00:00:%02x fd00::%d"`, n, n),
		fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.%d" unknown`, n, n), fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.%d" "50:54:00:00:01:%02x 10.0.0.1%d"`, n, n, n, n))
}

func (g *gen) portSecurity() string {
	n := g.IntN(6)
	return g.one("", fmt.Sprintf(`"50:54:00:00:00:%02x"`, n), fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.%d fd00::%d"`, n, n, n),
		fmt.Sprintf(`"50:54:00:00:00:%02x 10.0.0.0/24" "50:54:00:00:01:%02x"`, n, n), `"VRRPv3 00:00:00:00:00:01"`)
}

func (g *gen) setAddresses() string {
	return g.one(`10.0.0.1`, `10.0.0.1,10.0.0.2`, `'"10.16.0.47/4"'`, `'"fd00::1","10.0.0.0/8"'`, `[]`)
}

func (g *gen) direction() (direction, where string) {
	if g.IntN(2) == 0 {
		return "from-lport", "inport"
	}
	return "to-lport", "outport"
}

func (g *gen) qosAction() string {
	return g.one("action:dscp=10", "action:mark=5", "action:dscp=7 action:mark=9", "bandwidth:rate=100", "bandwidth:rate=100 bandwidth:burst=50",
		"action:dscp=1 bandwidth:rate=10")
}

// option sets or removes one key.
func (g *gen) option(table, column string, options []string) string {
	option := g.one(options...)
	of := g.name("Logical_Switch")
	if table == "logical_switch_port" {
		of = g.port()
	}
	if g.IntN(3) == 0 {
		name, _, _ := strings.Cut(option, "=")
		return fmt.Sprintf("remove %s %s %s %s", table, of, column, name)
	}
	name, value, _ := strings.Cut(option, "=")
	return fmt.Sprintf(`set %s %s %s:%s='%q'`, table, of, column, name, value)
}
