package ovsdb

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// Decoder keeps the rows of monitored tables current from the updates of a
// server, and collects the changes until they are taken. It is what a Client
// and memdb have in common: each feeds it the JSON of a monitor's reply and of
// update notifications. It is for one goroutine.
type Decoder struct {
	tables  map[string]*tableRows
	in      *Interner
	pending map[string]*pendingTable
	initial bool // the first Batch has yet to be taken
	fresh   bool // a monitor's first reply has been read
	changed bool
}

// tableRows holds the rows of one table as the server last sent them.
type tableRows struct {
	*Table
	rows   map[string]any // by UUID: *T or *Row
	seen   map[string]struct{}
	schema *libovsdb.TableSchema // the server's; needed for dynamic tables
}

// pendingTable holds what happened to a table since the last Take.
type pendingTable struct {
	list []Change
	at   map[string]int
}

// Format is that of the updates that a server sends, by the request that asked
// for them.
type Format uint8

const (
	UpdateOldNew Format = iota // "monitor": RFC 7047 section 4.1.6
	UpdateDiff                 // "monitor_cond", "monitor_cond_since": ovsdb-server(7) section 4.1.14
)

// NewDecoder returns a decoder without rows.
func NewDecoder(tables ...*Table) *Decoder {
	d := &Decoder{tables: map[string]*tableRows{}, in: NewInterner(), pending: map[string]*pendingTable{}, initial: true}
	for _, t := range tables {
		d.tables[t.Name] = &tableRows{Table: t, rows: map[string]any{}}
	}
	return d
}

// SetSchema tells the server's schema, which decides how the columns of dynamic
// tables are read.
func (d *Decoder) SetSchema(s *libovsdb.DatabaseSchema) {
	for _, t := range d.tables {
		t.schema = s.Table(t.Name)
	}
}

// BeginSnapshot announces that the next Read is of the whole contents: rows that
// it does not have are gone.
func (d *Decoder) BeginSnapshot() {
	d.fresh = false
	for _, t := range d.tables {
		t.seen = make(map[string]struct{}, len(t.rows))
	}
}

// EndSnapshot records the deletion of the rows that the snapshot did not have.
func (d *Decoder) EndSnapshot() {
	for _, t := range d.tables {
		for uuid := range t.rows {
			if _, ok := t.seen[uuid]; !ok {
				d.set(t, uuid, nil)
			}
		}
		t.seen = nil
	}
	d.fresh = true
}

// Fresh records that the state is now current although no snapshot was needed.
func (d *Decoder) Fresh() { d.fresh = true }

// Read reads a <table-updates> value from dec. Tables and columns that were not
// declared are skipped. After an error the rows are of no one state: the next
// Read must be of a snapshot.
func (d *Decoder) Read(dec *jsontext.Decoder, format Format) error {
	p := &parser{dec: dec, in: d.in}
	err := p.eachMember(func(name string) error {
		t := d.tables[name]
		if t == nil {
			return dec.SkipValue()
		}
		return p.eachMember(func(uuid string) error {
			var err error
			if format == UpdateDiff {
				err = d.readDiff(p, t, uuid)
			} else {
				err = d.readOldNew(p, t, uuid)
			}
			if err != nil {
				return fmt.Errorf("table %s row %s: %w", t.Name, uuid, err)
			}
			return nil
		})
	})
	if err != nil {
		d.fresh = false
	}
	return err
}

func (d *Decoder) readDiff(p *parser, t *tableRows, uuid string) error {
	return p.eachMember(func(what string) error {
		switch what {
		case "initial", "insert":
			row, err := t.readRow(p, t.newRow(uuid), false)
			if err != nil {
				return err
			}
			d.set(t, uuid, row)
		case "modify":
			old, ok := t.rows[uuid]
			if !ok {
				return fmt.Errorf("modified, but not known")
			}
			row, err := t.readRow(p, t.clone(old), true)
			if err != nil {
				return err
			}
			d.set(t, uuid, row)
		case "delete":
			d.set(t, uuid, nil)
			return p.dec.SkipValue()
		default:
			return p.dec.SkipValue()
		}
		return nil
	})
}

