package northd_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/schema"
	"northwall/tests/golden"
)

// TestBrokenUTF8: no database takes what is no UTF-8, but a server may send it.
// What is derived of it is UTF-8, and the southbound database takes it.
func TestBrokenUTF8(t *testing.T) {
	const rows = `{
"NB_Global":{"00000000-0000-4000-8000-000000000001":{"initial":{"options":["map",[["mac_prefix","\xff"],["\xff","\xff"]]]}}},
"Logical_Switch":{"00000000-0000-4000-8000-000000000002":{"initial":{"name":"s\xff","other_config":["map",[["subnet","\xc0\x80"]]],
	"ports":["uuid","00000000-0000-4000-8000-000000000003"],"acls":["uuid","00000000-0000-4000-8000-000000000004"]}}},
"Logical_Switch_Port":{"00000000-0000-4000-8000-000000000003":{"initial":{"name":"p\xed\xa0\x80","type":"","addresses":["set",["\xff","50:54:00:00:00:01 10.0.0.1"]],"port_security":"\xf5"}}},
"ACL":{"00000000-0000-4000-8000-000000000004":{"initial":{"direction":"to-lport","priority":1,"match":"outport == \"\xff\"","action":"drop","log":true,"name":"\xfe","meter":"m\xff"}}},
"Port_Group":{"00000000-0000-4000-8000-000000000005":{"initial":{"name":"g\xff","ports":["uuid","00000000-0000-4000-8000-000000000003"]}}},
"Address_Set":{"00000000-0000-4000-8000-000000000006":{"initial":{"name":"a\xff","addresses":["set",["\xff","10.0.0.1"]]}}},
"Meter":{"00000000-0000-4000-8000-000000000007":{"initial":{"name":"m\xff","unit":"kbps","bands":["uuid","00000000-0000-4000-8000-000000000008"]}}},
"Meter_Band":{"00000000-0000-4000-8000-000000000008":{"initial":{"action":"drop","rate":1}}}}`
	d := ovsdb.NewDecoder(northd.NorthboundTables()...)
	d.SetSchema(schema.Northbound())
	lenient := jsontext.AllowInvalidUTF8(true)
	broken := strings.NewReplacer(`\xff`, "\xff", `\xfe`, "\xfe", `\xf5`, "\xf5", `\xc0\x80`, "\xc0\x80", `\xed\xa0\x80`, "\xed\xa0\x80").Replace(rows)
	if utf8.ValidString(broken) {
		t.Fatal("the rows are UTF-8")
	}
	if err := d.ReadSnapshot(jsontext.NewDecoder(strings.NewReader(broken), lenient), ovsdb.UpdateDiff); err != nil {
		t.Fatal(err)
	}
	m := golden.NewMemory()
	conn := m.SB.Connect(northd.SouthboundTables()...)
	defer conn.Close()
	n := northd.New(zap.NewNop())
	n.Northbound(d.Take())
	for round := 0; ; round++ {
		if b := conn.Take(); b != nil {
			n.Southbound(b)
		}
		n.Derive()
		txn := conn.NewTxn()
		n.WriteSouthbound(txn, 0)
		if txn.Len() == 0 {
			break
		}
		if round == 10 {
			t.Fatalf("still writing: %.300s", txn)
		}
		if !utf8.Valid(txn.Params("")) {
			t.Error("the transaction is no UTF-8")
		}
		if _, err := conn.Send(txn).Result(); err != nil {
			t.Fatal(err)
		}
	}
	for table, want := range map[string]int{"Datapath_Binding": 1, "Port_Binding": 1, "Address_Set": 4} {
		if got := m.SB.Len(table); got != want {
			t.Errorf("%s has %d rows, want %d", table, got, want)
		}
	}
}
