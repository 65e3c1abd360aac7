package oracle

import (
	"testing"

	"northwall/ovsdb/ctl"
	"northwall/tests/edits"
)

// TestEveryGenerator makes edits on the northbound database alone: every
// generator must change something now and then, and every line must be one that
// nwctl understands.
func TestEveryGenerator(t *testing.T) {
	m, maker := newMaster(), edits.New(1)
	if _, err := m.edit(t.Context(), initial); err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	const limit = 20000
	for steps := 0; steps < limit && len(made) < len(edits.Names()); steps++ {
		s := maker.Next(m.rows)
		if line, ok := s.OnSouthbound(); ok {
			for _, g := range s.Generators {
				made[g]++ // of what chassis do, that it is tried
			}
			if line == "" {
				t.Errorf("%v: an empty line", s.Generators)
			}
			continue
		}
		words, err := ctl.Words(s.String())
		if err == nil {
			_, err = m.tool.Parse(words)
		}
		if err != nil {
			t.Errorf("%v: %s: %v", s.Generators, s, err)
		}
		ops, err := m.edit(t.Context(), s.String())
		if err != nil || len(ops) == 0 {
			continue
		}
		for _, g := range s.Generators {
			made[g]++
		}
	}
	for _, name := range edits.Names() {
		if made[name] == 0 {
			t.Errorf("generator %q changed nothing in %d steps", name, limit)
		}
	}
}