func (d *Decoder) readOldNew(p *parser, t *tableRows, uuid string) error {
	var row any
	err := p.eachMember(func(what string) error {
		if what != "new" {
			return p.dec.SkipValue()
		}
		var err error
		row, err = t.readRow(p, t.newRow(uuid), false)
		return err
	})
	if err == nil {
		d.set(t, uuid, row)
	}
	return err
}

// set makes row what t has at uuid, nil for nothing, and notes the change.
func (d *Decoder) set(t *tableRows, uuid string, row any) {
	if t.seen != nil && row != nil {
		t.seen[uuid] = struct{}{}
	}
	old := t.rows[uuid]
	if row != nil {
		if old != nil && t.Equal(old, row) {
			return
		}
		t.rows[uuid] = row
	} else {
		if old == nil {
			return
		}
		delete(t.rows, uuid)
	}
	d.changed = true
	p := d.pending[t.Name]
	if p == nil {
		p = &pendingTable{at: map[string]int{}}
		d.pending[t.Name] = p
	}
	if i, ok := p.at[uuid]; ok {
		p.list[i].New = row
		return
	}
	p.at[uuid] = len(p.list)
	p.list = append(p.list, Change{UUID: uuid, Old: old, New: row})
}

// Take returns the changes since the last Take, nil for none. The first batch
// is given out once a first snapshot has been read, even if it is empty.
func (d *Decoder) Take() *Batch {
	if !d.fresh || !d.changed && !d.initial {
		return nil
	}
	b := &Batch{Changes: map[string][]Change{}, Initial: d.initial}
	for name, p := range d.pending {
		list := p.list[:0]
		for _, c := range p.list {
			switch {
			case c.Old == nil && c.New == nil:
			case c.Old != nil && c.New != nil && d.tables[name].Equal(c.Old, c.New):
			default:
				list = append(list, c)
			}
		}
		if len(list) > 0 {
			b.Changes[name] = list
		}
	}
	d.pending = map[string]*pendingTable{}
	d.changed = false
	if len(b.Changes) == 0 && !d.initial {
		return nil
	}
	d.initial = false
	return b
}

// Pending reports whether Take would return a batch, but for changes that
// cancel each other.
func (d *Decoder) Pending() bool { return d.fresh && (d.changed || d.initial) }

func (t *Table) newRow(uuid string) any {
	if t.typ == nil {
		return &Row{UUID: uuid, Columns: map[string]any{}}
	}
	v := reflect.New(t.typ)
	v.Elem().FieldByIndex(t.uuid).SetString(uuid)
	return v.Interface()
}

// clone copies a row, so that the one given out before stays as it was.
func (t *Table) clone(row any) any {
	if t.typ == nil {
		r := row.(*Row)
		c := &Row{UUID: r.UUID, Columns: make(map[string]any, len(r.Columns))}
		for k, v := range r.Columns {
			c.Columns[k] = v
		}
		return c
	}
	v := reflect.New(t.typ)
	v.Elem().Set(reflect.ValueOf(row).Elem())
	return v.Interface()
}

// readRow reads the columns of a row into row; with diff they are differences
// from what it has.
func (t *tableRows) readRow(p *parser, row any, diff bool) (any, error) {
	if t.typ == nil {
		r := row.(*Row)
		return r, p.eachMember(func(name string) error {
			v, err := p.dec.ReadValue()
			if err != nil {
				return err
			}
			var cs *libovsdb.ColumnSchema
			if t.schema != nil {
				cs = t.schema.Columns[name]
			}
			return r.read(name, cs, v, diff)
		})
	}
	v := reflect.ValueOf(row).Elem()
	var d datum
	err := p.eachMember(func(name string) error {
		c := t.byName[name]
		if c == nil {
			return p.dec.SkipValue()
		}
		if err := p.readDatum(&d); err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		if err := c.assign(v.Field(c.field), &d, diff); err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		return nil
	})
	return row, err
}

