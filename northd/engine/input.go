package engine

import (
	"fmt"
	"iter"
)

// Input is a map that is set from outside: the beginning of all derivations.
type Input[K comparable, V any] struct {
	e     *Engine
	cells map[K]*inputCell[K, V]
	rules []*rule // that run for the keys
	size  int
}

type inputCell[K comparable, V any] struct {
	cell
	follower
	in    *Input[K, V]
	key   K
	value V
	ok    bool
}

// NewInput returns an empty input.
func NewInput[K comparable, V any](e *Engine) *Input[K, V] {
	return &Input[K, V]{e: e, cells: map[K]*inputCell[K, V]{}}
}

// Set gives k the value v. Whoever read k is derived again by the next Run.
func (in *Input[K, V]) Set(k K, v V) {
	c := in.at(k)
	c.value = v
	in.e.changed(&c.cell)
	if !c.ok {
		c.ok = true
		in.size++
		touch(in.rules, c)
	}
}

// Replace gives k, which is there, another value that nobody who reads it can tell
// from the one before.
func (in *Input[K, V]) Replace(k K, v V) { in.at(k).value = v }

// Raise makes whoever read k run again with the same value, for a reason that is in
// no value: something outside that they asked, too, has another answer now.
func (in *Input[K, V]) Raise(k K) {
	if c, ok := in.cells[k]; ok {
		in.e.changed(&c.cell)
	}
}

// Delete removes k, if it is there.
func (in *Input[K, V]) Delete(k K) {
	c, ok := in.cells[k]
	if !ok || !c.ok {
		return
	}
	var zero V
	c.value, c.ok = zero, false
	in.size--
	in.e.changed(&c.cell)
	touch(in.rules, c)
	c.idle()
}

// Get returns the value of k.
func (in *Input[K, V]) Get(s *Scope, k K) (V, bool) {
	c, ok := s.expected().(*inputCell[K, V])
	if !ok || c.in != in || c.key != k {
		c = in.at(k)
	}
	s.read(&c.cell)
	return c.value, c.ok
}

// Peek returns the value of k to a caller outside of all derivations.
func (in *Input[K, V]) Peek(k K) (V, bool) {
	if c, ok := in.cells[k]; ok {
		return c.value, c.ok
	}
	var zero V
	return zero, false
}

// Len is the number of keys.
func (in *Input[K, V]) Len() int { return in.size }

// All iterates over all keys and values, for callers outside of derivations.
func (in *Input[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, c := range in.cells {
			if c.ok && !yield(k, c.value) {
				return
			}
		}
	}
}

func (in *Input[K, V]) at(k K) *inputCell[K, V] {
	c, ok := in.cells[k]
	if !ok {
		c = &inputCell[K, V]{in: in, key: k}
		c.owner = c
		in.cells[k] = c
	}
	return c
}

// idle forgets a key that is absent and that nobody asks for.
func (c *inputCell[K, V]) idle() {
	if !c.ok && len(c.readers) == 0 && c.first == nil && c.in.cells[c.key] == c {
		delete(c.in.cells, c.key)
	}
}

// follow implements Source.
func (in *Input[K, V]) follow(r *rule) {
	in.rules = append(in.rules, r)
	for _, c := range in.cells {
		if c.ok {
			r.touch(c)
		}
	}
}

// keyOf implements Source.
func (in *Input[K, V]) keyOf(at place) K { return at.(*inputCell[K, V]).key }

func (c *inputCell[K, V]) present() bool        { return c.ok }
func (c *inputCell[K, V]) followers() *follower { return &c.follower }
func (c *inputCell[K, V]) keyString() string    { return fmt.Sprint(c.key) }
