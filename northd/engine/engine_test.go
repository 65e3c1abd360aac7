package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// log records which derivations ran; take returns them sorted and starts anew.
type log struct{ ran []string }

func (l *log) add(format string, args ...any) { l.ran = append(l.ran, fmt.Sprintf(format, args...)) }

func (l *log) take() []string {
	out := l.ran
	slices.Sort(out)
	l.ran = nil
	return out
}

func (l *log) want(t *testing.T, when string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.take()); diff != "" {
		t.Errorf("%s: derivations run (-want +got):\n%s", when, diff)
	}
}

// mustRun fails the test if a derivation fails.
func mustRun(t *testing.T, e *Engine) {
	t.Helper()
	for _, f := range e.Run() {
		t.Fatalf("unexpected failure: %v\n%s", f, f.Stack)
	}
}

// causes runs e and returns the failures as text.
func causes(e *Engine) []string {
	var out []string
	for _, f := range e.Run() {
		out = append(out, f.Error())
	}
	return out
}

func TestCutOffSparesReaders(t *testing.T) {
	e, l := New(), &log{}
	in := NewInput[string, int](e)
	sign := NewFact(e, "sign", func(s *Scope, k string) bool {
		l.add("sign %s", k)
		v, _ := in.Get(s, k)
		return v >= 0
	})
	names := NewInput[int, string](e)
	for i := range 100 {
		names.Set(i, "x")
	}
	ForEach(e, "reader", names, func(s *Scope, i int) {
		name, _ := names.Get(s, i)
		l.add("reader %v", sign.Get(s, name))
	})
	in.Set("x", 1)
	in.Set("y", 1)
	mustRun(t, e)
	l.take()

	in.Set("x", 2)
	mustRun(t, e)
	l.want(t, "a value that comes out equal", "sign x")
	if got := e.Stats().Unchanged; got != 1 {
		t.Errorf("Unchanged is %d, want 1", got)
	}

	in.Set("y", -1)
	mustRun(t, e)
	l.want(t, "a key that nobody asks for")

	in.Set("x", -1)
	mustRun(t, e)
	if got := l.take(); len(got) != 101 {
		t.Errorf("a changed value: %d derivations run, want 101", len(got))
	}

	runs := e.Stats().Runs
	mustRun(t, e)
	if got := e.Stats().Runs; got != runs {
		t.Errorf("Runs counts a Run that found nothing to do")
	}
}

func TestFactsAreForgotten(t *testing.T) {
	e := New()
	in := NewInput[int, int](e)
	leaf := NewFact(e, "leaf", func(s *Scope, k int) int { v, _ := in.Get(s, k); return v })
	chain := NewFact(e, "chain", func(s *Scope, k int) int { return leaf.Get(s, k) + leaf.Get(s, k+1) })
	which := NewInput[string, int](e)
	ForEach(e, "rule", which, func(s *Scope, k string) {
		v, _ := which.Get(s, k)
		chain.Get(s, v)
	})
	held := func(when string, want int) {
		t.Helper()
		mustRun(t, e)
		if got := e.Stats().Held; got != want {
			t.Errorf("%s: %d derivations held, want %d", when, got, want)
		}
		if got := len(leaf.nodes) + len(chain.nodes) + e.Levels()[2].Held; got != want {
			t.Errorf("%s: %d derivations kept, want %d", when, got, want)
		}
	}
	which.Set("a", 0)
	held("one chain of two leaves", 1+1+2)
	which.Set("b", 1)
	held("two chains that share a leaf", 2+2+3)
	which.Set("a", 1)
	held("two rules on one chain", 2+1+2)
	which.Delete("a")
	held("one of the two rules gone", 1+1+2)
	which.Set("c", 5)
	which.Delete("c")
	held("come and gone before a Run", 1+1+2)
	which.Delete("b")
	held("all gone", 0)
	if len(in.cells)+len(which.cells) != 0 {
		t.Errorf("%d and %d input keys are kept", len(in.cells), len(which.cells))
	}
}

