package ctl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// matchScore says how well typed names name: not at all (0), as an abbreviation
// (the more the longer), or exactly. Case does not count, nor "-" against "_".
func matchScore(name, typed string) int {
	fold := strings.NewReplacer("-", "_")
	n, t := fold.Replace(strings.ToLower(name)), fold.Replace(strings.ToLower(typed))
	switch {
	case name == typed:
		return 1 << 20
	case n == t:
		return 1 << 19
	case typed != "" && strings.HasPrefix(n, t):
		return len(t)
	}
	return 0
}

// pick returns the one of names that typed stands for. The candidates are
// returned where it is none or more than one.
func pick(names []string, typed string) (name string, candidates []string) {
	best := 0
	for _, n := range names {
		switch s := matchScore(n, typed); {
		case s > best:
			best, candidates = s, []string{n}
		case s == best && s > 0:
			candidates = append(candidates, n)
		}
	}
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	return "", candidates
}

// FindTable returns the table that typed names, which may be abbreviated.
func FindTable(schema *libovsdb.DatabaseSchema, typed string) (string, error) {
	names := slices.Sorted(maps.Keys(schema.Tables))
	name, candidates := pick(names, typed)
	switch {
	case name != "":
		return name, nil
	case len(candidates) > 1:
		return "", fmt.Errorf("%q matches multiple table names: %s", typed, strings.Join(candidates, ", "))
	}
	return "", fmt.Errorf("unknown table %q%s", typed, didYouMean(typed, names))
}

// findColumn returns the column of table that typed names, "_uuid" included.
func findColumn(schema *libovsdb.DatabaseSchema, table, typed string) (string, error) {
	names := append(slices.Sorted(maps.Keys(schema.Tables[table].Columns)), "_uuid")
	name, candidates := pick(names, typed)
	switch {
	case name != "":
		return name, nil
	case len(candidates) > 1:
		return "", fmt.Errorf("%s contains more than one column whose name matches %q: %s", table, typed, strings.Join(candidates, ", "))
	}
	return "", fmt.Errorf("%s does not contain a column whose name matches %q%s", table, typed, didYouMean(typed, names))
}

// didYouMean is the end of an error message that proposes the nearest of names,
// empty where none is near.
func didYouMean(typed string, names []string) string {
	best, bestDistance := "", 0
	for _, n := range names {
		d := editDistance(strings.ToLower(typed), strings.ToLower(n))
		if best == "" || d < bestDistance {
			best, bestDistance = n, d
		}
	}
	if best == "" || bestDistance > max(1, min(len(typed), len(best))/3) {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	before, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
