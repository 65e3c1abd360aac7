package ovsdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// Errors of a Call whose transaction's fate is not an answer of the server.
var (
	// ErrUnknown: the connection broke before the answer came.
	ErrUnknown = errors.New("connection lost before the answer: the transaction may or may not have been committed")
	// ErrNotSent: the transaction never reached the server.
	ErrNotSent = errors.New("connection lost before the transaction was sent")
)

// Txn is a transaction: a list of operations (RFC 7047 section 5.2) that succeed
// or fail together. Operations are written as they will be sent, once.
type Txn struct {
	buf  []byte
	ends []int // of each operation in buf
	rows map[string]int
	has  func(table, column string) bool
	// errorOnly spares results that nobody asks for.
	errorOnly bool

	open *Columns
	cols Columns
	muts Mutations
}

// NewTxn returns a transaction without operations.
func NewTxn() *Txn { return &Txn{} }

// Restrict makes Table.Insert and Table.Update leave out columns that the server
// does not have.
func (t *Txn) Restrict(has func(table, column string) bool) *Txn {
	t.has = has
	return t
}

// Reset takes all operations out of t, whose memory is used for others then. It is for
// a transaction that was never sent, or that a server has answered.
func (t *Txn) Reset() *Txn {
	t.close()
	t.buf, t.ends = t.buf[:0], t.ends[:0]
	clear(t.rows)
	return t
}

// Knows reports whether the server has the table, and the column if it is not
// empty, as far as Restrict has said.
func (t *Txn) Knows(table, column string) bool { return t.has == nil || t.has(table, column) }

// ErrorOnly says that of the answer to t only the error matters: a Client then
// returns no results, which take more memory than t itself where it has many
// operations.
func (t *Txn) ErrorOnly() *Txn {
	t.errorOnly = true
	return t
}

// Len is the number of operations.
func (t *Txn) Len() int { t.close(); return len(t.ends) }

// Rows are the numbers of operations on each table, but for those of Op and Raw.
func (t *Txn) Rows() map[string]int { return t.rows }

// Bytes is the size of the transaction on the wire.
func (t *Txn) Bytes() int { t.close(); return len(t.buf) }

// Params returns the parameters of a "transact" request to the named database.
func (t *Txn) Params(database string) []byte {
	return bytes.Join(t.params(database), nil)
}

// params is Params in parts, of which the operations are not copied: t may be
// added to afterwards, which does not touch them.
func (t *Txn) params(database string) [][]byte {
	t.close()
	head := appendString([]byte{'['}, database)
	if len(t.buf) > 0 {
		head = append(head, ',')
	}
	return [][]byte{head, t.buf[:len(t.buf):len(t.buf)], []byte{']'}}
}

// String is the transaction for people: an operation a line.
func (t *Txn) String() string {
	t.close()
	var b strings.Builder
	start := 0
	for _, end := range t.ends {
		b.Write(t.buf[start:end])
		b.WriteByte('\n')
		start = end + 1
	}
	return b.String()
}

// growAt is the room that an operation starts with, in bytes.
const growAt = 1 << 10

// begin starts an operation; its object is left open for members.
func (t *Txn) begin(op, table string) {
	t.close()
	// Doubling costs less copying than append's growth of large slices, and
	// transactions get large.
	if cap(t.buf)-len(t.buf) < growAt {
		t.buf = slices.Grow(t.buf, max(len(t.buf), growAt))
	}
	if len(t.buf) > 0 {
		t.buf = append(t.buf, ',')
	}
	t.buf = append(t.buf, `{"op":"`...)
	t.buf = append(t.buf, op...)
	t.buf = append(t.buf, '"')
	if table != "" {
		if t.rows == nil {
			t.rows = map[string]int{}
		}
		t.rows[table]++
		t.buf = append(t.buf, `,"table":`...)
		t.buf = appendString(t.buf, table)
	}
}

func (t *Txn) end() {
	t.buf = append(t.buf, '}')
	t.ends = append(t.ends, len(t.buf))
}

// close ends an operation whose columns or mutations were being added.
func (t *Txn) close() {
	if t.open == nil {
		return
	}
	t.buf = append(t.buf, t.open.closing)
	t.open = nil
	t.end()
}

// where writes the conditions: the row, and a column that is to be empty, if one is
// given.
func (t *Txn) where(uuid, empty string) {
	t.buf = append(t.buf, `,"where":[["_uuid","==",["uuid",`...)
	t.buf = appendString(t.buf, uuid)
	t.buf = append(t.buf, `]]`...)
	if empty != "" {
		t.buf = append(t.buf, ",["...)
		t.buf = appendString(t.buf, empty)
		t.buf = append(t.buf, `,"==",["set",[]]]`...)
	}
	t.buf = append(t.buf, ']')
}

