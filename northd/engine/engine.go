package engine

import (
	"fmt"
	"runtime/debug"
	"slices"
)

// Engine owns the derivations and runs them. Its methods, and those of
// everything made with it, are for one goroutine.
type Engine struct {
	levels   []level
	runs     uint64             // identifies the run of a derivation, to notice repeated reads
	scopes   []*Scope           // free ones
	idle     []idler            // things whose last reader went, looked at after a Run
	told     map[*cell]struct{} // cells whose many readers are queued already
	failures []failure
	failing  map[*node]struct{} // those whose last run failed
	stats    Stats
}

// level is one family of derivations and those of it that must run.
type level struct {
	name  string
	fact  bool
	rule  *rule   // nil for a fact
	nodes []*node // all of them, about in the order in which they came, which is that of memory
	queue []*node
	ran   uint64
	work  LevelWork
	seen  uint64 // ran when the last Run had ended
}

// Stats counts work since the engine was made.
type Stats struct {
	Runs       uint64 // calls of Run that found something to do
	Derived    uint64 // derivations run
	Unchanged  uint64 // facts that came out equal, so that their readers were spared
	Held       int    // derivations alive now
	Failing    int    // those of them whose last run failed
	Recomputes uint64
}

// LevelStats counts the work of one family of derivations.
type LevelStats struct {
	Name string
	Held int    // alive now
	Ran  uint64 // times one of them ran
	Work LevelWork
}

// LevelWork counts the calls of Run and Recompute in which a family had something
// to do, since the engine was made or ClearWork was called.
type LevelWork struct {
	Recomputes uint64 // in which everything ran, as in the first one
	Computes   uint64 // in which what had changed ran
	Failures   uint64 // derivations that failed
}

// A Failure is a derivation that panicked, and why.
type Failure struct {
	Family, Key string
	Cause       any
	Stack       []byte // empty where the derivation only asked for a fact that has no value
}

// failure is a Failure together with whose it is.
type failure struct {
	node *node
	Failure
}

// noValue is the panic of a derivation that asks for a fact that never had a
// good run: there is no last good value to go on with, and a zero value would
// be an invention.
type noValue struct{ family, key string }

func (v noValue) Error() string {
	return fmt.Sprintf("%s of %s has no value: its derivation failed", v.family, v.key)
}

// Error names the derivation and the cause.
func (f Failure) Error() string {
	return fmt.Sprintf("deriving %s of %s: %v", f.Family, f.Key, f.Cause)
}

// New returns an engine without derivations.
func New() *Engine {
	return &Engine{told: map[*cell]struct{}{}, failing: map[*node]struct{}{}}
}

// node is the part that all derivations have in common. There are some for each port:
// what is true of few of them, or can be found from elsewhere, is not kept here.
type node struct {
	self   derivation
	deps   []dep
	outs   []Contribution
	at     int32 // in the level's nodes, or dead
	level  int16
	queued bool
	moved  bool // of a rule: its key came or went since it ran
}

// dead is the place of a node that has been dropped.
const dead = -1

type derivation interface {
	// derive runs the derivation in s. It reports false where the derivation
	// turned out to be no longer wanted and has been removed.
	derive(s *Scope) bool
	keyString() string
}

// cell is something that derivations read.
type cell struct {
	readers []*node
	seen    uint64 // the run that read it last
	owner   idler  // told when the last reader goes; may be nil
}

// dep is the reader's end of an edge. It knows where the other end is, which may be
// among very many; the reverse is found among the few that a derivation depends on.
type dep struct {
	cell *cell
	at   int32 // in cell.readers
}

// idler is told, after a Run, that a cell of it may have no readers left.
type idler interface{ idle() }

// A Contribution is something that exists while at least one derivation
// contributes it. Add and Remove are called in pairs; implementations count.
// Contributions are compared with ==: a derivation that runs again and
// contributes the same in the same places as before calls neither.
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
	kept int // the first of outs that are those of the last run, and were not added again
	// nested is set once another derivation ran inside of this one. It may have
	// read the same cells and taken their marks, so that deps may repeat itself.
	nested bool
}

// Emit contributes c until the derivation runs again or is removed.
func (s *Scope) Emit(c Contribution) {
	if s.Previous() == c {
		s.kept++
	} else {
		c.Add()
	}
	s.outs = append(s.outs, c)
}

// Previous is what the derivation contributed in this place when it ran last, nil
// for nothing, and once it has contributed something else than then. To emit it
// again costs nothing. What is derived again mostly comes out the same: whoever
// makes contributions looks here before searching or making one.
func (s *Scope) Previous() Contribution {
	if i := len(s.outs); i == s.kept && i < len(s.node.outs) {
		return s.node.outs[i]
	}
	return nil
}

