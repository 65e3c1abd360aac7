package main

import (
	"fmt"
	"slices"
	"strings"
)

// A size is a northbound database to load.
type size struct {
	Name        string
	Switches    int
	Ports       int // of each switch, at most 250
	Groups      int // port p of switch s is in group (s*Ports+p) mod Groups, and in the one before
	GroupACLs   int // of each group, half in each direction
	SwitchACLs  int // of each switch itself
	AddressSets int
	Addresses   int // drawn for each set; some twice
}

// sizes are those that can be chosen, the smallest first. The last is four times
// the one before in switches, ports and groups.
var sizes = []size{
	{"2k", 100, 20, 50, 10, 4, 50, 200},
	{"25k", 500, 50, 500, 20, 4, 200, 500},
	{"100k", 2000, 50, 2000, 20, 4, 200, 500},
}

func (s size) ports() int { return s.Switches * s.Ports }

func (s size) acls() int { return s.Switches*s.SwitchACLs + s.Groups*s.GroupACLs }

func (s size) String() string {
	return fmt.Sprintf("%s: %d switches, %d ports, %d port groups, %d ACLs", s.Name, s.Switches, s.ports(), s.Groups, s.acls())
}

// parseSizes reads names separated by commas or blanks.
func parseSizes(list string) ([]size, error) {
	var out []size
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		i := slices.IndexFunc(sizes, func(s size) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range sizes {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("no size %q: there are %s", name, strings.Join(known, ", "))
		}
		out = append(out, sizes[i])
	}
	slices.SortFunc(out, func(a, b size) int { return a.ports() - b.ports() })
	return slices.Compact(out), nil
}
