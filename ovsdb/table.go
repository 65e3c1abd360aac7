package ovsdb

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// Table declares a table and the Go type that its rows are held in.
type Table struct {
	Name    string
	columns []*column
	byName  map[string]*column
	typ     reflect.Type // of the struct; nil for dynamic rows
	uuid    int          // field of _uuid
	dynamic []string     // columns of a dynamic table, nil for all

	declared *libovsdb.TableSchema // what TableOf was given; nil of a dynamic table

	last  bool                 // see ReadLast
	parts []libovsdb.Condition // in which it is read then
	// heldWithout is the table without whose rows it is held back, "" for none.
	heldWithout string
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
	kindStrings // sets from here
	kindInts
	kindStringMap // maps from here: map[string]string
	kindMap       // Map
	kindIntMap    // map[string]int
	kindIntKeyMap // map[int]string
)

func (k kind) isScalar() bool   { return k <= kindReal }
func (k kind) isOptional() bool { return kindOptString <= k && k <= kindOptReal }
func (k kind) isSet() bool      { return kindStrings <= k && k <= kindInts }
func (k kind) isMap() bool      { return k >= kindStringMap }

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

// atoms are the types of the values, elements or keys of a kind, and of the
// values of a map; strings stand for UUIDs, too.
func (k kind) atoms() (key, value atomKind) {
	switch k {
	case kindInt, kindOptInt, kindInts, kindIntKeyMap:
		key = atomInt
	case kindBool, kindOptBool:
		key = atomBool
	case kindReal, kindOptReal:
		key = atomReal
	}
	if k == kindIntMap {
		value = atomInt
	}
	return key, value
}

// column is one column of a Table.
type column struct {
	name       string
	member     string // the start of a member of that name, in JSON
	field      int
	kind       kind
	key, value atomKind // of the value, element or key, and of a map's value
	needs      bool     // references that a row cannot be without
}

// fits reports whether a column of the schema cs can be held and written as c.
func (c *column) fits(cs *libovsdb.ColumnSchema) bool {
	key, value := schemaAtoms(cs)
	single, isMap, optional := true, false, false
	if o := cs.TypeObj; o != nil {
		isMap = o.Value != nil
		single = o.Max() == 1
		optional = o.Min() == 0
	}
	switch {
	case key != c.key, isMap != c.kind.isMap(), isMap && value != c.value:
		return false
	case c.kind.isScalar():
		return single && !optional
	case c.kind.isOptional():
		return single
	}
	return true
}

// schemaAtoms are the types of a column's values, elements or keys, and of the
// values of a map.
func schemaAtoms(cs *libovsdb.ColumnSchema) (key, value atomKind) {
	of := func(t string) atomKind {
		switch t {
		case libovsdb.TypeInteger:
			return atomInt
		case libovsdb.TypeReal:
			return atomReal
		case libovsdb.TypeBoolean:
			return atomBool
		case libovsdb.TypeUUID:
			return atomUUID
		}
		return atomString
	}
	key = of(keyType(cs))
	if cs.TypeObj != nil && cs.TypeObj.Value != nil {
		value = of(cs.TypeObj.Value.Type)
	}
	return key, value
}

// TableOf declares the table with the given name of a schema, its rows held as
// *T. T is a struct whose fields have `ovsdb:"column"` tags, as libovsdb's
// modelgen writes them, and a string field tagged "_uuid". With columns only
// those are read and written. It panics where T does not fit the schema, which
// is an error of the program.
func TableOf[T any](schema *libovsdb.DatabaseSchema, name string, columns ...string) *Table {
	t, err := tableOf[T](schema, name, columns...)
	if err != nil {
		panic("ovsdb: " + err.Error())
	}
	return t
}

// tableOf is TableOf for schemas that are not the program's own.
func tableOf[T any](schema *libovsdb.DatabaseSchema, name string, columns ...string) (*Table, error) {
	typ := reflect.TypeFor[T]()
	ts := schema.Table(name)
	if ts == nil {
		return nil, fmt.Errorf("schema %s has no table %s", schema.Name, name)
	}
	t := &Table{Name: name, declared: ts, typ: typ, uuid: -1, byName: map[string]*column{}}
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag := f.Tag.Get("ovsdb")
		switch {
		case tag == "_uuid":
			t.uuid = i
			continue
		case tag == "", len(columns) > 0 && !slices.Contains(columns, tag):
			continue
		}
		cs := ts.Columns[tag]
		c := &column{name: tag, member: string(append(appendString(nil, tag), ':')), field: i, kind: kindString}
		if f.Type.Kind() != reflect.String { // a string may be of a named type
			var ok bool
			if c.kind, ok = kinds[f.Type]; !ok {
				return nil, fmt.Errorf("field %s of %s has no type of a column", f.Name, typ)
			}
		}
		if cs != nil {
			// Of a string field the schema says whether it is a UUID.
			c.key, c.value = c.kind.atoms()
			key, value := schemaAtoms(cs)
			if c.key == atomString && key == atomUUID {
				c.key = key
			}
			if c.value == atomString && value == atomUUID {
				c.value = value
			}
		}
		c.needs = cs != nil && needsReferences(cs)
		if cs == nil || !c.fits(cs) {
			return nil, fmt.Errorf("field %s of %s does not fit column %s of table %s", f.Name, typ, tag, name)
		}
		t.columns = append(t.columns, c)
		t.byName[tag] = c
	}
	if t.uuid < 0 {
		return nil, fmt.Errorf("%s has no field for _uuid", typ)
	}
	return t, nil
}

