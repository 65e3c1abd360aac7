package northd_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/schema/nb"
)

// Ports of a switch and ACLs of a port group in benchNetwork.
const perSwitch, perGroup = 50, 20

// benchNetwork is the contents of a northbound database: switches, and as many port
// groups, each port in two of them.
func benchNetwork(switches int) *ovsdb.Batch {
	b := &ovsdb.Batch{Changes: map[string][]ovsdb.Change{}, Initial: true, Transactions: 1}
	add := func(table, uuid string, row any) {
		b.Changes[table] = append(b.Changes[table], ovsdb.Change{UUID: uuid, New: row})
	}
	groups := make([]*nb.PortGroup, switches)
	for g := range groups {
		groups[g] = &nb.PortGroup{UUID: fmt.Sprintf("group-%d", g), Name: fmt.Sprintf("pg%d", g)}
		for a := range perGroup {
			r := &nb.ACL{UUID: fmt.Sprintf("acl-%d-%d", g, a), Direction: nb.ACLDirectionToLport, Priority: 1000 + a,
				Match: fmt.Sprintf("outport == @pg%d && ip4 && tcp.dst == %d", g, a+1), Action: nb.ACLActionAllowRelated}
			groups[g].ACLs = append(groups[g].ACLs, r.UUID)
			add("ACL", r.UUID, r)
		}
	}
	for s := range switches {
		ls := &nb.LogicalSwitch{UUID: fmt.Sprintf("switch-%d", s), Name: fmt.Sprintf("ls%d", s)}
		for i := range perSwitch {
			address := fmt.Sprintf("f0:00:00:%02x:%02x:%02x 10.%d.%d.%d", s>>8, s&255, i, s>>8, s&255, i+2)
			p := &nb.LogicalSwitchPort{UUID: fmt.Sprintf("port-%d-%d", s, i), Name: fmt.Sprintf("lsp-%d-%d", s, i),
				Addresses: []string{address}, PortSecurity: []string{address}}
			ls.Ports = append(ls.Ports, p.UUID)
			for _, g := range [...]int{(s + i) % switches, (s + i + 1) % switches} {
				groups[g].Ports = append(groups[g].Ports, p.UUID)
			}
			add("Logical_Switch_Port", p.UUID, p)
		}
		add("Logical_Switch", ls.UUID, ls)
	}
	for _, g := range groups {
		add("Port_Group", g.UUID, g)
	}
	return b
}

// derived is a northd that has derived what follows from benchNetwork.
func derived(switches int) (*northd.Northd, *ovsdb.Batch) {
	n, contents := northd.New(zap.NewNop()), benchNetwork(switches)
	n.Northbound(contents)
	n.Derive()
	return n, contents
}

// BenchmarkFirst derives everything of 2500 ports for the first time, and writes
// it to transactions.
func BenchmarkFirst(b *testing.B) {
	b.ReportAllocs()
	batch := benchNetwork(50)
	for b.Loop() {
		n := northd.New(zap.NewNop())
		n.Northbound(batch)
		n.Derive()
		for more := n.WriteSouthbound(ovsdb.NewTxn(), 10000); more; n.Advance() {
			more = n.ContinueSouthbound(ovsdb.NewTxn(), 10000)
		}
	}
}

// BenchmarkRecompute derives everything of 2500 ports again.
func BenchmarkRecompute(b *testing.B) {
	b.ReportAllocs()
	n, _ := derived(50)
	for b.Loop() {
		n.Recompute()
	}
}