// Insert appends an operation that inserts a row with the given UUID; its
// columns are to be added to the result. (The UUID is given by an extension of
// ovsdb-server(7), section 4.1.)
func (t *Txn) Insert(table, uuid string) *Columns {
	t.begin("insert", table)
	t.buf = append(t.buf, `,"uuid":`...)
	t.buf = appendString(t.buf, uuid)
	return t.columns()
}

// Update appends an operation that sets columns of a row.
func (t *Txn) Update(table, uuid string) *Columns {
	t.begin("update", table)
	t.where(uuid, "")
	return t.columns()
}

// UpdateEmpty is Update for a row in which a column has no value: where another
// client has given it one meanwhile, nothing happens.
func (t *Txn) UpdateEmpty(table, uuid, column string) *Columns {
	t.begin("update", table)
	t.where(uuid, column)
	return t.columns()
}

func (t *Txn) columns() *Columns {
	t.buf = append(t.buf, `,"row":{`...)
	t.cols = Columns{t: t, closing: '}', first: true}
	t.open = &t.cols
	return &t.cols
}

// Mutate appends an operation that changes columns of a row by adding to them
// and taking from them.
func (t *Txn) Mutate(table, uuid string) *Mutations {
	t.begin("mutate", table)
	t.where(uuid, "")
	t.buf = append(t.buf, `,"mutations":[`...)
	t.muts = Mutations{Columns{t: t, closing: ']', first: true}}
	t.open = &t.muts.c
	return &t.muts
}

// Delete appends an operation that deletes a row.
func (t *Txn) Delete(table, uuid string) {
	t.begin("delete", table)
	t.where(uuid, "")
	t.end()
}

// Assert appends an operation that fails unless the lock is held (RFC 7047
// section 5.2.10).
func (t *Txn) Assert(lock string) {
	t.begin("assert", "")
	t.buf = append(t.buf, `,"lock":`...)
	t.buf = appendString(t.buf, lock)
	t.end()
}

// Comment appends a comment for the server's log.
func (t *Txn) Comment(s string) {
	t.begin("comment", "")
	t.buf = append(t.buf, `,"comment":`...)
	t.buf = appendString(t.buf, s)
	t.end()
}

// Op appends any operation in libovsdb's form.
func (t *Txn) Op(op libovsdb.Operation) error {
	b, err := json.Marshal(op)
	if err != nil {
		return err
	}
	t.Raw(b)
	return nil
}

// Raw appends an operation as JSON.
func (t *Txn) Raw(op []byte) {
	t.close()
	if len(t.buf) > 0 {
		t.buf = append(t.buf, ',')
	}
	t.buf = append(t.buf, op...)
	t.ends = append(t.ends, len(t.buf))
}

// Columns adds the columns of an insert or update operation.
type Columns struct {
	t       *Txn
	closing byte
	first   bool
}

func (c *Columns) name(col string) {
	c.member("")
	c.t.buf = append(appendString(c.t.buf, col), ':')
}

// member starts a member of which the name is written already.
func (c *Columns) member(name string) {
	if !c.first {
		c.t.buf = append(c.t.buf, ',')
	}
	c.first = false
	c.t.buf = append(c.t.buf, name...)
}

// String sets a column of type string.
func (c *Columns) String(col, v string) { c.name(col); c.t.buf = appendString(c.t.buf, v) }

// Int sets a column of type integer.
func (c *Columns) Int(col string, v int) {
	c.name(col)
	c.t.buf = strconv.AppendInt(c.t.buf, int64(v), 10)
}

// Bool sets a column of type boolean.
func (c *Columns) Bool(col string, v bool) { c.name(col); c.t.buf = strconv.AppendBool(c.t.buf, v) }

// Real sets a column of type real.
func (c *Columns) Real(col string, v float64) { c.name(col); c.t.buf = appendReal(c.t.buf, v) }

// UUID sets a column that is a reference.
func (c *Columns) UUID(col, v string) { c.name(col); c.t.buf = appendUUID(c.t.buf, v) }

// OptString sets a column that is a string or empty.
func (c *Columns) OptString(col string, v *string) {
	if v == nil {
		c.Strings(col, nil)
	} else {
		c.String(col, *v)
	}
}

// Strings sets a column that is a set of strings.
func (c *Columns) Strings(col string, v []string) {
	c.name(col)
	c.t.buf = appendSet(c.t.buf, v, appendString)
}

// UUIDs sets a column that is a set of references.
func (c *Columns) UUIDs(col string, v []string) {
	c.name(col)
	c.t.buf = appendSet(c.t.buf, v, appendUUID)
}