// ReadLast makes a Client that connects first read t after the tables that are not
// read last, and in parts: the rows that meet the first condition, then those that meet
// the second, and so on, and then all. Each is to be wider than the one before. A server
// makes up what it sends of a large table for seconds; meanwhile there is something to
// do with the others: see Status.Partial. It returns t.
func (t *Table) ReadLast(parts ...libovsdb.Condition) *Table {
	t.last, t.parts = true, parts
	return t
}

// HoldWithout makes a Client that is to read t last, and finds no row of another of its
// tables, hold t back until ReadRest: see Status.Held. Where nothing can be in t without
// that other, whoever fills the database need not be sent what it has just sent: what it
// has inserted is what it is told in the end: t has no weak references, of which a server
// drops those to rows that are not there. It returns t.
func (t *Table) HoldWithout(other string) *Table {
	t.heldWithout = other
	return t
}

// HeldWithout is what HoldWithout was told, "" for nothing.
func (t *Table) HeldWithout() string { return t.heldWithout }

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
// field has. Columns that are at their default are left out, and nothing is
// appended if the server lacks the table (see Txn.Restrict).
func (t *Table) Insert(txn *Txn, row any) {
	if !txn.Knows(t.Name, "") {
		return
	}
	v := reflect.ValueOf(row).Elem()
	cols := txn.Insert(t.Name, v.Field(t.uuid).String())
	for _, c := range t.columns {
		if f := v.Field(c.field); !isDefault(f, c.kind) && txn.Knows(t.Name, c.name) {
			c.write(cols, f)
		}
	}
}