// assign gives a field the value of d, or applies d as a difference: of a set
// what is only in one of old and new, of a map the pairs that are new or gone;
// anything else is the new value (ovsdb-server(7) section 4.1.14).
func (c *column) assign(f reflect.Value, d *datum, diff bool) error {
	a := d.atoms
	if d.isMap != (c.kind >= kindStringMap) && len(a) > 0 {
		return fmt.Errorf("a map where none was expected, or the reverse")
	}
	switch c.kind {
	case kindString, kindInt, kindBool, kindReal:
		if len(a) != 1 {
			return fmt.Errorf("%d values where one was expected", len(a))
		}
		switch c.kind {
		case kindString:
			f.SetString(a[0].s)
		case kindInt:
			f.SetInt(a[0].i)
		case kindBool:
			f.SetBool(a[0].b)
		case kindReal:
			f.SetFloat(a[0].f)
		}
	case kindOptString:
		f.Set(reflect.ValueOf(optional(a, func(a atom) string { return a.s })))
	case kindOptInt:
		f.Set(reflect.ValueOf(optional(a, func(a atom) int { return int(a.i) })))
	case kindOptBool:
		f.Set(reflect.ValueOf(optional(a, func(a atom) bool { return a.b })))
	case kindOptReal:
		f.Set(reflect.ValueOf(optional(a, func(a atom) float64 { return a.f })))
	case kindStrings:
		v := elements(a, func(a atom) string { return a.s })
		if diff {
			v = symmetric(f.Interface().([]string), v)
		}
		f.Set(reflect.ValueOf(v))
	case kindInts:
		v := elements(a, func(a atom) int { return int(a.i) })
		if diff {
			v = symmetric(f.Interface().([]int), v)
		}
		f.Set(reflect.ValueOf(v))
	case kindStringMap:
		f.Set(reflect.ValueOf(patch(f.Interface().(map[string]string), a, diff, atom.str, atom.str)))
	case kindIntMap:
		f.Set(reflect.ValueOf(patch(f.Interface().(map[string]int), a, diff, atom.str, atom.int)))
	case kindIntKeyMap:
		f.Set(reflect.ValueOf(patch(f.Interface().(map[int]string), a, diff, atom.int, atom.str)))
	case kindMap:
		f.Set(reflect.ValueOf(patchMap(f.Interface().(Map), a, diff)))
	}
	return nil
}

func (a atom) str() string { return a.s }
func (a atom) int() int    { return int(a.i) }

func optional[T any](a []atom, get func(atom) T) *T {
	if len(a) == 0 {
		return nil
	}
	v := get(a[0])
	return &v
}

func elements[T any](a []atom, get func(atom) T) []T {
	if len(a) == 0 {
		return nil
	}
	out := make([]T, len(a))
	for i := range a {
		out[i] = get(a[i])
	}
	return out
}

// symmetric returns what is in one of a and b only.
func symmetric[T comparable](a, b []T) []T {
	if len(b) == 1 {
		if i := slices.Index(a, b[0]); i >= 0 {
			return slices.Delete(slices.Clone(a), i, i+1)
		}
		return append(slices.Clone(a), b[0])
	}
	add, _ := difference(a, b)
	in := make(map[T]struct{}, len(b))
	for _, e := range b {
		in[e] = struct{}{}
	}
	out := make([]T, 0, len(a)+len(add))
	for _, e := range a {
		if _, gone := in[e]; !gone {
			out = append(out, e)
		}
	}
	return append(out, add...)
}

