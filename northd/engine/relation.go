package engine

import (
	"cmp"
	"fmt"
	"iter"
)

// Relation is a set of pairs that derivations contribute to.
type Relation[K, E comparable] struct {
	e         *Engine
	name      string
	written   int16 // the highest level that contributed
	read      int16 // the lowest level that read, or -1
	buckets   map[K]*bucket[K, E]
	keyRules  []*rule
	pairRules []*rule
	// Entries that have gone in this Run, as long as rules follow them: those that
	// come back are the same.
	gone map[Pair[K, E]]*entry[K, E]
}

// Pair is one element of a relation together with its key.
type Pair[K, E comparable] struct {
	Key  K
	Elem E
}

// bucket holds the elements of one key.
type bucket[K, E comparable] struct {
	follower
	rel     *Relation[K, E]
	key     K
	members cell  // read by who asked for the elements
	any     *cell // read by who asked whether there are any; nil until somebody does
	entries []*entry[K, E]
	index   map[E]*entry[K, E] // only of a large bucket
}

type entry[K, E comparable] struct {
	follower
	b     *bucket[K, E]
	elem  E
	count int32
	at    int32
}

// indexFrom is the size from which a bucket looks its elements up in a map.
const indexFrom = 12

// NewRelation returns an empty relation.
func NewRelation[K, E comparable](e *Engine, name string) *Relation[K, E] {
	return &Relation[K, E]{e: e, name: name, written: -1, read: -1, buckets: map[K]*bucket[K, E]{}}
}

// Add contributes the pair (k, elem). Only rules do: a fact runs when it is first
// asked for, at which time readers of the relation may have run already.
func (r *Relation[K, E]) Add(s *Scope, k K, elem E) {
	l := s.node.level
	if s.e.levels[l].fact {
		panic(fmt.Sprintf("%s, a fact, contributes to %s, which only rules may", s.e.levels[l].name, r.name))
	}
	if l > r.written {
		if r.read >= 0 && r.read <= l {
			panic(fmt.Sprintf("%s contributes to %s, which %s has read before", s.e.levels[l].name, r.name, s.e.levels[r.read].name))
		}
		r.written = l
	}
	if en, ok := s.Previous().(*entry[K, E]); ok && en.b.rel == r && en.elem == elem && en.b.key == k {
		s.Emit(en)
		return
	}
	b := r.at(k)
	en := b.find(elem)
	if en == nil {
		if en = r.gone[Pair[K, E]{k, elem}]; en != nil {
			delete(r.gone, Pair[K, E]{k, elem})
		} else {
			en = &entry[K, E]{b: b, elem: elem}
		}
		en.at = int32(len(b.entries))
		b.entries = append(b.entries, en)
		if b.index != nil {
			b.index[elem] = en
		} else if len(b.entries) >= indexFrom {
			b.index = make(map[E]*entry[K, E], 2*indexFrom)
			for _, o := range b.entries {
				b.index[o.elem] = o
			}
		}
	}
	s.Emit(en)
}

// Add implements Contribution.
func (en *entry[K, E]) Add() {
	en.count++
	if en.count > 1 {
		return
	}
	r := en.b.rel
	r.e.changed(&en.b.members)
	touch(r.pairRules, en)
	if len(en.b.entries) == 1 {
		en.b.anyChanged()
	}
}

// Remove implements Contribution.
func (en *entry[K, E]) Remove() {
	en.count--
	if en.count > 0 {
		return
	}
	b := en.b
	last := len(b.entries) - 1
	moved := b.entries[last]
	b.entries[en.at] = moved
	moved.at = en.at
	b.entries[last] = nil
	b.entries = shrunk(b.entries[:last])
	if b.index != nil {
		delete(b.index, en.elem)
		if len(b.entries) < indexFrom/2 {
			b.index = nil
		}
	}
	b.rel.e.changed(&b.members)
	if en.first != nil {
		if b.rel.gone == nil {
			b.rel.gone = map[Pair[K, E]]*entry[K, E]{}
		}
		b.rel.gone[en.pair()] = en
		touch(b.rel.pairRules, en)
	}
	if len(b.entries) == 0 {
		b.anyChanged()
		b.rel.e.idle = append(b.rel.e.idle, b)
	}
}

func (b *bucket[K, E]) anyChanged() {
	if b.any != nil {
		b.rel.e.changed(b.any)
	}
	touch(b.rel.keyRules, b)
}

func (b *bucket[K, E]) find(elem E) *entry[K, E] {
	if b.index != nil {
		return b.index[elem]
	}
	for _, en := range b.entries {
		if en.elem == elem {
			return en
		}
	}
	return nil
}

