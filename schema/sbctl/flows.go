// Package sbctl reads a southbound database for people: it prints logical flows
// as ovn-sbctl's lflow-list does.
//
// It knows no sockets; cmd/nwctl has those. Read Flows.
package sbctl

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// Flow is what is read of a row of Logical_Flow.
type Flow struct {
	UUID        string    `ovsdb:"_uuid"`
	Datapath    *string   `ovsdb:"logical_datapath"`
	Group       *string   `ovsdb:"logical_dp_group"`
	Pipeline    string    `ovsdb:"pipeline"`
	TableID     int       `ovsdb:"table_id"`
	Priority    int       `ovsdb:"priority"`
	Match       string    `ovsdb:"match"`
	Actions     string    `ovsdb:"actions"`
	ExternalIDs ovsdb.Map `ovsdb:"external_ids"`
}

// Datapath is what is read of a row of Datapath_Binding.
type Datapath struct {
	UUID        string    `ovsdb:"_uuid"`
	ExternalIDs ovsdb.Map `ovsdb:"external_ids"`
}

// Group is a row of Logical_DP_Group.
type Group struct {
	UUID      string   `ovsdb:"_uuid"`
	Datapaths []string `ovsdb:"datapaths"`
}

// Tables are what a connection must monitor for Flows.
func Tables(schema *libovsdb.DatabaseSchema) []*ovsdb.Table {
	return []*ovsdb.Table{
		ovsdb.TableOf[Flow](schema, "Logical_Flow"),
		ovsdb.TableOf[Datapath](schema, "Datapath_Binding"),
		ovsdb.TableOf[Group](schema, "Logical_DP_Group"),
	}
}

// A Filter chooses flows; its zero value chooses all.
type Filter struct {
	Datapath string   // name, UUID or start of a UUID of a switch or router
	UUIDs    []string // starts of flows' UUIDs, with or without "0x"; any of them
	Pipeline string   // "ingress" or "egress"
	Stage    string   // number or name of a table, "5" or "ls_in_pre_acl"
	Priority *int
	Match    string // text that the match contains
	ShowUUID bool
}

// Flows prints the flows of the database whose first batch b is, datapath by
// datapath in the order in which packets meet them.
func Flows(out io.Writer, b *ovsdb.Batch, f Filter) error {
	names := map[string]string{} // of datapaths by UUID
	ovsdb.Each(b, "Datapath_Binding", func(uuid string, _, d *Datapath) {
		name, _ := d.ExternalIDs.Get("name")
		names[uuid] = name
	})
	wanted, err := f.datapaths(names)
	if err != nil {
		return err
	}
	groups := map[string][]string{}
	ovsdb.Each(b, "Logical_DP_Group", func(uuid string, _, g *Group) { groups[uuid] = g.Datapaths })
	keep, err := f.compile()
	if err != nil {
		return err
	}
	flows := map[string][]*Flow{} // by datapath
	ovsdb.Each(b, "Logical_Flow", func(uuid string, _, flow *Flow) {
		if !keep(flow) {
			return
		}
		var on []string
		if flow.Datapath != nil {
			on = append(on, *flow.Datapath)
		}
		if flow.Group != nil {
			on = append(on, groups[*flow.Group]...)
		}
		for _, dp := range on {
			flows[dp] = append(flows[dp], flow)
		}
	})
	for _, dp := range wanted {
		list := flows[dp]
		slices.SortFunc(list, compareFlows)
		pipeline := ""
		for _, flow := range list {
			if flow.Pipeline != pipeline {
				pipeline = flow.Pipeline
				fmt.Fprintf(out, "Datapath: %q (%s)  Pipeline: %s\n", names[dp], dp, pipeline)
			}
			stage, _ := flow.ExternalIDs.Get("stage-name")
			uuid := ""
			if f.ShowUUID {
				uuid = "uuid=0x" + flow.UUID[:8] + ", "
			}
			if _, err := fmt.Fprintf(out, "  %stable=%-2d(%-19s), priority=%-5d, match=(%s), action=(%s)\n",
				uuid, flow.TableID, stage, flow.Priority, flow.Match, flow.Actions); err != nil {
				return err
			}
		}
	}
	return nil
}

// datapaths returns the datapaths chosen, by name.
func (f Filter) datapaths(names map[string]string) ([]string, error) {
	var out []string
	for uuid, name := range names {
		if f.Datapath == "" || name == f.Datapath || uuid == strings.ToLower(f.Datapath) {
			out = append(out, uuid)
		}
	}
	if len(out) == 0 && len(f.Datapath) >= 4 {
		for uuid := range names {
			if strings.HasPrefix(uuid, strings.ToLower(f.Datapath)) {
				out = append(out, uuid)
			}
		}
	}
	if f.Datapath != "" && len(out) == 0 {
		return nil, fmt.Errorf("no datapath named '%s' in the southbound database; has a northd seen it (`nwctl --wait=sb sync`)?", f.Datapath)
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(strings.Compare(names[a], names[b]), strings.Compare(a, b))
	})
	return out, nil
}

var uuidStart = regexp.MustCompile(`^(0[xX])?[0-9a-fA-F][0-9a-fA-F-]*$`)

// compile checks the filter and makes a predicate of it.
func (f Filter) compile() (func(*Flow) bool, error) {
	if f.Pipeline != "" && f.Pipeline != "ingress" && f.Pipeline != "egress" {
		return nil, fmt.Errorf("%s: a pipeline is ingress or egress", f.Pipeline)
	}
	number, errNumber := strconv.Atoi(f.Stage)
	var starts []string
	for _, uuid := range f.UUIDs {
		if !uuidStart.MatchString(uuid) {
			return nil, fmt.Errorf("%s is not a UUID or the beginning of a UUID", uuid)
		}
		starts = append(starts, strings.TrimPrefix(strings.ToLower(uuid), "0x"))
	}
	return func(flow *Flow) bool {
		if f.Pipeline != "" && flow.Pipeline != f.Pipeline || f.Priority != nil && flow.Priority != *f.Priority ||
			!strings.Contains(flow.Match, f.Match) {
			return false
		}
		if f.Stage != "" {
			if errNumber == nil {
				if flow.TableID != number {
					return false
				}
			} else if name, _ := flow.ExternalIDs.Get("stage-name"); name != f.Stage {
				return false
			}
		}
		return len(starts) == 0 || slices.ContainsFunc(starts, func(s string) bool { return strings.HasPrefix(flow.UUID, s) })
	}, nil
}

// compareFlows orders by pipeline, table, falling priority, match and actions.
func compareFlows(a, b *Flow) int {
	return cmp.Or(
		-strings.Compare(a.Pipeline, b.Pipeline), // ingress before egress
		cmp.Compare(a.TableID, b.TableID),
		cmp.Compare(b.Priority, a.Priority),
		strings.Compare(a.Match, b.Match),
		strings.Compare(a.Actions, b.Actions),
		strings.Compare(a.UUID, b.UUID),
	)
}
