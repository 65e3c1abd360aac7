package ovsdb_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

func TestTxn(t *testing.T) {
	const where = `"where":[["_uuid","==",["uuid","u"]]]`
	for _, tc := range []struct {
		name  string
		build func(*ovsdb.Txn)
		want  []string // operations
	}{
		{"nothing", func(*ovsdb.Txn) {}, nil},
		{"insert", func(t *ovsdb.Txn) {
			c := t.Insert("T", "u")
			c.String("s", `a"`)
			c.Int("i", math.MinInt64)
			c.Bool("b", true)
			c.Real("r", 1.5)
			c.UUID("u", "v")
			c.OptString("o", nil)
			c.OptString("p", new("x"))
		}, []string{`{"op":"insert","table":"T","uuid":"u","row":{"s":"a\"","i":-9223372036854775808,"b":true,"r":1.5,"u":["uuid","v"],"o":["set",[]],"p":"x"}}`}},
		{"update", func(t *ovsdb.Txn) {
			c := t.Update("T", "u")
			c.Strings("none", nil)
			c.Strings("one", []string{"a"})
			c.UUIDs("two", []string{"v", "w"})
			c.Map("m", ovsdb.NewMap("k", "v"))
			c.StringMap("n", map[string]string{"b": "2", "a": "1"})
			c.UUIDMap("o", map[string]string{"k": "v"})
		}, []string{`{"op":"update","table":"T",` + where + `,"row":{"none":["set",[]],"one":"a","two":["set",[["uuid","v"],["uuid","w"]]],` +
			`"m":["map",[["k","v"]]],"n":["map",[["a","1"],["b","2"]]],"o":["map",[["k",["uuid","v"]]]]}}`}},
		{"mutate", func(t *ovsdb.Txn) {
			m := t.Mutate("T", "u")
			m.InsertUUIDs("a", []string{"v"})
			m.DeleteUUIDs("b", []string{"v", "w"})
			m.InsertStrings("c", []string{"x"})
			m.DeleteStrings("d", []string{"x"})
			m.PutMap("e", map[string]string{"k": "v"})
			m.DeleteKeys("f", []string{"k"})
			m.Add("g", -1)
		}, []string{`{"op":"mutate","table":"T",` + where + `,"mutations":[["a","insert",["uuid","v"]],` +
			`["b","delete",["set",[["uuid","v"],["uuid","w"]]]],["c","insert","x"],["d","delete","x"],` +
			`["e","delete","k"],["e","insert",["map",[["k","v"]]]],["f","delete","k"],["g","+=",-1]]}`}},
		{"update of what is empty", func(t *ovsdb.Txn) { t.UpdateEmpty("T", "u", "up").Bool("up", false) },
			[]string{`{"op":"update","table":"T","where":[["_uuid","==",["uuid","u"]],["up","==",["set",[]]]],"row":{"up":false}}`}},
		{"others", func(t *ovsdb.Txn) {
			t.Assert("l")
			t.Comment("why\n")
			t.Delete("T", "u")
			t.Insert("T", "u")
			if err := t.Op(libovsdb.Operation{Op: "select", Table: "T", Where: []libovsdb.Condition{}}); err != nil {
				panic(err)
			}
			t.Raw([]byte(`{"op":"abort"}`))
		}, []string{
			`{"op":"assert","lock":"l"}`, `{"op":"comment","comment":"why\n"}`, `{"op":"delete","table":"T",` + where + `}`,
			`{"op":"insert","table":"T","uuid":"u","row":{}}`, `{"where":[],"op":"select","table":"T"}`, `{"op":"abort"}`,
		}},
		{"what JSON cannot say", func(t *ovsdb.Txn) {
			c := t.Update("T", "u")
			c.String("s", "a\xffb")
			c.Real("nan", math.NaN())
			c.Real("inf", math.Inf(-1))
		}, []string{`{"op":"update","table":"T",` + where + `,"row":{"s":"a` + "\uFFFD" + `b","nan":0,"inf":-1.7976931348623157e+308}}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			txn := ovsdb.NewTxn()
			tc.build(txn)
			want := ""
			if len(tc.want) > 0 {
				want = strings.Join(tc.want, "\n") + "\n"
			}
			if diff := cmp.Diff(want, txn.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := txn.Len(); got != len(tc.want) {
				t.Errorf("got length %d, want %d", got, len(tc.want))
			}
			var params []json.RawMessage
			if err := json.Unmarshal(txn.Params(`D"B`), &params); err != nil {
				t.Fatalf("%v in %s", err, txn.Params(`D"B`))
			}
			if string(params[0]) != `"D\"B"` || len(params) != len(tc.want)+1 {
				t.Errorf("got parameters %s", txn.Params(`D"B`))
			}
		})
	}
}

