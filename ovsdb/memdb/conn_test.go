package memdb_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
)

// Root has columns of every form.
type Root struct {
	UUID     string            `ovsdb:"_uuid"`
	Name     string            `ovsdb:"name"`
	Num      int               `ovsdb:"num"`
	Opt      *int              `ovsdb:"opt"`
	Ints     []int             `ovsdb:"ints"`
	Flag     bool              `ovsdb:"flag"`
	Tags     []string          `ovsdb:"tags"`
	KV       map[string]string `ovsdb:"kv"`
	Children []string          `ovsdb:"children"`
	Child    *string           `ovsdb:"child"`
}

func rootTable(t testing.TB, columns ...string) *ovsdb.Table {
	return ovsdb.TableOf[Root](testSchema(t), "Root", columns...)
}

// allTables are all tables with all columns.
func allTables(t testing.TB) []*ovsdb.Table {
	var out []*ovsdb.Table
	for table := range testSchema(t).Tables {
		out = append(out, ovsdb.DynamicTable(table))
	}
	return out
}

// A mirror is what a client knows from batches alone.
type mirror map[string]map[string]any

// apply takes a batch in and checks that its old rows are those known.
func (m mirror) apply(t testing.TB, b *ovsdb.Batch) {
	t.Helper()
	if b == nil {
		return
	}
	for table, changes := range b.Changes {
		if m[table] == nil {
			m[table] = map[string]any{}
		}
		for _, c := range changes {
			if known := m[table][c.UUID]; !reflect.DeepEqual(known, c.Old) {
				t.Fatalf("%s %s: old row is %v, but %v was delivered before", table, c.UUID, c.Old, known)
			}
			if c.New == nil {
				delete(m[table], c.UUID)
			} else {
				m[table][c.UUID] = c.New
			}
		}
	}
}

// strings prints the rows as snapshot does.
func (m mirror) strings() []string {
	var out []string
	for table, rows := range m {
		for _, row := range rows {
			out = append(out, rowString(table, row.(*ovsdb.Row)))
		}
	}
	slices.Sort(out)
	return out
}

// snapshot prints the rows of a database.
func snapshot(db *memdb.DB) []string {
	var out []string
	for table, rows := range db.Snapshot() {
		for _, row := range rows {
			out = append(out, rowString(table, row))
		}
	}
	slices.Sort(out)
	return out
}

// rowString leaves out empty and default values: an update need not say them,
// nor whether one element is a set.
func rowString(table string, row *ovsdb.Row) string {
	s := table + " " + row.UUID
	for _, column := range slices.Sorted(maps.Keys(row.Columns)) {
		v := row.Columns[column]
		if set, ok := v.(libovsdb.OvsSet); ok && len(set.GoSet) == 1 {
			v = set.GoSet[0]
		}
		switch text := canonical(v); text {
		case "", "0", "false", "[]":
		default:
			s += fmt.Sprintf(" %s=%s", column, text)
		}
	}
	return s
}

func take(t testing.TB, c *memdb.Conn) *ovsdb.Batch {
	t.Helper()
	b := c.Take()
	if b == nil {
		t.Fatal("no batch")
	}
	return b
}

func send(t testing.TB, c ovsdb.Conn, ops ...string) *ovsdb.Call {
	t.Helper()
	for i := range ops {
		ops[i] = expand(ops[i])
	}
	return c.Send(transaction(ops...))
}

func TestTypedRows(t *testing.T) {
	db := newDB(t)
	c := db.Connect(rootTable(t))
	if b := take(t, c); !b.Initial || len(b.Changes) != 0 {
		t.Errorf("first batch of an empty database is %+v", b)
	}
	if b := c.Take(); b != nil {
		t.Errorf("a second batch without changes: %+v", b)
	}
	if _, err := send(t, c, insert("Root", "$1", `"name":"a","num":3,"opt":4,"ints":["set",[1,2]],"flag":true,"tags":"x","kv":["map",[["k","v"],["l","w"]]],"child":#2`),
		insert("Child", "$2", ``)).Result(); err != nil {
		t.Fatal(err)
	}
	four, child := 4, u(2)
	first := &Root{UUID: u(1), Name: "a", Num: 3, Opt: &four, Ints: []int{1, 2}, Flag: true, Tags: []string{"x"}, KV: map[string]string{"k": "v", "l": "w"}, Child: &child}
	want := &ovsdb.Batch{Transactions: 1, Changes: map[string][]ovsdb.Change{"Root": {{UUID: u(1), New: first}}}}
	if diff := cmp.Diff(want, take(t, c)); diff != "" {
		t.Errorf("after insert (-want +got):\n%s", diff)
	}
	send(t, c, mutate("Root", "$1", `["tags","insert","y"],["kv","delete","k"],["kv","insert",["map",[["m","n"]]]],["num","+=",1]`),
		update("Root", "$1", `"opt":["set",[]],"kind":"a"`))
	second := *first
	second.Num, second.Opt, second.Tags, second.KV = 4, nil, []string{"x", "y"}, map[string]string{"l": "w", "m": "n"}
	want = &ovsdb.Batch{Transactions: 1, Changes: map[string][]ovsdb.Change{"Root": {{UUID: u(1), Old: first, New: &second}}}}
	if diff := cmp.Diff(want, take(t, c)); diff != "" {
		t.Errorf("after mutate (-want +got):\n%s", diff)
	}
	send(t, c, remove("Root", "$1"))
	want = &ovsdb.Batch{Transactions: 1, Changes: map[string][]ovsdb.Change{"Root": {{UUID: u(1), Old: &second}}}}
	if diff := cmp.Diff(want, take(t, c)); diff != "" {
		t.Errorf("after delete (-want +got):\n%s", diff)
	}
}

