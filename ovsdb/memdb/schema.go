package memdb

import (
	"fmt"
	"maps"
	"math"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// A table is a table's schema and its committed rows.
type table struct {
	name    string
	columns []*column
	byName  map[string]*column
	root    bool
	maxRows int       // 0 for no limit
	refs    []*column // those that refer to rows
	indexes []*index
	rows    map[string]*row
}

// A column is one column of a table; row values are held by its number.
type column struct {
	name     string
	number   int
	key      baseType
	value    baseType // of a map
	isMap    bool
	min, max int // number of elements; max is math.MaxInt for "unlimited"
	mutable  bool
	initial  datum // what a row gets that is inserted without the column
}

// isSet is the distinction that RFC 7047 section 3.2 makes between a set and
// a scalar.
func (c *column) isSet() bool { return !c.isMap && (c.min != 1 || c.max != 1) }

func (c *column) isScalar() bool { return !c.isMap && c.min == 1 && c.max == 1 }

// A baseType is the type of an atom with its constraints.
type baseType struct {
	kind             kind
	enum             []atom
	minInt, maxInt   int64
	minReal, maxReal float64
	maxLength        int
	ref              *table // of a reference
	weak             bool
}

type kind uint8

const (
	kindInteger kind = iota
	kindReal
	kindBoolean
	kindString
	kindUUID
)

var kinds = map[string]kind{
	libovsdb.TypeInteger: kindInteger,
	libovsdb.TypeReal:    kindReal,
	libovsdb.TypeBoolean: kindBoolean,
	libovsdb.TypeString:  kindString,
	libovsdb.TypeUUID:    kindUUID,
}

func (k kind) String() string {
	for name, other := range kinds {
		if other == k {
			return name
		}
	}
	return "unknown"
}

// The columns that every table has beside those of its schema.
const (
	uuidColumn    = "_uuid"
	versionColumn = "_version"
)

var (
	uuidType    = &column{name: uuidColumn, number: -1, key: baseType{kind: kindUUID}, min: 1, max: 1}
	versionType = &column{name: versionColumn, number: -2, key: baseType{kind: kindUUID}, min: 1, max: 1}
)

// column returns the named column, _uuid and _version included, or nil.
func (t *table) column(name string) *column {
	switch name {
	case uuidColumn:
		return uuidType
	case versionColumn:
		return versionType
	}
	return t.byName[name]
}

// newTables makes the empty tables of a schema.
func newTables(schema *libovsdb.DatabaseSchema) map[string]*table {
	tables := map[string]*table{}
	for name := range schema.Tables {
		tables[name] = &table{name: name, byName: map[string]*column{}, rows: map[string]*row{}}
	}
	for name, t := range tables {
		ts := schema.Tables[name]
		t.root, _ = schema.IsRoot(name) // fails only for unknown tables
		for _, n := range slices.Sorted(maps.Keys(ts.Columns)) {
			c := newColumn(n, ts.Columns[n], tables)
			c.number = len(t.columns)
			t.columns = append(t.columns, c)
			t.byName[n] = c
			if c.key.ref != nil || c.value.ref != nil {
				t.refs = append(t.refs, c)
			}
		}
		for _, names := range ts.Indexes {
			ix := &index{entries: map[string]string{}}
			for _, n := range names {
				c := t.byName[n]
				if c == nil {
					panic(fmt.Sprintf("memdb: schema %s: index of table %s on unknown column %s", schema.Name, name, n))
				}
				ix.columns = append(ix.columns, c)
			}
			t.indexes = append(t.indexes, ix)
		}
	}
	return tables
}

func newColumn(name string, cs *libovsdb.ColumnSchema, tables map[string]*table) *column {
	c := &column{name: name, min: 1, max: 1, mutable: cs.Mutable()}
	if cs.TypeObj == nil {
		c.key = newBaseType(&libovsdb.BaseType{Type: cs.Type}, tables)
	} else {
		c.key = newBaseType(cs.TypeObj.Key, tables)
		c.min, c.max = cs.TypeObj.Min(), cs.TypeObj.Max()
		if c.max == libovsdb.Unlimited {
			c.max = math.MaxInt
		}
		if cs.TypeObj.Value != nil {
			c.isMap = true
			c.value = newBaseType(cs.TypeObj.Value, tables)
		}
	}
	if c.min > 0 {
		c.initial.keys = []atom{c.key.initial()}
		if c.isMap {
			c.initial.values = []atom{c.value.initial()}
		}
	}
	return c
}

func newBaseType(b *libovsdb.BaseType, tables map[string]*table) baseType {
	t := baseType{
		kind:   kinds[b.Type],
		minInt: math.MinInt64, maxInt: math.MaxInt64,
		minReal: math.Inf(-1), maxReal: math.Inf(1),
		maxLength: math.MaxInt,
	}
	// The accessors fail only for other types than theirs. What they return for
	// a limit that is not given is not always right: those are told by value.
	switch t.kind {
	case kindInteger:
		if n, _ := b.MinInteger(); n != int(math.Pow(-2, 63)) {
			t.minInt = int64(n)
		}
		if n, _ := b.MaxInteger(); n > 0 && n < math.MaxInt-1 {
			t.maxInt = int64(n)
		}
	case kindReal:
		if f, _ := b.MinReal(); f != math.SmallestNonzeroFloat64 {
			t.minReal = f
		}
		if f, _ := b.MaxReal(); f != math.MaxFloat64 {
			t.maxReal = f
		}
	case kindString:
		if n, _ := b.MaxLength(); n > 0 && n < math.MaxInt-1 {
			t.maxLength = n
		}
	case kindUUID:
		if name, _ := b.RefTable(); name != "" {
			t.ref = tables[name]
			ref, _ := b.RefType()
			t.weak = ref == libovsdb.Weak
		}
	}
	for _, e := range b.Enum {
		t.enum = append(t.enum, enumAtom(t.kind, e))
	}
	return t
}

// enumAtom makes an atom of an element of an enumeration as JSON decodes it.
func enumAtom(k kind, e any) atom {
	switch e := e.(type) {
	case string:
		return atom{s: e}
	case bool:
		return boolAtom(e)
	case float64:
		if k == kindReal {
			return realAtom(e)
		}
		return atom{n: int64(e)}
	case int:
		return atom{n: int64(e)}
	case libovsdb.UUID:
		return atom{s: e.GoUUID}
	}
	panic(fmt.Sprintf("memdb: unsupported element %v of an enumeration", e))
}

const zeroUUID = "00000000-0000-0000-0000-000000000000"

func (b *baseType) initial() atom {
	if b.kind == kindUUID {
		return atom{s: zeroUUID}
	}
	return atom{}
}

// check reports how a breaks the type's constraints.
func (b *baseType) check(a atom) *failure {
	if b.enum != nil {
		if slices.Contains(b.enum, a) {
			return nil
		}
		var allowed []string
		for _, e := range b.enum {
			allowed = append(allowed, e.format(b.kind))
		}
		return failf(constraintViolation, "%s is not one of the allowed values (%v)", a.format(b.kind), allowed)
	}
	switch b.kind {
	case kindInteger:
		if a.n < b.minInt || a.n > b.maxInt {
			return failf(constraintViolation, "%d is not in the valid range %d to %d (inclusive)", a.n, b.minInt, b.maxInt)
		}
	case kindReal:
		if f := a.real(); f < b.minReal || f > b.maxReal {
			return failf(constraintViolation, "%g is not in the valid range %g to %g (inclusive)", f, b.minReal, b.maxReal)
		}
	case kindString:
		if n := len([]rune(a.s)); n > b.maxLength {
			return failf(constraintViolation, "%q length %d is greater than maximum allowed length %d", a.s, n, b.maxLength)
		}
	}
	return nil
}
