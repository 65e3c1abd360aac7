package ovsdb

import (
	"encoding/json"
	"fmt"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// readSchema reads a server's schema of a database.
func readSchema(raw []byte, database string) (schema *libovsdb.DatabaseSchema, err error) {
	defer func() {
		// libovsdb's types panic on some schemas, such as one with a column that has
		// no type. No server should have one.
		if p := recover(); p != nil {
			schema, err = nil, fmt.Errorf("schema of %s: %v", database, p)
		}
	}()
	schema = &libovsdb.DatabaseSchema{}
	if err := json.Unmarshal(raw, schema); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", database, err)
	}
	if schema.Name != database {
		return nil, fmt.Errorf("schema of %s: it is that of %q", database, schema.Name)
	}
	for name, t := range schema.Tables {
		for column, c := range t.Columns {
			if c == nil || c.TypeObj != nil && c.TypeObj.Key == nil {
				return nil, fmt.Errorf("schema of %s: column %s of table %s has no type", database, column, name)
			}
		}
	}
	return schema, nil
}
