package expr

import (
	"maps"
	"slices"
)

// Refs is what a match refers to by name. Each list is sorted and without
// repetition; nil where there is nothing.
type Refs struct {
	AddressSets []string
	PortGroups  []string
	Ports       []string // compared with inport or outport, or in is_chassis_resident
	Templates   []string
}

// Refs returns what the match refers to. The address set of a port group's
// addresses, $pg_ip4, is listed under its own name, with the sets. Names in the
// value of a template variable count like those in the match.
func (e *Expr) Refs() Refs {
	var c collector
	c.visit(e.root)
	for _, t := range e.templates {
		add(&c.templates, t)
	}
	return Refs{c.sets.sorted(), c.groups.sorted(), c.ports.sorted(), c.templates.sorted()}
}

type names map[string]struct{}

func add(n *names, s string) {
	if *n == nil {
		*n = names{}
	}
	(*n)[s] = struct{}{}
}

func (n names) sorted() []string { return slices.Sorted(maps.Keys(n)) }

type collector struct{ sets, groups, ports, templates names }

func (c *collector) visit(n Node) {
	switch n := n.(type) {
	case *And:
		for _, t := range n.Terms {
			c.visit(t)
		}
	case *Or:
		for _, t := range n.Terms {
			c.visit(t)
		}
	case *Resident:
		add(&c.ports, n.Port)
	case *Template:
		add(&c.templates, n.Name)
	case *Compare:
		for i := range n.Values {
			switch k := &n.Values[i]; k.Kind {
			case String:
				add(&c.ports, k.Text)
			case SetRef:
				add(&c.sets, k.Text)
			case GroupRef:
				add(&c.groups, k.Text)
			case TemplateRef:
				add(&c.templates, k.Text)
			}
		}
	}
}
