// Package edits makes random edits of a northbound database that holds logical
// switches, and of what chassis write in the southbound one. Tests make them on
// a northd and look at what it makes of them.
//
// Edits are command lines of nwctl on few names, so that they meet. A Maker makes
// them; generators.go has the table of what there is. The package knows no northd.
package edits

import (
	"math/rand/v2"
	"strings"

	"northwall/tests/golden/sbdump"
)

// A Step is a transaction: command lines that are chained.
type Step struct {
	Lines []string
	// Generators are the names of those that made the lines, none for the steps
	// that each sequence begins with.
	Generators []string
}

// Southbound begins a line that stands alone and runs on the southbound database,
// in the place of a chassis.
const Southbound = "sb: "

// OnSouthbound returns the command line of a step for the southbound database.
func (s Step) OnSouthbound() (line string, ok bool) { return strings.CutPrefix(s.Lines[0], Southbound) }

// String prints the step as a line of a scenario.
func (s Step) String() string { return strings.Join(s.Lines, " -- ") }

// A Maker makes a sequence of steps that depends on nothing but its seed and on
// what the northbound database holds before each.
type Maker struct {
	gen     *gen
	begin   []Step
	weights int
}

// New begins the sequence of a seed.
func New(seed uint64) *Maker {
	m := &Maker{gen: &gen{Rand: rand.New(rand.NewPCG(seed, 0))}, begin: []Step{
		{Lines: []string{"ls-add s0", "lsp-add s0 p0", `lsp-set-addresses p0 "50:54:00:00:00:00 10.0.0.1"`}},
		{Lines: []string{"ls-add s1", "lsp-add s1 p1", "pg-add g0 p0 p1"}},
	}}
	for _, g := range generators {
		m.weights += g.weight
	}
	return m
}

// Names lists the generators.
func Names() []string {
	var out []string
	for _, g := range generators {
		out = append(out, g.name)
	}
	return out
}

// Next makes a step for a northbound database that holds these rows. Some steps
// name what is not there and fail; a step of several lines fails or succeeds as a
// whole.
func (m *Maker) Next(rows sbdump.Contents) Step {
	if len(m.begin) > 0 {
		first := m.begin[0]
		m.begin = m.begin[1:]
		return first
	}
	m.gen.rows = rows
	n := 1
	if m.gen.IntN(3) == 0 {
		n += m.gen.IntN(4)
	}
	var s Step
	for len(s.Lines) < n {
		g := m.pick()
		line := g.edit(m.gen)
		if line == "" {
			continue
		}
		single := g.alone || strings.HasPrefix(line, Southbound)
		if single && len(s.Lines) > 0 {
			break
		}
		s.Generators, s.Lines = append(s.Generators, g.name), append(s.Lines, line)
		if single {
			break
		}
	}
	return s
}

func (m *Maker) pick() generator {
	n := m.gen.IntN(m.weights)
	for _, g := range generators {
		if n -= g.weight; n < 0 {
			return g
		}
	}
	panic("unreachable: weights add up")
}
