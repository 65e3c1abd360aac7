package ovsdb_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
)

// kindsSchema has a column of every form.
const kindsSchema = `{"name": "Kinds", "version": "1.0.0", "tables": {"Row": {"isRoot": true, "columns": {
	"string": {"type": "string"},
	"enum": {"type": {"key": {"type": "string", "enum": ["set", ["", "a", "b"]]}}},
	"int": {"type": "integer"},
	"bool": {"type": "boolean"},
	"real": {"type": "real"},
	"ref": {"type": {"key": {"type": "uuid", "refTable": "Row", "refType": "weak"}, "min": 0}},
	"opt_string": {"type": {"key": "string", "min": 0}},
	"opt_int": {"type": {"key": "integer", "min": 0}},
	"opt_bool": {"type": {"key": "boolean", "min": 0}},
	"opt_real": {"type": {"key": "real", "min": 0}},
	"strings": {"type": {"key": "string", "min": 0, "max": "unlimited"}},
	"refs": {"type": {"key": {"type": "uuid", "refTable": "Row", "refType": "weak"}, "min": 0, "max": "unlimited"}},
	"ints": {"type": {"key": "integer", "min": 0, "max": "unlimited"}},
	"go_map": {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}},
	"map": {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}},
	"ref_map": {"type": {"key": "string", "value": {"type": "uuid", "refTable": "Row", "refType": "weak"}, "min": 0, "max": "unlimited"}},
	"int_map": {"type": {"key": "string", "value": "integer", "min": 0, "max": "unlimited"}},
	"int_key_map": {"type": {"key": "integer", "value": "string", "min": 0, "max": "unlimited"}}
}}}}`

type enum string

// kindsRow has a field of every form.
type kindsRow struct {
	UUID      string            `ovsdb:"_uuid"`
	String    string            `ovsdb:"string"`
	Enum      enum              `ovsdb:"enum"`
	Int       int               `ovsdb:"int"`
	Bool      bool              `ovsdb:"bool"`
	Real      float64           `ovsdb:"real"`
	Ref       *string           `ovsdb:"ref"`
	OptString *string           `ovsdb:"opt_string"`
	OptInt    *int              `ovsdb:"opt_int"`
	OptBool   *bool             `ovsdb:"opt_bool"`
	OptReal   *float64          `ovsdb:"opt_real"`
	Strings   []string          `ovsdb:"strings"`
	Refs      []string          `ovsdb:"refs"`
	Ints      []int             `ovsdb:"ints"`
	GoMap     map[string]string `ovsdb:"go_map"`
	Map       ovsdb.Map         `ovsdb:"map"`
	RefMap    map[string]string `ovsdb:"ref_map"`
	IntMap    map[string]int    `ovsdb:"int_map"`
	IntKeyMap map[int]string    `ovsdb:"int_key_map"`
	Untagged  string
}

