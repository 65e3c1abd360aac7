package engine

// Signal makes derivations run again for a reason that is not a value: something
// outside that they asked has another answer now.
type Signal[K comparable] struct{ in *Input[K, struct{}] }

// NewSignal returns a signal that nobody waits for.
func NewSignal[K comparable](e *Engine) *Signal[K] { return &Signal[K]{NewInput[K, struct{}](e)} }

// Await makes the derivation of s run again when k is raised.
func (g *Signal[K]) Await(s *Scope, k K) { g.in.Get(s, k) }

// Raise makes whoever awaits k run again. With nobody, it is forgotten.
func (g *Signal[K]) Raise(k K) { g.in.Raise(k) }
