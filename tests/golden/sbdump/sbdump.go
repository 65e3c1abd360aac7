// Package sbdump prints what a northd has written to a southbound database as
// sorted text in which no UUID and no random value is left, so that the results
// of two northds for the same northbound contents can be compared line by line.
// The format is that of the program of the same name which comes with the
// reference results; see Lines.
//
// It knows nothing of northds. Read Contents first.
package sbdump

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// Contents are the rows of a database by table, as memdb's DB.Snapshot and Read
// return them.
type Contents map[string][]*ovsdb.Row

// foreignTables are written by others than a northd, or shown through the rows
// that refer to them.
var foreignTables = set("Logical_DP_Group", "Chassis", "Chassis_Private", "Encap", "Connection", "SSL", "MAC_Binding",
	"FDB", "Controller_Event", "IGMP_Group", "DHCP_Options", "DHCPv6_Options", "Learned_Route")

// foreignColumns are not a northd's either.
var foreignColumns = map[string]map[string]bool{
	"SB_Global":       set("connections", "ssl", "nb_cfg"),
	"Port_Binding":    set("chassis", "encap", "additional_chassis", "additional_encap", "virtual_parent", "gateway_chassis"),
	"Service_Monitor": set("status"),
}

// freeKeys are keys of maps whose values are random, differ with each build, or
// hold UUIDs.
var freeKeys = set("northd_internal_version", "stage-hint", "source", "logical-switch", "logical-router", "northd-backoff-interval-ms")

// northboundColumns are the northbound columns that a northd writes.
var northboundColumns = map[string][]string{
	"Logical_Switch_Port": {"up", "dynamic_addresses", "tag"},
	"Logical_Router_Port": {"ipv6_prefix", "status"},
	"NB_Global":           {"options"},
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// Lines prints the southbound rows, and the columns of northbound ones that a
// northd writes, one row a line, sorted. A reference is printed as the name of
// the row that it is to: a datapath's external_ids:name, a port's logical_port,
// anything else's own key. Flows list their datapaths in place of a group. What
// chassis write, and columns that are empty, are left out.
func Lines(sb, nb Contents) []string { return sorted(newPrinter(sb, nb, false).rows(sb, nb)) }

// HintedLines is Lines with the stage-hints of flows, for two southbound databases
// whose northbound ones hold the same rows with the same UUIDs.
func HintedLines(sb, nb Contents) []string { return sorted(HintedRows(sb, nb)) }

// HintedRows are the HintedLines with the UUIDs of their rows, in no order.
func HintedRows(sb, nb Contents) []Row { return newPrinter(sb, nb, true).rows(sb, nb) }

// A Row is a printed row.
type Row struct{ UUID, Text string }

// Exact prints every row of a database with all its columns, and references as
// UUIDs: two texts of one row differ where anything in it does. The result is by
// UUID.
func Exact(c Contents) map[string]string {
	p := &printer{hints: true, exact: true}
	out := map[string]string{}
	for table, rows := range c {
		for _, r := range rows {
			out[r.UUID] = table + " " + r.UUID + p.columns(r, slices.Sorted(maps.Keys(r.Columns)))
		}
	}
	return out
}

func sorted(rows []Row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.Text
	}
	slices.Sort(out)
	return out
}

func newPrinter(sb, nb Contents, hints bool) *printer {
	p := &printer{names: map[string]string{}, hints: hints}
	for table, rows := range nb {
		for _, r := range rows {
			p.names[r.UUID] = "nb:" + label(table, r)
		}
	}
	// Rows that take the UUID of a northbound one go by their own name.
	for table, rows := range sb {
		for _, r := range rows {
			p.names[r.UUID] = label(table, r)
		}
	}
	for _, r := range sb["Logical_DP_Group"] {
		p.names[r.UUID] = p.value(r.Columns["datapaths"])
	}
	return p
}

func (p *printer) rows(sb, nb Contents) []Row {
	var out []Row
	for table, rows := range sb {
		if foreignTables[table] {
			continue
		}
		for _, r := range rows {
			if table == "Logical_Flow" {
				out = append(out, Row{r.UUID, p.flow(r)})
				continue
			}
			columns := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Columns)), func(c string) bool {
				return c[0] == '_' || foreignColumns[table][c]
			})
			out = append(out, Row{r.UUID, table + p.columns(r, columns)})
		}
	}
	for table, columns := range northboundColumns {
		for _, r := range nb[table] {
			out = append(out, Row{r.UUID, "NB " + table + " " + label(table, r) + p.columns(r, columns)})
		}
	}
	return out
}

type printer struct {
	names map[string]string // of rows, by UUID
	hints bool              // to be printed
	exact bool              // prints UUIDs and all keys
}