// Update appends what makes old, as the database has it, equal to new in t's
// columns; both are *T. It reports whether that took an operation. Sets and maps
// are changed by what comes and goes, where that is not more than the new value:
// what others do to them at the same time is then kept, too.
func (t *Table) Update(txn *Txn, old, new any) bool {
	ov, nv := reflect.ValueOf(old).Elem(), reflect.ValueOf(new).Elem()
	if !txn.Knows(t.Name, "") {
		return false
	}
	uuid := ov.Field(t.uuid).String()
	var set []*column
	var mutate []func(*Mutations)
	for _, c := range t.columns {
		of, nf := ov.Field(c.field), nv.Field(c.field)
		if c.equal(of, nf) || !txn.Knows(t.Name, c.name) {
			continue
		}
		if m := c.mutation(of, nf); m != nil {
			mutate = append(mutate, m)
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
		for _, f := range mutate {
			f(muts)
		}
	}
	return len(set)+len(mutate) > 0
}

// Equal reports whether two rows, both *T, are equal in t's columns. Sets are
// equal whatever their order.
func (t *Table) Equal(a, b any) bool {
	if t.typ == nil {
		return a.(*Row).equal(b.(*Row))
	}
	av, bv := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for _, c := range t.columns {
		if !c.equal(av.Field(c.field), bv.Field(c.field)) {
			return false
		}
	}
	return true
}

// Needs reports whether row, a *T, cannot be without the row with the given UUID:
// whether it has a strong reference to it (RFC 7047 section 3.2), or one in a
// column that must not be empty.
func (t *Table) Needs(row any, uuid string) bool {
	v := reflect.ValueOf(row).Elem()
	for _, c := range t.columns {
		if !c.needs {
			continue
		}
		switch f := v.Field(c.field); c.kind {
		case kindString:
			if f.String() == uuid {
				return true
			}
		case kindOptString:
			if !f.IsNil() && f.Elem().String() == uuid {
				return true
			}
		case kindStrings:
			if slices.Contains(*ptr[[]string](f), uuid) {
				return true
			}
		}
	}
	return false
}

// needsReferences reports whether the rows that a column refers to must be there.
// Of maps it says no.
func needsReferences(cs *libovsdb.ColumnSchema) bool {
	if cs.TypeObj == nil || cs.TypeObj.Key.Type != libovsdb.TypeUUID {
		return false
	}
	table, _ := cs.TypeObj.Key.RefTable() // fail only for other types
	kind, _ := cs.TypeObj.Key.RefType()
	return table != "" && (kind == libovsdb.Strong || cs.TypeObj.Min() > 0) && cs.TypeObj.Value == nil
}

func isDefault(v reflect.Value, k kind) bool {
	if k.isSet() || k.isMap() {
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
		return equalSets(*ptr[[]string](a), *ptr[[]string](b))
	case kindInts:
		return equalSets(*ptr[[]int](a), *ptr[[]int](b))
	case kindMap:
		return slices.Equal(*ptr[Map](a), *ptr[Map](b))
	case kindStringMap:
		return maps.Equal(*ptr[map[string]string](a), *ptr[map[string]string](b))
	case kindIntMap:
		return maps.Equal(*ptr[map[string]int](a), *ptr[map[string]int](b))
	case kindIntKeyMap:
		return maps.Equal(*ptr[map[int]string](a), *ptr[map[int]string](b))
	}
	return a.Equal(b)
}

// mutation returns what makes new of old, nil where writing new is shorter.
func (c *column) mutation(old, new reflect.Value) func(*Mutations) {
	if c.kind < kindStrings || old.Len() == 0 || new.Len() == 0 {
		return nil
	}
	switch c.kind {
	case kindStrings:
		return c.setMutation(*ptr[[]string](old), *ptr[[]string](new))
	case kindStringMap:
		return c.mapMutation(sortedPairs(*ptr[map[string]string](old)), sortedPairs(*ptr[map[string]string](new)))
	case kindMap:
		return c.mapMutation(*ptr[Map](old), *ptr[Map](new))
	}
	return nil
}

func (c *column) setMutation(old, new []string) func(*Mutations) {
	add, remove := difference(old, new)
	if len(add)+len(remove) > len(new) {
		return nil
	}
	return func(m *Mutations) {
		// In this order a set that must not be empty never is.
		if len(add) > 0 {
			m.set(c.name, "insert", add, appender(c.key))
		}
		if len(remove) > 0 {
			m.set(c.name, "delete", remove, appender(c.key))
		}
	}
}

func (c *column) mapMutation(old, new Map) func(*Mutations) {
	var gone []string
	var put Map
	for i, j := 0, 0; i < len(old) || j < len(new); {
		switch {
		case j == len(new) || i < len(old) && old[i].Key < new[j].Key:
			gone = append(gone, old[i].Key)
			i++
		case i == len(old) || new[j].Key < old[i].Key:
			put = append(put, new[j])
			j++
		default:
			if old[i].Value != new[j].Value {
				gone = append(gone, old[i].Key)
				put = append(put, new[j])
			}
			i, j = i+1, j+1
		}
	}
	if len(gone)+len(put) > len(new) {
		return nil
	}
	return func(m *Mutations) {
		// An insert leaves a key that is there as it is.
		if len(gone) > 0 {
			m.set(c.name, "delete", gone, appender(c.key))
		}
		if len(put) > 0 {
			m.insertPairs(c.name, put, appender(c.value))
		}
	}
}

// appender returns what writes a string as an atom of the given kind.
func appender(k atomKind) func([]byte, string) []byte {
	if k == atomUUID {
		return appendUUID
	}
	return appendString
}

func (c *column) write(w *Columns, v reflect.Value) {
	key, value := appender(c.key), appender(c.value)
	w.member(c.member)
	b := w.t.buf
	switch c.kind {
	case kindString:
		b = key(b, v.String())
	case kindInt:
		b = appendInt(b, int(v.Int()))
	case kindBool:
		b = appendBool(b, v.Bool())
	case kindReal:
		b = appendReal(b, v.Float())
	case kindOptString:
		b = appendOpt(b, *ptr[*string](v), key)
	case kindOptInt:
		b = appendOpt(b, *ptr[*int](v), appendInt)
	case kindOptBool:
		b = appendOpt(b, *ptr[*bool](v), appendBool)
	case kindOptReal:
		b = appendOpt(b, *ptr[*float64](v), appendReal)
	case kindStrings:
		b = appendSet(b, *ptr[[]string](v), key)
	case kindInts:
		b = appendSet(b, *ptr[[]int](v), appendInt)
	case kindStringMap:
		b = appendMap(b, sortedPairs(*ptr[map[string]string](v)), value)
	case kindMap:
		b = appendMap(b, *ptr[Map](v), value)
	case kindIntMap:
		b = appendPairs(b, *ptr[map[string]int](v), key, appendInt)
	case kindIntKeyMap:
		b = appendPairs(b, *ptr[map[int]string](v), appendInt, value)
	}
	w.t.buf = b
}

func appendOpt[T any](b []byte, v *T, elem func([]byte, T) []byte) []byte {
	if v == nil {
		return append(b, `["set",[]]`...)
	}
	return elem(b, *v)
}

func appendInt(b []byte, v int) []byte { return strconv.AppendInt(b, int64(v), 10) }

func appendBool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

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