// Map sets a column that is a map of strings.
func (c *Columns) Map(col string, m Map) {
	c.name(col)
	c.t.buf = appendMap(c.t.buf, m, appendString)
}

// StringMap sets a column that is a map of strings.
func (c *Columns) StringMap(col string, m map[string]string) {
	c.name(col)
	c.t.buf = appendMap(c.t.buf, sortedPairs(m), appendString)
}

// UUIDMap sets a column that maps strings to references.
func (c *Columns) UUIDMap(col string, m map[string]string) {
	c.name(col)
	c.t.buf = appendMap(c.t.buf, sortedPairs(m), appendUUID)
}

// Mutations adds the mutations of a mutate operation (RFC 7047 section 5.1).
type Mutations struct{ c Columns }

func (m *Mutations) begin(col, mutator string) *Txn {
	t := m.c.t
	if !m.c.first {
		t.buf = append(t.buf, ',')
	}
	m.c.first = false
	t.buf = append(t.buf, '[')
	t.buf = appendString(t.buf, col)
	t.buf = append(t.buf, `,"`...)
	t.buf = append(t.buf, mutator...)
	t.buf = append(t.buf, `",`...)
	return t
}

func (m *Mutations) set(col, mutator string, v []string, elem func([]byte, string) []byte) {
	t := m.begin(col, mutator)
	t.buf = append(appendSet(t.buf, v, elem), ']')
}

// InsertUUIDs adds references to a set.
func (m *Mutations) InsertUUIDs(col string, v []string) { m.set(col, "insert", v, appendUUID) }

// DeleteUUIDs removes references from a set.
func (m *Mutations) DeleteUUIDs(col string, v []string) { m.set(col, "delete", v, appendUUID) }

// InsertStrings adds strings to a set.
func (m *Mutations) InsertStrings(col string, v []string) { m.set(col, "insert", v, appendString) }

// DeleteStrings removes strings from a set.
func (m *Mutations) DeleteStrings(col string, v []string) { m.set(col, "delete", v, appendString) }

// DeleteKeys removes the pairs with the given keys from a map.
func (m *Mutations) DeleteKeys(col string, keys []string) { m.set(col, "delete", keys, appendString) }

// PutMap gives keys of a map of strings these values, whether they had others
// before or not.
func (m *Mutations) PutMap(col string, v map[string]string) { m.put(col, sortedPairs(v), appendString) }

func (m *Mutations) put(col string, v Map, value func([]byte, string) []byte) {
	keys := make([]string, len(v))
	for i, p := range v {
		keys[i] = p.Key
	}
	m.DeleteKeys(col, keys)
	m.insertPairs(col, v, value)
}

func (m *Mutations) insertPairs(col string, v Map, value func([]byte, string) []byte) {
	t := m.begin(col, "insert")
	t.buf = append(appendMap(t.buf, v, value), ']')
}

// Add adds to an integer.
func (m *Mutations) Add(col string, v int) {
	t := m.begin(col, "+=")
	t.buf = append(strconv.AppendInt(t.buf, int64(v), 10), ']')
}

func sortedPairs(m map[string]string) Map {
	out := make(Map, 0, len(m))
	for k, v := range m {
		out = append(out, KV{k, v})
	}
	out.sort()
	return out
}

func appendString(b []byte, s string) []byte {
	out, err := jsontext.AppendQuote(b, s)
	if err != nil { // broken UTF-8, which no JSON string can hold
		out, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}

func appendUUID(b []byte, u string) []byte {
	b = append(b, `["uuid",`...)
	return append(appendString(b, u), ']')
}

// appendReal writes a real. JSON knows neither infinities nor NaN: they become
// the numbers that come closest.
func appendReal(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		v = 0
	case math.IsInf(v, 0):
		v = math.Copysign(math.MaxFloat64, v)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

func appendSet[T any](b []byte, v []T, elem func([]byte, T) []byte) []byte {
	if len(v) == 1 {
		return elem(b, v[0])
	}
	b = append(b, `["set",[`...)
	for i, e := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = elem(b, e)
	}
	return append(b, `]]`...)
}

func appendMap(b []byte, m Map, value func([]byte, string) []byte) []byte {
	b = append(b, `["map",[`...)
	for i, p := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = append(appendString(b, p.Key), ',')
		b = append(value(b, p.Value), ']')
	}
	return append(b, `]]`...)
}

// NewUUID returns a random UUID (version 4, RFC 9562).
func NewUUID() string { return uuid.NewString() }

