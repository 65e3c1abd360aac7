package engine

import (
	"runtime"
	"testing"
)

// benchNodes is the number of keys of the benchmarks, of the order of a large
// network.
const benchNodes = 100_000

// network is a graph of the shape that Northwall has: rows with a parsed fact
// each, groups of rows, a global setting that everything reads, and a rule per
// row with three contributions.
type network struct {
	e       *Engine
	rows    *Input[int, int]
	global  *Input[string, int]
	outputs counter
}

// counter is a contribution of its own kind, as flows are.
type counter struct{ n int }

func (c *counter) Add()    { c.n++ }
func (c *counter) Remove() { c.n-- }

func newNetwork(keys int) *network {
	n := &network{e: New()}
	n.rows = NewInput[int, int](n.e)
	n.global = NewInput[string, int](n.e)
	parsed := NewFact(n.e, "parsed", func(s *Scope, k int) int {
		v, _ := n.rows.Get(s, k)
		return v / 10
	})
	groups := NewRelation[int, int](n.e, "groups")
	ForEach(n.e, "membership", n.rows, func(s *Scope, k int) {
		v, _ := n.rows.Get(s, k)
		groups.Add(s, v%1000, k)
	})
	ForEach(n.e, "flows", n.rows, func(s *Scope, k int) {
		n.global.Get(s, "setting")
		v, _ := n.rows.Get(s, k)
		parsed.Get(s, k)
		groups.Any(s, v%1000)
		for range 3 {
			s.Emit(&n.outputs)
		}
	})
	for k := range keys {
		n.rows.Set(k, k)
	}
	return n
}

// Reference figures, on two cores of a Xeon server: Initial 320 ms and 870 bytes
// per key (290 per derivation), Edit 3 µs, Global 40 ms (0.4 µs per reader),
// Recompute 210 ms, ComeAndGo 2.5 µs.

// TestWeight fails when keys have become much heavier than in the reference.
func TestWeight(t *testing.T) {
	const keys, limit = 20_000, 1100
	before := heapInUse()
	n := newNetwork(keys)
	mustRun(t, n.e)
	if got := (heapInUse() - before) / keys; got > limit {
		t.Errorf("%d bytes are held per key, more than %d", got, limit)
	}
	runtime.KeepAlive(n)
}

// TestEditCost makes the same edit in networks of different sizes.
func TestEditCost(t *testing.T) {
	for _, keys := range []int{100, 1000, 10_000} {
		n := newNetwork(keys)
		mustRun(t, n.e)
		before := n.e.Stats()
		n.rows.Set(7, 8)
		mustRun(t, n.e)
		after := n.e.Stats()
		if got := after.Derived - before.Derived; got != 3 {
			t.Errorf("%d keys: an edit runs %d derivations, want its membership, fact and flows", keys, got)
		}
		if got := after.Unchanged - before.Unchanged; got != 1 {
			t.Errorf("%d keys: %d facts came out equal, want 1", keys, got)
		}
		if n.outputs.n != 3*keys {
			t.Errorf("%d keys: %d contributions", keys, n.outputs.n)
		}
	}
}

// BenchmarkInitial derives all keys for the first time, and reports what a
// derivation weighs with its four dependencies or three contributions.
func BenchmarkInitial(b *testing.B) {
	b.ReportAllocs()
	var bytes, held float64
	for range b.N {
		b.StopTimer()
		before := heapInUse()
		b.StartTimer()
		n := newNetwork(benchNodes)
		n.e.Run()
		b.StopTimer()
		bytes += float64(heapInUse() - before)
		held += float64(n.e.Stats().Held)
		runtime.KeepAlive(n)
		b.StartTimer()
	}
	b.ReportMetric(bytes/held, "B/derivation")
	b.ReportMetric(bytes/float64(b.N)/benchNodes, "B/key")
}

// heapInUse is the number of bytes in reachable objects.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkEdit propagates an edit of one key of many.
func BenchmarkEdit(b *testing.B) {
	n := newNetwork(benchNodes)
	n.e.Run()
	before := n.e.Stats().Derived
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		k := i % benchNodes
		n.rows.Set(k, k+i%2000)
		n.e.Run()
	}
	b.ReportMetric(float64(n.e.Stats().Derived-before)/float64(b.N), "derived/op")
}

// BenchmarkGlobal changes what every key reads.
func BenchmarkGlobal(b *testing.B) {
	n := newNetwork(benchNodes)
	n.e.Run()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		n.global.Set("setting", i)
		n.e.Run()
	}
}

// BenchmarkRecompute derives all keys again.
func BenchmarkRecompute(b *testing.B) {
	n := newNetwork(benchNodes)
	n.e.Run()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		n.e.Recompute()
	}
}

// BenchmarkComeAndGo adds one key to many and removes it again.
func BenchmarkComeAndGo(b *testing.B) {
	n := newNetwork(benchNodes)
	n.e.Run()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		n.rows.Set(benchNodes, 1)
		n.e.Run()
		n.rows.Delete(benchNodes)
		n.e.Run()
	}
}
