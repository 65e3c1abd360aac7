package northd

import (
	"sort"

	"go.uber.org/zap"

	"northwall/northd/engine"
)

// Problem is something wrong with a northbound row, by name: what it is and
// why. The rest of the configuration stays in force.
type Problem struct {
	Object string // "acl 4b1f… (sw0, to-lport 100)"
	Reason string
}

// problems logs each problem once when it appears and once when it is gone.
type problems struct {
	log     *zap.Logger
	count   map[Problem]int
	changed map[Problem]bool // to whether it was there at the last flush
}

func newProblems(log *zap.Logger) *problems {
	return &problems{log: log, count: map[Problem]int{}, changed: map[Problem]bool{}}
}

type problemEntry struct {
	p *problems
	Problem
}

// Report contributes a problem.
func (p *problems) Report(s *engine.Scope, object, reason string) {
	s.Emit(problemEntry{p, Problem{object, reason}})
}

func (e problemEntry) Add() {
	e.p.note(e.Problem)
	e.p.count[e.Problem]++
}

func (e problemEntry) Remove() {
	e.p.note(e.Problem)
	if e.p.count[e.Problem]--; e.p.count[e.Problem] == 0 {
		delete(e.p.count, e.Problem)
	}
}

func (p *problems) note(x Problem) {
	if _, ok := p.changed[x]; !ok {
		p.changed[x] = p.count[x] > 0
	}
}

func (p *problems) flush() {
	for x, was := range p.changed {
		switch now := p.count[x] > 0; {
		case now && !was:
			p.log.Warn("northbound configuration: "+x.Reason, zap.String("object", x.Object))
		case was && !now:
			p.log.Info("northbound configuration: resolved: "+x.Reason, zap.String("object", x.Object))
		}
	}
	clear(p.changed)
}

// Problems lists what is wrong with the northbound configuration now, sorted.
func (n *Northd) Problems() []Problem {
	out := make([]Problem, 0, len(n.problems.count))
	for p := range n.problems.count {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Object < out[j].Object || out[i].Object == out[j].Object && out[i].Reason < out[j].Reason
	})
	return out
}
