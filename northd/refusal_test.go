package northd_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/northd"
	"northwall/ovsdb/memdb"
	"northwall/schema"
	"northwall/tests/golden"
)

// southboundWith is a southbound database whose schema has been changed by
// replacing text, so that it refuses what the ordinary one takes.
func southboundWith(t *testing.T, old, new string) *memdb.DB {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, schema.SouthboundJSON); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(compact.String(), old); n != 1 {
		t.Fatalf("the schema has %q %d times", old, n)
	}
	var s libovsdb.DatabaseSchema
	if err := json.Unmarshal([]byte(strings.Replace(compact.String(), old, new, 1)), &s); err != nil {
		t.Fatal(err)
	}
	return memdb.New(&s).LimitRows("SB_Global", 1)
}

// TestRefusedRows: a row that the southbound database does not take, be it for
// its contents or for what the transaction as a whole leads to, costs itself and
// what cannot be without it, and is named once.
func TestRefusedRows(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string // in the southbound schema
		lines    []string
		want     []string // refused rows
		left     string   // a table in which rows are left out
		rows     int      // that there are in it nevertheless
		fix      string   // after which none is
	}{
		{
			"an operation", `"name":{"type":"string"}}},"Advertised_MAC_Binding"`,
			`"name":{"type":{"key":{"type":"string","maxLength":4}}}}},"Advertised_MAC_Binding"`,
			[]string{"create address_set name=as0", "create address_set name=long1 -- create address_set name=long2", "set address_set long1 addresses=1.2.3.4"},
			[]string{"Address_Set svc_monitor_mac", "Address_Set long1", "Address_Set long2"}, "Address_Set", 1, "",
		},
		{
			"a commit", `"Address_Set":{"isRoot":true,"indexes":[["name"]]`, `"Address_Set":{"isRoot":true,"indexes":[["name"],["addresses"]]`,
			[]string{"create address_set name=as0 addresses=1.1.1.1", "create address_set name=as1 addresses=1.1.1.1"},
			[]string{"Address_Set as1"}, "Address_Set", 2, "set address_set as1 addresses=2.2.2.2",
		},
		{
			"a commit, with rows that refer to it", `"indexes":[["tunnel_key"]]`, `"indexes":[["tunnel_key"],["type"]]`,
			[]string{"ls-add sw1 -- lsp-add sw1 p1 -- acl-add sw1 to-lport 1 'tcp.dst == 11' drop", "lsp-add sw1 p2"},
			[]string{"Datapath_Binding "}, "Port_Binding", 1, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			sb := southboundWith(t, c.old, c.new)
			b.m.SB, b.m.Northd = sb, golden.NewStepper(b.m.NB, sb)
			var refused []string
			b.m.Northd.Refused = func(r northd.Refusal, _ error) {
				if !r.Again {
					refused = append(refused, r.Row)
				}
			}
			b.run("ls-add sw0", "lsp-add sw0 p0")
			b.run(c.lines...)
			b.run("acl-add sw0 to-lport 9 'tcp.dst == 99' drop")
			if !b.hasFlow("(tcp.dst == 99)") {
				t.Error("an ACL that came later has no flow")
			}
			if len(refused) != len(c.want) || !containsAll(refused, c.want) {
				t.Errorf("refused %q, want those of %q once each", refused, c.want)
			}
			if got := sb.Len(c.left); got != c.rows {
				t.Errorf("%s has %d rows, want %d", c.left, got, c.rows)
			}
			if got := b.m.Northd.Northd.LeftOut(); got < len(c.want) {
				t.Errorf("%d rows are left out, want %d or more", got, len(c.want))
			}
			// Trying them again ends as it did, and is no news.
			b.m.Northd.Northd.Reconsider()
			b.settle()
			if got := len(refused); got != len(c.want) {
				t.Errorf("tried again, %q are refused", refused)
			}
			if c.fix == "" {
				return
			}
			b.run(c.fix)
			if got := b.m.Northd.Northd.LeftOut(); got != 0 {
				t.Errorf("%d rows are left out after all", got)
			}
		})
	}
}

// containsAll reports whether each element of parts is the start of one of all.
func containsAll(all, parts []string) bool {
	for _, p := range parts {
		found := false
		for _, s := range all {
			found = found || strings.HasPrefix(s, p)
		}
		if !found {
			return false
		}
	}
	return true
}
