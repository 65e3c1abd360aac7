package oracle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/tests/edits"
	"northwall/tests/golden/sbdump"
	"northwall/tests/stock"
)

// initial makes the values equal that are random otherwise.
const initial = "init -- set nb_global . options:mac_prefix=0a:00:00 options:svc_monitor_mac=0a:00:00:00:00:fe options:svc_monitor_mac_dst=0a:00:00:00:00:fd"

// A match is one run of the two sides over a sequence of steps.
type match struct {
	master      *master
	stock, ours *side
	hits        map[string]int // of known differences
	touched     coverage
	applied     int // steps that changed something
	restarts    int // of the stock northd, which was stuck
}

// newMatch starts both sides with nothing but the global row. The directory must
// have a short path.
func newMatch(ctx context.Context, tree stock.Tree, dir string) (*match, error) {
	m := &match{master: newMaster(), hits: map[string]int{}, touched: coverage{}}
	var err error
	if m.stock, err = newStock(ctx, tree); err != nil {
		return nil, err
	}
	if m.ours, err = newOurs(ctx, dir); err != nil {
		m.close()
		return nil, err
	}
	ops, err := m.master.edit(ctx, initial)
	// Standalone databases have a global row already.
	ops = append([]libovsdb.Operation{{Op: libovsdb.OperationDelete, Table: "NB_Global", Where: []libovsdb.Condition{
		libovsdb.NewCondition("nb_cfg", libovsdb.ConditionGreaterThanOrEqual, 0),
	}}}, ops...)
	for _, s := range m.sides() {
		if err == nil {
			err = s.transact(ctx, ops)
		}
		if err == nil {
			err = s.start(ctx)
		}
		if err == nil {
			err = s.sync(ctx)
		}
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *match) sides() []*side { return []*side{m.stock, m.ours} }

func (m *match) close() {
	for _, s := range m.sides() {
		if s != nil {
			s.close()
		}
	}
}

// tries bounds the comparisons after a step: each side may write once more after
// what sb_cfg tells of, such as addresses that it has assigned.
const tries = 3

// apply makes a step on both sides and returns what differs then that is not
// known. A step that fails everywhere, as it names what is not there, is none.
func (m *match) apply(ctx context.Context, s edits.Step) (*difference, error) {
	changed, err := m.edit(ctx, s)
	if err != nil || !changed {
		return &difference{}, err
	}
	m.applied++
	var d *difference
	for range tries {
		if d, err = m.compare(ctx); err != nil {
			return nil, err
		}
		hits := d.takeKnown()
		if d.empty() {
			for name, n := range hits {
				m.hits[name] += n
			}
			break
		}
	}
	return d, nil
}

func (m *match) edit(ctx context.Context, s edits.Step) (changed bool, err error) {
	if line, ok := s.OnSouthbound(); ok {
		a, b := m.stock.southbound(ctx, line), m.ours.southbound(ctx, line)
		if (a == nil) != (b == nil) {
			return false, fmt.Errorf("%s: on one side only: %w", s, errors.Join(a, b))
		}
		if a == nil && strings.HasPrefix(line, "chassis-del") {
			// The original does without what a chassis could not do until it is
			// started again, even when that chassis is gone.
			return true, m.stock.restart(ctx)
		}
		return a == nil, nil
	}
	ops, err := m.master.edit(ctx, s.String())
	if err != nil || len(ops) == 0 {
		return false, nil
	}
	m.touched.add(ops)
	return true, errors.Join(m.stock.transact(ctx, ops), m.ours.transact(ctx, ops))
}

func (m *match) compare(ctx context.Context) (*difference, error) {
	settled := make(chan error)
	for _, s := range m.sides() {
		go func() {
			err := s.settle(ctx)
			if errors.Is(err, context.DeadlineExceeded) && s.restart != nil {
				// Some edits make the original write what the database refuses, again
				// and again. It finds its way from the start.
				m.restarts++
				if err = s.restart(ctx); err == nil {
					err = s.settle(ctx)
				}
			}
			settled <- err
		}()
	}
	if err := errors.Join(<-settled, <-settled); err != nil {
		return nil, err
	}
	var nb, sb [2]sbdump.Contents
	for i, s := range m.sides() {
		var err error
		if nb[i], sb[i], err = s.contents(); err != nil {
			return nil, err
		}
	}
	return compare(nb[0], sb[0], nb[1], sb[1]), nil
}

// coverage counts changes by table and column of the northbound database.
type coverage map[string]map[string]int

func (c coverage) add(ops []libovsdb.Operation) {
	for _, op := range ops {
		if c[op.Table] == nil {
			c[op.Table] = map[string]int{}
		}
		for column, v := range op.Row {
			if !isDefault(v) {
				c[op.Table][column]++
			}
		}
		for _, m := range op.Mutations {
			c[op.Table][m.Column]++
		}
	}
}

func isDefault(v any) bool {
	switch v := v.(type) {
	case libovsdb.OvsSet:
		return len(v.GoSet) == 0
	case libovsdb.OvsMap:
		return len(v.GoMap) == 0
	case string:
		return v == ""
	case int:
		return v == 0
	case bool:
		return !v
	}
	return false
}