// Result is the server's answer to one operation.
type Result struct {
	Count int    // rows that an update, mutate or delete matched
	UUID  string // of the row that an insert made
	// Rows that a select found, in libovsdb's form. A set of one element is that
	// element, as it is sent.
	Rows    []libovsdb.Row
	Error   string
	Details string
}

// ParseResults reads the result of a "transact" request. A failed operation
// makes the whole transaction fail with a *TxnError.
func ParseResults(b []byte) ([]Result, error) {
	p := &parser{dec: jsonDecoder(b)}
	out, err := p.readResults(false)
	return out, resultError(err)
}

// resultError says what err is of, but for what the server says itself.
func resultError(err error) error {
	var refused *TxnError
	if err != nil && !errors.As(err, &refused) {
		err = fmt.Errorf("transaction result: %w", err)
	}
	return err
}

// transacted reads the result of a "transact" request from a stream of messages,
// to its end whatever it is. failed is the error of the transaction, err that of
// the stream.
func (p *parser) transacted(errorOnly bool) (results []Result, failed, err error) {
	p.in = nil // few results are met again
	depth := p.dec.StackDepth()
	results, failed = p.readResults(errorOnly)
	for p.dec.StackDepth() > depth {
		if _, err := p.dec.ReadToken(); err != nil {
			return nil, nil, err
		}
	}
	return results, resultError(failed), nil
}

// readResults reads an array of results, none of which are returned with errorOnly.
func (p *parser) readResults(errorOnly bool) ([]Result, error) {
	if err := p.expect('['); err != nil {
		return nil, err
	}
	var out []Result
	for op := 0; ; op++ {
		if more, err := p.more(']'); err != nil {
			return nil, err
		} else if !more {
			return out, nil
		}
		var r Result
		if p.dec.PeekKind() == 'n' { // not executed, as an operation before it failed
			if err := p.dec.SkipValue(); err != nil {
				return nil, err
			}
		} else if err := p.members(func(name []byte) error {
			if errorOnly && string(name) != "error" && string(name) != "details" {
				return p.dec.SkipValue()
			}
			return p.readResult(&r, string(name))
		}); err != nil {
			return nil, err
		}
		if r.Error != "" {
			return nil, &TxnError{Op: op, Kind: r.Error, Details: r.Details}
		}
		if !errorOnly {
			out = append(out, r)
		}
	}
}

func (p *parser) readResult(r *Result, member string) (err error) {
	switch member {
	case "count":
		if err = p.readDatum(&p.datum); err == nil && p.datum.shape == scalar {
			r.Count = int(p.datum.atoms[0].i)
		}
	case "uuid":
		if err = p.readDatum(&p.datum); err == nil && p.datum.shape == scalar {
			r.UUID = p.datum.atoms[0].s
		}
	case "error":
		r.Error, err = p.readString()
	case "details":
		r.Details, err = p.readString()
	case "rows":
		r.Rows, err = p.readRows()
	default:
		err = p.dec.SkipValue()
	}
	return err
}

// readRows reads the rows of a select.
func (p *parser) readRows() ([]libovsdb.Row, error) {
	if err := p.expect('['); err != nil {
		return nil, err
	}
	rows := []libovsdb.Row{}
	for {
		if more, err := p.more(']'); err != nil || !more {
			return rows, err
		}
		row := libovsdb.Row{}
		err := p.members(func(b []byte) error {
			name := p.in.Bytes(b)
			if err := p.readDatum(&p.datum); err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
			row[name] = native(&p.datum, nil)
			return nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

// TxnError is a transaction that the server refused; nothing was changed.
type TxnError struct {
	Op      int    // index of the operation, the number of them for a failed commit, -1 for the request
	Kind    string // "constraint violation", "referential integrity violation", ...
	Details string
}

func (e *TxnError) Error() string {
	s := "transaction refused"
	if e.Op >= 0 {
		s += " at operation " + strconv.Itoa(e.Op)
	}
	s += ": " + e.Kind
	if e.Details != "" {
		s += ": " + e.Details
	}
	return s
}

// equalSets reports whether a and b have the same elements, in whatever order.
func equalSets[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.Equal(a, b) {
		return true
	}
	add, remove := difference(a, b)
	return len(add) == 0 && len(remove) == 0
}

// difference returns the elements of new that old lacks, and the reverse.
func difference[T comparable](old, new []T) (add, remove []T) {
	have := make(map[T]struct{}, len(old))
	for _, e := range old {
		have[e] = struct{}{}
	}
	for _, e := range new {
		if _, ok := have[e]; ok {
			delete(have, e)
		} else {
			add = append(add, e)
		}
	}
	for _, e := range old {
		if _, ok := have[e]; ok {
			remove = append(remove, e)
		}
	}
	return add, remove
}
