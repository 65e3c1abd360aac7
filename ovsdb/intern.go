package ovsdb

import "hash/maphash"

// Interner makes equal strings share memory. It remembers the strings that it
// has seen last, in a table of fixed size: what repeats often is shared, and
// nothing is kept for ever. It is for one goroutine.
type Interner struct {
	seed  maphash.Seed
	slots []string
}

// internSlots is a power of two; with a string header a slot, 1 MB.
const internSlots = 1 << 16

// NewInterner returns an empty interner.
func NewInterner() *Interner {
	return &Interner{seed: maphash.MakeSeed(), slots: make([]string, internSlots)}
}

// Bytes returns the string with the bytes of b, without allocating if it is
// remembered.
func (in *Interner) Bytes(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	slot := &in.slots[maphash.Bytes(in.seed, b)&(internSlots-1)]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}