func TestBatchesMerge(t *testing.T) {
	tests := []struct {
		name   string
		ops    []string // a transaction each
		before bool     // the row is there in the batch before
		want   string
	}{
		{"appears and goes", []string{insert("Root", "$1", ``), remove("Root", "$1")}, false, "nil to 0, 0 to nil"},
		{"appears and changes", []string{insert("Root", "$1", ``), update("Root", "$1", `"num":5`)}, false, "nil to 5"},
		{"changes twice", []string{update("Root", "$1", `"num":5`), update("Root", "$1", `"num":6`)}, true, "1 to 6"},
		{"changes back", []string{update("Root", "$1", `"num":5`), update("Root", "$1", `"num":1`)}, true, "1 to 5, 5 to 1"},
		{"changes and goes", []string{update("Root", "$1", `"num":5`), remove("Root", "$1")}, true, "1 to nil"},
		{"goes and comes", []string{remove("Root", "$1"), insert("Root", "$1", `"num":7`)}, true, "1 to 7"},
		{"changes in another column", []string{update("Root", "$1", `"tags":"x"`)}, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newDB(t).Connect(rootTable(t, "num"))
			if tt.before {
				send(t, c, insert("Root", "$1", `"num":1`))
			}
			take(t, c)
			for _, op := range tt.ops {
				if _, err := send(t, c, op).Result(); err != nil {
					t.Fatal(err)
				}
			}
			num := func(r *Root) string {
				if r == nil {
					return "nil"
				}
				return fmt.Sprint(r.Num)
			}
			ready(c)
			var batches []string
			for b := range ovsdb.Batches(c) {
				ovsdb.Each(b, "Root", func(_ string, old, new *Root) { batches = append(batches, num(old)+" to "+num(new)) })
				if more := strings.Count(tt.want, ",") >= len(batches); ready(c) != more {
					t.Errorf("after batch %d: ready is not %v", len(batches), more)
				}
			}
			if got := strings.Join(batches, ", "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// ready reports, and takes, the signal that there may be something new.
func ready(c *memdb.Conn) bool {
	select {
	case <-c.Ready():
		return true
	default:
		return false
	}
}

func TestConnectionsSeeEachOther(t *testing.T) {
	db := newDB(t)
	a, b := db.Connect(rootTable(t)), db.Connect(rootTable(t))
	take(t, a)
	take(t, b)
	ready(b)
	send(t, a, insert("Root", "$1", ``))
	if !ready(b) {
		t.Error("the other connection is not told")
	}
	if n := len(take(t, b).Changes["Root"]); n != 1 {
		t.Errorf("%d changes, want 1", n)
	}
	late := db.Connect(rootTable(t))
	if first := take(t, late); !first.Initial || len(first.Changes["Root"]) != 1 {
		t.Errorf("first batch is %+v", first)
	}
}

func TestMissingTablesAndColumns(t *testing.T) {
	schema := testSchema(t)
	delete(schema.Tables, "Pair")
	delete(schema.Tables["Root"].Columns, "tags")
	db := memdb.New(schema)
	c := db.Connect(rootTable(t), ovsdb.DynamicTable("Pair"))
	for _, tt := range []struct {
		table, column string
		want          bool
	}{
		{"Root", "", true}, {"Root", "name", true}, {"Root", "tags", false}, {"Pair", "", false}, {"Pair", "a", false},
	} {
		if got := c.Has(tt.table, tt.column); got != tt.want {
			t.Errorf("Has(%q, %q) = %v", tt.table, tt.column, got)
		}
	}
	txn := c.NewTxn()
	rootTable(t).Insert(txn, &Root{UUID: u(1), Name: "a", Tags: []string{"x"}})
	if _, err := c.Send(txn).Result(); err != nil {
		t.Fatal(err)
	}
	want := []ovsdb.Change{{UUID: u(1), New: &Root{UUID: u(1), Name: "a"}}}
	if diff := cmp.Diff(want, take(t, c).Changes["Root"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefuse(t *testing.T) {
	c := newDB(t).Connect(rootTable(t))
	take(t, c)
	c.Refuse(2, &ovsdb.TxnError{Kind: constraintViolation})
	for i, want := range []bool{true, true, false} {
		_, err := send(t, c, insert("Root", "$1", ``)).Result()
		var refused *ovsdb.TxnError
		if got := errors.As(err, &refused); got != want {
			t.Errorf("transaction %d: %v", i, err)
		}
	}
}

const constraintViolation = "constraint violation"

func done(c *ovsdb.Call) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

func TestHold(t *testing.T) {
	db := newDB(t)
	c := db.Connect(rootTable(t))
	take(t, c)
	c.Hold()
	first, second := send(t, c, insert("Root", "$1", ``)), send(t, c, insert("Root", "$1", ``))
	if done(first) || done(second) || c.Take() != nil {
		t.Error("something passes while held")
	}
	if n := db.Len("Root"); n != 1 {
		t.Errorf("%d rows, want 1: transactions are executed while held", n)
	}
	c.Release()
	if _, err := first.Result(); err != nil {
		t.Error(err)
	}
	if _, err := second.Result(); err == nil {
		t.Error("the second transaction was not refused")
	}
	if n := len(take(t, c).Changes["Root"]); n != 1 {
		t.Errorf("%d changes, want 1", n)
	}
}

func TestDropAndRestore(t *testing.T) {
	db := newDB(t)
	c := db.Connect(rootTable(t, "num"))
	send(t, c, insert("Root", "$1", `"name":"a"`), insert("Root", "$2", `"name":"b"`), insert("Root", "$3", `"name":"c"`))
	rows := map[string]int{}
	apply := func(b *ovsdb.Batch) {
		ovsdb.Each(b, "Root", func(uuid string, _, new *Root) {
			delete(rows, uuid)
			if new != nil {
				rows[uuid] = new.Num
			}
		})
	}
	apply(take(t, c))
	c.Hold()
	unknown := send(t, c, update("Root", "$1", `"num":1`))
	cause := errors.New("cut")
	c.Drop(cause)
	if _, err := unknown.Result(); !errors.Is(err, ovsdb.ErrUnknown) {
		t.Errorf("call without an answer: %v", err)
	}
	if _, err := send(t, c, remove("Root", "$3")).Result(); !errors.Is(err, ovsdb.ErrNotSent) {
		t.Errorf("call while down: %v", err)
	}
	if s := c.Status(); s.Connected || !errors.Is(s.Err, cause) || s.Epoch != 1 {
		t.Errorf("status while down: %+v", s)
	}
	c.Release()
	if _, err := db.Transact(transaction(expand(remove("Root", "$2")), expand(insert("Root", "$4", `"name":"d"`)))); err != nil {
		t.Fatal(err)
	}
	if b := c.Take(); b != nil {
		t.Errorf("a batch while down: %+v", b)
	}
	c.Restore()
	if s := c.Status(); !s.Connected || s.Err != nil || s.Epoch != 2 {
		t.Errorf("status when up again: %+v", s)
	}
	b := take(t, c)
	if b.Initial || len(b.Changes["Root"]) != 3 {
		t.Errorf("batch after the drop is %+v, want the difference", b)
	}
	apply(b)
	if diff := cmp.Diff(map[string]int{u(1): 1, u(3): 0, u(4): 0}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestBreak(t *testing.T) {
	for _, executed := range []bool{true, false} {
		t.Run(fmt.Sprintf("executed %v", executed), func(t *testing.T) {
			db := newDB(t)
			c := db.Connect(rootTable(t))
			c.SetLock("l")
			c.Break(1, executed, errors.New("cut"))
			if _, err := send(t, c, insert("Root", "$1", ``)).Result(); err != nil {
				t.Error(err)
			}
			// The lock is held still while the server executes it.
			if _, err := send(t, c, `{"op":"assert","lock":"l"}`, insert("Root", "$2", `"name":"b"`)).Result(); !errors.Is(err, ovsdb.ErrUnknown) {
				t.Error(err)
			}
			if got := db.Len("Root") == 2; got != executed {
				t.Errorf("%d rows", db.Len("Root"))
			}
			if c.Status().Connected {
				t.Error("still connected")
			}
			c.Restore()
			if got := len(take(t, c).Changes["Root"]); got != db.Len("Root") {
				t.Errorf("%d rows known of %d", got, db.Len("Root"))
			}
		})
	}
}

func TestLocks(t *testing.T) {
	db := newDB(t)
	a, b := db.Connect(), db.Connect()
	check := func(step string, wantA, wantB bool) {
		t.Helper()
		for name, c := range map[string]struct {
			conn *memdb.Conn
			want bool
		}{"a": {a, wantA}, "b": {b, wantB}} {
			if got := c.conn.Status().Locked; got != c.want {
				t.Errorf("%s: %s locked: %v", step, name, got)
			}
			_, err := send(t, c.conn, `{"op":"assert","lock":"l"}`).Result()
			if c.conn.Status().Connected && (err == nil) != c.want {
				t.Errorf("%s: %s asserts: %v", step, name, err)
			}
		}
	}
	check("nobody asked", false, false)
	a.SetLock("l")
	b.SetLock("l")
	check("a came first", true, false)
	ready(b)
	a.Unlock()
	if !ready(b) {
		t.Error("b is not told of its lock")
	}
	check("a unlocked", false, true)
	a.Steal("l")
	check("a stole", true, false)
	a.Drop(errors.New("cut"))
	check("a dropped", false, true)
	a.Restore()
	check("a is back", false, true)
	b.Close()
	check("b closed", true, false)
}