// TestReadAroundNestedFact reads a cell before and after a fact that reads the
// same cell runs inside of the reader.
func TestReadAroundNestedFact(t *testing.T) {
	e, l := New(), &log{}
	in := NewInput[int, int](e)
	fact := NewFact(e, "fact", func(s *Scope, k int) int { v, _ := in.Get(s, 0); return v % 2 })
	rule := NewInput[string, int](e)
	ForEach(e, "rule", rule, func(s *Scope, k string) {
		a, _ := in.Get(s, 0)
		times, _ := rule.Get(s, k)
		for i := range times {
			fact.Get(s, i) // new ones run here
			in.Get(s, 0)
		}
		b, _ := in.Get(s, 0)
		l.add("%s %d %d", k, a, b)
	})
	in.Set(0, 1)
	rule.Set("r", 3)
	mustRun(t, e)
	l.want(t, "first", "r 1 1")
	if got := len(in.cells[0].readers); got != 4 {
		t.Errorf("the cell has %d readers, want 1 rule and 3 facts", got)
	}
	rule.Set("r", 5)
	in.Set(0, 2)
	mustRun(t, e)
	l.want(t, "more facts", "r 2 2")
	rule.Set("r", 0)
	mustRun(t, e)
	l.want(t, "no facts", "r 2 2")
	if got := len(in.cells[0].readers); got != 1 {
		t.Errorf("the cell has %d readers, want 1", got)
	}
}

// flaky is a rule that fails as its input says.
type flaky struct {
	e    *Engine
	in   *Input[string, string]
	rel  *Relation[string, string]
	seen *log // of what reads rel
}

func newFlaky() *flaky {
	f := &flaky{e: New(), seen: &log{}}
	f.in = NewInput[string, string](f.e)
	f.rel = NewRelation[string, string](f.e, "elements")
	ForEach(f.e, "rule", f.in, func(s *Scope, k string) {
		v, _ := f.in.Get(s, k)
		f.rel.Add(s, "all", v)
		if v == "bad" {
			f.in.Get(s, "help")
			panic("no good")
		}
	})
	ForEach(f.e, "reader", Once(f.e), func(s *Scope, _ struct{}) {
		f.seen.add("%v", slices.Sorted(f.rel.Of(s, "all")))
	})
	return f
}

func TestFailureKeepsLastGood(t *testing.T) {
	f := newFlaky()
	f.in.Set("a", "one")
	f.in.Set("b", "two")
	mustRun(t, f.e)
	f.seen.want(t, "good", "[one two]")

	f.in.Set("a", "bad")
	fails := f.e.Run()
	if len(fails) != 1 || fails[0].Error() != "deriving rule of a: no good" {
		t.Fatalf("failures are %v", fails)
	}
	if !strings.Contains(string(fails[0].Stack), "newFlaky") {
		t.Errorf("the stack does not show where:\n%s", fails[0].Stack)
	}
	if got := f.e.Stats().Failing; got != 1 {
		t.Errorf("Failing is %d, want 1", got)
	}
	f.seen.want(t, "failing", "[one two]")

	if got := f.e.Run(); len(got) > 0 {
		t.Errorf("reported again without having run: %v", got)
	}
	if got := f.e.Recompute(); len(got) != 1 {
		t.Errorf("failures of Recompute are %v", got)
	}
	f.seen.want(t, "recomputed", "[one two]")

	f.in.Set("help", "x") // read by the failed run only
	f.seen.take()
	if diff := cmp.Diff([]string{"deriving rule of a: no good"}, causes(f.e)); diff != "" {
		t.Errorf("failures after a change of what the failed run read:\n%s", diff)
	}

	f.in.Set("a", "three")
	mustRun(t, f.e)
	f.seen.take()
	if got := f.e.Stats().Failing; got != 0 {
		t.Errorf("Failing is %d after the recovery", got)
	}
	mustRun(t, f.e)

	f.in.Set("b", "bad")
	f.e.Run()
	f.seen.take()
	f.in.Delete("b")
	mustRun(t, f.e)
	f.seen.want(t, "failing key deleted", "[three x]")
	if got := f.e.Stats(); got.Failing != 0 || got.Held != 3 {
		t.Errorf("after the deletion: %d failing of %d", got.Failing, got.Held)
	}
}

