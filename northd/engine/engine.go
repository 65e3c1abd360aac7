package engine

import (
	"fmt"
	"runtime/debug"
)

// Engine owns the derivations and runs them. Its methods, and those of
// everything made with it, are for one goroutine.
type Engine struct {
	levels   []level
	runs     uint64   // identifies the run of a derivation, to notice repeated reads
	scopes   []*Scope // free ones
	idle     []idler  // things whose last reader went, looked at after a Run
	failures []Failure
	stats    Stats
}

// level is one family of derivations and those of it that must run.
type level struct {
	name  string
	queue []*node
	held  int
	ran   uint64
	all   func(func(*node))
}

// Stats counts work since the engine was made.
type Stats struct {
	Runs       uint64 // calls of Run that found something to do
	Derived    uint64 // derivations run
	Unchanged  uint64 // facts that came out equal, so that their readers were spared
	Held       int    // derivations alive now
	Recomputes uint64
}

// LevelStats counts the work of one family of derivations.
type LevelStats struct {
	Name string
	Held int    // alive now
	Ran  uint64 // times one of them ran
}

// A Failure is a derivation that panicked, and why.
type Failure struct {
	Family, Key string
	Cause       any
	Stack       []byte
}

func (f Failure) Error() string {
	return fmt.Sprintf("deriving %s of %s: %v", f.Family, f.Key, f.Cause)
}

// New returns an engine without derivations.
func New() *Engine { return &Engine{} }

// node is the part that all derivations have in common.
type node struct {
	self   derivation
	deps   []dep
	outs   []Contribution
	level  int32
	queued bool
	dead   bool
}

type derivation interface {
	// derive runs the derivation in s. It reports false where the derivation
	// turned out to be no longer wanted and has been removed.
	derive(s *Scope) bool
	keyString() string
}

// cell is something that derivations read.
type cell struct {
	readers []reader
	seen    uint64 // the run that read it last
	owner   idler  // told when the last reader goes; may be nil
}

// dep and reader are the two ends of one edge; each knows where the other is.
type dep struct {
	cell *cell
	at   int32 // in cell.readers
}

type reader struct {
	node *node
	at   int32 // in node.deps
}

// idler is told, after a Run, that a cell of it may have no readers left.
type idler interface{ idle() }

// A Contribution is something that exists while at least one derivation
// contributes it. Add and Remove are called in pairs; implementations count.
type Contribution interface {
	Add()
	Remove()
}

// Scope is what a running derivation reads and contributes through.
type Scope struct {
	e    *Engine
	node *node
	id   uint64
	deps []*cell
	outs []Contribution
}

// Emit contributes c until the derivation runs again or is removed.
func (s *Scope) Emit(c Contribution) {
	c.Add()
	s.outs = append(s.outs, c)
}

// read records that the running derivation depends on c.
func (s *Scope) read(c *cell) {
	if c.seen == s.id {
		return
	}
	c.seen = s.id
	s.deps = append(s.deps, c)
}

// addLevel makes room for a new family of derivations and returns its level.
func (e *Engine) addLevel(name string, all func(func(*node))) int32 {
	e.levels = append(e.levels, level{name: name, all: all})
	return int32(len(e.levels) - 1)
}

// changed queues everything that read c.
func (e *Engine) changed(c *cell) {
	for _, r := range c.readers {
		e.enqueue(r.node)
	}
}

func (e *Engine) enqueue(n *node) {
	if n.queued || n.dead {
		return
	}
	n.queued = true
	l := &e.levels[n.level]
	l.queue = append(l.queue, n)
}

// Run brings everything up to date with the inputs and returns the derivations
// that failed, which keep their last good results.
func (e *Engine) Run() []Failure {
	worked := false
	for i := range e.levels {
		l := &e.levels[i]
		// A derivation queues only higher levels; facts asked for the first time
		// run where they are asked.
		for j := 0; j < len(l.queue); j++ {
			n := l.queue[j]
			if n.queued && !n.dead {
				worked = true
				e.derive(n)
			}
			l.queue[j] = nil
		}
		if cap(l.queue) > 1024 {
			l.queue = nil
		} else {
			l.queue = l.queue[:0]
		}
	}
	for len(e.idle) > 0 {
		i := e.idle[len(e.idle)-1]
		e.idle = e.idle[:len(e.idle)-1]
		i.idle()
	}
	if worked {
		e.stats.Runs++
	}
	f := e.failures
	e.failures = nil
	return f
}