// expected is the owner of the cell that the derivation read in this place when it
// ran last, nil for none: it is mostly what is read again, found without a search.
// What has a reader is not forgotten.
func (s *Scope) expected() idler {
	if i := len(s.deps); i < len(s.node.deps) {
		return s.node.deps[i].cell.owner
	}
	return nil
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
func (e *Engine) addLevel(l level) int16 {
	e.levels = append(e.levels, l)
	return int16(len(e.levels) - 1)
}

// hold adds a derivation to its family.
func (e *Engine) hold(n *node, self derivation, level int16) {
	l := &e.levels[level]
	n.self, n.level, n.at = self, level, int32(len(l.nodes))
	l.nodes = append(l.nodes, n)
}

// release takes it out again.
func (e *Engine) release(n *node) {
	l := &e.levels[n.level]
	last := len(l.nodes) - 1
	moved := l.nodes[last]
	l.nodes[n.at], moved.at = moved, n.at
	n.at = dead
	l.nodes[last] = nil
	l.nodes = shrunk(l.nodes[:last])
}

// manyReaders is the number of readers from which it pays to remember, until
// the end of the Run, that all of them have been queued.
const manyReaders = 64

// changed queues everything that read c. Nothing reads c anew before its
// readers have run, so telling them once in a Run is enough.
func (e *Engine) changed(c *cell) {
	if len(c.readers) >= manyReaders {
		if _, ok := e.told[c]; ok {
			return
		}
		e.told[c] = struct{}{}
	}
	for _, n := range c.readers {
		e.enqueue(n)
	}
}

func (e *Engine) enqueue(n *node) {
	if n.queued || n.at == dead {
		return
	}
	n.queued = true
	l := &e.levels[n.level]
	if len(l.queue) == cap(l.queue) {
		l.queue = slices.Grow(l.queue, len(l.queue)+1) // append makes a large one grow by a quarter at a time
	}
	l.queue = append(l.queue, n)
}

// maxKept is the largest capacity of a work list that is kept for the next Run.
const maxKept = 1024

// Run brings everything up to date with the inputs and returns the derivations
// that failed, which keep their last good results.
func (e *Engine) Run() []Failure { return e.run(e.stats.Runs == 0) }

// run runs what is queued, which with all is everything.
func (e *Engine) run(all bool) []Failure {
	worked := false
	for i := range e.levels {
		l := &e.levels[i]
		// A derivation queues only higher levels; facts asked for the first time
		// run where they are asked.
		for j := 0; j < len(l.queue); j++ {
			n := l.queue[j]
			if n.queued && n.at != dead {
				worked = true
				e.derive(n)
			}
			l.queue[j] = nil
		}
		if cap(l.queue) > maxKept {
			l.queue = nil
		} else {
			l.queue = l.queue[:0]
		}
	}
	clear(e.told)
	for i := range e.levels {
		l := &e.levels[i]
		switch {
		case l.ran == l.seen:
		case all:
			l.work.Recomputes++
		default:
			l.work.Computes++
		}
		l.seen = l.ran
	}
	e.forgetIdle()
	if worked {
		e.stats.Runs++
	}
	return e.takeFailures()
}

// takeFailures returns the failures of derivations that are still wanted. A
// fact about a key that has just gone may well fail, and nobody minds.
func (e *Engine) takeFailures() []Failure {
	var out []Failure
	for _, f := range e.failures {
		if f.node.at != dead {
			out = append(out, f.Failure)
		}
	}
	e.failures = nil
	return out
}

// forgetIdle lets go of what nobody reads any more. What goes may have been the
// last reader of other things, which then go as well.
func (e *Engine) forgetIdle() {
	for len(e.idle) > 0 {
		last := len(e.idle) - 1
		i := e.idle[last]
		e.idle[last] = nil
		e.idle = e.idle[:last]
		i.idle()
	}
	if cap(e.idle) > maxKept {
		e.idle = nil
	}
}

// Recompute runs every derivation again, as if all inputs had changed.
func (e *Engine) Recompute() []Failure {
	e.stats.Recomputes++
	for i := range e.levels {
		l := &e.levels[i]
		l.queue = slices.Grow(l.queue, len(l.nodes))
		for _, n := range l.nodes {
			e.enqueue(n)
		}
	}
	return e.run(true)
}

// ClearWork sets the counters of LevelWork to zero.
func (e *Engine) ClearWork() {
	for i := range e.levels {
		e.levels[i].work = LevelWork{}
	}
}

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	s := e.stats
	s.Failing = len(e.failing)
	for i := range e.levels {
		s.Held += len(e.levels[i].nodes)
	}
	return s
}

// Levels returns the counters of each family, in the order of the levels.
func (e *Engine) Levels() []LevelStats {
	out := make([]LevelStats, len(e.levels))
	for i, l := range e.levels {
		out[i] = LevelStats{Name: l.name, Held: len(l.nodes), Ran: l.ran, Work: l.work}
	}
	return out
}

