package sbdump

import (
	"fmt"
	"maps"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// Read reads all tables of schema at once from the database at the other end of
// conn; those that it does not have are left out.
func Read(conn ovsdb.Conn, schema *libovsdb.DatabaseSchema) (Contents, error) {
	txn := ovsdb.NewTxn()
	var tables []string
	for _, table := range slices.Sorted(maps.Keys(schema.Tables)) {
		if !conn.Has(table, "") {
			continue
		}
		tables = append(tables, table)
		if err := txn.Op(libovsdb.Operation{Op: libovsdb.OperationSelect, Table: table}); err != nil {
			return nil, err
		}
	}
	results, err := conn.Send(txn).Result()
	if err != nil {
		return nil, fmt.Errorf("reading database %s: %w", schema.Name, err)
	}
	out := Contents{}
	for i, table := range tables {
		for _, r := range results[i].Rows {
			uuid, _ := r["_uuid"].(libovsdb.UUID)
			delete(r, "_uuid")
			delete(r, "_version")
			out[table] = append(out[table], &ovsdb.Row{UUID: uuid.GoUUID, Columns: r})
		}
	}
	return out, nil
}
