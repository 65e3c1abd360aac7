package ovsdb

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// Table declares a table and the Go type that its rows are held in.
type Table struct {
	Name    string
	columns []*column
	byName  map[string]*column
	typ     reflect.Type // of the struct; nil for dynamic rows
	uuid    []int        // field index of _uuid
	dynamic []string     // columns of a dynamic table, nil for all
}

// kind is the Go form of a column.
type kind uint8

const (
	kindString kind = iota
	kindInt
	kindBool
	kindReal
	kindOptString
	kindOptInt
	kindOptBool
	kindOptReal
	kindStrings
	kindInts
	kindStringMap // map[string]string
	kindMap       // Map
	kindIntMap    // map[string]int
	kindIntKeyMap // map[int]string
)

var kinds = map[reflect.Type]kind{
	reflect.TypeFor[string]():            kindString,
	reflect.TypeFor[int]():               kindInt,
	reflect.TypeFor[bool]():              kindBool,
	reflect.TypeFor[float64]():           kindReal,
	reflect.TypeFor[*string]():           kindOptString,
	reflect.TypeFor[*int]():              kindOptInt,
	reflect.TypeFor[*bool]():             kindOptBool,
	reflect.TypeFor[*float64]():          kindOptReal,
	reflect.TypeFor[[]string]():          kindStrings,
	reflect.TypeFor[[]int]():             kindInts,
	reflect.TypeFor[map[string]string](): kindStringMap,
	reflect.TypeFor[Map]():               kindMap,
	reflect.TypeFor[map[string]int]():    kindIntMap,
	reflect.TypeFor[map[int]string]():    kindIntKeyMap,
}

// column is one column of a Table.
type column struct {
	name      string
	field     int
	kind      kind
	keyUUID   bool // the value, element or key is a UUID
	valueUUID bool // the value of a map is
}

// TableOf declares the table with the given name of a schema, its rows held as
// *T. T is a struct whose fields have `ovsdb:"column"` tags, as libovsdb's
// modelgen writes them, and a string field tagged "_uuid". With columns only
// those are read and written. It panics where T does not fit the schema, which
// is an error of the program.
func TableOf[T any](schema *libovsdb.DatabaseSchema, name string, columns ...string) *Table {
	typ := reflect.TypeFor[T]()
	ts := schema.Table(name)
	if ts == nil {
		panic(fmt.Sprintf("ovsdb: schema %s has no table %s", schema.Name, name))
	}
	t := &Table{Name: name, typ: typ, byName: map[string]*column{}}
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag := f.Tag.Get("ovsdb")
		switch {
		case tag == "_uuid":
			t.uuid = f.Index
			continue
		case tag == "", len(columns) > 0 && !slices.Contains(columns, tag):
			continue
		}
		cs := ts.Columns[tag]
		k, ok := kinds[f.Type]
		if cs == nil || !ok {
			panic(fmt.Sprintf("ovsdb: field %s of %s does not fit column %s of table %s", f.Name, typ, tag, name))
		}
		c := &column{name: tag, field: i, kind: k}
		if o := cs.TypeObj; o != nil {
			c.keyUUID = o.Key != nil && o.Key.Type == libovsdb.TypeUUID
			c.valueUUID = o.Value != nil && o.Value.Type == libovsdb.TypeUUID
		} else {
			c.keyUUID = cs.Type == libovsdb.TypeUUID
		}
		t.columns = append(t.columns, c)
		t.byName[tag] = c
	}
	if t.uuid == nil {
		panic(fmt.Sprintf("ovsdb: %s has no field for _uuid", typ))
	}
	return t
}

// Row is a row of a dynamic table: every column in libovsdb's form (string,
// int, float64, bool, UUID, OvsSet or OvsMap).
type Row struct {
	UUID    string
	Columns map[string]any
}

// DynamicTable declares a table whose columns are taken from the server's
// schema, rows held as *Row; with columns, only those.
func DynamicTable(name string, columns ...string) *Table {
	return &Table{Name: name, dynamic: columns}
}

// Columns are the names of the columns of t; nil for a dynamic table of all.
func (t *Table) Columns() []string {
	if t.typ == nil {
		return t.dynamic
	}
	out := make([]string, len(t.columns))
	for i, c := range t.columns {
		out[i] = c.name
	}
	return out
}

// Insert appends an operation that inserts row, a *T, with the UUID that its
// field has. Columns that are at their default are left out.
func (t *Table) Insert(txn *Txn, row any) {
	v := reflect.ValueOf(row).Elem()
	cols := txn.Insert(t.Name, v.FieldByIndex(t.uuid).String())
	for _, c := range t.columns {
		if !isDefault(v.Field(c.field), c.kind) && txn.knows(t.Name, c.name) {
			c.write(cols, v.Field(c.field))
		}
	}
}