// derive runs n and replaces its dependencies and contributions.
func (e *Engine) derive(n *node) {
	n.queued = false
	e.stats.Derived++
	e.levels[n.level].ran++
	s := e.newScope(n)
	wanted, ok := e.guarded(s)
	if ok {
		delete(e.failing, n)
	} else {
		e.failing[n] = struct{}{}
		e.levels[n.level].work.Failures++
	}
	if s.nested {
		e.dropRepeated(s)
	}
	switch {
	case !ok:
		// The last good contributions stay. What the failed run read decides alone
		// whether the next one can do better, so that is what n depends on now.
		e.setDeps(n, s.deps)
		for _, c := range s.outs[s.kept:] {
			c.Remove()
		}
	case !wanted:
		e.drop(n)
	default:
		e.setDeps(n, s.deps)
		n.setOuts(s.outs, s.kept)
	}
	e.freeScope(s)
}

// setOuts makes outs the contributions of n: the first of them, kept, are so
// already, the others have been added, and the old ones in their place are removed.
func (n *node) setOuts(outs []Contribution, kept int) {
	old := n.outs
	if kept == len(old) && kept == len(outs) {
		return
	}
	for _, c := range old[kept:] {
		c.Remove()
	}
	switch {
	case len(outs) == 0:
		n.outs = nil
	case cap(old) >= len(outs) && cap(old) <= 2*len(outs):
		clear(old)
		n.outs = append(old[:0], outs...)
	default:
		n.outs = append(make([]Contribution, 0, len(outs)), outs...)
	}
}

// guarded runs the derivation of s; ok is false if it panicked.
func (e *Engine) guarded(s *Scope) (wanted, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			f := Failure{Family: e.levels[s.node.level].name, Key: s.node.self.keyString(), Cause: r}
			if _, follows := r.(noValue); !follows {
				f.Stack = debug.Stack()
			}
			e.failures = append(e.failures, failure{s.node, f})
			wanted, ok = true, false
		}
	}()
	return s.node.self.derive(s), true
}

// drop removes n's contributions and dependencies for good.
func (e *Engine) drop(n *node) {
	delete(e.failing, n)
	e.setDeps(n, nil)
	for _, c := range n.outs {
		c.Remove()
	}
	n.outs = nil
	e.release(n)
}

// dropRepeated keeps the first of equal dependencies of s.
func (e *Engine) dropRepeated(s *Scope) {
	e.runs++
	kept := s.deps[:0]
	for _, c := range s.deps {
		if c.seen != e.runs {
			c.seen = e.runs
			kept = append(kept, c)
		}
	}
	clear(s.deps[len(kept):])
	s.deps = kept
}

// setDeps makes deps, which are distinct, what n depends on. The edges up to
// the first difference stay: most derivations begin with reading the same.
func (e *Engine) setDeps(n *node, deps []*cell) {
	same := 0
	for same < len(deps) && same < len(n.deps) && n.deps[same].cell == deps[same] {
		same++
	}
	if same == len(deps) && same == len(n.deps) {
		return
	}
	for _, d := range n.deps[same:] {
		d.cell.unlink(d.at)
		if len(d.cell.readers) == 0 && d.cell.owner != nil {
			e.idle = append(e.idle, d.cell.owner)
		}
	}
	old := n.deps
	if cap(old) >= len(deps) && cap(old) <= 2*len(deps) {
		n.deps = old[:len(deps)]
		clear(old[min(len(deps), len(old)):])
	} else {
		n.deps = make([]dep, len(deps))
		copy(n.deps, old[:same])
	}
	for i := same; i < len(deps); i++ {
		c := deps[i]
		n.deps[i] = dep{cell: c, at: int32(len(c.readers))}
		c.readers = append(c.readers, n)
	}
}

// unlink removes reader i by moving the last one into its place.
func (c *cell) unlink(i int32) {
	last := len(c.readers) - 1
	if int(i) != last {
		moved := c.readers[last]
		c.readers[i] = moved
		for j := range moved.deps {
			if moved.deps[j].cell == c {
				moved.deps[j].at = i
				break
			}
		}
	}
	c.readers[last] = nil
	c.readers = shrunk(c.readers[:last])
}

// shrunk returns s, in less memory where it fills only a small part of its own.
func shrunk[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	if cap(s) > 32 && cap(s) > 4*len(s) {
		return append(make([]T, 0, 2*len(s)), s...)
	}
	return s
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
	s.node, s.deps, s.outs, s.kept, s.nested = nil, s.deps[:0], s.outs[:0], 0, false
	e.scopes = append(e.scopes, s)
}

// checkOrder panics, as a bug of the program, where a derivation reads
// something that is not finished when it runs.
func (s *Scope) checkOrder(name string, made int16) {
	if made >= s.node.level {
		panic(fmt.Sprintf("%s read by %s, which was made before it", name, s.e.levels[s.node.level].name))
	}
}