// Recompute runs every derivation again, as if all inputs had changed.
func (e *Engine) Recompute() []Failure {
	e.stats.Recomputes++
	for i := range e.levels {
		e.levels[i].all(e.enqueue)
	}
	return e.Run()
}

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	s := e.stats
	for i := range e.levels {
		s.Held += e.levels[i].held
	}
	return s
}

// Levels returns the counters of each family, in the order of the levels.
func (e *Engine) Levels() []LevelStats {
	out := make([]LevelStats, len(e.levels))
	for i, l := range e.levels {
		out[i] = LevelStats{Name: l.name, Held: l.held, Ran: l.ran}
	}
	return out
}

// derive runs n and replaces its dependencies and contributions.
func (e *Engine) derive(n *node) {
	n.queued = false
	e.stats.Derived++
	e.levels[n.level].ran++
	s := e.newScope(n)
	defer e.freeScope(s)
	wanted, ok := e.guarded(s)
	if !ok {
		// Keep the last good contributions, but depend on what the failed run read
		// as well: that is what can make it succeed.
		for _, c := range s.outs {
			c.Remove()
		}
		for _, d := range n.deps {
			s.deps = append(s.deps, d.cell)
		}
		e.setDeps(n, s.deps)
		return
	}
	if !wanted {
		e.drop(n)
		return
	}
	e.setDeps(n, s.deps)
	old := n.outs
	if len(s.outs) == 0 {
		n.outs = nil
	} else if cap(old) >= len(s.outs) && cap(old) <= 2*len(s.outs) {
		// The old slice is reused after its contributions have been removed.
		for _, c := range old {
			c.Remove()
		}
		clear(old)
		n.outs = append(old[:0], s.outs...)
		return
	} else {
		n.outs = append(make([]Contribution, 0, len(s.outs)), s.outs...)
	}
	for _, c := range old {
		c.Remove()
	}
}

// guarded runs the derivation of s; ok is false if it panicked.
func (e *Engine) guarded(s *Scope) (wanted, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			e.failures = append(e.failures, Failure{
				Family: e.levels[s.node.level].name, Key: s.node.self.keyString(), Cause: r, Stack: debug.Stack(),
			})
			wanted, ok = true, false
		}
	}()
	return s.node.self.derive(s), true
}

// drop removes n's contributions and dependencies for good.
func (e *Engine) drop(n *node) {
	n.dead = true
	e.setDeps(n, nil)
	for _, c := range n.outs {
		c.Remove()
	}
	n.outs = nil
	e.levels[n.level].held--
}

// setDeps makes deps what n depends on.
func (e *Engine) setDeps(n *node, deps []*cell) {
	if len(deps) == len(n.deps) {
		same := true
		for i, d := range n.deps {
			if d.cell != deps[i] {
				same = false
				break
			}
		}
		if same {
			return
		}
	}
	for i := range n.deps {
		n.deps[i].cell.unlink(n.deps[i].at)
	}
	old := n.deps
	n.deps = make([]dep, len(deps))
	for i, c := range deps {
		n.deps[i] = dep{cell: c, at: int32(len(c.readers))}
		c.readers = append(c.readers, reader{node: n, at: int32(i)})
	}
	for _, d := range old {
		if len(d.cell.readers) == 0 && d.cell.owner != nil {
			e.idle = append(e.idle, d.cell.owner)
		}
	}
}

// unlink removes reader i by moving the last one into its place.
func (c *cell) unlink(i int32) {
	last := len(c.readers) - 1
	if int(i) != last {
		moved := c.readers[last]
		c.readers[i] = moved
		moved.node.deps[moved.at].at = i
	}
	c.readers[last] = reader{}
	c.readers = c.readers[:last]
}

func (e *Engine) newScope(n *node) *Scope {
	e.runs++
	var s *Scope
	if l := len(e.scopes); l > 0 {
		s, e.scopes = e.scopes[l-1], e.scopes[:l-1]
	} else {
		s = &Scope{e: e}
	}
	s.node, s.id = n, e.runs
	return s
}

func (e *Engine) freeScope(s *Scope) {
	clear(s.deps)
	clear(s.outs)
	s.node, s.deps, s.outs = nil, s.deps[:0], s.outs[:0]
	e.scopes = append(e.scopes, s)
}

// checkOrder panics, as a bug of the program, where a derivation reads
// something that is not finished when it runs.
func (s *Scope) checkOrder(name string, made int32) {
	if made >= s.node.level {
		panic(fmt.Sprintf("%s read by %s, which was made before it", name, s.e.levels[s.node.level].name))
	}
}
