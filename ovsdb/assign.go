package ovsdb

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// assign gives a field the value of d, or applies d as a difference: of a set
// what is only in one of old and new, of a map the pairs that are new, gone or
// changed; anything else is the new value (ovsdb-server(7) section 4.1.14).
func (c *column) assign(f reflect.Value, d *datum, diff bool, in *Interner) error {
	if err := c.check(d); err != nil {
		return err
	}
	a := d.atoms
	switch c.kind {
	case kindString:
		f.SetString(a[0].s)
	case kindInt:
		f.SetInt(a[0].i)
	case kindBool:
		f.SetBool(a[0].b)
	case kindReal:
		f.SetFloat(a[0].f)
	case kindOptString:
		if len(a) == 0 {
			f.SetZero()
		} else {
			*ptr[*string](f) = in.pointer(a[0].s)
		}
	case kindOptInt:
		*ptr[*int](f) = optional(a, atom.int)
	case kindOptBool:
		*ptr[*bool](f) = optional(a, atom.bool)
	case kindOptReal:
		*ptr[*float64](f) = optional(a, atom.real)
	case kindStrings:
		assignSet(ptr[[]string](f), a, diff, atom.string)
	case kindInts:
		assignSet(ptr[[]int](f), a, diff, atom.int)
	case kindStringMap:
		assignMap(ptr[map[string]string](f), a, diff, atom.string, atom.string)
	case kindIntMap:
		assignMap(ptr[map[string]int](f), a, diff, atom.string, atom.int)
	case kindIntKeyMap:
		assignMap(ptr[map[int]string](f), a, diff, atom.int, atom.string)
	case kindMap:
		m := ptr[Map](f)
		if diff {
			*m = m.patched(a)
		} else {
			*m = in.pairs(a)
		}
	}
	return nil
}

// ptr returns a pointer to the field f of a row.
func ptr[T any](f reflect.Value) *T { return f.Addr().Interface().(*T) }

// check reports whether d can be the value of c.
func (c *column) check(d *datum) error {
	a := d.atoms
	// An empty map may be written as an empty set, and the reverse.
	if c.kind.isMap() != (d.shape == pairs) && len(a) > 0 {
		return fmt.Errorf("a map where none was expected, or the reverse")
	}
	switch {
	case c.kind.isScalar() && len(a) != 1, c.kind.isOptional() && len(a) > 1:
		return fmt.Errorf("%d values where one was expected", len(a))
	}
	for i := range a {
		want := c.key
		if i&1 == 1 && d.shape == pairs {
			want = c.value
		}
		if got := a[i].kind; got != want && !(got == atomInt && want == atomReal) {
			return fmt.Errorf("%v where %v was expected", got, want)
		}
	}
	return nil
}

func (a atom) string() string { return a.s }
func (a atom) int() int       { return int(a.i) }
func (a atom) bool() bool     { return a.b }
func (a atom) real() float64  { return a.f }

func optional[T any](a []atom, get func(atom) T) *T {
	if len(a) == 0 {
		return nil
	}
	v := get(a[0])
	return &v
}

func assignSet[T comparable](p *[]T, a []atom, diff bool, get func(atom) T) {
	var v []T
	if len(a) > 0 {
		v = make([]T, len(a))
		for i := range a {
			v[i] = get(a[i])
		}
	}
	if diff {
		v = symmetric(*p, v)
	}
	*p = v
}

// symmetric returns what is in one of a and b only, nil for nothing.
func symmetric[T comparable](a, b []T) []T {
	var out []T
	if len(b) == 1 {
		if i := slices.Index(a, b[0]); i >= 0 {
			out = slices.Delete(slices.Clone(a), i, i+1)
		} else {
			out = append(slices.Clip(a), b[0])
		}
	} else {
		in := make(map[T]bool, len(b)) // whether a has it, too
		for _, e := range b {
			in[e] = false
		}
		out = make([]T, 0, len(a)+len(b))
		for _, e := range a {
			if _, ok := in[e]; ok {
				in[e] = true
			} else {
				out = append(out, e)
			}
		}
		for _, e := range b {
			if !in[e] {
				out = append(out, e)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func assignMap[K, V comparable](p *map[K]V, a []atom, diff bool, key func(atom) K, value func(atom) V) {
	var m map[K]V
	if diff {
		m = maps.Clone(*p)
	}
	if m == nil && len(a) > 0 {
		m = make(map[K]V, len(a)/2)
	}
	for i := 0; i+1 < len(a); i += 2 {
		patch(m, key(a[i]), value(a[i+1]), diff)
	}
	if len(m) == 0 {
		m = nil
	}
	*p = m
}

// patch puts a pair into m. With diff, a pair that m has already is one that is
// gone.
func patch[K, V comparable](m map[K]V, k K, v V, diff bool) {
	if was, ok := m[k]; diff && ok && was == v {
		delete(m, k)
	} else {
		m[k] = v
	}
}

// patched returns m with the differences a applied.
func (m Map) patched(a []atom) Map {
	all := make(map[string]string, len(m)+len(a)/2)
	for _, p := range m {
		all[p.Key] = p.Value
	}
	for i := 0; i+1 < len(a); i += 2 {
		patch(all, a[i].s, a[i+1].s, true)
	}
	if len(all) == 0 {
		return nil
	}
	return sortedPairs(all)
}