func patch[K, V comparable](old map[K]V, a []atom, diff bool, key func(atom) K, value func(atom) V) map[K]V {
	out := make(map[K]V, len(old)+len(a)/2)
	if diff {
		for k, v := range old {
			out[k] = v
		}
	}
	for i := 0; i+1 < len(a); i += 2 {
		k, v := key(a[i]), value(a[i+1])
		if was, ok := out[k]; diff && ok && was == v {
			delete(out, k)
		} else {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func patchMap(old Map, a []atom, diff bool) Map {
	if diff {
		m := make(map[string]string, len(old))
		for _, p := range old {
			m[p.Key] = p.Value
		}
		return sortedPairs(patch(m, a, true, atom.str, atom.str))
	}
	if len(a) == 0 {
		return nil
	}
	m := make(Map, 0, len(a)/2)
	for i := 0; i+1 < len(a); i += 2 {
		m = append(m, KV{a[i].s, a[i+1].s})
	}
	if !slices.IsSortedFunc(m, func(a, b KV) int { return cmpString(a.Key, b.Key) }) {
		m.sort()
	}
	return m
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// read gives a dynamic row's column the value v, or applies v as a difference.
func (r *Row) read(name string, cs *libovsdb.ColumnSchema, v []byte, diff bool) error {
	var x any
	if err := json.Unmarshal(v, &x); err != nil {
		return err
	}
	native, err := nativeValue(v, x)
	if err != nil {
		return fmt.Errorf("column %s: %w", name, err)
	}
	if cs != nil && cs.TypeObj != nil && cs.TypeObj.Value == nil && (cs.TypeObj.Max() != 1 || cs.TypeObj.Min() == 0) {
		// A set of one element is sent as that element.
		if _, ok := native.(libovsdb.OvsSet); !ok {
			native = libovsdb.OvsSet{GoSet: []any{native}}
		}
		if diff && cs.TypeObj.Max() != 1 {
			old, _ := r.Columns[name].(libovsdb.OvsSet)
			native = libovsdb.OvsSet{GoSet: symmetric(old.GoSet, native.(libovsdb.OvsSet).GoSet)}
		}
	}
	if m, ok := native.(libovsdb.OvsMap); ok && diff {
		native = patchNative(r.Columns[name], m)
	}
	r.Columns[name] = native
	return nil
}

// nativeValue converts a value to libovsdb's form, integers exactly.
func nativeValue(raw []byte, x any) (any, error) {
	switch v := x.(type) {
	case float64:
		var i int
		if json.Unmarshal(raw, &i) == nil {
			return i, nil
		}
		return v, nil
	case string, bool:
		return v, nil
	case []any:
		if len(v) != 2 {
			return nil, fmt.Errorf("malformed value %s", raw)
		}
		switch v[0] {
		case "uuid", "named-uuid":
			s, _ := v[1].(string)
			return libovsdb.UUID{GoUUID: s}, nil
		case "set":
			var parts []json.RawMessage
			if err := json.Unmarshal(raw, &parts); err != nil {
				return nil, err
			}
			var elems []json.RawMessage
			if err := json.Unmarshal(parts[1], &elems); err != nil {
				return nil, err
			}
			set := libovsdb.OvsSet{GoSet: make([]any, 0, len(elems))}
			for i, e := range elems {
				n, err := nativeValue(e, v[1].([]any)[i])
				if err != nil {
					return nil, err
				}
				set.GoSet = append(set.GoSet, n)
			}
			return set, nil
		case "map":
			var parts []json.RawMessage
			if err := json.Unmarshal(raw, &parts); err != nil {
				return nil, err
			}
			var pairs [][2]json.RawMessage
			if err := json.Unmarshal(parts[1], &pairs); err != nil {
				return nil, err
			}
			m := libovsdb.OvsMap{GoMap: make(map[any]any, len(pairs))}
			for _, p := range pairs {
				var kv [2]any
				for i := range kv {
					var e any
					if err := json.Unmarshal(p[i], &e); err != nil {
						return nil, err
					}
					n, err := nativeValue(p[i], e)
					if err != nil {
						return nil, err
					}
					kv[i] = n
				}
				m.GoMap[kv[0]] = kv[1]
			}
			return m, nil
		}
	}
	return nil, fmt.Errorf("malformed value %s", raw)
}

// patchNative applies a difference to a map of a dynamic row.
func patchNative(old any, d libovsdb.OvsMap) libovsdb.OvsMap {
	o, _ := old.(libovsdb.OvsMap)
	m := libovsdb.OvsMap{GoMap: make(map[any]any, len(o.GoMap)+len(d.GoMap))}
	for k, v := range o.GoMap {
		m.GoMap[k] = v
	}
	for k, v := range d.GoMap {
		if was, ok := m.GoMap[k]; ok && was == v {
			delete(m.GoMap, k)
		} else {
			m.GoMap[k] = v
		}
	}
	return m
}