// Of iterates over the elements of k, in no particular order.
func (r *Relation[K, E]) Of(s *Scope, k K) iter.Seq[E] {
	b := r.reading(s, k)
	s.read(&b.members)
	return func(yield func(E) bool) {
		for _, en := range b.entries {
			if !yield(en.elem) {
				return
			}
		}
	}
}

// Least returns the least element of k in r, or the zero value where there is none:
// which of several counts must not depend on the order in which they came. It reads
// what Of does.
func Least[K comparable, E cmp.Ordered](s *Scope, r *Relation[K, E], k K) (least E) {
	b := r.reading(s, k)
	s.read(&b.members)
	for i, en := range b.entries {
		if i == 0 || en.elem < least {
			least = en.elem
		}
	}
	return least
}

// Len is the number of elements of k.
func (r *Relation[K, E]) Len(s *Scope, k K) int {
	b := r.reading(s, k)
	s.read(&b.members)
	return len(b.entries)
}

// Has reports whether (k, elem) is in the relation.
func (r *Relation[K, E]) Has(s *Scope, k K, elem E) bool {
	b := r.reading(s, k)
	s.read(&b.members)
	return b.find(elem) != nil
}

// Any reports whether k has elements. Readers of it are not disturbed by the
// coming and going of further ones.
func (r *Relation[K, E]) Any(s *Scope, k K) bool {
	b := r.reading(s, k)
	if b.any == nil {
		b.any = &cell{owner: b}
	}
	s.read(b.any)
	return len(b.entries) > 0
}

func (r *Relation[K, E]) reading(s *Scope, k K) *bucket[K, E] {
	s.checkOrder(r.name, r.written)
	r.readAt(s.node.level)
	if b, ok := s.expected().(*bucket[K, E]); ok && b.rel == r && b.key == k {
		return b
	}
	return r.at(k)
}

// readAt notes that derivations of a level read r.
func (r *Relation[K, E]) readAt(level int16) {
	if r.read < 0 || level < r.read {
		r.read = level
	}
}

func (r *Relation[K, E]) at(k K) *bucket[K, E] {
	b, ok := r.buckets[k]
	if !ok {
		b = &bucket[K, E]{rel: r, key: k}
		b.members.owner = b
		r.buckets[k] = b
	}
	return b
}

// idle forgets a key without elements and readers.
func (b *bucket[K, E]) idle() {
	if b.any != nil && len(b.any.readers) == 0 {
		b.any = nil
	}
	if len(b.entries) == 0 && len(b.members.readers) == 0 && b.any == nil && b.first == nil && b.rel.buckets[b.key] == b {
		delete(b.rel.buckets, b.key)
	}
}

// Keys is the source of keys that have elements.
func (r *Relation[K, E]) Keys() Source[K] { return keySource[K, E]{r} }

// Pairs is the source of all pairs.
func (r *Relation[K, E]) Pairs() Source[Pair[K, E]] { return pairSource[K, E]{r} }

type keySource[K, E comparable] struct{ r *Relation[K, E] }

func (s keySource[K, E]) follow(r *rule) {
	s.r.readAt(r.level)
	s.r.keyRules = append(s.r.keyRules, r)
	for _, b := range s.r.buckets {
		if b.present() {
			r.touch(b)
		}
	}
}

func (keySource[K, E]) keyOf(at place) K { return at.(*bucket[K, E]).key }

func (b *bucket[K, E]) present() bool        { return len(b.entries) > 0 }
func (b *bucket[K, E]) followers() *follower { return &b.follower }
func (b *bucket[K, E]) keyString() string    { return fmt.Sprint(b.key) }

type pairSource[K, E comparable] struct{ r *Relation[K, E] }

func (s pairSource[K, E]) follow(r *rule) {
	s.r.readAt(r.level)
	s.r.pairRules = append(s.r.pairRules, r)
	for _, b := range s.r.buckets {
		for _, en := range b.entries {
			r.touch(en)
		}
	}
}

func (pairSource[K, E]) keyOf(at place) Pair[K, E] { return at.(*entry[K, E]).pair() }

func (en *entry[K, E]) pair() Pair[K, E]     { return Pair[K, E]{en.b.key, en.elem} }
func (en *entry[K, E]) present() bool        { return en.count > 0 }
func (en *entry[K, E]) followers() *follower { return &en.follower }
func (en *entry[K, E]) keyString() string    { return fmt.Sprint(en.pair()) }

// idle forgets an entry that is gone and that no rule follows.
func (en *entry[K, E]) idle() {
	if en.count == 0 && en.first == nil {
		delete(en.b.rel.gone, en.pair())
	}
}
