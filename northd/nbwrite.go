package northd

import (
	"sort"

	"northwall/northd/engine"
	"northwall/ovsdb"
	"northwall/schema/nb"
)

// nbWrites keeps the northbound columns that a northd owns: what derivations
// want in them beside what is there.
type nbWrites struct {
	up      map[string]*upWant  // by port UUID
	tags    map[string]*tagWant // by port UUID
	dynamic map[string]*dynamicWant
	ports   map[string]*nb.LogicalSwitchPort
	active  map[string]*activeWant // by Network_Function_Group UUID
	nfs     map[string]*nb.NetworkFunctionGroup
	options map[string]*optionsWant // by NB_Global UUID
	globals map[string]*nb.NBGlobal
	touched map[string]struct{}
	written []string
}

func newNBWrites() *nbWrites {
	return &nbWrites{
		up: map[string]*upWant{}, tags: map[string]*tagWant{}, dynamic: map[string]*dynamicWant{}, ports: map[string]*nb.LogicalSwitchPort{},
		active: map[string]*activeWant{}, nfs: map[string]*nb.NetworkFunctionGroup{},
		options: map[string]*optionsWant{}, globals: map[string]*nb.NBGlobal{},
		touched: map[string]struct{}{},
	}
}

type upWant struct {
	w    *nbWrites
	uuid string
	up   bool
}

// portUp contributes the value of Logical_Switch_Port.up.
func (w *nbWrites) portUp(s *engine.Scope, uuid string, up bool) { s.Emit(&upWant{w, uuid, up}) }

func (u *upWant) Add() { u.w.up[u.uuid] = u; u.w.touched[u.uuid] = struct{}{} }

func (u *upWant) Remove() {
	if u.w.up[u.uuid] == u {
		delete(u.w.up, u.uuid)
	}
}

type tagWant struct {
	w    *nbWrites
	uuid string
	tag  int
}

// portTag contributes the value of Logical_Switch_Port.tag.
func (w *nbWrites) portTag(s *engine.Scope, uuid string, tag int) { s.Emit(&tagWant{w, uuid, tag}) }

func (t *tagWant) Add() { t.w.tags[t.uuid] = t; t.w.touched[t.uuid] = struct{}{} }

func (t *tagWant) Remove() {
	if t.w.tags[t.uuid] == t {
		delete(t.w.tags, t.uuid)
	}
}

type dynamicWant struct {
	w         *nbWrites
	uuid      string
	addresses string
}

// portDynamic contributes the value of Logical_Switch_Port.dynamic_addresses, ""
// for none.
func (w *nbWrites) portDynamic(s *engine.Scope, uuid, addresses string) {
	s.Emit(&dynamicWant{w, uuid, addresses})
}

func (d *dynamicWant) Add() { d.w.dynamic[d.uuid] = d; d.w.touched[d.uuid] = struct{}{} }

func (d *dynamicWant) Remove() {
	if d.w.dynamic[d.uuid] == d {
		delete(d.w.dynamic, d.uuid)
	}
}

type activeWant struct {
	w        *nbWrites
	uuid, id string
}

// nfActive contributes the value of Network_Function_Group.network_function_active.
func (w *nbWrites) nfActive(s *engine.Scope, uuid, id string) { s.Emit(&activeWant{w, uuid, id}) }

func (a *activeWant) Add() { a.w.active[a.uuid] = a; a.w.touched[a.uuid] = struct{}{} }

func (a *activeWant) Remove() {
	if a.w.active[a.uuid] == a {
		delete(a.w.active, a.uuid)
	}
}

func (w *nbWrites) observeNFGroup(uuid string, _, new *nb.NetworkFunctionGroup) {
	if new == nil {
		delete(w.nfs, uuid)
		return
	}
	w.nfs[uuid] = new
	w.touched[uuid] = struct{}{}
}

type optionsWant struct {
	w       *nbWrites
	uuid    string
	options map[string]string
}

// global contributes the northd's own keys of NB_Global.options.
func (w *nbWrites) global(s *engine.Scope, uuid string, options map[string]string) {
	s.Emit(&optionsWant{w, uuid, options})
}

func (o *optionsWant) Add() { o.w.options[o.uuid] = o; o.w.touched[o.uuid] = struct{}{} }

func (o *optionsWant) Remove() {
	if o.w.options[o.uuid] == o {
		delete(o.w.options, o.uuid)
	}
}

func (w *nbWrites) observePort(uuid string, _, new *nb.LogicalSwitchPort) {
	if new == nil {
		delete(w.ports, uuid)
		return
	}
	w.ports[uuid] = new
	w.touched[uuid] = struct{}{}
}

func (w *nbWrites) observeGlobal(uuid string, new *nb.NBGlobal) {
	if new == nil {
		delete(w.globals, uuid)
		return
	}
	w.globals[uuid] = new
	w.touched[uuid] = struct{}{}
}

// WriteNorthbound appends to txn what the northbound columns of a northd lack.
func (n *Northd) WriteNorthbound(txn *ovsdb.Txn) {
	w := n.writes
	w.written = w.written[:0]
	ids := make([]string, 0, len(w.touched))
	for id := range w.touched {
		ids = append(ids, id)
	}
	clear(w.touched)
	sort.Strings(ids)
	for _, id := range ids {
		before := txn.Len()
		if p, u := w.ports[id], w.up[id]; p != nil && u != nil && (p.Up == nil || *p.Up != u.up) {
			txn.Update("Logical_Switch_Port", id).Bool("up", u.up)
		}
		if p, t := w.ports[id], w.tags[id]; p != nil && t != nil && (p.Tag == nil || *p.Tag != t.tag) {
			txn.Update("Logical_Switch_Port", id).Int("tag", t.tag)
		}
		if p, d := w.ports[id], w.dynamic[id]; p != nil && d != nil && deref(p.DynamicAddresses) != d.addresses {
			if d.addresses == "" {
				txn.Update("Logical_Switch_Port", id).Strings("dynamic_addresses", nil)
			} else {
				txn.Update("Logical_Switch_Port", id).String("dynamic_addresses", d.addresses)
			}
		}
		if g, a := w.nfs[id], w.active[id]; g != nil && a != nil && deref(g.NetworkFunctionActive) != a.id {
			txn.Update("Network_Function_Group", id).UUID("network_function_active", a.id)
		}
		if g, o := w.globals[id], w.options[id]; g != nil && o != nil {
			// Only what differs, so that options set by others at the same moment stay.
			changed := map[string]string{}
			for k, v := range o.options {
				if g.Options[k] != v {
					changed[k] = v
				}
			}
			if len(changed) > 0 {
				txn.Mutate("NB_Global", id).PutMap("options", changed)
			}
		}
		if txn.Len() > before {
			w.written = append(w.written, id)
		}
	}
}

// RetryNorthbound makes the next WriteNorthbound look again at what the last one
// wrote.
func (n *Northd) RetryNorthbound() {
	for _, id := range n.writes.written {
		n.writes.touched[id] = struct{}{}
	}
	n.writes.written = n.writes.written[:0]
}
