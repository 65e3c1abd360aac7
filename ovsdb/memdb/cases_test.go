package memdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb/memdb"
)

// u is a UUID to write in cases.
func u(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

// expand replaces what is tedious to write: $1 is a UUID, #1 a reference to it.
func expand(op string) string {
	for n := 9; n > 0; n-- {
		op = strings.ReplaceAll(op, fmt.Sprintf("#%d", n), fmt.Sprintf(`["uuid","%s"]`, u(n)))
		op = strings.ReplaceAll(op, fmt.Sprintf("$%d", n), u(n))
	}
	return op
}

// A testCase is a list of transactions, each a list of operations. want is what
// the last one does: "ok", or the kind of its error with the operation's number.
type testCase struct {
	name string
	txns [][]string
	want string
}

func insert(table, uuid, row string) string {
	return fmt.Sprintf(`{"op":"insert","table":%q,"uuid":%q,"row":{%s}}`, table, uuid, row)
}

func update(table, uuid, row string) string {
	return fmt.Sprintf(`{"op":"update","table":%q,"where":[["_uuid","==",["uuid",%q]]],"row":{%s}}`, table, uuid, row)
}

func mutate(table, uuid, mutations string) string {
	return fmt.Sprintf(`{"op":"mutate","table":%q,"where":[["_uuid","==",["uuid",%q]]],"mutations":[%s]}`, table, uuid, mutations)
}

func remove(table, uuid string) string {
	return fmt.Sprintf(`{"op":"delete","table":%q,"where":[["_uuid","==",["uuid",%q]]]}`, table, uuid)
}

func selectWhere(table, where string) string {
	return fmt.Sprintf(`{"op":"select","table":%q,"where":[%s],"columns":["_uuid"]}`, table, where)
}

var cases = []testCase{
	{"insert with defaults", [][]string{{insert("Root", "$1", `"name":"a"`)}}, "ok"},
	{"insert every type", [][]string{{insert("Root", "$1", `"name":"a\nb\"c","num":7,"wide":9007199254740993,"opt":-1,"reals":["set",[2.5,1,-3e7]],`+
		`"ints":["set",[3,1]],"flag":true,"kind":"b","fixed":"f","short":"12345","tags":["set",["x","y"]],"kv":["map",[["k","v"],["a","b"]]]`)}}, "ok"},
	{"integer written as a real", [][]string{{insert("Root", "$1", `"num":7.0`)}}, "ok"},
	{"insert without uuid", [][]string{{`{"op":"insert","table":"Must","row":{"kind":"a"}}`, remove("Must", "$1"), `{"op":"delete","table":"Must","where":[]}`}}, "ok"},
	{"insert of a wrong uuid", [][]string{{insert("Root", "nonsense", ``)}}, "0 syntax error"},
	{"insert twice", [][]string{{insert("Root", "$1", ``)}, {insert("Root", "$1", `"name":"b"`)}}, "0 duplicate uuid"},
	{"insert after delete in one transaction", [][]string{{insert("Root", "$1", ``)}, {remove("Root", "$1"), insert("Root", "$1", ``)}}, "1 duplicate uuid"},
	{"same uuid in two tables", [][]string{{insert("Root", "$1", ``), insert("Must", "$1", `"kind":"a"`)}}, "ok"},
	{"unknown table", [][]string{{insert("Rot", "$1", ``)}}, "0 syntax error"},
	{"unknown column", [][]string{{insert("Root", "$1", `"nam":"x"`)}}, "0 unknown column"},
	{"unknown operation", [][]string{{insert("Root", "$1", ``), `{"op":"upsert","table":"Root"}`}}, "1 syntax error"},
	{"wrong type", [][]string{{insert("Root", "$1", `"name":7`)}}, "0 syntax error"},
	{"string for an integer", [][]string{{insert("Root", "$1", `"num":"7"`)}}, "0 syntax error"},
	{"fraction for an integer", [][]string{{insert("Root", "$1", `"num":7.5`)}}, "0 syntax error"},
	{"set for a scalar", [][]string{{insert("Root", "$1", `"name":["set",["a","b"]]`)}}, "0 syntax error"},
	{"set of one for a scalar", [][]string{{insert("Root", "$1", `"name":["set",["a"]]`)}}, "ok"},
	{"empty set for a scalar", [][]string{{insert("Root", "$1", `"name":["set",[]]`)}}, "0 syntax error"},
	{"below the range", [][]string{{insert("Root", "$1", `"num":-1`)}}, "0 constraint violation"},
	{"above the range", [][]string{{insert("Root", "$1", `"num":101`)}}, "0 constraint violation"},
	{"not in the enumeration", [][]string{{insert("Root", "$1", `"kind":"d"`)}}, "0 constraint violation"},
	{"default not in the enumeration", [][]string{{insert("Must", "$1", `"n":1`)}}, "0 constraint violation"},
	{"too long", [][]string{{insert("Root", "$1", `"short":"123456"`)}}, "0 constraint violation"},
	{"too many elements", [][]string{{insert("Root", "$1", `"tags":["set",["a","b","c","d"]]`)}}, "0 syntax error"},
	{"duplicate elements", [][]string{{insert("Root", "$1", `"tags":["set",["a","a"]]`)}}, "0 ovsdb error"},
	{"duplicate keys", [][]string{{insert("Root", "$1", `"kv":["map",[["a","b"],["a","c"]]]`)}}, "0 ovsdb error"},
	{"nothing done when an operation fails", [][]string{{insert("Root", "$1", ``), insert("Must", "$2", ``)}}, "1 constraint violation"},
	{"abort", [][]string{{insert("Root", "$1", ``), `{"op":"abort"}`}}, "1 aborted"},
	{"commit and comment", [][]string{{insert("Root", "$1", ``), `{"op":"comment","comment":"c"}`, `{"op":"commit","durable":false}`}}, "ok"},
	{"assert without lock", [][]string{{`{"op":"assert","lock":"l"}`}}, "0 not owner"},

	{"index", [][]string{{insert("Root", "$1", `"name":"a"`), insert("Root", "$2", `"name":"a"`)}}, "2 constraint violation"},
	{"index against a committed row", [][]string{{insert("Root", "$1", `"name":"a"`)}, {insert("Root", "$2", `"name":"a"`)}}, "1 constraint violation"},
	{"index by update", [][]string{{insert("Root", "$1", `"name":"a"`), insert("Root", "$2", `"name":"b"`)}, {update("Root", "$2", `"name":"a"`)}}, "1 constraint violation"},
	{"values swapped in an index", [][]string{{insert("Root", "$1", `"name":"a"`), insert("Root", "$2", `"name":"b"`)},
		{update("Root", "$1", `"name":"b"`), update("Root", "$2", `"name":"a"`)}}, "ok"},
	{"value of a deleted row in an index", [][]string{{insert("Root", "$1", `"name":"a"`)}, {insert("Root", "$2", `"name":"a"`), remove("Root", "$1")}}, "ok"},
	{"index of two columns", [][]string{{insert("Pair", "$1", `"a":"x","b":1`), insert("Pair", "$2", `"a":"x"`), insert("Pair", "$3", `"a":"y","b":1`)}}, "ok"},
	{"index of two columns violated", [][]string{{insert("Pair", "$1", `"a":"x"`), insert("Pair", "$2", `"a":"x"`)}}, "2 constraint violation"},
	{"too many rows", [][]string{{insert("Single", "$1", ``)}, {insert("Single", "$2", ``)}}, "1 constraint violation"},
	{"row replaced in a full table", [][]string{{insert("Single", "$1", ``)}, {remove("Single", "$1"), insert("Single", "$2", ``)}}, "ok"},

	{"update", [][]string{{insert("Root", "$1", `"num":1,"flag":true`)}, {update("Root", "$1", `"num":2,"kind":"a"`)}}, "ok"},
	{"update of no row", [][]string{{update("Root", "$1", `"num":2`)}}, "ok"},
	{"update to nothing new", [][]string{{insert("Root", "$1", `"num":1`)}, {update("Root", "$1", `"num":1`)}}, "ok"},
	{"update of an immutable column", [][]string{{insert("Root", "$1", ``)}, {update("Root", "$1", `"fixed":"x"`)}}, "0 constraint violation"},
	{"update of _uuid", [][]string{{insert("Root", "$1", ``)}, {update("Root", "$1", `"_uuid":#2`)}}, "0 constraint violation"},
	{"update of what was inserted", [][]string{{insert("Root", "$1", ``), update("Root", "$1", `"num":2`)}}, "ok"},
	{"delete what was inserted", [][]string{{insert("Root", "$1", ``), remove("Root", "$1")}}, "ok"},
	{"delete all", [][]string{{insert("Root", "$1", ``), insert("Must", "$2", `"kind":"a"`)}, {`{"op":"delete","table":"Root","where":[]}`}}, "ok"},
	{"delete without where", [][]string{{`{"op":"delete","table":"Root"}`}}, "0 syntax error"},

	{"mutate arithmetic", [][]string{{insert("Root", "$1", `"num":10,"reals":["set",[1,2]],"ints":["set",[5,-7]]`)},
		{mutate("Root", "$1", `["num","+=",5],["num","*=",3],["num","-=",1],["num","/=",4],["num","%=",7],["reals","*=",2.5],["ints","%=",4]`)}}, "ok"},
	{"mutate out of the range", [][]string{{insert("Root", "$1", `"num":99`)}, {mutate("Root", "$1", `["num","+=",2]`)}}, "0 constraint violation"},
	{"mutate past the largest integer", [][]string{{insert("Root", "$1", `"wide":9223372036854775807`)}, {mutate("Root", "$1", `["wide","+=",1]`)}}, "0 range error"},
	{"mutate past the smallest integer", [][]string{{insert("Root", "$1", `"wide":-9223372036854775808`)}, {mutate("Root", "$1", `["wide","-=",1]`)}}, "0 range error"},
	{"mutate times too much", [][]string{{insert("Root", "$1", `"wide":4611686018427387904`)}, {mutate("Root", "$1", `["wide","*=",2]`)}}, "0 range error"},
	{"mutate times to the smallest integer", [][]string{{insert("Root", "$1", `"wide":4611686018427387904`)}, {mutate("Root", "$1", `["wide","*=",-2]`)}}, "ok"},
	{"mutate by division by zero", [][]string{{insert("Root", "$1", `"num":1`)}, {mutate("Root", "$1", `["num","/=",0]`)}}, "0 domain error"},
	{"mutate a set into equal elements", [][]string{{insert("Root", "$1", `"ints":["set",[4,5]]`)}, {mutate("Root", "$1", `["ints","/=",4]`)}}, "0 constraint violation"},
	{"mutate a string by arithmetic", [][]string{{insert("Root", "$1", ``)}, {mutate("Root", "$1", `["name","+=",1]`)}}, "0 syntax error"},
	{"mutate a real modulo", [][]string{{insert("Root", "$1", `"reals":1`)}, {mutate("Root", "$1", `["reals","%=",1]`)}}, "0 syntax error"},
	{"mutate a scalar by insert", [][]string{{insert("Root", "$1", ``)}, {mutate("Root", "$1", `["name","insert","x"]`)}}, "0 syntax error"},
	{"mutate an immutable column", [][]string{{insert("Root", "$1", ``)}, {mutate("Root", "$1", `["fixed","insert","x"]`)}}, "0 constraint violation"},
	{"unknown mutator", [][]string{{insert("Root", "$1", ``)}, {mutate("Root", "$1", `["num","^=",1]`)}}, "0 unknown mutator"},
	{"insert elements", [][]string{{insert("Root", "$1", `"tags":"b"`)}, {mutate("Root", "$1", `["tags","insert",["set",["c","a"]]]`)}}, "ok"},
	{"insert elements that are there", [][]string{{insert("Root", "$1", `"tags":["set",["a","b"]]`)}, {mutate("Root", "$1", `["tags","insert",["set",["b","a"]]]`)}}, "ok"},
	{"insert too many elements", [][]string{{insert("Root", "$1", `"tags":["set",["a","b"]]`)}, {mutate("Root", "$1", `["tags","insert",["set",["c","d"]]]`)}}, "0 constraint violation"},
	{"delete and insert elements", [][]string{{insert("Root", "$1", `"tags":["set",["a","b","c"]]`)},
		{mutate("Root", "$1", `["tags","delete",["set",["a","b","x"]]],["tags","insert","d"]`)}}, "ok"},
	{"insert pairs keeps what is there", [][]string{{insert("Root", "$1", `"kv":["map",[["a","1"]]]`)}, {mutate("Root", "$1", `["kv","insert",["map",[["a","2"],["b","2"]]]]`)}}, "ok"},
	{"delete keys", [][]string{{insert("Root", "$1", `"kv":["map",[["a","1"],["b","2"],["c","3"]]]`)}, {mutate("Root", "$1", `["kv","delete",["set",["a","b"]]],["kv","delete","x"]`)}}, "ok"},
	{"delete pairs", [][]string{{insert("Root", "$1", `"kv":["map",[["a","1"],["b","2"]]]`)}, {mutate("Root", "$1", `["kv","delete",["map",[["a","1"],["b","3"]]]]`)}}, "ok"},
	{"mutate an optional integer", [][]string{{insert("Root", "$1", `"opt":4`), insert("Root", "$2", `"name":"none"`)},
		{`{"op":"mutate","table":"Root","where":[],"mutations":[["opt","+=",1]]}`}}, "ok"},

	{"select by conditions", [][]string{{insert("Root", "$1", `"name":"a","num":5,"opt":1,"tags":["set",["x","y"]],"kv":["map",[["k","v"]]]`), insert("Root", "$2", `"name":"b","num":6,"tags":"x"`)}, {
		selectWhere("Root", `["name","==","a"]`), selectWhere("Root", `["name","!=","a"]`),
		selectWhere("Root", `["num","<",6]`), selectWhere("Root", `["num","<=",6],["num",">",5]`), selectWhere("Root", `["num",">=",5]`),
		selectWhere("Root", `["opt","<",2]`), selectWhere("Root", `["opt","==",["set",[]]]`),
		selectWhere("Root", `["tags","includes","x"]`), selectWhere("Root", `["tags","includes",["set",["x","y"]]]`), selectWhere("Root", `["tags","includes",["set",[]]]`),
		selectWhere("Root", `["tags","excludes","y"]`), selectWhere("Root", `["tags","excludes",["set",["x","q","r","s"]]]`), selectWhere("Root", `["tags","==","x"]`),
		selectWhere("Root", `["kv","includes",["map",[["k","v"]]]]`), selectWhere("Root", `["kv","excludes",["map",[["k","w"]]]]`),
		selectWhere("Root", `["_uuid","==",#1]`), selectWhere("Root", `["_uuid","==",#1],["num","==",6]`), selectWhere("Root", `["_uuid","!=",#1]`), selectWhere("Root", `["_uuid","==",#3]`),
		selectWhere("Root", `["name","includes","a"]`), selectWhere("Root", `["name","excludes","a"]`),
		selectWhere("Root", `true`), selectWhere("Root", `false`),
	}}, "ok"},
	{"less than of a string", [][]string{{selectWhere("Root", `["name","<","a"]`)}}, "0 syntax error"},
	{"unknown function", [][]string{{selectWhere("Root", `["name","~","a"]`)}}, "0 unknown function"},
	{"condition on an unknown column", [][]string{{selectWhere("Root", `["nam","==","a"]`)}}, "0 unknown column"},
	{"select of an unknown column", [][]string{{`{"op":"select","table":"Root","where":[],"columns":["nam"]}`}}, "0 syntax error"},
	{"select sees the transaction", [][]string{{insert("Root", "$1", `"num":1`)}, {
		insert("Root", "$2", `"name":"n","num":1`), update("Root", "$1", `"num":2`), selectWhere("Root", `["num","==",1]`),
		remove("Root", "$2"), selectWhere("Root", `["num","==",1]`)}}, "ok"},

	{"wait that holds", [][]string{{insert("Root", "$1", `"name":"a","tags":["set",["x","y"]]`)},
		{`{"op":"wait","timeout":0,"table":"Root","where":[["_uuid","==",#1]],"columns":["name","tags"],"until":"==","rows":[{"name":"a","tags":["set",["y","x"]]}]}`}}, "ok"},
	{"wait that fails", [][]string{{insert("Root", "$1", `"name":"a"`)},
		{`{"op":"wait","timeout":0,"table":"Root","where":[["_uuid","==",#1]],"columns":["name"],"until":"==","rows":[{"name":"b"}]}`}}, "0 timed out"},
	{"wait for another value", [][]string{{insert("Root", "$1", `"name":"a"`)},
		{`{"op":"wait","timeout":0,"table":"Root","where":[["_uuid","==",#1]],"columns":["name"],"until":"!=","rows":[{"name":"b"}]}`}}, "ok"},
	{"wait for absence", [][]string{{insert("Root", "$1", `"name":"a"`)},
		{`{"op":"wait","timeout":0,"table":"Root","where":[["name","==","b"]],"columns":["name"],"until":"==","rows":[]}`}}, "ok"},
	{"wait for absence in vain", [][]string{{insert("Root", "$1", `"name":"a"`)},
		{`{"op":"wait","timeout":0,"table":"Root","where":[["name","==","a"]],"columns":["name"],"until":"==","rows":[]}`}}, "0 timed out"},
	{"wait with a default", [][]string{{insert("Root", "$1", `"name":"a"`)},
		{`{"op":"wait","timeout":0,"table":"Root","where":[["name","==","a"]],"columns":["name","num"],"until":"==","rows":[{"name":"a"}]}`}}, "ok"},
	{"wait without until", [][]string{{`{"op":"wait","timeout":0,"table":"Root","where":[],"columns":["name"],"rows":[]}`}}, "0 syntax error"},

	{"named uuids", [][]string{{
		`{"op":"insert","table":"Root","uuid":"$1","row":{"children":["set",[["named-uuid","c"],["named-uuid","d"]]]}}`,
		`{"op":"insert","table":"Child","uuid":"$2","uuid-name":"c","row":{"next":["named-uuid","d"]}}`,
		`{"op":"insert","table":"Child","uuid":"$3","uuid-name":"d","row":{}}`}}, "3 referential integrity violation"},
	{"named uuids after their rows", [][]string{{
		`{"op":"insert","table":"Child","uuid":"$2","uuid-name":"c","row":{"label":"c"}}`,
		`{"op":"insert","table":"Root","uuid":"$1","row":{"children":["named-uuid","c"]}}`}}, "ok"},
	{"named uuid twice", [][]string{{`{"op":"insert","table":"Must","uuid-name":"c","row":{"kind":"a"}}`, `{"op":"insert","table":"Must","uuid-name":"c","row":{"kind":"a"}}`}}, "1 duplicate uuid-name"},
	{"named uuid of no row", [][]string{{insert("Root", "$1", `"children":["named-uuid","c"]`)}}, "1 referential integrity violation"},

	{"child without parent", [][]string{{insert("Child", "$1", `"label":"x"`)}}, "ok"},
	{"children", [][]string{{insert("Root", "$1", `"children":["set",[#2,#3]],"child":#3`), insert("Child", "$2", ``), insert("Child", "$3", ``)}}, "ok"},
	{"child lost", [][]string{{insert("Root", "$1", `"children":["set",[#2,#3]],"child":#3`), insert("Child", "$2", ``), insert("Child", "$3", ``)},
		{mutate("Root", "$1", `["children","delete",["set",[#2,#3]]]`)}}, "ok"},
	{"child adopted", [][]string{{insert("Root", "$1", `"children":#2`), insert("Child", "$2", ``), insert("Root", "$3", `"name":"other"`)},
		{mutate("Root", "$1", `["children","delete",#2]`), mutate("Root", "$3", `["children","insert",#2]`)}}, "ok"},
	{"parent deleted", [][]string{{insert("Root", "$1", `"children":#2`), insert("Child", "$2", `"next":#3`), insert("Child", "$3", `"label":"grandchild"`)}, {remove("Root", "$1")}}, "ok"},
	{"child deleted", [][]string{{insert("Root", "$1", `"children":#2`), insert("Child", "$2", ``)}, {remove("Child", "$2")}}, "1 referential integrity violation"},
	{"child deleted with its reference", [][]string{{insert("Root", "$1", `"children":#2`), insert("Child", "$2", ``)}, {remove("Child", "$2"), update("Root", "$1", `"children":["set",[]]`)}}, "ok"},
	{"grandchild deleted with the child's reference", [][]string{{insert("Root", "$1", `"children":#2`), insert("Child", "$2", `"next":#3`), insert("Child", "$3", ``)},
		{remove("Child", "$3"), update("Root", "$1", `"children":["set",[]]`)}}, "2 referential integrity violation"},
	{"reference to no row", [][]string{{insert("Root", "$1", `"child":#2`)}}, "1 referential integrity violation"},
	{"reference into another table", [][]string{{insert("Root", "$1", `"child":#2`), insert("Must", "$2", `"kind":"a"`)}}, "2 referential integrity violation"},
	{"child with itself", [][]string{{insert("Child", "$1", `"next":#1`)}}, "ok"},
	{"circle of children", [][]string{{insert("Root", "$3", `"child":#1`), insert("Child", "$1", `"next":#2`), insert("Child", "$2", `"next":#1`)}, {update("Root", "$3", `"child":["set",[]]`)}}, "ok"},
	{"children in a map", [][]string{{insert("Root", "$1", `"named":["map",[["a",#2],["b",#2],["c",#3]]]`), insert("Child", "$2", ``), insert("Child", "$3", ``)},
		{mutate("Root", "$1", `["named","delete",["set",["a","c"]]]`)}}, "ok"},
	{"child in a map replaced", [][]string{{insert("Root", "$1", `"named":["map",[["a",#2]]]`), insert("Child", "$2", ``)},
		{update("Root", "$1", `"named":["map",[["a",#3]]]`), insert("Child", "$3", ``)}}, "ok"},

	{"weak reference", [][]string{{insert("Group", "$1", `"members":["set",[#2,#3]]`), insert("Root", "$2", `"name":"a"`), insert("Root", "$3", `"name":"b"`)}}, "ok"},
	{"weak reference to no row", [][]string{{insert("Group", "$1", `"members":["set",[#2,#3]]`), insert("Root", "$2", ``)}}, "ok"},
	{"weak reference lost", [][]string{{insert("Group", "$1", `"members":["set",[#2,#3]],"roles":["map",[["x",#2],["y",#3],["z",#2]]]`), insert("Root", "$2", `"name":"a"`), insert("Root", "$3", `"name":"b"`)},
		{remove("Root", "$2")}}, "ok"},
	{"weak reference to a row that is collected", [][]string{{insert("Group", "$1", `"kids":#3`), insert("Root", "$2", `"children":#3`), insert("Child", "$3", ``)},
		{update("Root", "$2", `"children":["set",[]]`)}}, "ok"},
	{"weak reference does not keep a row", [][]string{{insert("Group", "$1", `"kids":#3`), insert("Child", "$3", ``)}}, "ok"},
	{"weak reference gained and lost", [][]string{{insert("Group", "$1", ``), insert("Root", "$2", ``)}, {mutate("Group", "$1", `["members","insert",#2]`), remove("Root", "$2")}}, "ok"},
	{"weak reference lost, then gone again", [][]string{{insert("Group", "$1", `"roles":["map",[["a",#2],["b",#2]]]`), insert("Root", "$2", ``)},
		{mutate("Group", "$1", `["roles","delete","a"]`)}, {remove("Root", "$2")}}, "ok"},
	{"weak reference needed", [][]string{{insert("Need", "$1", `"one":#2`), insert("Root", "$2", ``)}, {remove("Root", "$2")}}, "1 constraint violation"},
	{"weak reference needed, another left", [][]string{{insert("Need", "$1", `"one":["set",[#2,#3]]`), insert("Root", "$2", `"name":"a"`), insert("Root", "$3", `"name":"b"`)}, {remove("Root", "$2")}}, "ok"},
	{"weak reference needed, both go", [][]string{{insert("Need", "$1", `"one":#2`), insert("Root", "$2", ``)}, {remove("Root", "$2"), remove("Need", "$1")}}, "ok"},
	{"weak reference needed, by default", [][]string{{insert("Need", "$1", ``)}}, "1 constraint violation"},
	{"weak references among children", [][]string{{insert("Root", "$1", `"children":["set",[#2,#3]]`), insert("Child", "$2", `"friends":["set",[#2,#3]]`), insert("Child", "$3", `"friends":#2`)},
		{mutate("Root", "$1", `["children","delete",#3]`)}}, "ok"},
}

func (tc *testCase) run(t *testing.T, db database) (outcomes []string) {
	t.Helper()
	for i, ops := range tc.txns {
		var expanded []string
		for _, op := range ops {
			expanded = append(expanded, expand(op))
		}
		results, err := db.Transact(transaction(expanded...))
		if i < len(tc.txns)-1 && err != nil {
			t.Fatalf("transaction %d: %v", i, err)
		}
		outcomes = append(outcomes, outcome(t, results, err))
	}
	return append(outcomes, contents(t, db))
}

// TestCases runs on DB what TestServerCases runs on a server.
func TestCases(t *testing.T) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			outcomes := tc.run(t, newDB(t))
			last := outcomes[len(tc.txns)-1]
			got := "ok"
			if kind, found := strings.CutPrefix(last, "operation "); found {
				got = strings.Replace(kind, ":", "", 1)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestServerCases compares results and contents with those of a real server.
func TestServerCases(t *testing.T) {
	s := newServer(t)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s.clear()
			want := tc.run(t, s)
			got := tc.run(t, newDB(t))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("memdb differs from ovsdb-server (-server +memdb):\n%s", diff)
			}
		})
	}
}

// clear empties the server's database.
func (s *server) clear() {
	s.t.Helper()
	txn := transaction()
	for table := range testSchema(s.t).Tables {
		if table != "Child" {
			txn.Raw([]byte(fmt.Sprintf(`{"op":"delete","table":%q,"where":[]}`, table)))
		}
	}
	// What is left of children is in circles.
	txn.Raw([]byte(`{"op":"update","table":"Child","where":[],"row":{"next":["set",[]]}}`))
	if _, err := s.Transact(txn); err != nil {
		s.t.Fatal(err)
	}
}

var _ database = (*memdb.DB)(nil)
