package ovsdb

import (
	"cmp"
	"slices"
)

// KV is one pair of a Map.
type KV struct{ Key, Value string }

// Map is a column of string pairs as a slice sorted by key: a tenth of the
// memory of a Go map where the pairs are few. It is immutable.
type Map []KV

// NewMap returns the map of the given keys and values, which alternate.
func NewMap(kv ...string) Map {
	m := make(Map, 0, len(kv)/2)
	for i := 0; i+1 < len(kv); i += 2 {
		m = append(m, KV{kv[i], kv[i+1]})
	}
	m.sort()
	return m
}

// Get returns the value of key.
func (m Map) Get(key string) (string, bool) {
	for _, p := range m {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

func (m Map) sort() {
	slices.SortFunc(m, func(a, b KV) int { return cmp.Compare(a.Key, b.Key) })
}
