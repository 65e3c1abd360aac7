package flows

import (
	"fmt"
	"slices"
	"testing"
)

// benchRows and benchSets are of the order of a large network.
const (
	benchRows = 100_000
	benchSets = 1000
)

// discard is a Writer that only counts.
type discard struct{ n int }

func (d *discard) Len() int                                   { return d.n }
func (d *discard) InsertGroup(string, []string)               { d.n++ }
func (d *discard) ChangeGroup(string, []string, []string)     { d.n++ }
func (d *discard) InsertFlow(string, *Flow, Placement, Attrs) { d.n++ }
func (d *discard) UpdateFlow(*Flow, Known, Placement, Attrs)  { d.n++ }
func (d *discard) DeleteFlow(string)                          { d.n++ }

// benchTable has as many flows on as many sets, each of ten datapaths, all of
// which the database has.
func benchTable() (*Table, []*Set) {
	n := 0
	t := NewTable(func() string { n++; return fmt.Sprintf("%08x", n) })
	sets := make([]*Set, benchSets)
	for i := range sets {
		sets[i] = t.Set(SetKey{Kind: "bench", Variant: uint32(i)})
		for dp := range 10 {
			sets[i].With(fmt.Sprintf("dp%d", i+dp)).Add()
		}
	}
	for i := range benchRows {
		t.Want(benchFlow(i), sets[i%benchSets], Attrs{}).Add()
	}
	t.Place()
	for i := range benchRows {
		s := sets[i%benchSets]
		t.ObserveGroup(s.group.uuid, s.uuids())
		t.Observe(benchFlow(i), knownRow{UUID: fmt.Sprint(i), Placement: s.at, Clean: true})
	}
	t.Flush(&discard{}, 0)
	return t, sets
}

func benchFlow(i int) Flow {
	return Flow{Stage: SwitchInL2Lkup, Priority: 50, Match: fmt.Sprintf("eth.dst == f0:00:00:%02x:%02x:%02x", i>>16&255, i>>8&255, i&255), Actions: "output;"}
}

// BenchmarkEditFlow replaces one flow of 100,000: what it costs to find and write
// the difference. Measured on a busy machine: 8 µs.
func BenchmarkEditFlow(b *testing.B) {
	t, sets := benchTable()
	w := &discard{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := t.Want(benchFlow(benchRows+i%1000), sets[0], Attrs{})
		c.Add()
		t.Flush(w, 0)
		c.Remove()
		t.Flush(w, 0)
	}
}

// BenchmarkMember adds a datapath to a set with 100 flows, and takes it out again:
// no flow is looked at. Measured likewise: 13 µs.
func BenchmarkMember(b *testing.B) {
	t, sets := benchTable()
	w := &discard{}
	b.ReportAllocs()
	for b.Loop() {
		m := sets[7].With("another")
		m.Add()
		t.Flush(w, 0)
		m.Remove()
		t.Flush(w, 0)
	}
}

// BenchmarkCompareAll compares all 100,000 flows with the database, as after
// Revisit or a full recompute that changed nothing. Measured likewise: 0.3 s.
func BenchmarkCompareAll(b *testing.B) {
	t, _ := benchTable()
	w := &discard{}
	b.ReportAllocs()
	for b.Loop() {
		t.Revisit()
		t.Flush(w, 0)
	}
	if w.n != 0 {
		b.Fatalf("%d operations for no difference", w.n)
	}
}

// BenchmarkParting has a datapath come into one of two equal sets of 2000, which
// share a group until then, and go again: a group of as many is inserted, reported
// and dropped. Measured on a busy machine: 0.2 ms, and 1.8 ms when the members were
// kept and compared in maps, and sorted each time.
func BenchmarkParting(b *testing.B) {
	n := 0
	t := NewTable(func() string { n++; return fmt.Sprintf("%08x", n) })
	all, most := t.Set(SetKey{Kind: "all"}), t.Set(SetKey{Kind: "most"})
	name := func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", uint32(i)*2654435761) }
	for i := range 2000 {
		all.With(name(i)).Add()
		most.With(name(i)).Add()
	}
	t.Want(benchFlow(0), all, Attrs{}).Add()
	t.Want(benchFlow(1), all, Attrs{}).Add()
	t.Want(benchFlow(2), most, Attrs{}).Add()
	w := &discard{}
	report := func(i int, s *Set) {
		t.Observe(benchFlow(i), knownRow{UUID: fmt.Sprint(i), Placement: s.at, Clean: true})
	}
	settle := func(gone string) {
		t.Flush(w, 0)
		if gone != "" {
			t.ObserveGroup(gone, nil)
		}
		for _, s := range []*Set{all, most} {
			t.ObserveGroup(s.group.uuid, slices.Clone(s.uuids()))
		}
		report(0, all)
		report(1, all)
		report(2, most)
	}
	settle("")
	b.ReportAllocs()
	for b.Loop() {
		m := all.With(name(2000))
		m.Add()
		settle("")
		gone := most.group.uuid
		m.Remove()
		settle(gone)
	}
}
