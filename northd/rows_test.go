package northd

import (
	"strings"
	"testing"

	"go.uber.org/zap"

	"northwall/ovsdb"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// TestDeliveredRowsStay: a row that the database has delivered, and that is kept in
// place of an equal one that is wanted, does not change when the database has another
// in its place, or none.
func TestDeliveredRowsStay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		second *sb.AddressSet // that comes in place of the first; nil for none
	}{
		{"gone", nil},
		{"another", &sb.AddressSet{UUID: ovsdb.NewUUID(), Name: "as0", Addresses: []string{"10.0.0.1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := New(zap.NewNop())
			wanted := &nb.AddressSet{UUID: ovsdb.NewUUID(), Name: "as0", Addresses: []string{"10.0.0.1"}}
			n.Northbound(&ovsdb.Batch{Changes: map[string][]ovsdb.Change{"Address_Set": {{UUID: wanted.UUID, New: wanted}}}})
			delivered := &sb.AddressSet{UUID: ovsdb.NewUUID(), Name: "as0", Addresses: []string{"10.0.0.1"}}
			id := delivered.UUID
			change := []ovsdb.Change{{UUID: id, New: delivered}}
			n.Southbound(&ovsdb.Batch{Changes: map[string][]ovsdb.Change{"Address_Set": change}})
			n.Derive()
			n.WriteSouthbound(ovsdb.NewTxn(), 0)
			if n.out.addresses.want["as0"].row != delivered {
				t.Error("two equal rows are kept")
			}

			change = []ovsdb.Change{{UUID: id, Old: delivered}}
			if tt.second != nil {
				change = append(change, ovsdb.Change{UUID: tt.second.UUID, New: tt.second})
			}
			n.Southbound(&ovsdb.Batch{Changes: map[string][]ovsdb.Change{"Address_Set": change}})
			n.WriteSouthbound(ovsdb.NewTxn(), 0)
			if delivered.UUID != id {
				t.Errorf("the delivered row has UUID %s now, had %s", delivered.UUID, id)
			}
		})
	}
}

// TestDuplicateGoes: of two rows with one key, the second of which came later, the one
// in excess is deleted, and not the other.
func TestDuplicateGoes(t *testing.T) {
	n := New(zap.NewNop())
	wanted := &nb.AddressSet{UUID: ovsdb.NewUUID(), Name: "as0"}
	n.Northbound(&ovsdb.Batch{Changes: map[string][]ovsdb.Change{"Address_Set": {{UUID: wanted.UUID, New: wanted}}}})
	n.Derive()
	for _, id := range []string{"00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000001"} {
		row := &sb.AddressSet{UUID: id, Name: "as0"}
		n.Southbound(&ovsdb.Batch{Changes: map[string][]ovsdb.Change{"Address_Set": {{UUID: id, New: row}}}})
		txn := ovsdb.NewTxn()
		n.WriteSouthbound(txn, 0)
		deleted := strings.Contains(txn.String(), `"op":"delete","table":"Address_Set","where":[["_uuid","==",["uuid","00000000-0000-4000-8000-000000000002"]]]`)
		if kept := strings.HasSuffix(id, "2"); deleted == kept || strings.Count(txn.String(), `"op":"delete"`) > 1 {
			t.Errorf("with %s: deleted is %v of\n%s", id, deleted, txn)
		}
	}
}
