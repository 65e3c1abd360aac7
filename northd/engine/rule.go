package engine

// A Source is a changing set of keys that a Rule is run for.
type Source[K comparable] interface {
	// follow makes r told of every key that comes or goes from now on, and of those
	// that are there.
	follow(r *rule)
	keyOf(place) K
}

// place is where a source keeps one of its keys, which may be gone: it is kept as
// long as derivations follow it.
type place interface {
	idler
	present() bool
	followers() *follower
	keyString() string
}

// follower begins the list of the rules' derivations for the key of a place. There
// are few, one of each rule: to hold them there takes less than a map from keys.
type follower struct{ first *ruleNode }

type rule struct {
	e     *Engine
	level int16
	f     func(*Scope, place)
}

type ruleNode struct {
	node
	at   place
	next *ruleNode // that follows the same place
}

// ForEach makes a rule: f runs for every key of src, and again for those whose
// inputs changed. The key alone is no input: a rule over an Input that wants the
// value must Get it.
func ForEach[K comparable](e *Engine, name string, src Source[K], f func(*Scope, K)) {
	r := &rule{e: e, f: func(s *Scope, at place) { f(s, src.keyOf(at)) }}
	r.level = e.addLevel(level{name: name, rule: r})
	src.follow(r)
}

// touch tells rules that the key of a place has come or gone.
func touch(rules []*rule, at place) {
	for _, r := range rules {
		r.touch(at)
	}
}

// touch is told that a key has come or gone; which of the two, and whether it lasts,
// is looked at when the rule's level runs.
func (r *rule) touch(at place) {
	fs := at.followers()
	n := fs.first
	for n != nil && n.level != r.level {
		n = n.next
	}
	if n == nil {
		n = &ruleNode{at: at, next: fs.first}
		fs.first = n
		r.e.hold(&n.node, n, r.level)
	}
	n.moved = true
	r.e.enqueue(&n.node)
}

func (n *ruleNode) derive(s *Scope) bool {
	if n.moved && !n.at.present() {
		n.leave(s.e)
		return false
	}
	n.moved = false
	s.e.levels[n.level].rule.f(s, n.at)
	return true
}

// leave takes n out of those that follow its place, which may be forgotten then.
func (n *ruleNode) leave(e *Engine) {
	p := &n.at.followers().first
	for *p != n {
		p = &(*p).next
	}
	if *p = n.next; n.at.followers().first == nil {
		e.idle = append(e.idle, n.at)
	}
}

func (n *ruleNode) keyString() string { return n.at.keyString() }

// Once is the source of rules that run for no key in particular.
func Once(e *Engine) Source[struct{}] {
	in := NewInput[struct{}, struct{}](e)
	in.Set(struct{}{}, struct{}{})
	return in
}