// Update appends what makes old, as the database has it, equal to new in t's
// columns; both are *T. It reports whether that took an operation.
func (t *Table) Update(txn *Txn, old, new any) bool {
	ov, nv := reflect.ValueOf(old).Elem(), reflect.ValueOf(new).Elem()
	uuid := ov.FieldByIndex(t.uuid).String()
	var set, mutate []*column
	for _, c := range t.columns {
		if c.equal(ov.Field(c.field), nv.Field(c.field)) || !txn.knows(t.Name, c.name) {
			continue
		}
		if c.mutable(ov.Field(c.field), nv.Field(c.field)) {
			mutate = append(mutate, c)
		} else {
			set = append(set, c)
		}
	}
	if len(set) > 0 {
		cols := txn.Update(t.Name, uuid)
		for _, c := range set {
			c.write(cols, nv.Field(c.field))
		}
	}
	if len(mutate) > 0 {
		muts := txn.Mutate(t.Name, uuid)
		for _, c := range mutate {
			c.mutate(muts, ov.Field(c.field), nv.Field(c.field))
		}
	}
	return len(set)+len(mutate) > 0
}

// Equal reports whether two rows, both *T, are equal in t's columns. Sets are
// equal whatever their order.
func (t *Table) Equal(a, b any) bool {
	if t.typ == nil {
		return reflect.DeepEqual(a, b)
	}
	av, bv := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for _, c := range t.columns {
		if !c.equal(av.Field(c.field), bv.Field(c.field)) {
			return false
		}
	}
	return true
}

func (t *Txn) knows(table, column string) bool { return t.has == nil || t.has(table, column) }

func isDefault(v reflect.Value, k kind) bool {
	switch k {
	case kindStrings, kindInts, kindStringMap, kindMap, kindIntMap, kindIntKeyMap:
		return v.Len() == 0
	}
	return v.IsZero()
}

func (c *column) equal(a, b reflect.Value) bool {
	switch c.kind {
	case kindOptString, kindOptInt, kindOptBool, kindOptReal:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return a.Elem().Equal(b.Elem())
	case kindStrings:
		return equalSets(a.Interface().([]string), b.Interface().([]string))
	case kindInts:
		return equalSets(a.Interface().([]int), b.Interface().([]int))
	case kindMap:
		return slices.Equal(a.Interface().(Map), b.Interface().(Map))
	case kindStringMap:
		return maps.Equal(a.Interface().(map[string]string), b.Interface().(map[string]string))
	case kindIntMap:
		return maps.Equal(a.Interface().(map[string]int), b.Interface().(map[string]int))
	case kindIntKeyMap:
		return maps.Equal(a.Interface().(map[int]string), b.Interface().(map[int]string))
	}
	return a.Equal(b)
}

// mutable reports whether the change from old to new is better said by what
// comes and goes. That is so for sets that stay in the main: what others do to
// the set at the same time is then kept, too.
func (c *column) mutable(old, new reflect.Value) bool {
	return c.kind == kindStrings && old.Len() > 0 && new.Len() > 0
}

func (c *column) mutate(m *Mutations, old, new reflect.Value) {
	add, remove := difference(old.Interface().([]string), new.Interface().([]string))
	elem := appendString
	if c.keyUUID {
		elem = appendUUID
	}
	// In this order a set that must not be empty never is.
	if len(add) > 0 {
		m.set(c.name, "insert", add, elem)
	}
	if len(remove) > 0 {
		m.set(c.name, "delete", remove, elem)
	}
}

func (c *column) write(w *Columns, v reflect.Value) {
	key, value := appendString, appendString
	if c.keyUUID {
		key = appendUUID
	}
	if c.valueUUID {
		value = appendUUID
	}
	w.name(c.name)
	b := w.t.buf
	switch x := v.Interface().(type) {
	case string:
		b = key(b, x)
	case *string:
		b = appendOpt(b, x, key)
	case []string:
		b = appendSet(b, x, key)
	case int:
		b = appendInt(b, x)
	case *int:
		b = appendOpt(b, x, appendInt)
	case []int:
		b = appendSet(b, x, appendInt)
	case bool:
		b = appendBool(b, x)
	case *bool:
		b = appendOpt(b, x, appendBool)
	case float64:
		b = appendReal(b, x)
	case *float64:
		b = appendOpt(b, x, appendReal)
	case map[string]string:
		b = appendMap(b, sortedPairs(x), value)
	case Map:
		b = appendMap(b, x, value)
	case map[string]int:
		b = appendPairs(b, x, appendString, appendInt)
	case map[int]string:
		b = appendPairs(b, x, appendInt, value)
	}
	w.t.buf = b
}

func appendOpt[T any](b []byte, v *T, elem func([]byte, T) []byte) []byte {
	if v == nil {
		return append(b, `["set",[]]`...)
	}
	return elem(b, *v)
}

func appendInt(b []byte, v int) []byte { return fmt.Append(b, v) }

func appendBool(b []byte, v bool) []byte { return fmt.Append(b, v) }

func appendPairs[K int | string, V any](b []byte, m map[K]V, key func([]byte, K) []byte, value func([]byte, V) []byte) []byte {
	b = append(b, `["map",[`...)
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(key(append(b, '['), k), ',')
		b = append(value(b, m[k]), ']')
	}
	return append(b, `]]`...)
}
