package ovsdb_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb"
)

// decoderConn makes a Conn of a decoder, for what copyOf checks.
type decoderConn struct {
	ovsdb.Conn
	*ovsdb.Decoder
}

func (d decoderConn) Take() *ovsdb.Batch { return d.Decoder.Take() }

// FuzzDecoder feeds updates to a decoder of typed rows and one of dynamic ones.
// Nothing may panic; a message that is refused has no effect, and one that is
// taken leads to the state that the batches add up to.
func FuzzDecoder(f *testing.F) {
	const first = `{"Thing":{"00000000-0000-4000-8000-000000000001":{"initial":{"name":"a","n":1,"tags":["set",["x","y"]],` +
		`"options":["map",[["k","v"],["l","w"]]],"opt":"o","parts":["uuid","00000000-0000-4000-8000-000000000002"]}}},` +
		`"Part":{"00000000-0000-4000-8000-000000000002":{"initial":{"name":"p"}}}}`
	for _, second := range []string{
		`{"Thing":{"00000000-0000-4000-8000-000000000001":{"modify":{"tags":"x","options":["map",[["k","v"],["l","u"],["m","z"]]],"opt":["set",[]],"n":-9223372036854775808,"r":1e300}}}}`,
		`{"Thing":{"00000000-0000-4000-8000-000000000001":{"delete":null}},"Unknown":{"x":[{}]}}`,
		`{"Thing":{"00000000-0000-4000-8000-000000000003":{"insert":{"name":"\u00e9\ud83d\ude00\\","nums":["set",[1,2,3]],"_version":["uuid","x"],"more":[]}}}}`,
		`{"Thing":{"00000000-0000-4000-8000-000000000001":{"old":{"n":1},"new":{"n":2,"name":"b"}}}}`,
		`{"Thing":{"00000000-0000-4000-8000-000000000001":{"modify":{"options":["map",[[["set",[]],"v"]]]}}}}`,
		`{"Thing":{"00000000-0000-4000-8000-000000000001":{"modify":{"tags":["set",[["set",[]],["map",[]]]]}}}}`,
		`{"Thing":{"00000000-0000-4000-8000-000000000001":{"modify":{"n":2},"delete":null,"insert":{}}}}`,
		`{"Thing":{"00000000-0000-4000-8000-000000000009":{"modify":{}}}}`,
		`{"Thing":{"x":{"insert":{"n":1.0}}}}`,
		`{"Thing":{"x":{"insert":{"ok":["set",[true]]}}}}`,
		`{"Thing":null}`, `[]`, `{`, ``, `{"Thing":{"x":{"insert":{"name":"`, "{\"\xff\":{}}",
	} {
		f.Add(first, second, false)
		f.Add(first, second, true)
	}
	schema := parseSchema(f, testSchemaJSON)
	typed := testTables(f)
	dynamic := []*ovsdb.Table{ovsdb.DynamicTable("Thing"), ovsdb.DynamicTable("Part", "name")}
	f.Fuzz(func(t *testing.T, first, second string, oldNew bool) {
		format := ovsdb.UpdateDiff
		if oldNew {
			format = ovsdb.UpdateOldNew
		}
		for _, tables := range [][]*ovsdb.Table{typed, dynamic} {
			d := ovsdb.NewDecoder(tables...)
			d.SetSchema(schema)
			k := newCopy(t, decoderConn{Decoder: d})
			reader := func(s string) *jsontext.Decoder {
				return jsontext.NewDecoder(bytes.NewReader([]byte(s)), lenient...)
			}
			if d.ReadSnapshot(reader(first), ovsdb.UpdateDiff) != nil {
				if k.take() != nil {
					t.Fatal("got a batch from a snapshot that was refused")
				}
				continue
			}
			k.takeAll()
			before := k.normal()
			if d.Read(reader(second), format) != nil {
				if k.take() != nil {
					t.Fatal("got a batch from a message that was refused")
				}
			}
			k.takeAll()
			// The first state again is the difference back to it.
			if err := d.ReadSnapshot(reader(first), ovsdb.UpdateDiff); err != nil {
				t.Fatalf("the same snapshot again: %v", err)
			}
			k.takeAll()
			if diff := cmp.Diff(before, k.normal()); diff != "" {
				t.Fatalf("the same snapshot again (-first +again):\n%s", diff)
			}
		}
	})
}
