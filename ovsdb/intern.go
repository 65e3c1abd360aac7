package ovsdb

import (
	"hash/maphash"
	"strings"
)

// Interner makes equal strings, and equal Maps, share memory. It remembers those
// that it has seen last, in tables of bounded size: what repeats often is shared,
// and nothing is kept for ever. It is for one goroutine. A nil *Interner shares
// nothing.
type Interner struct {
	seed     maphash.Seed
	strings  []string
	misses   int // since strings was made
	pointers []*string
	maps     []Map
	block    *strings.Builder // what new strings are parts of; nil for none
}

// Sizes of the tables, powers of two. That of strings grows, so that a decoder
// of little costs little.
const (
	internFirst    = 1 << 8
	internStrings  = 1 << 16
	internPointers = 1 << 12
	internMaps     = 1 << 12
)

// NewInterner returns an empty interner.
func NewInterner() *Interner {
	return &Interner{seed: maphash.MakeSeed(), strings: make([]string, internFirst)}
}

// Bytes returns the string with the bytes of b, without allocating if it is
// remembered.
func (in *Interner) Bytes(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if in == nil {
		return string(b)
	}
	slot := &in.strings[maphash.Bytes(in.seed, b)&uint64(len(in.strings)-1)]
	if *slot == string(b) {
		return *slot
	}
	s := in.copy(b)
	*slot = s
	if in.misses++; in.misses > len(in.strings) && len(in.strings) < internStrings {
		in.grow()
	}
	return s
}

// stringBlock is the size of the blocks that strings are carved from, in bytes.
const stringBlock = 4 << 10

// carve begins or ends making new strings parts of blocks, which costs less time,
// and no memory for rounding up each of them. As long as one string of a block is
// there, the block is: it is for strings of which most stay.
func (in *Interner) carve(begin bool) {
	in.block = nil
	if begin {
		in.block = &strings.Builder{}
	}
}

// copy returns a new string with the bytes of b.
func (in *Interner) copy(b []byte) string {
	if in.block == nil || len(b) > stringBlock/8 {
		return string(b)
	}
	if in.block.Cap()-in.block.Len() < len(b) {
		in.block.Reset()
		in.block.Grow(stringBlock)
	}
	start := in.block.Len()
	in.block.Write(b)
	return in.block.String()[start:]
}

func (in *Interner) grow() {
	old := in.strings
	in.strings, in.misses = make([]string, 4*len(old)), 0
	for _, s := range old {
		in.strings[maphash.String(in.seed, s)&uint64(len(in.strings)-1)] = s
	}
}

// pointer returns a pointer to a string equal to s, which others may have too.
func (in *Interner) pointer(s string) *string {
	if in.pointers == nil {
		in.pointers = make([]*string, internPointers)
	}
	slot := &in.pointers[maphash.String(in.seed, s)&(internPointers-1)]
	if *slot == nil || **slot != s {
		kept := s // which is allocated here only
		*slot = &kept
	}
	return *slot
}

// pairs returns the Map of the given keys and values, which alternate.
func (in *Interner) pairs(a []atom) Map {
	if len(a) == 0 {
		return nil
	}
	// In nearly every case a server sends the keys in order.
	sorted := true
	var h maphash.Hash
	h.SetSeed(in.seed)
	for i := 0; i+1 < len(a); i += 2 {
		h.WriteString(a[i].s)
		h.WriteByte(0)
		h.WriteString(a[i+1].s)
		h.WriteByte(0)
		if i > 0 && a[i-2].s >= a[i].s {
			sorted = false
		}
	}
	if in.maps == nil {
		in.maps = make([]Map, internMaps)
	}
	slot := &in.maps[h.Sum64()&(internMaps-1)]
	if slot.isPairs(a) {
		return *slot
	}
	m := make(Map, 0, len(a)/2)
	for i := 0; i+1 < len(a); i += 2 {
		m = append(m, KV{a[i].s, a[i+1].s})
	}
	if !sorted {
		m.sort()
	}
	*slot = m
	return m
}

// isPairs reports whether m has the pairs of a in their order.
func (m Map) isPairs(a []atom) bool {
	if len(m)*2 != len(a) {
		return false
	}
	for i, p := range m {
		if p.Key != a[2*i].s || p.Value != a[2*i+1].s {
			return false
		}
	}
	return true
}
