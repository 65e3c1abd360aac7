package ctl

import (
	"fmt"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// A Datum is the value of a column: a set of atoms, or a map when the column's
// type has values. Keys are sorted and unique; Values, of a map only, go with
// them. A scalar is a set of one. Datums are not changed once made.
type Datum struct {
	Keys   []Atom
	Values []Atom
}

// Set makes a datum of the atoms, in any order, duplicates dropped.
func Set(atoms ...Atom) Datum {
	keys := slices.Clone(atoms)
	slices.SortFunc(keys, compareAtoms)
	return Datum{Keys: slices.CompactFunc(keys, func(a, b Atom) bool { return a == b })}
}

// Strings makes a set of strings.
func Strings(values ...string) Datum { return setOf(values, func(s string) Atom { return s }) }

// UUIDs makes a set of references to rows.
func UUIDs(uuids ...string) Datum { return setOf(uuids, func(s string) Atom { return UUID(s) }) }

func setOf(values []string, atom func(string) Atom) Datum {
	atoms := make([]Atom, len(values))
	for i, v := range values {
		atoms[i] = atom(v)
	}
	return Set(atoms...)
}

// StringMap makes a map of strings.
func StringMap(m map[string]string) Datum {
	var d Datum
	for k, v := range m {
		d = d.Put(k, v)
	}
	return d
}

// Len is the number of elements or pairs.
func (d Datum) Len() int { return len(d.Keys) }

// find returns where key is, or where it would go.
func (d Datum) find(key Atom) (int, bool) {
	return slices.BinarySearchFunc(d.Keys, key, compareAtoms)
}

// Has reports whether key is an element, or a key of a map.
func (d Datum) Has(key Atom) bool {
	_, ok := d.find(key)
	return ok
}

// Value returns what a map has at key.
func (d Datum) Value(key Atom) (Atom, bool) {
	i, ok := d.find(key)
	if !ok || i >= len(d.Values) {
		return nil, false
	}
	return d.Values[i], true
}

// Add returns d with the element.
func (d Datum) Add(key Atom) Datum {
	i, ok := d.find(key)
	if ok {
		return d
	}
	return Datum{Keys: slices.Insert(slices.Clone(d.Keys), i, key)}
}

// Put returns d with the pair, in place of another with that key.
func (d Datum) Put(key, value Atom) Datum {
	i, ok := d.find(key)
	out := Datum{Keys: slices.Clone(d.Keys), Values: slices.Clone(d.Values)}
	if ok {
		out.Values[i] = value
		return out
	}
	out.Keys = slices.Insert(out.Keys, i, key)
	out.Values = slices.Insert(out.Values, i, value)
	return out
}

// Remove returns d without the element or key.
func (d Datum) Remove(key Atom) Datum {
	i, ok := d.find(key)
	if !ok {
		return d
	}
	out := Datum{Keys: slices.Delete(slices.Clone(d.Keys), i, i+1)}
	if d.Values != nil {
		out.Values = slices.Delete(slices.Clone(d.Values), i, i+1)
	}
	return out
}

// Equal reports whether both hold the same.
func (d Datum) Equal(o Datum) bool { return d.compare(o) == 0 }

// compare orders as OVSDB does: the number of elements counts first, then the
// keys, then the values.
func (d Datum) compare(o Datum) int {
	if n := len(d.Keys) - len(o.Keys); n != 0 {
		return n
	}
	if n := slices.CompareFunc(d.Keys, o.Keys, compareAtoms); n != 0 {
		return n
	}
	return slices.CompareFunc(d.Values, o.Values, compareAtoms)
}

// subset reports whether each element, or pair, of d is one of o.
func (d Datum) subset(o Datum) bool {
	for i, key := range d.Keys {
		j, ok := o.find(key)
		if !ok || d.Values != nil && o.Values != nil && d.Values[i] != o.Values[j] {
			return false
		}
	}
	return true
}

// disjoint reports whether no element, or pair, of d is one of o.
func (d Datum) disjoint(o Datum) bool {
	for i, key := range d.Keys {
		if j, ok := o.find(key); ok && (d.Values == nil || o.Values == nil || d.Values[i] == o.Values[j]) {
			return false
		}
	}
	return true
}

// columnType is the type of a column in one form, whatever libovsdb classifies
// it as.
type columnType struct {
	key, value *libovsdb.BaseType // value is nil except for maps
	min, max   int                // max is libovsdb.Unlimited for none
}

func typeOf(column *libovsdb.ColumnSchema) columnType {
	if column.TypeObj == nil {
		return columnType{key: &libovsdb.BaseType{Type: libovsdb.TypeUUID}, min: 1, max: 1} // _uuid
	}
	return columnType{column.TypeObj.Key, column.TypeObj.Value, column.TypeObj.Min(), column.TypeObj.Max()}
}

// fromNative reads a value in libovsdb's form; nil is the empty set.
func fromNative(value any) Datum {
	switch v := value.(type) {
	case nil:
		return Datum{}
	case libovsdb.OvsSet:
		return Set(v.GoSet...)
	case libovsdb.OvsMap:
		d := Datum{Keys: make([]Atom, 0, len(v.GoMap)), Values: make([]Atom, 0, len(v.GoMap))}
		for key := range v.GoMap {
			d.Keys = append(d.Keys, key)
		}
		slices.SortFunc(d.Keys, compareAtoms)
		for _, key := range d.Keys {
			d.Values = append(d.Values, v.GoMap[key])
		}
		return d
	}
	return Datum{Keys: []Atom{value}}
}

// native is d in libovsdb's form for a column of type t.
func (d Datum) native(t columnType) any {
	if t.value != nil {
		m := make(map[any]any, len(d.Keys))
		for i, key := range d.Keys {
			m[key] = d.Values[i]
		}
		return libovsdb.OvsMap{GoMap: m}
	}
	if t.min == 1 && t.max == 1 && len(d.Keys) == 1 {
		return d.Keys[0]
	}
	return libovsdb.OvsSet{GoSet: d.Keys}
}

// parseDatum reads s as a value of type t; sizes are checked when limits is set.
func parseDatum(s string, t columnType, symbols *Symbols, limits bool) (Datum, error) {
	d := Datum{}
	rest, end := strings.TrimLeft(s, " "), ""
	switch {
	case t.value != nil && strings.HasPrefix(rest, "{"):
		rest, end = rest[1:], "}"
	case strings.HasPrefix(rest, "["):
		rest, end = rest[1:], "]"
	}
	rest = strings.TrimLeft(rest, " ")
	for rest != "" && (end == "" || rest[0] != end[0]) {
		var key, value Atom
		var err error
		if key, rest, err = parseElement(s, rest, t.key, symbols); err != nil {
			return d, err
		}
		if t.value != nil {
			if !strings.HasPrefix(rest, "=") {
				return d, fmt.Errorf("%s: expected \"=\" and a value after key %s", s, FormatAtom(key))
			}
			if value, rest, err = parseElement(s, rest[1:], t.value, symbols); err != nil {
				return d, err
			}
		}
		if d.Has(key) {
			if t.value != nil {
				return d, fmt.Errorf("%s: map contains duplicate key", s)
			}
			return d, fmt.Errorf("%s: set contains duplicate value", s)
		}
		if t.value != nil {
			d = d.Put(key, value)
		} else {
			d = d.Add(key)
		}
		if rest, err = skipSeparator(s, rest, end); err != nil {
			return d, err
		}
	}
	if end != "" {
		if rest == "" {
			return d, fmt.Errorf("%s: missing %q at end of data", s, end)
		}
		if rest = strings.TrimLeft(rest[1:], " "); rest != "" {
			return d, fmt.Errorf("%s: trailing garbage after %q", s, end)
		}
	}
	if limits {
		if err := checkSize(d, t); err != nil {
			return d, fmt.Errorf("%s: %w", s, err)
		}
	}
	return d, nil
}

func checkSize(d Datum, t columnType) error {
	if d.Len() < t.min {
		return fmt.Errorf("%d value(s) specified but the minimum number is %d", d.Len(), t.min)
	}
	if t.max != libovsdb.Unlimited && d.Len() > t.max {
		return fmt.Errorf("%d value(s) specified but the maximum number is %d", d.Len(), t.max)
	}
	return nil
}

// parseElement reads one atom at the start of rest and returns what follows.
func parseElement(whole, rest string, base *libovsdb.BaseType, symbols *Symbols) (Atom, string, error) {
	token, after, err := parseToken(rest)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", whole, err)
	}
	if token == "" {
		if after == "" {
			return nil, "", fmt.Errorf("%s: unexpected end of data", whole)
		}
		return nil, "", fmt.Errorf("%s: syntax error at %q", whole, after[:1])
	}
	atom, err := parseAtom(token, base, symbols)
	return atom, after, err
}

