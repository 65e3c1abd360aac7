package ovsdb

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// Decoder keeps the rows of monitored tables current from what a server sends,
// and collects the changes until they are taken. It is what a Client and memdb
// have in common: each feeds it the JSON of a monitor's first reply, with
// ReadSnapshot, and of update notifications, with Read.
//
// A message has its effect as a whole, after its end, or none at all: rows are
// those of a transaction boundary at any time. One goroutine reads; any may
// Take meanwhile, and does not wait for a message that comes in slowly.
type Decoder struct {
	tables map[string]*tableRows
	in     *Interner
	// operations reads those of own transactions, nil while no table is held back.
	operations *jsontext.Decoder

	mu      sync.Mutex
	pending []*pendingBatch // in their order; what comes in goes into the last, if it can
	known   bool            // a snapshot has been read
	initial bool            // the first Batch has yet to be taken
}

// tableRows holds the rows of one table as the server last sent them. It
// belongs to the reader.
type tableRows struct {
	*Table
	rows   *rowSet               // each *T or *Row
	staged []Change              // what the update being read does
	held   *heldRows             // nil if the table is not held back
	fresh  *rowSet               // rows that the snapshot being read has; nil outside of one
	slab   *slab                 // for rows of the first contents, while those are read
	schema *libovsdb.TableSchema // the server's; nil if it lacks the table
	whole  map[*column]bool      // sets here that have one element at most there
	filled []*column             // sets here that must not be empty there
}

// Format is that of the updates that a server sends, by the request that asked
// for them.
type Format uint8

const (
	UpdateOldNew Format = iota // "monitor": RFC 7047 section 4.1.6
	UpdateDiff                 // "monitor_cond", "monitor_cond_since": ovsdb-server(7) section 4.1.14
)

// NewDecoder returns a decoder without rows.
func NewDecoder(tables ...*Table) *Decoder { return newDecoder(NewInterner(), tables...) }

func newDecoder(in *Interner, tables ...*Table) *Decoder {
	d := &Decoder{tables: map[string]*tableRows{}, in: in, initial: true}
	for _, t := range tables {
		d.tables[t.Name] = &tableRows{Table: t, rows: newRowSet(t)}
	}
	return d
}

// SetSchema tells the server's schema, which decides how the columns of dynamic
// tables are read, and what an update says of a set. It is for the reader.
func (d *Decoder) SetSchema(s *libovsdb.DatabaseSchema) {
	for _, t := range d.tables {
		t.schema, t.whole, t.filled = s.Table(t.Name), map[*column]bool{}, nil
		if t.schema == nil {
			continue
		}
		for _, c := range t.columns {
			cs := t.schema.Columns[c.name]
			if cs == nil {
				continue
			}
			if !isDiff(cs) {
				t.whole[c] = true
			}
			if c.kind.isSet() && minElements(cs) > 0 {
				t.filled = append(t.filled, c)
			}
		}
	}
}

// ReadSnapshot reads a <table-updates> value that has the whole contents: the
// rows that it lacks are gone. Rows that are as they were are no changes.
func (d *Decoder) ReadSnapshot(dec *jsontext.Decoder, format Format) error {
	if !d.known {
		defer d.fill()()
	}
	for _, t := range d.tables {
		t.fresh = newRowSet(t.Table)
	}
	defer func() {
		for _, t := range d.tables {
			t.fresh = nil
		}
	}()
	if err := d.stage(dec, format); err != nil {
		return err
	}
	d.apply(true)
	return nil
}

// fill makes what is read, until it is told of the end, rows and strings that are parts
// of larger blocks: it is for the first contents, of which most stay.
func (d *Decoder) fill() (end func()) {
	d.in.carve(true)
	for _, t := range d.tables {
		if t.typ != nil {
			t.slab = &slab{typ: t.typ}
		}
	}
	return func() {
		d.in.carve(false)
		for _, t := range d.tables {
			t.slab = nil
		}
	}
}

// HasRows reports whether there are rows of the named table. It is for the reader.
func (d *Decoder) HasRows(table string) bool { return d.tables[table].rows.len() > 0 }

// Read reads a <table-updates> value that has what a transaction changed.
func (d *Decoder) Read(dec *jsontext.Decoder, format Format) error {
	if err := d.stage(dec, format); err != nil {
		return err
	}
	d.apply(false)
	return nil
}