// columns prints those that are not empty.
func (p *printer) columns(r *ovsdb.Row, columns []string) string {
	var b strings.Builder
	for _, c := range columns {
		if v := p.value(r.Columns[c]); v != "[]" && v != "{}" && v != `""` {
			b.WriteString(" " + c + "=" + v)
		}
	}
	return b.String()
}

func (p *printer) flow(r *ovsdb.Row) string {
	text := func(column string) string { return text(r, column) }
	number := func(column string) int { n, _ := asFloat(r.Columns[column]); return int(n) }
	datapaths := p.value(r.Columns["logical_datapath"])
	if datapaths == "[]" {
		datapaths = "[" + strings.Trim(p.value(r.Columns["logical_dp_group"]), "[]") + "]"
	}
	return fmt.Sprintf("Logical_Flow %s table=%02d priority=%05d match=(%s) actions=(%s) dps=%s%s",
		text("pipeline"), number("table_id"), number("priority"),
		p.nameUUIDs(text("match")), sortSamples(p.nameUUIDs(text("actions"))), datapaths,
		p.columns(r, []string{"controller_meter", "tags", "flow_desc", "external_ids"}))
}

// value prints a value with the elements of sets and the pairs of maps sorted.
func (p *printer) value(v any) string {
	switch v := v.(type) {
	case nil:
		return "[]"
	case string:
		return fmt.Sprintf("%q", p.nameUUIDs(v))
	case libovsdb.UUID:
		if p.exact {
			return v.GoUUID
		}
		if name, ok := p.names[v.GoUUID]; ok {
			return name
		}
		return "<uuid>"
	case libovsdb.OvsSet:
		elems := make([]string, len(v.GoSet))
		for i, e := range v.GoSet {
			elems[i] = p.value(e)
		}
		slices.Sort(elems)
		return "[" + strings.Join(elems, " ") + "]"
	case libovsdb.OvsMap:
		pairs := make([]string, 0, len(v.GoMap))
		for key, value := range v.GoMap {
			if k, ok := key.(string); ok && freeKeys[k] && !p.exact && !(p.hints && k == "stage-hint") {
				continue
			}
			pairs = append(pairs, strings.Trim(p.value(key), `"`)+"="+p.value(value))
		}
		slices.Sort(pairs)
		return "{" + strings.Join(pairs, " ") + "}"
	}
	if f, ok := asFloat(v); ok {
		return fmt.Sprint(f) // large integers in the form that the format has for them
	}
	return fmt.Sprint(v)
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

var uuidRE = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// nameUUIDs replaces each UUID inside a string by the name of its row.
func (p *printer) nameUUIDs(s string) string {
	if p.exact || strings.Count(s, "-") < 4 {
		return s // as most are
	}
	return uuidRE.ReplaceAllStringFunc(s, func(uuid string) string {
		if name, ok := p.names[uuid]; ok {
			return "<" + name + ">"
		}
		return "<uuid>"
	})
}

var samplesRE = regexp.MustCompile(`(?:sample\([^)]*\);)+`)

// sortSamples sorts runs of sample actions, whose order is free.
func sortSamples(actions string) string {
	if !strings.Contains(actions, "sample(") {
		return actions
	}
	return samplesRE.ReplaceAllStringFunc(actions, func(run string) string {
		samples := strings.Split(strings.TrimSuffix(run, ";"), ";")
		slices.Sort(samples)
		return strings.Join(samples, ";") + ";"
	})
}

// label is the name by which references to a row are printed.
func label(table string, r *ovsdb.Row) string {
	text := func(column string) string { return text(r, column) }
	switch table {
	case "Datapath_Binding":
		ids, _ := r.Columns["external_ids"].(libovsdb.OvsMap)
		name, _ := ids.GoMap["name"].(string)
		return name
	case "Port_Binding":
		return text("logical_port")
	case "ACL":
		priority, _ := asFloat(r.Columns["priority"])
		return fmt.Sprintf("ACL(%s %v %s)", text("direction"), priority, text("match"))
	case "NB_Global", "SB_Global":
		return table
	case "Chassis":
		return "chassis " + text("name")
	}
	if name := text("name"); name != "" {
		return name
	}
	var parts []string
	for column, v := range r.Columns {
		if column[0] == '_' {
			continue
		}
		if s, ok := v.(string); ok && s != "" {
			parts = append(parts, column+"="+s)
		} else if f, ok := asFloat(v); ok {
			parts = append(parts, fmt.Sprintf("%s=%v", column, f))
		}
	}
	slices.Sort(parts)
	return table + "(" + strings.Join(parts, ",") + ")"
}
