package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// relationWorld is a relation whose contents the test sets: each input key is a
// derivation that contributes the elements that it is set to.
type relationWorld struct {
	e   *Engine
	in  *Input[string, []int]
	rel *Relation[string, int]
	l   *log
}

func newRelationWorld() *relationWorld {
	w := &relationWorld{e: New(), l: &log{}}
	w.in = NewInput[string, []int](w.e)
	w.rel = NewRelation[string, int](w.e, "rel")
	ForEach(w.e, "writer", w.in, func(s *Scope, k string) {
		elems, _ := w.in.Get(s, k)
		for _, elem := range elems {
			w.rel.Add(s, "k", elem)
		}
	})
	return w
}

// TestRelationDisturbs checks which readers of a relation a change disturbs.
func TestRelationDisturbs(t *testing.T) {
	w := newRelationWorld()
	ForEach(w.e, "members", Once(w.e), func(s *Scope, _ struct{}) { w.l.add("members %v", slices.Sorted(w.rel.Of(s, "k"))) })
	ForEach(w.e, "len", Once(w.e), func(s *Scope, _ struct{}) { w.l.add("len %d", w.rel.Len(s, "k")) })
	ForEach(w.e, "has", Once(w.e), func(s *Scope, _ struct{}) { w.l.add("has 2 %v", w.rel.Has(s, "k", 2)) })
	ForEach(w.e, "any", Once(w.e), func(s *Scope, _ struct{}) { w.l.add("any %v", w.rel.Any(s, "k")) })
	ForEach(w.e, "other", Once(w.e), func(s *Scope, _ struct{}) { w.l.add("other %d", w.rel.Len(s, "other")) })
	ForEach(w.e, "keys", w.rel.Keys(), func(s *Scope, k string) { w.l.add("key %s", k) })
	ForEach(w.e, "pairs", w.rel.Pairs(), func(s *Scope, p Pair[string, int]) { w.l.add("pair %v", p) })
	type contributor struct {
		name  string
		elems []int // nil if it goes
	}
	tests := []struct {
		name string
		set  []contributor
		want []string
	}{
		{"empty", nil, []string{"any false", "has 2 false", "len 0", "members []", "other 0"}},
		{"first", []contributor{{"a", []int{1}}}, []string{"any true", "has 2 false", "key k", "len 1", "members [1]", "pair {k 1}"}},
		{"again by another", []contributor{{"b", []int{1}}}, nil},
		{"one more", []contributor{{"b", []int{1, 2}}}, []string{"has 2 true", "len 2", "members [1 2]", "pair {k 2}"}},
		{"contributed once less", []contributor{{"a", nil}}, nil},
		{"twice by one", []contributor{{"b", []int{2, 1, 2}}}, nil},
		{"one less", []contributor{{"b", []int{2}}}, []string{"has 2 true", "len 1", "members [2]"}},
		{"replaced", []contributor{{"b", []int{3}}}, []string{"has 2 false", "len 1", "members [3]", "pair {k 3}"}},
		{"handed over", []contributor{{"a", []int{3}}, {"b", nil}}, nil},
		{"gone", []contributor{{"a", nil}}, []string{"any false", "has 2 false", "len 0", "members []"}},
	}
	for _, tt := range tests {
		for _, c := range tt.set {
			if c.elems == nil {
				w.in.Delete(c.name)
			} else {
				w.in.Set(c.name, c.elems)
			}
		}
		mustRun(t, w.e)
		w.l.want(t, tt.name, tt.want...)
	}
}

// TestRelationIndex moves the size of a bucket up and down across the sizes at
// which it gains and loses its index.
func TestRelationIndex(t *testing.T) {
	w := newRelationWorld()
	var seen []int
	ForEach(w.e, "reader", Once(w.e), func(s *Scope, _ struct{}) {
		seen = slices.Sorted(w.rel.Of(s, "k"))
		for elem := range 4 * indexFrom {
			if got, want := w.rel.Has(s, "k", elem), slices.Contains(seen, elem); got != want {
				t.Errorf("with %d elements: Has %d is %v", len(seen), elem, got)
			}
		}
	})
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := []int{
		indexFrom - 1, indexFrom, indexFrom - 1, indexFrom/2 + 1, indexFrom / 2, indexFrom/2 - 1,
		indexFrom / 2, indexFrom, 3 * indexFrom, 1, 0, indexFrom + 1, 0,
	}
	indexed := false
	for _, size := range sizes {
		want := rnd.Perm(4 * indexFrom)[:size]
		for elem := range 4 * indexFrom {
			key := string(rune('A' + elem))
			_, there := w.in.Peek(key)
			switch wanted := slices.Contains(want, elem); {
			case wanted && !there:
				w.in.Set(key, []int{elem})
			case !wanted && there:
				w.in.Delete(key)
			}
		}
		mustRun(t, w.e)
		slices.Sort(want)
		if diff := cmp.Diff(want, seen, cmp.Transformer("", func(s []int) []int { return append([]int{}, s...) })); diff != "" {
			t.Errorf("size %d (-want +got):\n%s", size, diff)
		}
		b := w.rel.buckets["k"]
		if size >= indexFrom && b.index == nil || size < indexFrom/2 && b.index != nil {
			t.Errorf("size %d: index of %d", size, len(b.index))
		}
		indexed = indexed || b.index != nil
		for _, en := range b.entries {
			if b.find(en.elem) != en {
				t.Errorf("size %d: element %d is not found", size, en.elem)
			}
		}
	}
	if !indexed {
		t.Error("the index was never used")
	}
}

// TestFailedContributionsLeaveNothing fails after contributing to a new key.
func TestFailedContributionsLeaveNothing(t *testing.T) {
	e := New()
	in := NewInput[string, int](e)
	rel := NewRelation[string, int](e, "rel")
	ForEach(e, "rule", in, func(s *Scope, k string) {
		v, _ := in.Get(s, k)
		rel.Add(s, k, v)
		panic("after all")
	})
	in.Set("a", 1)
	if got := causes(e); len(got) != 1 {
		t.Fatalf("failures are %v", got)
	}
	if len(rel.buckets) != 0 {
		t.Errorf("%d keys are kept", len(rel.buckets))
	}
}

// TestLeast: the least element is found whatever the order, and who asked runs again
// when it is another.
func TestLeast(t *testing.T) {
	e := New()
	in := NewInput[string, int](e)
	rel := NewRelation[int, string](e, "rel")
	ForEach(e, "fill", in, func(s *Scope, name string) {
		v, _ := in.Get(s, name)
		rel.Add(s, v, name)
	})
	var got []string
	ForEach(e, "read", Once(e), func(s *Scope, _ struct{}) { got = append(got, Least(s, rel, 1)) })
	mustRun(t, e)
	for _, name := range []string{"c", "a", "b"} {
		in.Set(name, 1)
		mustRun(t, e)
	}
	in.Set("z", 2)
	in.Delete("a")
	mustRun(t, e)
	if diff := cmp.Diff([]string{"", "c", "a", "a", "b"}, got); diff != "" {
		t.Errorf("least elements (-want +got):\n%s", diff)
	}
}
