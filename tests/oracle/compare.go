package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"northwall/ovsdb"
	"northwall/tests/golden/sbdump"
)

// A difference is what one side has and the other has not, as sbdump prints it.
type difference struct {
	Stock, Ours []string
	// Wrong is what is wrong with ours by itself.
	Wrong []string
	// northbound rows by the start of their UUID that stage-hints have.
	northbound map[string]hinted
}

// hinted is what a stage-hint is of.
type hinted struct {
	table string // "" where the row is gone
	row   *ovsdb.Row
}

func (d *difference) empty() bool { return len(d.Stock)+len(d.Ours)+len(d.Wrong) == 0 }

// String prints what stock has with "-", what we have with "+".
func (d *difference) String() string {
	var out []string
	for _, l := range d.Wrong {
		out = append(out, "!"+l)
	}
	for _, l := range d.Stock {
		out = append(out, "-"+l)
	}
	for _, l := range d.Ours {
		out = append(out, "+"+l)
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[1:], b[1:]) })
	return strings.Join(out, "\n")
}

// like says whether two differences have a row in common, stage-hints aside: rows
// that a command made have other UUIDs in each run.
func (d *difference) like(other *difference) bool {
	rows := map[string]bool{}
	for line := range strings.Lines(hint.ReplaceAllString(other.String(), "")) {
		rows[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(hint.ReplaceAllString(d.String(), "")) {
		if rows[strings.TrimSpace(line)] {
			return true
		}
	}
	return false
}

// compare compares two sides' databases up to the renaming of allocated keys.
func compare(stockNB, stockSB, oursNB, oursSB sbdump.Contents) *difference {
	d := &difference{Wrong: duplicateKeys(oursSB), northbound: hintedRows(oursNB)}
	stock, ours := printed(stockNB, stockSB), printed(oursNB, oursSB)
	for i, j := 0, 0; i < len(stock) || j < len(ours); {
		switch {
		case j == len(ours) || i < len(stock) && stock[i] < ours[j]:
			d.Stock = append(d.Stock, stock[i])
			i++
		case i == len(stock) || stock[i] > ours[j]:
			d.Ours = append(d.Ours, ours[j])
			j++
		default:
			i, j = i+1, j+1
		}
	}
	return d
}

// hintedRows are the rows by the start of their UUIDs.
func hintedRows(nb sbdump.Contents) map[string]hinted {
	out := map[string]hinted{}
	for table, rows := range nb {
		for _, r := range rows {
			out[r.UUID[:8]] = hinted{table, r}
		}
	}
	return out
}

// printed prints the contents without allocated keys, flows for each datapath.
func printed(nb, sb sbdump.Contents) []string {
	sbdump.ForgetKeys(sb, nb)
	var out []string
	for _, line := range sbdump.HintedLines(sb, nb) {
		out = append(out, perDatapath(line)...)
	}
	slices.Sort(out)
	return out
}

var datapaths = regexp.MustCompile(` dps=\[([^\]]*)\]`)

// perDatapath is a flow of several datapaths as a line for each: a difference on
// one of them does not hide what the others have.
func perDatapath(line string) []string {
	at := datapaths.FindStringSubmatchIndex(line)
	if at == nil {
		return []string{line}
	}
	var out []string
	for dp := range strings.FieldsSeq(line[at[2]:at[3]]) {
		out = append(out, line[:at[0]]+" dps="+dp+line[at[1]:])
	}
	return out
}

// duplicateKeys lists keys that two rows have.
func duplicateKeys(sb sbdump.Contents) []string {
	var out []string
	for table, columns := range map[string][]string{
		"Datapath_Binding": {"tunnel_key"}, "Port_Binding": {"datapath", "tunnel_key"}, "ACL_ID": {"id"},
	} {
		seen := map[string]bool{}
		for _, r := range sb[table] {
			key := table
			for _, c := range columns {
				key += fmt.Sprintf(" %s=%v", c, r.Columns[c])
			}
			if seen[key] {
				out = append(out, key+" twice")
			}
			seen[key] = true
		}
	}
	return out
}

func text(r *ovsdb.Row, column string) string {
	s, _ := r.Columns[column].(string)
	return s
}
