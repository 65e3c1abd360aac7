package ovsdb

import (
	"hash/maphash"
	"iter"
	"reflect"
)

// rowSet holds rows of one table by UUID. A Go map takes twice the memory, as its
// slots have the UUIDs that the rows have too, and is copied when it grows.
type rowSet struct {
	table *Table
	seed  maphash.Seed
	// Rows are numbered from 0, without gaps; all chunks but the last are full.
	chunks [][]any
	count  int
	slots  []rowSlot // a power of two, searched from the hash on until one is free
}

// rowSlot refers to a row.
type rowSlot struct {
	hash uint32
	row  uint32 // its number and 1, 0 for a free slot
}

// rowChunk is the number of rows in a chunk.
const rowChunk = 1 << 10

// newRowSet returns a set without rows.
func newRowSet(t *Table) *rowSet { return &rowSet{table: t, seed: maphash.MakeSeed()} }

// len is the number of rows.
func (s *rowSet) len() int { return s.count }

// all are the rows, in no particular order.
func (s *rowSet) all() iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, c := range s.chunks {
			for _, row := range c {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// get returns the row with a UUID, nil for none.
func (s *rowSet) get(uuid string) any {
	if slot := s.find(s.hash(uuid), uuid); slot >= 0 {
		return *s.at(s.slots[slot].row - 1)
	}
	return nil
}

// put adds a row, in place of one that has its UUID.
func (s *rowSet) put(uuid string, row any) {
	h := s.hash(uuid)
	if slot := s.find(h, uuid); slot >= 0 {
		*s.at(s.slots[slot].row - 1) = row
		return
	}
	if s.count >= len(s.slots)/4*3 {
		s.grow()
	}
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last]) == rowChunk {
		var c []any // the first grows, as most tables are small
		if last >= 0 {
			c = make([]any, 0, rowChunk)
		}
		s.chunks = append(s.chunks, c)
		last++
	}
	s.chunks[last] = append(s.chunks[last], row)
	s.count++
	s.place(rowSlot{h, uint32(s.count)})
}

// delete takes the row with a UUID out, if there is one.
func (s *rowSet) delete(uuid string) {
	slot := s.find(s.hash(uuid), uuid)
	if slot < 0 {
		return
	}
	// The last row takes over the number.
	gone, last := s.at(s.slots[slot].row-1), s.at(uint32(s.count-1))
	if gone != last {
		id := s.table.rowUUID(*last)
		s.slots[s.find(s.hash(id), id)].row = s.slots[slot].row
		*gone = *last
	}
	*last = nil
	s.count--
	c := len(s.chunks) - 1
	if s.chunks[c] = s.chunks[c][:len(s.chunks[c])-1]; len(s.chunks[c]) == 0 {
		s.chunks[c] = nil
		s.chunks = s.chunks[:c]
	}
	s.free(slot)
}

// free empties a slot and moves up what would not be found behind a free one.
func (s *rowSet) free(slot int) {
	mask := len(s.slots) - 1
	for next := (slot + 1) & mask; s.slots[next].row != 0; next = (next + 1) & mask {
		home := int(s.slots[next].hash) & mask
		if (next-home)&mask >= (next-slot)&mask { // home is not between the two
			s.slots[slot] = s.slots[next]
			slot = next
		}
	}
	s.slots[slot] = rowSlot{}
}

func (s *rowSet) hash(uuid string) uint32 { return uint32(maphash.String(s.seed, uuid)) }

// at is where the row with a number is kept.
func (s *rowSet) at(number uint32) *any { return &s.chunks[number/rowChunk][number%rowChunk] }

// find returns the slot of the row with a UUID, -1 for none.
func (s *rowSet) find(hash uint32, uuid string) int {
	if s.count == 0 {
		return -1
	}
	mask := len(s.slots) - 1
	for i := int(hash) & mask; s.slots[i].row != 0; i = (i + 1) & mask {
		if s.slots[i].hash == hash && s.table.rowUUID(*s.at(s.slots[i].row - 1)) == uuid {
			return i
		}
	}
	return -1
}

// place puts a row that has no slot yet into one.
func (s *rowSet) place(r rowSlot) {
	mask := len(s.slots) - 1
	i := int(r.hash) & mask
	for s.slots[i].row != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = r
}

// grow makes room for more slots.
func (s *rowSet) grow() {
	old := s.slots
	s.slots = make([]rowSlot, max(8, 2*len(old)))
	for _, r := range old {
		if r.row != 0 {
			s.place(r)
		}
	}
}

// rowUUID is the UUID of a row.
func (t *Table) rowUUID(row any) string {
	if t.typ == nil {
		return row.(*Row).UUID
	}
	return reflect.ValueOf(row).Elem().Field(t.uuid).String()
}

// slab is room for rows that come in together. As long as one of them is there,
// all of their room is: it is for the first contents only, of which most stay.
type slab struct {
	typ  reflect.Type
	rows reflect.Value // a slice
	used int
	made int // rows, in all
}

// slabBytes bounds the size of a slab. With the header of the allocator it is a
// size that is not rounded up.
const slabBytes = 8<<10 - 8

// next returns a row at its zero value, addressable.
func (s *slab) next() reflect.Value {
	if !s.rows.IsValid() || s.used == s.rows.Len() {
		// As many again as there are: most tables are small.
		n := max(1, min(s.made, slabBytes/max(1, int(s.typ.Size()))))
		s.rows, s.used = reflect.MakeSlice(reflect.SliceOf(s.typ), n, n), 0
	}
	v := s.rows.Index(s.used)
	s.used++
	s.made++
	return v
}
