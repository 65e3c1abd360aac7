package nbctl_test

import (
	"bytes"
	"strings"
	"testing"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb/ctl"
	"northwall/ovsdb/memdb"
	"northwall/schema"
	"northwall/schema/nbctl"
)

// TestOldServer: what a server's older schema lacks is refused only where it is
// asked for.
func TestOldServer(t *testing.T) {
	old := schema.Northbound()
	delete(old.Tables["ACL"].Columns, "tier")
	mem := memdb.New(old)
	tables := ctl.Tables(everything())
	db := ctl.New(mem.Connect(tables...), func() *libovsdb.DatabaseSchema { return mem.Schema() })
	tool := nbctl.New(schema.Northbound())
	for _, tt := range []struct{ line, want string }{
		{"ls-add sw0", ""},
		{"acl-add sw0 to-lport 100 ip4 drop", ""},
		{"--tier=0 acl-add sw0 to-lport 101 ip4 drop", ""},
		{"--tier=1 acl-add sw0 to-lport 102 ip4 drop", "no column tier in table ACL"},
		{"acl-list sw0", ""},
	} {
		var out bytes.Buffer
		err := nbctl.Run(t.Context(), tool, db, strings.Fields(tt.line), &out)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %q", tt.line, err, tt.want)
		}
	}
}