// TestFailingDependenciesDoNotPileUp fails a derivation again and again, each
// time having read something else.
func TestFailingDependenciesDoNotPileUp(t *testing.T) {
	e := New()
	in := NewInput[int, int](e)
	rule := NewInput[string, int](e)
	ForEach(e, "rule", rule, func(s *Scope, k string) {
		v, _ := rule.Get(s, k)
		in.Get(s, v)
		panic("always")
	})
	for i := range 10 {
		rule.Set("r", i)
		if got := causes(e); len(got) != 1 {
			t.Fatalf("failures are %v", got)
		}
	}
	if len(in.cells) != 1 {
		t.Errorf("%d keys are read, want the one of the last run", len(in.cells))
	}
}

func TestFactWithoutValue(t *testing.T) {
	e, l := New(), &log{}
	in := NewInput[string, int](e)
	inverse := NewFact(e, "inverse", func(s *Scope, k string) int {
		v, _ := in.Get(s, k)
		return 100 / v
	})
	half := NewFact(e, "half", func(s *Scope, k string) int { return inverse.Get(s, k) / 2 })
	ForEach(e, "rule", in, func(s *Scope, k string) { l.add("%s %d", k, half.Get(s, k)) })
	in.Set("a", 0)
	in.Set("b", 10)
	fails := e.Run()
	var got []string
	for _, f := range fails {
		got = append(got, f.Error())
		if root := f.Family == "inverse"; root != (len(f.Stack) > 0) {
			t.Errorf("%v comes with a stack of %d bytes", f, len(f.Stack))
		}
	}
	want := []string{
		"deriving inverse of a: runtime error: integer divide by zero",
		"deriving half of a: inverse of a has no value: its derivation failed",
		"deriving rule of a: half of a has no value: its derivation failed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	l.want(t, "the reader of nothing", "b 5")

	in.Set("a", 5)
	mustRun(t, e)
	l.want(t, "recovered", "a 10")

	in.Set("a", 0)
	if got := causes(e); len(got) != 1 {
		t.Errorf("failures with a last good value: %v", got)
	}
	l.want(t, "last good value unchanged")
}

// TestGoneKeyFailsUnheard deletes a row whose fact then fails before its reader
// has gone.
func TestGoneKeyFailsUnheard(t *testing.T) {
	e := New()
	in := NewInput[string, *int](e)
	fact := NewFact(e, "fact", func(s *Scope, k string) int { v, _ := in.Get(s, k); return *v })
	ForEach(e, "rule", in, func(s *Scope, k string) { fact.Get(s, k) })
	one := 1
	in.Set("a", &one)
	mustRun(t, e)
	in.Delete("a")
	mustRun(t, e)
	if got := e.Stats(); got.Held != 0 || got.Failing != 0 {
		t.Errorf("%d held, %d failing", got.Held, got.Failing)
	}
}

func TestOrderIsEnforced(t *testing.T) {
	type world struct {
		e  *Engine
		in *Input[int, int]
	}
	nothing := func(*Scope, int) {}
	tests := []struct {
		name string
		make func(w world)
		want string
	}{
		{
			name: "fact reads itself",
			make: func(w world) {
				var f *Fact[int, int]
				f = NewFact(w.e, "self", func(s *Scope, k int) int { return f.Get(s, k+1) })
				ForEach(w.e, "rule", w.in, func(s *Scope, k int) { f.Get(s, k) })
			},
			want: "deriving self of 1: self read by self, which was made before it",
		},
		{
			name: "fact reads a later fact",
			make: func(w world) {
				var later *Fact[int, int]
				f := NewFact(w.e, "early", func(s *Scope, k int) int { return later.Get(s, k) })
				later = NewFact(w.e, "later", func(s *Scope, k int) int { return k })
				ForEach(w.e, "rule", w.in, func(s *Scope, k int) { f.Get(s, k) })
			},
			want: "deriving early of 1: later read by early, which was made before it",
		},
		{
			name: "rule reads what it contributes to",
			make: func(w world) {
				r := NewRelation[int, int](w.e, "rel")
				ForEach(w.e, "rule", w.in, func(s *Scope, k int) { r.Add(s, k, k); r.Len(s, k) })
			},
			want: "deriving rule of 1: rel read by rule, which was made before it",
		},
		{
			name: "contribution after a reader",
			make: func(w world) {
				r := NewRelation[int, int](w.e, "rel")
				ForEach(w.e, "reader", w.in, func(s *Scope, k int) { r.Any(s, k) })
				ForEach(w.e, "writer", w.in, func(s *Scope, k int) { r.Add(s, k, k) })
			},
			want: "deriving writer of 1: writer contributes to rel, which reader has read before",
		},
		{
			name: "contribution after a rule over the keys",
			make: func(w world) {
				r := NewRelation[int, int](w.e, "rel")
				ForEach(w.e, "over keys", r.Keys(), nothing)
				ForEach(w.e, "writer", w.in, func(s *Scope, k int) { r.Add(s, k, k) })
			},
			want: "deriving writer of 1: writer contributes to rel, which over keys has read before",
		},
		{
			name: "contribution after a rule over the pairs",
			make: func(w world) {
				r := NewRelation[int, int](w.e, "rel")
				ForEach(w.e, "over pairs", r.Pairs(), func(*Scope, Pair[int, int]) {})
				ForEach(w.e, "writer", w.in, func(s *Scope, k int) { r.Add(s, k, k) })
			},
			want: "deriving writer of 1: writer contributes to rel, which over pairs has read before",
		},
		{
			name: "fact contributes to a relation",
			make: func(w world) {
				r := NewRelation[int, int](w.e, "rel")
				f := NewFact(w.e, "fact", func(s *Scope, k int) int { r.Add(s, k, k); return k })
				ForEach(w.e, "rule", w.in, func(s *Scope, k int) { f.Get(s, k) })
			},
			want: "deriving fact of 1: fact, a fact, contributes to rel, which only rules may",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := world{e: New()}
			w.in = NewInput[int, int](w.e)
			tt.make(w)
			w.in.Set(1, 1)
			got := causes(w.e)
			if len(got) == 0 {
				t.Fatal("nothing is reported")
			}
			if diff := cmp.Diff(tt.want, got[0]); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSourcesFilledBefore makes rules over what is there already.
func TestSourcesFilledBefore(t *testing.T) {
	e, l := New(), &log{}
	in := NewInput[int, int](e)
	rel := NewRelation[int, int](e, "rel")
	ForEach(e, "writer", in, func(s *Scope, k int) { rel.Add(s, k%2, k) })
	in.Set(1, 0)
	in.Set(2, 0)
	in.Set(3, 0)
	mustRun(t, e)
	in.Delete(3)
	ForEach(e, "input", in, func(s *Scope, k int) { l.add("input %d", k) })
	ForEach(e, "keys", rel.Keys(), func(s *Scope, k int) { l.add("key %d", k) })
	ForEach(e, "pairs", rel.Pairs(), func(s *Scope, p Pair[int, int]) { l.add("pair %v", p) })
	ForEach(e, "once", Once(e), func(s *Scope, _ struct{}) { l.add("once") })
	mustRun(t, e)
	l.want(t, "made late", "input 1", "input 2", "key 0", "key 1", "once", "pair {0 2}", "pair {1 1}")
	in.Set(3, 0)
	mustRun(t, e)
	l.want(t, "one more", "input 3", "pair {1 3}")
}

// TestStayingNeverFlickers watches an output over runs that keep it.
func TestStayingNeverFlickers(t *testing.T) {
	e := New()
	in := NewInput[int, int](e)
	stays, goes := &watched{}, &watched{}
	ForEach(e, "rule", in, func(s *Scope, k int) {
		s.Emit(stays)
		if v, _ := in.Get(s, k); v == 0 {
			s.Emit(goes)
		} else {
			s.Emit(stays)
		}
	})
	in.Set(1, 0)
	mustRun(t, e)
	for _, v := range []int{1, 0, 1, 1} {
		in.Set(1, v)
		mustRun(t, e)
	}
	if *stays != (watched{count: 2}) {
		t.Errorf("what stays is %+v", *stays)
	}
	if *goes != (watched{count: 0, zeroes: 2}) {
		t.Errorf("what goes is %+v", *goes)
	}
	in.Delete(1)
	mustRun(t, e)
	if *stays != (watched{zeroes: 1}) {
		t.Errorf("in the end what stayed is %+v", *stays)
	}
}

// watched counts how often it ceased to exist.
type watched struct{ count, zeroes int }

func (w *watched) Add() { w.count++ }
func (w *watched) Remove() {
	if w.count--; w.count == 0 {
		w.zeroes++
	}
}

// TestManyReaders changes a cell that many read, several times between Runs.
func TestManyReaders(t *testing.T) {
	e := New()
	in, global := NewInput[int, int](e), NewInput[string, int](e)
	sum := 0
	ForEach(e, "rule", in, func(s *Scope, k int) { v, _ := global.Get(s, "g"); sum += v })
	for k := range 10 * manyReaders {
		in.Set(k, 0)
	}
	for _, steps := range [][]int{{1}, {2, 3}, {4, 5, 6}} {
		for _, v := range steps {
			global.Set("g", v)
		}
		sum = 0
		mustRun(t, e)
		if want := 10 * manyReaders * steps[len(steps)-1]; sum != want {
			t.Errorf("sum is %d, want %d", sum, want)
		}
	}
	global.Delete("g")
	for k := range 10 * manyReaders {
		if k != 7 {
			in.Delete(k)
		}
	}
	sum = 0
	mustRun(t, e)
	if got := global.cells["g"].readers; sum != 0 || len(got) != 1 || cap(got) > 32 {
		t.Errorf("sum %d; %d readers in room for %d", sum, len(got), cap(got))
	}
	in.Delete(7)
	mustRun(t, e)
	if len(global.cells) != 0 {
		t.Error("the global cell is kept")
	}
}

func TestInput(t *testing.T) {
	e := New()
	in := NewInput[string, int](e)
	in.Set("a", 1)
	in.Set("b", 2)
	in.Set("b", 3)
	in.Delete("a")
	in.Delete("never")
	if v, ok := in.Peek("b"); v != 3 || !ok {
		t.Errorf("b is %d, %v", v, ok)
	}
	if v, ok := in.Peek("a"); v != 0 || ok {
		t.Errorf("a is %d, %v", v, ok)
	}
	if in.Len() != 1 {
		t.Errorf("Len is %d, want 1", in.Len())
	}
	for k, v := range in.All() {
		if k != "b" || v != 3 {
			t.Errorf("All yields %s: %d", k, v)
		}
	}
}

func TestLevels(t *testing.T) {
	e := New()
	in := NewInput[int, int](e)
	f := NewFact(e, "fact", func(s *Scope, k int) int { return k })
	ForEach(e, "rule", in, func(s *Scope, k int) { in.Get(s, k); f.Get(s, k%2) })
	for k := range 4 {
		in.Set(k, 0)
	}
	mustRun(t, e)
	in.Set(0, 1)
	mustRun(t, e)
	want := []LevelStats{{Name: "fact", Held: 2, Ran: 2, Work: LevelWork{Recomputes: 1}}, {Name: "rule", Held: 4, Ran: 5, Work: LevelWork{Recomputes: 1, Computes: 1}}}
	if diff := cmp.Diff(want, e.Levels()); diff != "" {
		t.Errorf("Levels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Stats{Runs: 2, Derived: 7, Held: 6}, e.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}