// TestTxnGoesOn: looking at a transaction does not end it, and what was sent of
// it stays as it was.
func TestTxnGoesOn(t *testing.T) {
	txn := ovsdb.NewTxn()
	txn.Insert("T", "u").String("s", "a")
	first := txn.Params("D")
	before := string(first)
	txn.Delete("T", "u")
	if txn.Len() != 2 || string(first) != before {
		t.Errorf("got %d operations, want 2; the parameters taken before are %s, were %s", txn.Len(), first, before)
	}
	var ops []json.RawMessage
	if err := json.Unmarshal(txn.Params("D"), &ops); err != nil || len(ops) != 3 {
		t.Errorf("got %v, %s", err, txn.Params("D"))
	}
}

func TestParseResults(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []ovsdb.Result
		refused  *ovsdb.TxnError
	}{
		{name: "none", in: `[]`},
		{name: "counts and UUIDs", in: `[{"count":2},{"uuid":["uuid","u"]},{}]`, want: []ovsdb.Result{{Count: 2}, {UUID: "u"}, {}}},
		{name: "rows", in: `[{"rows":[{"i":9223372036854775807,"r":0.5,"s":"\u00e9","b":false,"u":["uuid","u"],` +
			`"set":["set",[1,2]],"empty":["set",[]],"map":["map",[["k",["uuid","u"]]]]},{}]}]`,
			want: []ovsdb.Result{{Rows: []libovsdb.Row{{
				"i": math.MaxInt64, "r": 0.5, "s": "\u00e9", "b": false, "u": libovsdb.UUID{GoUUID: "u"},
				"set": libovsdb.OvsSet{GoSet: []any{1, 2}}, "empty": libovsdb.OvsSet{GoSet: []any{}},
				"map": libovsdb.OvsMap{GoMap: map[any]any{"k": libovsdb.UUID{GoUUID: "u"}}},
			}, {}}}}},
		{name: "no rows", in: `[{"rows":[]}]`, want: []ovsdb.Result{{Rows: []libovsdb.Row{}}}},
		{name: "of an operation", in: `[{},{"error":"constraint violation","details":"why"},null,null]`,
			refused: &ovsdb.TxnError{Op: 1, Kind: "constraint violation", Details: "why"}},
		{name: "of the commit", in: `[{"count":1},{"details":"why","error":"referential integrity violation"}]`,
			refused: &ovsdb.TxnError{Op: 1, Kind: "referential integrity violation", Details: "why"}},
		{name: "members to come", in: `[{"count":1,"more":[{"x":null}]}]`, want: []ovsdb.Result{{Count: 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ovsdb.ParseResults([]byte(tc.in))
			var refused *ovsdb.TxnError
			if errors.As(err, &refused); err != nil && refused == nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.refused, refused); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, in := range []string{``, `{}`, `[`, `[{"count":1}`, `[1]`, `[{"rows":{}}]`, `[{"rows":[{"a":["set"]}]}]`, `[{"uuid":["set",[]]}`, `[{"count":{}}]`} {
		if got, err := ovsdb.ParseResults([]byte(in)); err == nil {
			t.Errorf("%s: got %v, want an error", in, got)
		}
	}
}

func TestTxnError(t *testing.T) {
	for _, tc := range []struct {
		err  ovsdb.TxnError
		want string
	}{
		{ovsdb.TxnError{Op: 2, Kind: "not owner"}, "transaction refused at operation 2: not owner"},
		{ovsdb.TxnError{Op: 0, Kind: "constraint violation", Details: "why"}, "transaction refused at operation 0: constraint violation: why"},
		{ovsdb.TxnError{Op: -1, Kind: "unknown database"}, "transaction refused: unknown database"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// TestReset: a transaction that is filled anew has nothing of what it had.
func TestReset(t *testing.T) {
	txn := ovsdb.NewTxn()
	txn.Insert("T", "00000000-0000-0000-0000-000000000001").String("s", "before")
	txn.Delete("T", "00000000-0000-0000-0000-000000000002")
	txn.Reset().Delete("U", "00000000-0000-0000-0000-000000000003")
	want := ovsdb.NewTxn()
	want.Delete("U", "00000000-0000-0000-0000-000000000003")
	if got := txn.String(); got != want.String() || txn.Len() != 1 || txn.Bytes() != want.Bytes() {
		t.Errorf("%d operations in %d bytes: %s", txn.Len(), txn.Bytes(), got)
	}
	if diff := cmp.Diff(want.Rows(), txn.Rows()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
