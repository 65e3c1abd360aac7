package memdb

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// An atom is a value of a basic type. Its type is known from the column: strings
// and UUIDs are in s, integers in n, reals by their bits in n, booleans as 0
// and 1 in n.
type atom struct {
	s string
	n int64
}

func realAtom(f float64) atom {
	if f == 0 {
		f = 0 // there is one zero only
	}
	return atom{n: int64(math.Float64bits(f))}
}

func boolAtom(b bool) atom {
	if b {
		return atom{n: 1}
	}
	return atom{}
}

func (a atom) real() float64 { return math.Float64frombits(uint64(a.n)) }

func (k kind) compare(a, b atom) int {
	switch k {
	case kindInteger, kindBoolean:
		return cmp.Compare(a.n, b.n)
	case kindReal:
		return cmp.Compare(a.real(), b.real())
	}
	return strings.Compare(a.s, b.s)
}

// appendJSON appends the atom in RFC 7047's notation.
func (a atom) appendJSON(b []byte, k kind) []byte {
	switch k {
	case kindInteger:
		return strconv.AppendInt(b, a.n, 10)
	case kindReal:
		return strconv.AppendFloat(b, a.real(), 'g', -1, 64)
	case kindBoolean:
		return strconv.AppendBool(b, a.n != 0)
	case kindUUID:
		b = append(b, `["uuid","`...)
		return append(append(b, a.s...), `"]`...)
	}
	b, _ = jsontext.AppendQuote(b, a.s) // what was read from JSON is valid UTF-8
	return b
}

// format is the atom as error messages show it.
func (a atom) format(k kind) string {
	if k == kindUUID {
		return a.s
	}
	return string(a.appendJSON(nil, k))
}

// native is the atom in libovsdb's form.
func (a atom) native(k kind) any {
	switch k {
	case kindInteger:
		return int(a.n)
	case kindReal:
		return a.real()
	case kindBoolean:
		return a.n != 0
	case kindUUID:
		return libovsdb.UUID{GoUUID: a.s}
	}
	return a.s
}

// A datum is the value of a column: its elements, of which a scalar has one, or
// the keys of a map with their values. Keys are sorted and unique. Datums are
// never changed once made, and share memory.
type datum struct {
	keys   []atom
	values []atom // of a map
}

func (d datum) equal(o datum) bool {
	return slices.Equal(d.keys, o.keys) && slices.Equal(d.values, o.values)
}

// same reports whether two datums are one in memory, which says cheaply that
// nothing changed.
func (d datum) same(o datum) bool {
	return len(d.keys) == len(o.keys) && (len(d.keys) == 0 || &d.keys[0] == &o.keys[0]) &&
		len(d.values) == len(o.values) && (len(d.values) == 0 || &d.values[0] == &o.values[0])
}

// find returns where key is among the keys, or would go.
func (d datum) find(k kind, key atom) (int, bool) {
	return slices.BinarySearchFunc(d.keys, key, k.compare)
}

// merge walks over the keys of d and o in order, calling f with their positions,
// -1 where there is none.
func (d datum) merge(o datum, k kind, f func(i, j int)) {
	i, j := 0, 0
	for i < len(d.keys) || j < len(o.keys) {
		c := 0
		switch {
		case i == len(d.keys):
			c = 1
		case j == len(o.keys):
			c = -1
		default:
			c = k.compare(d.keys[i], o.keys[j])
		}
		switch {
		case c < 0:
			f(i, -1)
			i++
		case c > 0:
			f(-1, j)
			j++
		default:
			f(i, j)
			i++
			j++
		}
	}
}

