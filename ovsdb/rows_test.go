package ovsdb

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRowSet compares random edits of a rowSet with those of a map, with few rows
// in it and many, so that it grows and empties over several chunks.
func TestRowSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	s, want := newRowSet(&Table{}), map[string]*Row{}
	check := func() {
		t.Helper()
		got := map[string]*Row{}
		for row := range s.all() {
			got[row.(*Row).UUID] = row.(*Row)
		}
		if s.len() != len(want) || !maps.Equal(got, want) {
			t.Fatalf("got %d rows, %d listed, want %d", s.len(), len(got), len(want))
		}
	}
	for _, size := range []int{3, 4 * rowChunk, 100, 3 * rowChunk, 0} {
		for step := range 20 * rowChunk {
			id := fmt.Sprint(rnd.IntN(5 * rowChunk))
			switch row := (&Row{UUID: id}); {
			case want[id] != nil && rnd.IntN(3) == 0, len(want) < size:
				s.put(id, row)
				want[id] = row
			default:
				s.delete(id)
				delete(want, id)
			}
			id = fmt.Sprint(rnd.IntN(5 * rowChunk))
			if got, _ := s.get(id).(*Row); got != want[id] {
				t.Fatalf("row %s: got %v, want %v", id, got, want[id])
			}
			if step%rowChunk == 0 {
				check()
			}
		}
		for id := range maps.Clone(want) {
			if len(want) > size {
				s.delete(id)
				delete(want, id)
			}
		}
		check()
	}
}

// TestCarve: strings that share a block are each what they were made of, whatever
// comes after them, and cost an allocation a block.
func TestCarve(t *testing.T) {
	in := NewInterner()
	in.carve(true)
	rnd := rand.New(rand.NewPCG(3, 4))
	var got, want []string
	for range 5000 {
		b := make([]byte, rnd.IntN(2*stringBlock/8))
		for i := range b {
			b[i] = byte('a' + rnd.IntN(26))
		}
		want = append(want, string(b))
		got = append(got, in.copy(b))
		clear(b)
	}
	if !slices.Equal(got, want) {
		t.Error("strings of a block are not what they were made of")
	}
	b := make([]byte, 36)
	if n := testing.AllocsPerRun(10, func() {
		for range 1000 {
			in.copy(b)
		}
	}); n > 15 {
		t.Errorf("1000 UUIDs cost %v allocations, want one for each 4 kB", n)
	}
	in.carve(false)
	if n := testing.AllocsPerRun(100, func() { in.copy(b) }); n != 1 {
		t.Errorf("a string by itself costs %v allocations, want 1", n)
	}
}

// TestSnapshots: a snapshot replaces what is known, whether it names a row once
// or twice; rows that are as before stay the same ones.
func TestSnapshots(t *testing.T) {
	d := NewDecoder(DynamicTable("T"))
	read := func(s string) map[string]Change {
		t.Helper()
		if err := d.ReadSnapshot(jsonDecoder([]byte(`{"T":{`+s+`}}`)), UpdateDiff); err != nil {
			t.Fatal(err)
		}
		got := map[string]Change{}
		if b := d.Take(); b != nil {
			for _, c := range b.Changes["T"] {
				if _, ok := got[c.UUID]; ok {
					t.Fatalf("row %s has two changes", c.UUID)
				}
				got[c.UUID] = c
			}
		}
		return got
	}
	row := func(uuid string, n int) *Row { return &Row{UUID: uuid, Columns: map[string]any{"n": n}} }
	for _, tc := range []struct {
		snapshot string
		want     map[string]Change
	}{
		{`"a":{"initial":{"n":1}},"b":{"initial":{"n":1}},"a":{"initial":{"n":2}},"c":{"initial":{"n":1},"delete":null}`,
			map[string]Change{"a": {"a", nil, row("a", 2)}, "b": {"b", nil, row("b", 1)}}},
		{`"b":{"initial":{"n":1}},"a":{"initial":{"n":2}}`, map[string]Change{}},
		{`"b":{"initial":{"n":3}},"d":{"initial":{"n":4}}`,
			map[string]Change{"a": {"a", row("a", 2), nil}, "b": {"b", row("b", 1), row("b", 3)}, "d": {"d", nil, row("d", 4)}}},
		{`"b":{"initial":{"n":3}},"d":{"delete":null}`, map[string]Change{"d": {"d", row("d", 4), nil}}},
		{``, map[string]Change{"b": {"b", row("b", 3), nil}}},
		{`"b":{"initial":{"n":3}}`, map[string]Change{"b": {"b", nil, row("b", 3)}}},
	} {
		if diff := cmp.Diff(tc.want, read(tc.snapshot)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.snapshot, diff)
		}
	}
	if err := d.ReadSnapshot(jsonDecoder([]byte(`{"T":{"b":{"initial":{"n":5}},"b":{"initial":{"n":[]}}}}`)), UpdateDiff); err == nil {
		t.Error("a broken snapshot is taken")
	}
	if got := read(`"b":{"initial":{"n":3}}`); len(got) > 0 {
		t.Errorf("got changes %v after a snapshot that had no effect", got)
	}
}