// skipSeparator skips what may stand between two elements: spaces and at most
// one comma.
func skipSeparator(whole, rest, end string) (string, error) {
	after := strings.TrimLeft(rest, " ")
	spaced := len(after) < len(rest)
	if strings.HasPrefix(after, ",") {
		return strings.TrimLeft(after[1:], " "), nil
	}
	if after != "" && !spaced && (end == "" || after[0] != end[0]) {
		return "", fmt.Errorf("%s: syntax error at %q", whole, after[:1])
	}
	return after, nil
}

// parseToken takes a token off s: a quoted string, quotes kept, or everything up
// to a delimiter, where a backslash takes the next character literally.
func parseToken(s string) (token, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '"':
				return s[:i+1], s[i+1:], nil
			}
		}
		return "", "", fmt.Errorf("missing quote at end of quoted string")
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
		case strings.IndexByte(":=, []{}!<>", s[i]) >= 0:
			return b.String(), s[i:], nil
		}
		b.WriteByte(s[i])
	}
	return b.String(), "", nil
}

// Format of a datum's text.
type Format int

const (
	FormatString Format = iota // as the command line reads it
	FormatBare                 // without quotes and brackets, for scripts
	FormatJSON                 // OVSDB's own notation
)

// Format writes d, a value of a column of type t.
func (d Datum) format(t columnType, f Format) string {
	if f == FormatJSON {
		return d.json(t)
	}
	atom, separator := FormatAtom, ", "
	if f == FormatBare {
		atom, separator = bareAtom, " "
	}
	parts := make([]string, len(d.Keys))
	for i, key := range d.Keys {
		parts[i] = atom(key)
		if t.value != nil {
			parts[i] += "=" + atom(d.Values[i])
		}
	}
	text := strings.Join(parts, separator)
	switch {
	case f == FormatBare:
		return text
	case t.value != nil:
		return "{" + text + "}"
	case t.max != 1 || len(d.Keys) == 0:
		return "[" + text + "]"
	}
	return text
}

func (d Datum) json(t columnType) string {
	parts := make([]string, len(d.Keys))
	for i, key := range d.Keys {
		parts[i] = jsonAtom(key)
		if t.value != nil {
			parts[i] = "[" + parts[i] + "," + jsonAtom(d.Values[i]) + "]"
		}
	}
	switch {
	case t.value != nil:
		return `["map",[` + strings.Join(parts, ",") + `]]`
	case len(parts) == 1:
		return parts[0]
	}
	return `["set",[` + strings.Join(parts, ",") + `]]`
}