// add returns d with o's elements, or with those of o's pairs whose key d does
// not have.
func (d datum) add(o datum, c *column) datum {
	if len(o.keys) == 1 { // the common case: an element more in a long set
		i, found := d.find(c.key.kind, o.keys[0])
		if found {
			return d
		}
		out := datum{keys: inserted(d.keys, i, o.keys[0])}
		if c.isMap {
			out.values = inserted(d.values, i, o.values[0])
		}
		return out
	}
	var out datum
	d.merge(o, c.key.kind, func(i, j int) {
		from := d
		if i < 0 {
			from, i = o, j
		}
		out.keys = append(out.keys, from.keys[i])
		if c.isMap {
			out.values = append(out.values, from.values[i])
		}
	})
	return out
}

func inserted(list []atom, i int, a atom) []atom {
	out := make([]atom, len(list)+1)
	copy(out, list[:i])
	out[i] = a
	copy(out[i+1:], list[i:])
	return out
}

// remove returns d without o's elements. Of a map, o has either keys only, or
// pairs, which must match in both.
func (d datum) remove(o datum, c *column) datum {
	var out datum
	d.merge(o, c.key.kind, func(i, j int) {
		if i < 0 || j >= 0 && (o.values == nil || o.values[j] == d.values[i]) {
			return
		}
		out.keys = append(out.keys, d.keys[i])
		if c.isMap {
			out.values = append(out.values, d.values[i])
		}
	})
	return out
}

// includes reports whether each of o's elements, or pairs, is one of d's.
func (d datum) includes(o datum, c *column) bool {
	for j, key := range o.keys {
		i, ok := d.find(c.key.kind, key)
		if !ok || c.isMap && d.values[i] != o.values[j] {
			return false
		}
	}
	return true
}

// excludes reports whether none of o's elements, or pairs, is one of d's.
func (d datum) excludes(o datum, c *column) bool {
	for j, key := range o.keys {
		if i, ok := d.find(c.key.kind, key); ok && (!c.isMap || d.values[i] == o.values[j]) {
			return false
		}
	}
	return true
}

// appendJSON appends the datum in RFC 7047's notation as ovsdb-server writes it:
// a set of one element is the element.
func (d datum) appendJSON(b []byte, c *column) []byte {
	switch {
	case c.isMap:
		b = append(b, `["map",[`...)
		for i := range d.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(d.keys[i].appendJSON(append(b, '['), c.key.kind), ',')
			b = append(d.values[i].appendJSON(b, c.value.kind), ']')
		}
		return append(b, `]]`...)
	case len(d.keys) == 1:
		return d.keys[0].appendJSON(b, c.key.kind)
	}
	b = append(b, `["set",[`...)
	for i, key := range d.keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = key.appendJSON(b, c.key.kind)
	}
	return append(b, `]]`...)
}

// native is the datum in libovsdb's form, with the same exception as JSON's.
func (d datum) native(c *column) any {
	switch {
	case c.isMap:
		m := make(map[any]any, len(d.keys))
		for i, key := range d.keys {
			m[key.native(c.key.kind)] = d.values[i].native(c.value.kind)
		}
		return libovsdb.OvsMap{GoMap: m}
	case len(d.keys) == 1:
		return d.keys[0].native(c.key.kind)
	}
	set := make([]any, len(d.keys))
	for i, key := range d.keys {
		set[i] = key.native(c.key.kind)
	}
	return libovsdb.OvsSet{GoSet: set}
}

// checkSize reports a number of elements that the column does not allow.
func (d datum) checkSize(c *column) *failure {
	if n := len(d.keys); n < c.min || n > c.max {
		return failf(constraintViolation, "%d values in column %s, whose type requires between %s", n, c.name, c.bounds())
	}
	return nil
}

// check reports how d breaks the column's constraints.
func (d datum) check(c *column) *failure {
	for i := range d.keys {
		if err := c.key.check(d.keys[i]); err != nil {
			return err
		}
		if c.isMap {
			if err := c.value.check(d.values[i]); err != nil {
				return err
			}
		}
	}
	return d.checkSize(c)
}

func (c *column) bounds() string {
	if c.max == math.MaxInt {
		return strconv.Itoa(c.min) + " and unlimited"
	}
	return strconv.Itoa(c.min) + " and " + strconv.Itoa(c.max)
}
