package ovsdb

import (
	"fmt"
	"maps"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// Row is a row of a dynamic table: every column but _uuid and _version in
// libovsdb's form (string, int, float64, bool, UUID, OvsSet or OvsMap).
type Row struct {
	UUID    string
	Columns map[string]any
}

// DynamicTable declares a table whose columns are taken from the server's
// schema, rows held as *Row; with columns, only those. Insert and Update are not
// for it.
func DynamicTable(name string, columns ...string) *Table {
	return &Table{Name: name, dynamic: columns}
}

func (t *tableRows) newDynamic(uuid string) *Row {
	r := &Row{UUID: uuid, Columns: map[string]any{}}
	if t.schema == nil {
		return r
	}
	for name, cs := range t.schema.Columns {
		if t.dynamic == nil || slices.Contains(t.dynamic, name) {
			r.Columns[name] = nativeDefault(cs)
		}
	}
	return r
}

// nativeDefault is the value of a column that was given none (RFC 7047 section
// 5.2.1).
func nativeDefault(cs *libovsdb.ColumnSchema) any {
	switch {
	case cs.TypeObj != nil && cs.TypeObj.Value != nil:
		return libovsdb.OvsMap{GoMap: map[any]any{}}
	case isSet(cs) && minElements(cs) == 0:
		return libovsdb.OvsSet{GoSet: []any{}}
	case isSet(cs):
		return libovsdb.OvsSet{GoSet: []any{atomDefault(cs)}}
	}
	return atomDefault(cs)
}

// atomDefault is the value of an element that was given none.
func atomDefault(cs *libovsdb.ColumnSchema) any {
	switch key, _ := schemaAtoms(cs); key {
	case atomInt:
		return 0
	case atomReal:
		return 0.0
	case atomBool:
		return false
	case atomUUID:
		return libovsdb.UUID{GoUUID: zeroUUID}
	}
	return ""
}

// readDynamic reads the columns of a row; with diff they are differences.
func (t *tableRows) readDynamic(p *parser, r *Row, diff bool) error {
	return p.members(func(b []byte) error {
		name := p.in.Bytes(b)
		if name == "_version" {
			// It is sent where no columns were named, and every row has another one
			// when a server has started again.
			return p.dec.SkipValue()
		}
		if err := p.readDatum(&p.datum); err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		var cs *libovsdb.ColumnSchema
		if t.schema != nil {
			cs = t.schema.Columns[name]
		}
		v := native(&p.datum, cs)
		if diff && isDiff(cs) {
			v = patchNative(r.Columns[name], v)
		}
		r.Columns[name] = v
		return nil
	})
}

// native is d in libovsdb's form. Without a schema a set of one element is that
// element, as it is sent.
func native(d *datum, cs *libovsdb.ColumnSchema) any {
	switch {
	case d.shape == pairs:
		m := libovsdb.OvsMap{GoMap: make(map[any]any, len(d.atoms)/2)}
		for i := 0; i+1 < len(d.atoms); i += 2 {
			m.GoMap[d.atoms[i].native(false)] = d.atoms[i+1].native(false)
		}
		return m
	case d.shape == scalar && !isSet(cs):
		return d.atoms[0].native(keyType(cs) == libovsdb.TypeReal)
	}
	set := libovsdb.OvsSet{GoSet: make([]any, len(d.atoms))}
	for i, a := range d.atoms {
		set.GoSet[i] = a.native(keyType(cs) == libovsdb.TypeReal)
	}
	return set
}

func (a atom) native(real bool) any {
	switch {
	case a.kind == atomUUID:
		return libovsdb.UUID{GoUUID: a.s}
	case a.kind == atomInt && !real:
		return int(a.i)
	case a.kind == atomInt, a.kind == atomReal:
		return a.f
	case a.kind == atomBool:
		return a.b
	}
	return a.s
}

// isSet reports whether a column has anything but exactly one atom.
func isSet(cs *libovsdb.ColumnSchema) bool {
	return cs != nil && cs.TypeObj != nil && cs.TypeObj.Value == nil && (cs.TypeObj.Max() != 1 || cs.TypeObj.Min() == 0)
}

// isDiff reports whether updates of a column say what comes and goes, instead of
// the new value.
func isDiff(cs *libovsdb.ColumnSchema) bool {
	return cs != nil && cs.TypeObj != nil && (cs.TypeObj.Value != nil || cs.TypeObj.Max() != 1)
}

// keyType is the type of a column's values, elements or keys.
func keyType(cs *libovsdb.ColumnSchema) string {
	switch {
	case cs == nil:
		return ""
	case cs.TypeObj != nil && cs.TypeObj.Key != nil:
		return cs.TypeObj.Key.Type
	}
	return cs.Type
}

// patchNative applies a difference to a set or map.
func patchNative(old, diff any) any {
	switch d := diff.(type) {
	case libovsdb.OvsSet:
		o, _ := old.(libovsdb.OvsSet)
		return libovsdb.OvsSet{GoSet: append([]any{}, symmetric(o.GoSet, d.GoSet)...)}
	case libovsdb.OvsMap:
		o, _ := old.(libovsdb.OvsMap)
		m := libovsdb.OvsMap{GoMap: maps.Clone(o.GoMap)}
		if m.GoMap == nil {
			m.GoMap = map[any]any{}
		}
		for k, v := range d.GoMap {
			patch(m.GoMap, k, v, true)
		}
		return m
	}
	return diff
}

// equal reports whether two rows have the same columns; sets are equal whatever
// their order.
func (r *Row) equal(o *Row) bool {
	return maps.EqualFunc(r.Columns, o.Columns, func(a, b any) bool {
		switch a := a.(type) {
		case libovsdb.OvsSet:
			b, ok := b.(libovsdb.OvsSet)
			return ok && equalSets(a.GoSet, b.GoSet)
		case libovsdb.OvsMap:
			b, ok := b.(libovsdb.OvsMap)
			return ok && maps.Equal(a.GoMap, b.GoMap)
		}
		return a == b
	})
}