func schemaOf(t testing.TB, text string) *libovsdb.DatabaseSchema {
	t.Helper()
	var s libovsdb.DatabaseSchema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func kindsTable(t testing.TB, columns ...string) *ovsdb.Table {
	return ovsdb.TableOf[kindsRow](schemaOf(t, kindsSchema), "Row", columns...)
}

const rowUUID = "00000000-0000-4000-8000-000000000001"

func TestTableInsert(t *testing.T) {
	table := kindsTable(t)
	for _, tc := range []struct {
		name string
		row  kindsRow
		want string // of "row"
	}{
		{"defaults are left out", kindsRow{Strings: []string{}, GoMap: map[string]string{}, Map: ovsdb.Map{}, Untagged: "x"}, ``},
		{"scalars", kindsRow{String: `a "b"` + "\n\u00e9", Enum: "a", Int: math.MaxInt64, Bool: true, Real: 0.1},
			`"string":"a \"b\"\n` + "\u00e9" + `","enum":"a","int":9223372036854775807,"bool":true,"real":0.1`},
		{"optional", kindsRow{Ref: new("u"), OptString: new(""), OptInt: new(0), OptBool: new(false), OptReal: new(0.0)},
			`"ref":["uuid","u"],"opt_string":"","opt_int":0,"opt_bool":false,"opt_real":0`},
		{"sets of one", kindsRow{Strings: []string{"a"}, Refs: []string{"u"}, Ints: []int{-1}},
			`"strings":"a","refs":["uuid","u"],"ints":-1`},
		{"sets", kindsRow{Strings: []string{"b", "a"}, Refs: []string{"u", "v"}, Ints: []int{1, 2}},
			`"strings":["set",["b","a"]],"refs":["set",[["uuid","u"],["uuid","v"]]],"ints":["set",[1,2]]`},
		{"maps", kindsRow{
			GoMap: map[string]string{"b": "1", "a": "2"}, Map: ovsdb.NewMap("b", "1", "a", "2"),
			RefMap: map[string]string{"k": "u"}, IntMap: map[string]int{"k": 1}, IntKeyMap: map[int]string{2: "b", 1: "a"},
		}, `"go_map":["map",[["a","2"],["b","1"]]],"map":["map",[["a","2"],["b","1"]]],"ref_map":["map",[["k",["uuid","u"]]]],` +
			`"int_map":["map",[["k",1]]],"int_key_map":["map",[[1,"a"],[2,"b"]]]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.row.UUID = rowUUID
			txn := ovsdb.NewTxn()
			table.Insert(txn, &tc.row)
			want := `{"op":"insert","table":"Row","uuid":"` + rowUUID + `","row":{` + tc.want + "}}\n"
			if diff := cmp.Diff(want, txn.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableUpdate(t *testing.T) {
	table := kindsTable(t)
	many := []string{"a", "b", "c", "d"}
	for _, tc := range []struct {
		name     string
		old, new kindsRow
		update   string // what "row" has
		mutate   string // what "mutations" has
	}{
		{name: "equal", old: kindsRow{Int: 1, OptString: new("a"), Untagged: "x"}, new: kindsRow{Int: 1, OptString: new("a")}},
		{name: "order of sets", old: kindsRow{Strings: many, Ints: []int{1, 2}}, new: kindsRow{Strings: []string{"d", "c", "b", "a"}, Ints: []int{2, 1}}},
		{name: "nil and empty", old: kindsRow{Strings: nil, Map: nil}, new: kindsRow{Strings: []string{}, Map: ovsdb.Map{}, GoMap: map[string]string{}}},
		{name: "scalars", old: kindsRow{String: "a", Int: 1, Bool: true}, new: kindsRow{String: "b", Int: 1},
			update: `"string":"b","bool":false`},
		{name: "optional gone", old: kindsRow{OptString: new("a"), Ref: new("u")}, new: kindsRow{},
			update: `"ref":["set",[]],"opt_string":["set",[]]`},
		{name: "optional default is not nothing", old: kindsRow{}, new: kindsRow{OptInt: new(0)}, update: `"opt_int":0`},
		{name: "first elements", new: kindsRow{Strings: many[:2], Map: ovsdb.NewMap("k", "v")},
			update: `"strings":["set",["a","b"]],"map":["map",[["k","v"]]]`},
		{name: "last elements", old: kindsRow{Strings: many, Map: ovsdb.NewMap("k", "v")},
			update: `"strings":["set",[]],"map":["map",[]]`},
		{name: "one more", old: kindsRow{Strings: many[:3]}, new: kindsRow{Strings: many},
			mutate: `["strings","insert","d"]`},
		{name: "one less", old: kindsRow{Refs: []string{"u", "v"}}, new: kindsRow{Refs: []string{"v"}},
			mutate: `["refs","delete",["uuid","u"]]`},
		{name: "insert comes first", old: kindsRow{Strings: many[:3]}, new: kindsRow{Strings: many[1:]},
			mutate: `["strings","insert","d"],["strings","delete","a"]`},
		{name: "mostly other elements", old: kindsRow{Strings: many}, new: kindsRow{Strings: []string{"a", "x"}},
			update: `"strings":["set",["a","x"]]`},
		{name: "ints are written whole", old: kindsRow{Ints: []int{1, 2}}, new: kindsRow{Ints: []int{1, 2, 3}},
			update: `"ints":["set",[1,2,3]]`},
		{name: "pairs", old: kindsRow{Map: ovsdb.NewMap("a", "1", "b", "2", "c", "3", "d", "4", "e", "5")},
			new:    kindsRow{Map: ovsdb.NewMap("b", "2", "c", "9", "d", "4", "e", "5", "f", "6")},
			mutate: `["map","delete",["set",["a","c"]]],["map","insert",["map",[["c","9"],["f","6"]]]]`},
		{name: "pair of a Go map", old: kindsRow{GoMap: map[string]string{"a": "1"}}, new: kindsRow{GoMap: map[string]string{"a": "1", "b": "2"}},
			mutate: `["go_map","insert",["map",[["b","2"]]]]`},
		{name: "references as values", old: kindsRow{RefMap: map[string]string{"a": "u"}}, new: kindsRow{RefMap: map[string]string{"a": "u", "b": "v"}},
			mutate: `["ref_map","insert",["map",[["b",["uuid","v"]]]]]`},
		{name: "mostly other pairs", old: kindsRow{GoMap: map[string]string{"a": "1"}}, new: kindsRow{GoMap: map[string]string{"a": "2"}},
			update: `"go_map":["map",[["a","2"]]]`},
		{name: "both", old: kindsRow{Int: 1, Strings: many[:1]}, new: kindsRow{Int: 2, Strings: many[:2]},
			update: `"int":2`, mutate: `["strings","insert","b"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.old.UUID, tc.new.UUID = rowUUID, rowUUID
			const where = `,"table":"Row","where":[["_uuid","==",["uuid","` + rowUUID + `"]]],`
			want := ""
			if tc.update != "" {
				want += `{"op":"update"` + where + `"row":{` + tc.update + "}}\n"
			}
			if tc.mutate != "" {
				want += `{"op":"mutate"` + where + `"mutations":[` + tc.mutate + "]}\n"
			}
			txn := ovsdb.NewTxn()
			differ := table.Update(txn, &tc.old, &tc.new)
			if diff := cmp.Diff(want, txn.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if differ != (want != "") || differ == table.Equal(&tc.old, &tc.new) {
				t.Errorf("got Update %v and Equal %v", differ, table.Equal(&tc.old, &tc.new))
			}
		})
	}
}

// TestTableColumns: only the declared columns are read, written and compared.
func TestTableColumns(t *testing.T) {
	table := kindsTable(t, "int", "strings")
	if diff := cmp.Diff([]string{"int", "strings"}, table.Columns()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a := &kindsRow{UUID: rowUUID, Int: 1, String: "a"}
	b := &kindsRow{UUID: rowUUID, Int: 1, String: "b"}
	txn := ovsdb.NewTxn()
	if table.Update(txn, a, b) || txn.Len() != 0 || !table.Equal(a, b) {
		t.Errorf("a column that was not declared makes a difference: %s", txn)
	}
	table.Insert(txn, a)
	if got := txn.String(); strings.Contains(got, "string") {
		t.Errorf("a column that was not declared is written: %s", got)
	}
}

// TestRestrict: what the server lacks is left out.
func TestRestrict(t *testing.T) {
	table := kindsTable(t)
	without := func(lacks ...string) *ovsdb.Txn {
		return ovsdb.NewTxn().Restrict(func(table, column string) bool {
			return !slices.Contains(lacks, table+"."+column)
		})
	}
	a := &kindsRow{UUID: rowUUID, Int: 1, String: "a"}
	b := &kindsRow{UUID: rowUUID, Int: 1, String: "b"}

	txn := without("Row.string")
	if table.Update(txn, a, b) {
		t.Errorf("got an update of a column that the server lacks: %s", txn)
	}
	table.Insert(txn, a)
	if got, want := txn.String(), `{"op":"insert","table":"Row","uuid":"`+rowUUID+`","row":{"int":1}}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	txn = without("Row.")
	table.Insert(txn, a)
	if table.Update(txn, a, b) || txn.Len() != 0 {
		t.Errorf("got operations on a table that the server lacks: %s", txn)
	}
}

func TestTableOfRefuses(t *testing.T) {
	schema := schemaOf(t, kindsSchema)
	for name, f := range map[string]func(){
		"unknown table": func() { ovsdb.TableOf[kindsRow](schema, "Other") },
		"no _uuid":      func() { ovsdb.TableOf[struct{}](schema, "Row") },
		"unknown column": func() {
			ovsdb.TableOf[struct {
				X string `ovsdb:"x"`
			}](schema, "Row")
		},
		"not a column": func() {
			ovsdb.TableOf[struct {
				X []byte `ovsdb:"strings"`
			}](schema, "Row")
		},
		"another type": func() {
			ovsdb.TableOf[struct {
				X int `ovsdb:"string"`
			}](schema, "Row")
		},
		"set in a scalar": func() {
			ovsdb.TableOf[struct {
				X string `ovsdb:"strings"`
			}](schema, "Row")
		},
		"optional scalar": func() {
			ovsdb.TableOf[struct {
				X string `ovsdb:"opt_string"`
			}](schema, "Row")
		},
		"map in a set": func() {
			ovsdb.TableOf[struct {
				X []string `ovsdb:"map"`
			}](schema, "Row")
		},
		"values of a map": func() {
			ovsdb.TableOf[struct {
				X ovsdb.Map `ovsdb:"int_map"`
			}](schema, "Row")
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			f()
		})
	}
}

// randomRow has a few values in every column, so that two often share some.
func randomRow(r *rand.Rand, uuids []string) *kindsRow {
	maybe := func() bool { return r.IntN(2) == 0 }
	word := func() string { return string(rune('a' + r.IntN(6))) }
	set := func(from func() string) []string {
		var out []string
		for range r.IntN(6) {
			if e := from(); !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
		return out
	}
	ref := func() string { return uuids[r.IntN(len(uuids))] }
	row := &kindsRow{
		UUID: uuids[0], Enum: []enum{"", "a", "b"}[r.IntN(3)], Int: r.IntN(2), Bool: maybe(), Real: float64(r.IntN(3)) / 4,
		Strings: set(word), Refs: set(ref), GoMap: map[string]string{}, RefMap: map[string]string{},
		IntMap: map[string]int{}, IntKeyMap: map[int]string{},
	}
	if maybe() {
		row.String, row.OptString = word(), new(word())
		row.OptInt, row.OptBool, row.OptReal = new(r.IntN(2)), new(maybe()), new(0.5)
		row.Ref = new(ref())
	}
	for _, s := range set(word) {
		row.GoMap[s] = word()
		row.RefMap[s] = ref()
		row.IntMap[s] = r.IntN(3)
		row.IntKeyMap[int(s[0])] = word()
		row.Ints = append(row.Ints, int(s[0]))
		row.Map = append(row.Map, ovsdb.KV{Key: s, Value: word()})
	}
	slices.SortFunc(row.Map, func(a, b ovsdb.KV) int { return strings.Compare(a.Key, b.Key) })
	return row
}

// TestUpdateProperty: Update makes a database's row of old into new, whatever
// they are, as the connection's own reading of it shows.
func TestUpdateProperty(t *testing.T) {
	table := kindsTable(t)
	conn := memdb.New(schemaOf(t, kindsSchema)).Connect(table)
	r := rand.New(rand.NewPCG(1, 2))
	uuids := []string{rowUUID, ovsdb.NewUUID(), ovsdb.NewUUID(), ovsdb.NewUUID()}
	txn := ovsdb.NewTxn()
	for _, u := range uuids {
		table.Insert(txn, &kindsRow{UUID: u})
	}
	if _, err := conn.Send(txn).Result(); err != nil {
		t.Fatal(err)
	}
	conn.Take()
	old := &kindsRow{UUID: rowUUID}
	for range 2000 {
		new := randomRow(r, uuids)
		txn := ovsdb.NewTxn()
		differ := table.Update(txn, old, new)
		if _, err := conn.Send(txn).Result(); err != nil {
			t.Fatalf("%v in\n%s", err, txn)
		}
		b := conn.Take()
		if differ != (b != nil) {
			t.Fatalf("got batch %v, Update reported %v", b, differ)
		}
		if b == nil {
			continue
		}
		changes := b.Changes["Row"]
		if len(changes) != 1 || !table.Equal(changes[0].Old, old) || !table.Equal(changes[0].New, new) {
			t.Fatalf("got %v after\n%s(-want +got):\n%s", changes, txn, cmp.Diff(new, changes[0].New))
		}
		old = new
	}
}

func TestMap(t *testing.T) {
	m := ovsdb.NewMap("b", "2", "a", "1", "c", "")
	for _, tc := range []struct {
		key, want string
		ok        bool
	}{{"a", "1", true}, {"b", "2", true}, {"c", "", true}, {"d", "", false}, {"", "", false}} {
		if got, ok := m.Get(tc.key); got != tc.want || ok != tc.ok {
			t.Errorf("%q: got %q, %v, want %q, %v", tc.key, got, ok, tc.want, tc.ok)
		}
	}
	if !slices.IsSortedFunc(m, func(a, b ovsdb.KV) int { return strings.Compare(a.Key, b.Key) }) {
		t.Errorf("not sorted: %v", m)
	}
}

// TestInterner: a string that repeats costs nothing, and is no one's to change.
func TestInterner(t *testing.T) {
	in := ovsdb.NewInterner()
	b := []byte("northd")
	in.Bytes(b)
	if n := testing.AllocsPerRun(100, func() { in.Bytes(b) }); n != 0 {
		t.Errorf("a string that is known costs %v allocations", n)
	}
	kept := in.Bytes(b)
	b[0] = 'x'
	if kept != "northd" || in.Bytes(b) != "xorthd" {
		t.Error("a string changes with the bytes that it was made of")
	}
	if got := in.Bytes(nil); got != "" {
		t.Errorf("got %q of nothing", got)
	}
}

// TestInternerForgets: a string that repeats stays shared while many others go
// by, and the others are not kept.
func TestInternerForgets(t *testing.T) {
	in := ovsdb.NewInterner()
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	often := []byte("next;")
	hits, was := 0, unsafe.StringData(in.Bytes(often))
	before := heap()
	const others = 300_000
	for i := range others {
		in.Bytes(fmt.Appendf(nil, `inport == "lsp-%d" && ip4.src == 192.0.2.1`, i))
		if is := unsafe.StringData(in.Bytes(often)); is == was {
			hits++
		} else {
			was = is
		}
	}
	if misses := others - hits; misses > others/100 {
		t.Errorf("a string that repeats is made anew %d times of %d", misses, others)
	}
	// 65,536 strings of 48 bytes, and the table.
	if grown := heap() - before; grown > 6<<20 {
		t.Errorf("%d strings cost %d bytes", others, grown)
	}
	runtime.KeepAlive(in)
}