// stage reads <table-updates> without effect on the rows. Tables and columns
// that were not declared are skipped.
func (d *Decoder) stage(dec *jsontext.Decoder, format Format) error {
	p := &parser{dec: dec, in: d.in}
	err := p.members(func(name []byte) error {
		t := d.tables[string(name)]
		if t == nil {
			return dec.SkipValue()
		}
		return p.members(func(name []byte) error {
			if t.held != nil {
				return t.held.read(p, string(name))
			}
			uuid := d.in.copy(name)
			var err error
			if format == UpdateDiff {
				err = t.readDiff(p, uuid)
			} else {
				err = t.readOldNew(p, uuid)
			}
			if err != nil {
				return fmt.Errorf("table %s, row %s: %w", t.Name, uuid, err)
			}
			return nil
		})
	})
	if err != nil {
		for _, t := range d.tables {
			t.staged = nil
		}
	}
	return err
}

// readDiff reads a <row-update2>.
func (t *tableRows) readDiff(p *parser, uuid string) error {
	return p.members(func(what []byte) error {
		switch string(what) {
		case "initial", "insert":
			row, err := t.readRow(p, t.newRow(uuid), false)
			if err != nil {
				return err
			}
			t.stage(uuid, row)
		case "modify":
			old := t.rows.get(uuid)
			if old == nil {
				return fmt.Errorf("modified, but not known")
			}
			row, err := t.readRow(p, t.clone(old), true)
			if err != nil {
				return err
			}
			t.stage(uuid, row)
		case "delete":
			t.stage(uuid, nil)
			return p.dec.SkipValue()
		default:
			return p.dec.SkipValue()
		}
		return nil
	})
}

// readOldNew reads a <row-update>.
func (t *tableRows) readOldNew(p *parser, uuid string) error {
	var row any
	err := p.members(func(what []byte) error {
		if string(what) != "new" {
			return p.dec.SkipValue()
		}
		var err error
		row, err = t.readRow(p, t.newRow(uuid), false)
		return err
	})
	if err == nil {
		t.stage(uuid, row)
	}
	return err
}

// stage notes that the message makes row what t has at uuid, nil for nothing.
func (t *tableRows) stage(uuid string, row any) {
	old := t.rows.get(uuid)
	same := t.same(old, row)
	if t.fresh != nil {
		if same {
			row = old
		}
		if row == nil {
			t.fresh.delete(uuid)
		} else {
			t.fresh.put(uuid, row)
		}
		return
	}
	if same {
		return
	}
	if len(t.staged) == cap(t.staged) {
		// Doubling costs less memory than append's growth of large slices.
		t.staged = slices.Grow(t.staged, len(t.staged)+1)
	}
	t.staged = append(t.staged, Change{UUID: uuid, Old: old, New: row})
}

// replace makes the rows of a snapshot those of t, and returns what that changes.
func (t *tableRows) replace() []Change {
	was := t.rows
	t.rows = t.fresh
	var out []Change
	if was.len() == 0 {
		out = make([]Change, 0, t.rows.len())
	}
	for row := range t.rows.all() {
		uuid := t.rowUUID(row)
		if old := was.get(uuid); old != row {
			out = append(out, Change{UUID: uuid, Old: old, New: row})
		}
	}
	for old := range was.all() {
		if uuid := t.rowUUID(old); t.rows.get(uuid) == nil {
			out = append(out, Change{UUID: uuid, Old: old})
		}
	}
	return out
}

// update gives what was staged its effect.
func (t *tableRows) update() {
	once := true
	for _, c := range t.staged {
		if t.rows.get(c.UUID) != c.Old {
			once = false
		}
		if c.New == nil {
			t.rows.delete(c.UUID)
		} else {
			t.rows.put(c.UUID, c.New)
		}
	}
	if !once {
		// No sane server has a row in a message twice.
		var all pendingTable
		all.merge(t.staged)
		t.staged = slices.DeleteFunc(all.list, func(c Change) bool { return t.same(c.Old, c.New) })
	}
}

// same reports whether two states of a row, nil for none, are the same.
func (t *tableRows) same(a, b any) bool {
	if a == nil || b == nil {
		return a == b
	}
	return t.Equal(a, b)
}

// apply gives the message its effect.
func (d *Decoder) apply(snapshot bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tables {
		if snapshot {
			t.staged = t.replace()
		} else {
			t.update()
		}
	}
	last := len(d.pending) - 1
	if last < 0 || d.undoes(d.pending[last]) {
		d.pending = append(d.pending, &pendingBatch{tables: map[string]*pendingTable{}})
		last++
	}
	p := d.pending[last]
	p.count++
	for _, t := range d.tables {
		if len(t.staged) > 0 {
			p.add(t.Name, t.staged)
		}
		t.staged = nil
	}
	d.known = d.known || snapshot
}

