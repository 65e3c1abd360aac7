package engine

import "fmt"

// Fact is a remembered function of a key. It is forgotten when its last reader
// goes. It may be derived once more for a key whose input has just gone, before
// its readers learn of that; a failure to do so is not reported.
type Fact[K comparable, V any] struct {
	e     *Engine
	name  string
	level int16
	f     func(*Scope, K) V
	equal func(a, b V) bool
	nodes map[K]*factNode[K, V]
}

type factNode[K comparable, V any] struct {
	node
	cell
	fact  *Fact[K, V]
	key   K
	value V
	known bool // value was computed at least once
}

// NewFact makes a fact whose values are compared with ==.
func NewFact[K, V comparable](e *Engine, name string, f func(*Scope, K) V) *Fact[K, V] {
	return NewFactFunc(e, name, f, func(a, b V) bool { return a == b })
}

// NewFactFunc makes a fact whose values are compared by equal.
func NewFactFunc[K comparable, V any](e *Engine, name string, f func(*Scope, K) V, equal func(a, b V) bool) *Fact[K, V] {
	t := &Fact[K, V]{e: e, name: name, f: f, equal: equal, nodes: map[K]*factNode[K, V]{}}
	t.level = e.addLevel(level{name: name, fact: true})
	return t
}

// Get returns the value for k. Where the derivation of that value fails, this is
// the value of its last good run; without one, the reader fails as well, and
// runs again once there is a value.
func (t *Fact[K, V]) Get(s *Scope, k K) V {
	s.checkOrder(t.name, t.level)
	n, ok := s.expected().(*factNode[K, V])
	if !ok || n.fact != t || n.key != k {
		n = t.at(k)
	}
	if n.queued {
		s.nested = true
		t.e.derive(&n.node)
	}
	s.read(&n.cell)
	if !n.known {
		panic(noValue{t.name, n.keyString()})
	}
	return n.value
}

func (t *Fact[K, V]) at(k K) *factNode[K, V] {
	n, ok := t.nodes[k]
	if !ok {
		n = &factNode[K, V]{fact: t, key: k}
		t.e.hold(&n.node, n, t.level)
		n.cell.owner = n
		n.queued = true
		t.nodes[k] = n
	}
	return n
}

func (n *factNode[K, V]) derive(s *Scope) bool {
	v := n.fact.f(s, n.key)
	if n.known && n.fact.equal(n.value, v) {
		n.fact.e.stats.Unchanged++
		return true
	}
	n.value, n.known = v, true
	n.fact.e.changed(&n.cell)
	return true
}

func (n *factNode[K, V]) keyString() string { return fmt.Sprint(n.key) }

// idle forgets a fact that nobody reads.
func (n *factNode[K, V]) idle() {
	if len(n.readers) == 0 && n.at != dead {
		n.fact.e.drop(&n.node)
		delete(n.fact.nodes, n.key)
	}
}
