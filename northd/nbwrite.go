package northd

import (
	"maps"

	"northwall/northd/engine"
	"northwall/ovsdb"
	"northwall/schema/nb"
)

// nbWrites keeps the northbound columns that a northd owns.
type nbWrites struct {
	ports    *nbRows[nb.LogicalSwitchPort]
	up       *nbColumn[nb.LogicalSwitchPort, bool]
	tag      *nbColumn[nb.LogicalSwitchPort, int]
	dynamic  *nbColumn[nb.LogicalSwitchPort, string] // dynamic_addresses, "" for none
	checks   *nbRows[nb.LogicalSwitchPortHealthCheck]
	status   *nbColumn[nb.LogicalSwitchPortHealthCheck, string]
	nfGroups *nbRows[nb.NetworkFunctionGroup]
	active   *nbColumn[nb.NetworkFunctionGroup, string] // network_function_active, "" for none
	globals  *nbRows[nb.NBGlobal]
	options  *nbColumn[nb.NBGlobal, map[string]string] // the northd's own keys
}

func newNBWrites() *nbWrites {
	w := &nbWrites{
		ports:    newNBRows[nb.LogicalSwitchPort](),
		checks:   newNBRows[nb.LogicalSwitchPortHealthCheck](),
		nfGroups: newNBRows[nb.NetworkFunctionGroup](),
		globals:  newNBRows[nb.NBGlobal](),
	}
	w.up = newNBColumn(w.ports, func(txn *ovsdb.Txn, p *nb.LogicalSwitchPort, up bool) {
		if p.Up == nil || *p.Up != up {
			txn.Update("Logical_Switch_Port", p.UUID).Bool("up", up)
		}
	})
	w.tag = newNBColumn(w.ports, func(txn *ovsdb.Txn, p *nb.LogicalSwitchPort, tag int) {
		if p.Tag == nil || *p.Tag != tag {
			txn.Update("Logical_Switch_Port", p.UUID).Int("tag", tag)
		}
	})
	w.dynamic = newNBColumn(w.ports, func(txn *ovsdb.Txn, p *nb.LogicalSwitchPort, addresses string) {
		if deref(p.DynamicAddresses) != addresses {
			txn.Update("Logical_Switch_Port", p.UUID).Strings("dynamic_addresses", orNone(addresses))
		}
	})
	w.status = newNBColumn(w.checks, func(txn *ovsdb.Txn, c *nb.LogicalSwitchPortHealthCheck, status string) {
		if deref(c.Status) != status {
			txn.Update("Logical_Switch_Port_Health_Check", c.UUID).String("status", status)
		}
	})
	w.active = newNBColumn(w.nfGroups, func(txn *ovsdb.Txn, g *nb.NetworkFunctionGroup, id string) {
		if deref(g.NetworkFunctionActive) != id {
			txn.Update("Network_Function_Group", g.UUID).UUIDs("network_function_active", orNone(id))
		}
	})
	w.options = newNBColumnFunc(w.globals, maps.Equal, func(txn *ovsdb.Txn, g *nb.NBGlobal, options map[string]string) {
		// Only what differs, so that options set by others at the same moment stay.
		changed := map[string]string{}
		for k, v := range options {
			if g.Options[k] != v {
				changed[k] = v
			}
		}
		if len(changed) > 0 {
			txn.Mutate("NB_Global", g.UUID).PutMap("options", changed)
		}
	})
	return w
}

// orNone is the value of an optional column, "" standing for none.
func orNone(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// nbRows are the rows of a northbound table some columns of which are a
// northd's.
type nbRows[R any] struct {
	rows    map[string]*R
	columns []func(txn *ovsdb.Txn, uuid string, row *R)
	touched map[string]struct{}
	written []string
}

func newNBRows[R any]() *nbRows[R] {
	return &nbRows[R]{rows: map[string]*R{}, touched: map[string]struct{}{}}
}

// observe takes a change that the database reports.
func (t *nbRows[R]) observe(uuid string, _, new *R) {
	if new == nil {
		delete(t.rows, uuid)
		return
	}
	t.rows[uuid] = new
	t.touched[uuid] = struct{}{}
}

// flush appends to txn what the table lacks.
func (t *nbRows[R]) flush(txn *ovsdb.Txn) {
	t.written = t.written[:0]
	for _, id := range drain(&t.touched) {
		row := t.rows[id]
		if row == nil {
			continue
		}
		before := txn.Len()
		for _, write := range t.columns {
			write(txn, id, row)
		}
		if txn.Len() > before {
			t.written = append(t.written, id)
		}
	}
}

// retry makes the next flush look again at what the last one wrote.
func (t *nbRows[R]) retry() {
	for _, id := range t.written {
		t.touched[id] = struct{}{}
	}
	t.written = t.written[:0]
}

// nbColumn is one such column: what derivations want in it, by the row's UUID.
type nbColumn[R, V any] struct {
	t     *nbRows[R]
	want  map[string]*nbValue[R, V]
	equal func(a, b V) bool
}

// newNBColumn makes a column of a table; write writes a wanted value if the row
// has another.
func newNBColumn[R any, V comparable](t *nbRows[R], write func(txn *ovsdb.Txn, row *R, value V)) *nbColumn[R, V] {
	return newNBColumnFunc(t, func(a, b V) bool { return a == b }, write)
}

// newNBColumnFunc is newNBColumn for values that are compared by equal.
func newNBColumnFunc[R, V any](t *nbRows[R], equal func(a, b V) bool, write func(txn *ovsdb.Txn, row *R, value V)) *nbColumn[R, V] {
	c := &nbColumn[R, V]{t: t, want: map[string]*nbValue[R, V]{}, equal: equal}
	t.columns = append(t.columns, func(txn *ovsdb.Txn, uuid string, row *R) {
		if v := c.want[uuid]; v != nil {
			write(txn, row, v.value)
		}
	})
	return c
}

// Want contributes the column's value in a row. Where nobody wants any, it stays
// as it is.
func (c *nbColumn[R, V]) Want(s *engine.Scope, uuid string, value V) {
	if v, ok := s.Previous().(*nbValue[R, V]); ok && v.in && v.c == c && v.uuid == uuid && c.equal(v.value, value) {
		s.Emit(v)
		return
	}
	s.Emit(&nbValue[R, V]{c: c, uuid: uuid, value: value})
}

// nbValue is a value that a derivation wants. It implements engine.Contribution.
type nbValue[R, V any] struct {
	c     *nbColumn[R, V]
	uuid  string
	value V
	in    bool // the one in c.want
}

// Add implements engine.Contribution.
func (v *nbValue[R, V]) Add() {
	if was := v.c.want[v.uuid]; was != nil {
		was.in = false
	}
	v.c.want[v.uuid], v.in = v, true
	v.c.t.touched[v.uuid] = struct{}{}
}

// Remove implements engine.Contribution.
func (v *nbValue[R, V]) Remove() {
	if v.in { // else it has been replaced already
		delete(v.c.want, v.uuid)
		v.in = false
	}
}

// WriteNorthbound appends to txn what the northbound columns of a northd lack.
func (n *Northd) WriteNorthbound(txn *ovsdb.Txn) {
	w := n.writes
	w.ports.flush(txn)
	w.checks.flush(txn)
	w.nfGroups.flush(txn)
	w.globals.flush(txn)
}

// RetryNorthbound makes the next WriteNorthbound look again at what the last one
// wrote.
func (n *Northd) RetryNorthbound() {
	w := n.writes
	w.ports.retry()
	w.checks.retry()
	w.nfGroups.retry()
	w.globals.retry()
}
