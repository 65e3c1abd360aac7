// Package schema holds the schemas of the two databases of OVN 26.03, as
// ovn-nb(5) and ovn-sb(5) describe them, and Go models of their tables in
// packages nb and sb. Databases that Northwall creates are made from these
// files; a server's own schema may lack tables and columns, or have more.
//
// The models are generated from the files by libovsdb's modelgen.
package schema

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/ovn-org/libovsdb/ovsdb"
)

//go:generate go run github.com/ovn-org/libovsdb/cmd/modelgen -p nb -o nb nb.ovsschema
//go:generate go run github.com/ovn-org/libovsdb/cmd/modelgen -p sb -o sb sb.ovsschema

// NorthboundJSON and SouthboundJSON are the schemas in the form that
// ovsdb-tool(1) takes.
var (
	//go:embed nb.ovsschema
	NorthboundJSON []byte
	//go:embed sb.ovsschema
	SouthboundJSON []byte
)

// Northbound is the schema of OVN_Northbound 7.18. It is shared: not to be
// changed.
var Northbound = sync.OnceValue(func() *ovsdb.DatabaseSchema { return parse(NorthboundJSON) })

// Southbound is the schema of OVN_Southbound 21.8. It is shared: not to be
// changed.
var Southbound = sync.OnceValue(func() *ovsdb.DatabaseSchema { return parse(SouthboundJSON) })

func parse(b []byte) *ovsdb.DatabaseSchema {
	var s ovsdb.DatabaseSchema
	if err := json.Unmarshal(b, &s); err != nil {
		panic("schema: embedded file: " + err.Error()) // a test parses it
	}
	return &s
}
