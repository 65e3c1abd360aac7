package takeover

import (
	"maps"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/tests/golden/sbdump"
	"northwall/tests/oracle"
)

// contents are those of both databases at one moment.
type contents struct{ nb, sb sbdump.Contents }

// A column is one that a northd which takes over may write, or one key of it.
type column struct {
	table, name, key string
	// absent: only where the key was not there.
	absent bool
	why    string
}

// progress is written because the tests wait for the northd that took over.
var progress = []column{
	{table: "SB_Global", name: "nb_cfg"},
	{table: "NB_Global", name: "nb_cfg"},
	{table: "NB_Global", name: "nb_cfg_timestamp"},
	{table: "NB_Global", name: "sb_cfg"},
	{table: "NB_Global", name: "sb_cfg_timestamp"},
	{table: "NB_Global", name: "hv_cfg"},
	{table: "NB_Global", name: "hv_cfg_timestamp"},
}

// written is what the original writes into rows of ours, docs/differences.md.
var written = []column{
	{"Logical_Flow", "external_ids", "source", true, "source of a flow"},
	{"SB_Global", "options", "northd_internal_version", true, "northd_internal_version"},
	{"NB_Global", "options", "northd_internal_version", true, "northd_internal_version"},
}

// A change is what differs between the contents before and after: rows, or
// versions of them, that were there and are no longer, and that are there now.
// Rows are printed by name, as sbdump does, where it prints them.
type change struct{ gone, come []string }

// changes compares the contents. Columns of allowed are taken for unchanged, and
// counted by why where that is given.
func changes(before, after contents, allowed []column) (change, map[string]int) {
	hits := map[string]int{}
	for _, c := range allowed {
		if n := c.restore(before, after); c.why != "" && n > 0 {
			hits[c.why] += n
		}
	}
	old, now := before.printed(), after.printed()
	var d change
	for uuid, row := range old {
		if now[uuid].exact != row.exact {
			d.gone = append(d.gone, row.text)
		}
	}
	for uuid, row := range now {
		if old[uuid].exact != row.exact {
			d.come = append(d.come, row.text)
		}
	}
	slices.Sort(d.gone)
	slices.Sort(d.come)
	return d, hits
}

// lines prints what is gone with "-", what has come with "+".
func (d change) lines() []string {
	var out []string
	for _, l := range d.gone {
		out = append(out, "-"+l)
	}
	for _, l := range d.come {
		out = append(out, "+"+l)
	}
	return out
}

// takeKnown removes what the oracle knows of from the change from the original's
// contents to ours.
func (d change) takeKnown(nb sbdump.Contents) (change, map[string]int) {
	stock, ours, hits := oracle.TakeKnown(d.gone, d.come, nb)
	return change{stock, ours}, hits
}

// reverse is the change the other way.
func (d change) reverse() change { return change{d.come, d.gone} }

// restore gives the column the value that it had in those rows that are in both
// contents, and returns in how many it had another.
func (c column) restore(before, after contents) int {
	n := 0
	old := byUUID(slices.Concat(before.nb[c.table], before.sb[c.table]))
	for _, r := range slices.Concat(after.nb[c.table], after.sb[c.table]) {
		was, ok := old[r.UUID]
		if !ok {
			continue
		}
		if c.key == "" {
			if was.Columns[c.name] != r.Columns[c.name] {
				r.Columns[c.name] = was.Columns[c.name]
				n++
			}
			continue
		}
		had, has := keys(was, c.name), keys(r, c.name)
		value, there := had[c.key]
		if has[c.key] == value || c.absent && there {
			continue
		}
		delete(has, c.key)
		if there {
			has[c.key] = value
		}
		n++
	}
	return n
}

// mergedGroups is the name of a difference, docs/differences.md.
const mergedGroups = "several Logical_DP_Group rows with the same datapaths"

// mergeGroups takes for unchanged what becomes of groups with the same datapaths:
// rows refer to one of them in place of another, which goes. It returns the
// number of rows.
func mergeGroups(before, after contents) int {
	const table = "Logical_DP_Group"
	old, now := sbdump.Exact(sbdump.Contents{table: before.sb[table]}), sbdump.Exact(sbdump.Contents{table: after.sb[table]})
	content := func(of map[string]string, uuid string) string {
		_, text, _ := strings.Cut(of[uuid], uuid)
		return text
	}
	n := 0
	for in, columns := range map[string][]string{
		"Logical_Flow":  {"logical_dp_group"},
		"Load_Balancer": {"datapath_group", "ls_datapath_group"},
	} {
		rows := byUUID(before.sb[in])
		for _, r := range after.sb[in] {
			was, ok := rows[r.UUID]
			if !ok {
				continue
			}
			for _, c := range columns {
				a, b := reference(was, c), reference(r, c)
				if a != b && a != "" && content(old, a) == content(now, b) {
					r.Columns[c] = was.Columns[c]
					n++
				}
			}
		}
	}
	kept := map[string]bool{} // contents of groups that were there before and are there now
	for uuid := range now {
		if old[uuid] == now[uuid] {
			kept[content(now, uuid)] = true
		}
	}
	before.sb[table] = slices.DeleteFunc(before.sb[table], func(g *ovsdb.Row) bool {
		gone := now[g.UUID] == "" && kept[content(old, g.UUID)]
		if gone {
			n++
		}
		return gone
	})
	return n
}

// reference is the UUID in an optional column, "" if there is none.
func reference(r *ovsdb.Row, column string) string {
	uuid, _ := r.Columns[column].(libovsdb.UUID)
	return uuid.GoUUID
}

func byUUID(rows []*ovsdb.Row) map[string]*ovsdb.Row {
	out := map[string]*ovsdb.Row{}
	for _, r := range rows {
		out[r.UUID] = r
	}
	return out
}

func keys(r *ovsdb.Row, column string) map[any]any {
	m, _ := r.Columns[column].(libovsdb.OvsMap)
	return m.GoMap
}

// A printed row has a text for people and the oracle's predicates, and one in
// which nothing is left out.
type printed struct{ text, exact string }

func (c contents) printed() map[string]printed {
	out := map[string]printed{}
	exact := sbdump.Exact(c.sb)
	maps.Copy(exact, sbdump.Exact(c.nb))
	for uuid, text := range exact {
		out[uuid] = printed{text, text}
	}
	for _, row := range sbdump.HintedRows(c.sb, c.nb) {
		out[row.UUID] = printed{row.Text, exact[row.UUID]}
	}
	return out
}