// undoes reports whether what is staged makes a row again what it was before p.
func (d *Decoder) undoes(p *pendingBatch) bool {
	for _, t := range d.tables {
		if earlier := p.tables[t.Name]; earlier != nil && earlier.undone(t.staged, t.same) {
			return true
		}
	}
	return false
}

// pendingBatch is what happened since the last Take, or since the pending batch before.
type pendingBatch struct {
	tables map[string]*pendingTable
	count  int // messages that it merges
}

func (p *pendingBatch) add(table string, changes []Change) {
	if t := p.tables[table]; t != nil {
		t.merge(changes)
	} else {
		p.tables[table] = &pendingTable{list: changes}
	}
}

// pendingTable holds what happened to a table, one change a row.
type pendingTable struct {
	list []Change
	at   map[string]int // index by row; made when it is needed
}

func (p *pendingTable) index() {
	if p.at != nil {
		return
	}
	p.at = make(map[string]int, len(p.list))
	for i, c := range p.list {
		p.at[c.UUID] = i
	}
}

// undone reports whether later changes undo one of p.
func (p *pendingTable) undone(later []Change, same func(a, b any) bool) bool {
	if len(later) == 0 {
		return false
	}
	p.index()
	return slices.ContainsFunc(later, func(c Change) bool {
		i, ok := p.at[c.UUID]
		return ok && same(p.list[i].Old, c.New)
	})
}

// merge adds later changes: a row's Old stays what it was before p.
func (p *pendingTable) merge(later []Change) {
	p.index()
	for _, c := range later {
		if i, ok := p.at[c.UUID]; ok {
			p.list[i].New = c.New
		} else {
			p.at[c.UUID] = len(p.list)
			p.list = append(p.list, c)
		}
	}
}

// Waiting is the number of messages whose changes have not been taken yet.
func (d *Decoder) Waiting() (count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pending {
		count += p.count
	}
	return count
}

// Take returns the changes since the last Take, nil for none: see Conn. The first
// batch is given out once a first snapshot has been read, even if it is empty.
func (d *Decoder) Take() *Batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.known && len(d.pending) > 0 {
		p, initial := d.pending[0], d.initial
		d.pending[0] = nil
		d.pending = d.pending[1:]
		d.initial = false
		if len(p.tables) == 0 && !initial {
			continue
		}
		b := &Batch{Changes: make(map[string][]Change, len(p.tables)), Initial: initial, Transactions: p.count}
		for name, t := range p.tables {
			b.Changes[name] = t.list
		}
		return b
	}
	return nil
}

// newRow is a row that has every column at its default: a server leaves those
// out.
func (t *tableRows) newRow(uuid string) any {
	if t.typ == nil {
		return t.newDynamic(uuid)
	}
	var v reflect.Value
	if t.slab != nil {
		v = t.slab.next()
	} else {
		v = reflect.New(t.typ).Elem()
	}
	v.Field(t.uuid).SetString(uuid)
	for _, c := range t.filled {
		c.fill(v.Field(c.field))
	}
	return v.Addr().Interface()
}

// fill gives a set that must not be empty its default, one element at its default
// (RFC 7047 section 5.2.1).
func (c *column) fill(f reflect.Value) {
	switch {
	case c.kind == kindInts:
		*ptr[[]int](f) = []int{0}
	case c.key == atomUUID:
		*ptr[[]string](f) = []string{zeroUUID}
	default:
		*ptr[[]string](f) = []string{""}
	}
}

// minElements is the least number of elements of a column.
func minElements(cs *libovsdb.ColumnSchema) int {
	if cs.TypeObj == nil {
		return 1
	}
	return cs.TypeObj.Min()
}

// clone copies a row, so that the one given out before stays as it was.
func (t *Table) clone(row any) any {
	if t.typ == nil {
		r := row.(*Row)
		c := &Row{UUID: r.UUID, Columns: make(map[string]any, len(r.Columns))}
		for k, v := range r.Columns {
			c.Columns[k] = v
		}
		return c
	}
	v := reflect.New(t.typ)
	v.Elem().Set(reflect.ValueOf(row).Elem())
	return v.Interface()
}

// readRow reads the columns of a row into row; with diff they are differences
// from what it has.
func (t *tableRows) readRow(p *parser, row any, diff bool) (any, error) {
	if t.typ == nil {
		return row, t.readDynamic(p, row.(*Row), diff)
	}
	v := reflect.ValueOf(row).Elem()
	d := &p.datum
	err := p.members(func(name []byte) error {
		c := t.byName[string(name)]
		if c == nil {
			return p.dec.SkipValue()
		}
		err := p.readDatum(d)
		if err == nil {
			err = c.assign(v.Field(c.field), d, diff && !t.whole[c], p.in)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
		return nil
	})
	return row, err
}
