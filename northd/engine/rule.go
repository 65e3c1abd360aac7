package engine

import "fmt"

// A Source is a changing set of keys that a Rule is run for.
type Source[K comparable] interface {
	// subscribe makes f told of every key that comes or goes from now on, and of
	// those that are there. The subscriber runs at the given level.
	subscribe(level int32, f func(K))
	contains(K) bool
}

type rule[K comparable] struct {
	e     *Engine
	level int32
	src   Source[K]
	f     func(*Scope, K)
	nodes map[K]*ruleNode[K]
}

type ruleNode[K comparable] struct {
	node
	rule *rule[K]
	key  K
}

// ForEach makes a rule: f runs for every key of src, and again for those whose
// inputs changed. The key alone is no input: a rule over an Input that wants the
// value must Get it.
func ForEach[K comparable](e *Engine, name string, src Source[K], f func(*Scope, K)) {
	r := &rule[K]{e: e, src: src, f: f, nodes: map[K]*ruleNode[K]{}}
	r.level = e.addLevel(level{name: name})
	src.subscribe(r.level, r.touch)
}

// touch is told that k has come or gone; which of the two, and whether it lasts,
// is looked at when the rule's level runs.
func (r *rule[K]) touch(k K) {
	n, ok := r.nodes[k]
	if !ok {
		n = &ruleNode[K]{rule: r, key: k}
		r.e.hold(&n.node, n, r.level)
		r.nodes[k] = n
	}
	n.moved = true
	r.e.enqueue(&n.node)
}

func (n *ruleNode[K]) derive(s *Scope) bool {
	if n.moved && !n.rule.src.contains(n.key) {
		delete(n.rule.nodes, n.key)
		return false
	}
	n.moved = false
	n.rule.f(s, n.key)
	return true
}

func (n *ruleNode[K]) keyString() string { return fmt.Sprint(n.key) }

// Once is the source of rules that run for no key in particular.
func Once(e *Engine) Source[struct{}] {
	in := NewInput[struct{}, struct{}](e)
	in.Set(struct{}{}, struct{}{})
	return in
}