// TestEditDerivesLittle: an edit of a switch does not derive its ports again, nor
// the groups on it, however many there are.
func TestEditDerivesLittle(t *testing.T) {
	n, contents := derived(4)
	old := contents.Changes["Logical_Switch"][0].New.(*nb.LogicalSwitch)
	for _, c := range []struct {
		name   string
		edit   func(*nb.LogicalSwitch) ovsdb.Change // changes the switch, and inserts another row
		table  string
		atMost uint64
	}{
		{"ACL", func(ls *nb.LogicalSwitch) ovsdb.Change {
			a := &nb.ACL{UUID: "new-acl", Direction: nb.ACLDirectionToLport, Priority: 1, Match: "ip4", Action: nb.ACLActionAllowRelated}
			ls.ACLs = []string{a.UUID}
			return ovsdb.Change{UUID: a.UUID, New: a}
		}, "ACL", 20},
		{"port", func(ls *nb.LogicalSwitch) ovsdb.Change {
			p := &nb.LogicalSwitchPort{UUID: "new-port", Name: "new"}
			ls.Ports = append(ls.Ports[:len(ls.Ports):len(ls.Ports)], p.UUID)
			return ovsdb.Change{UUID: p.UUID, New: p}
		}, "Logical_Switch_Port", 20},
	} {
		ls := *old
		row := c.edit(&ls)
		before, _ := n.Stats()
		n.Northbound(&ovsdb.Batch{Transactions: 1, Changes: map[string][]ovsdb.Change{
			"Logical_Switch": {{UUID: ls.UUID, Old: old, New: &ls}}, c.table: {row},
		}})
		n.Derive()
		after, _ := n.Stats()
		if got := after.Derived - before.Derived; got > c.atMost {
			t.Errorf("%s: %d derivations ran, more than %d", c.name, got, c.atMost)
		}
		old = &ls
	}
}

// TestRowsInParts: where rows only come, large tables take several transactions, and
// no row is written before those that it refers to.
func TestRowsInParts(t *testing.T) {
	const limit = 20
	n, _ := derived(4)
	write := func() (total map[string]int) {
		t.Helper()
		total = map[string]int{}
		txn := ovsdb.NewTxn()
		more := n.WriteSouthbound(txn, limit)
		for {
			for table, count := range txn.Rows() {
				total[table] += count
			}
			if txn.Rows()["Multicast_Group"] > 0 && total["Port_Binding"] < 4*perSwitch {
				t.Errorf("multicast groups are written after %d ports of %d", total["Port_Binding"], 4*perSwitch)
			}
			if rows := txn.Rows()["Port_Binding"]; rows > limit {
				t.Errorf("%d ports in one transaction, more than %d", rows, limit)
			}
			if !more {
				return total
			}
			txn = ovsdb.NewTxn()
			more = n.ContinueSouthbound(txn, limit)
			n.Advance()
		}
	}
	first := write()
	if first["Port_Binding"] != 4*perSwitch || first["Logical_Flow"] < 4*perSwitch {
		t.Errorf("written: %v", first)
	}
	// The last one failed, and the database tells of none: all of it is written again
	// with what is given up in the middle.
	n.Revisit()
	n.WriteSouthbound(ovsdb.NewTxn(), limit)
	n.ContinueSouthbound(ovsdb.NewTxn(), limit)
	n.Retry()
	if diff := cmp.Diff(first, write()); diff != "" {
		t.Errorf("after a failure (-first +again):\n%s", diff)
	}
}

// TestGroupEditDerivesLittle: an edit of a port group derives nothing of its other
// ports, nor of the switches that they are on.
func TestGroupEditDerivesLittle(t *testing.T) {
	n, contents := derived(40)
	old := contents.Changes["Port_Group"][0].New.(*nb.PortGroup)
	for _, c := range []struct {
		name string
		edit func(*nb.PortGroup) []ovsdb.Change // changes the group, and inserts other rows
	}{
		{"ACL", func(pg *nb.PortGroup) []ovsdb.Change {
			a := &nb.ACL{UUID: "new-acl", Direction: nb.ACLDirectionToLport, Priority: 1, Match: "ip4", Action: nb.ACLActionAllowRelated}
			pg.ACLs = append(pg.ACLs[:len(pg.ACLs):len(pg.ACLs)], a.UUID)
			return []ovsdb.Change{{UUID: a.UUID, New: a}}
		}},
		{"port", func(pg *nb.PortGroup) []ovsdb.Change {
			pg.Ports = pg.Ports[1:]
			return nil
		}},
	} {
		pg := *old
		b := &ovsdb.Batch{Transactions: 1, Changes: map[string][]ovsdb.Change{"ACL": c.edit(&pg)}}
		b.Changes["Port_Group"] = []ovsdb.Change{{UUID: pg.UUID, Old: old, New: &pg}}
		before, _ := n.Stats()
		n.Northbound(b)
		n.Derive()
		after, _ := n.Stats()
		if got, atMost := after.Derived-before.Derived, uint64(15); got > atMost {
			t.Errorf("%s: %d derivations ran, more than %d", c.name, got, atMost)
		}
		old = &pg
	}
}
