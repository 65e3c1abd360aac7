package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/schema/nb"
	"northwall/tests/golden/sbdump"
)

// connect opens a connection that ends with the test.
func connect(t testing.TB, database string, remotes []string, tables []*ovsdb.Table) *ovsdb.Client {
	t.Helper()
	c, err := ovsdb.Open(ovsdb.Options{Database: database, Remotes: remotes, Tables: tables, LeaderOnly: true, Probe: 5 * time.Second,
		MinBackoff: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// An editor makes random edits of switches, ports, ACLs, groups and address sets,
// whatever happens, and remembers what the northbound database must have then.
type editor struct {
	*ovsdb.Client
	t      testing.TB
	r      *rand.Rand
	global *nb.NBGlobal
	cfg    int
	edits  int // made so far

	switches, ports, acls []object
	want                  map[string]string // what there must be, by UUID: its name
	group, set            string
}

type object struct{ uuid, parent string }

func newEditor(t testing.TB, remotes []string) *editor {
	e := &editor{t: t, r: rand.New(rand.NewPCG(7, 7)), want: map[string]string{}, group: ovsdb.NewUUID(), set: ovsdb.NewUUID(),
		Client: connect(t, northbound, remotes, northd.NorthboundTables())}
	global := ovsdb.NewUUID()
	e.sure(func(txn *ovsdb.Txn) {
		txn.Insert("NB_Global", global)
		txn.Insert("Port_Group", e.group).String("name", "pg")
		txn.Insert("Address_Set", e.set).String("name", "as")
	})
	e.want[e.group], e.want[e.set] = "pg", "as"
	until(t, "the NB_Global row", func() bool { e.take(); return e.global != nil })
	return e
}

func (e *editor) take() {
	if b := e.Take(); b != nil {
		ovsdb.Each(b, "NB_Global", func(_ string, _, g *nb.NBGlobal) { e.global = g })
	}
}

// sure commits what build appends, again if the connection broke before the
// answer came: operations that build appends must bear that.
func (e *editor) sure(build func(*ovsdb.Txn)) {
	e.t.Helper()
	until(e.t, "an edit to be taken", func() bool {
		txn := e.NewTxn()
		build(txn)
		_, err := e.Transact(e.t.Context(), txn)
		// A UUID is a duplicate where the edit was committed the first time.
		return err == nil || strings.Contains(err.Error(), "duplicate uuid")
	})
}

// sync waits until the southbound database has everything up to now.
func (e *editor) sync() {
	e.t.Helper()
	e.cfg++
	e.sure(func(txn *ovsdb.Txn) { txn.Update("NB_Global", e.global.UUID).Int("nb_cfg", e.cfg) })
	until(e.t, fmt.Sprintf("sb_cfg %d", e.cfg), func() bool { e.take(); return e.global.SbCfg >= e.cfg })
}

// edit makes one random edit, which can be sent twice without harm.
func (e *editor) edit() {
	e.t.Helper()
	i := e.edits
	e.edits++
	id, name := ovsdb.NewUUID(), fmt.Sprintf("x%d", i)
	in := func(of []object) object { return of[e.r.IntN(len(of))] }
	remove := func(of *[]object, table, column string) {
		n := e.r.IntN(len(*of))
		o := (*of)[n]
		*of = slices.Delete(*of, n, n+1)
		delete(e.want, o.uuid)
		e.sure(func(txn *ovsdb.Txn) { txn.Mutate(table, o.parent).DeleteUUIDs(column, []string{o.uuid}) })
	}
	switch k := e.r.IntN(20); {
	case len(e.switches) < 3 || k == 0 && len(e.switches) < 20:
		e.sure(func(txn *ovsdb.Txn) { txn.Insert("Logical_Switch", id).String("name", name) })
		e.switches = append(e.switches, object{uuid: id})
		e.want[id] = name
	case k < 7 || len(e.ports) == 0:
		ls := in(e.switches)
		e.sure(func(txn *ovsdb.Txn) {
			c := txn.Insert("Logical_Switch_Port", id)
			c.String("name", name)
			c.String("addresses", fmt.Sprintf("50:54:00:%02x:%02x:%02x 10.%d.%d.%d", i>>16&255, i>>8&255, i&255, i>>16&255, i>>8&255, i&255))
			txn.Mutate("Logical_Switch", ls.uuid).InsertUUIDs("ports", []string{id})
		})
		e.ports = append(e.ports, object{id, ls.uuid})
		e.want[id] = name
	case k < 11:
		ls := in(e.switches)
		verb := []string{"allow", "allow-related", "allow-stateless", "drop", "reject", "pass"}[e.r.IntN(6)]
		tier := e.r.IntN(2)
		e.sure(func(txn *ovsdb.Txn) {
			c := txn.Insert("ACL", id)
			c.String("direction", []string{"to-lport", "from-lport"}[i%2])
			c.Int("priority", i%100)
			c.Int("tier", tier)
			c.String("match", fmt.Sprintf("tcp.dst == %d", i))
			c.String("action", verb)
			c.String("name", name)
			txn.Mutate("Logical_Switch", ls.uuid).InsertUUIDs("acls", []string{id})
		})
		e.acls = append(e.acls, object{id, ls.uuid})
		e.want[id] = name
	case k < 13 && len(e.acls) > 0:
		a, tier := in(e.acls), e.r.IntN(4)
		e.sure(func(txn *ovsdb.Txn) { txn.Update("ACL", a.uuid).Int("tier", tier) })
	case k < 15 && len(e.acls) > 5:
		remove(&e.acls, "Logical_Switch", "acls")
	case k < 16:
		p := in(e.ports)
		e.sure(func(txn *ovsdb.Txn) { txn.Mutate("Port_Group", e.group).InsertUUIDs("ports", []string{p.uuid}) })
	case k < 17:
		e.sure(func(txn *ovsdb.Txn) {
			txn.Mutate("Address_Set", e.set).InsertStrings("addresses", []string{fmt.Sprintf("10.200.%d.%d", i>>8&255, i&255)})
		})
	case k < 19 && len(e.ports) > 10:
		remove(&e.ports, "Logical_Switch", "ports")
	default:
		p, enabled := in(e.ports), e.r.IntN(2) == 0
		e.sure(func(txn *ovsdb.Txn) { txn.Update("Logical_Switch_Port", p.uuid).Bool("enabled", enabled) })
	}
}

// lost lists what the northbound database lacks of the edits that it has taken,
// or has although it was deleted.
func (e *editor) lost(nb sbdump.Contents) (out []string) {
	want := maps.Clone(e.want)
	for _, table := range []string{"Logical_Switch", "Logical_Switch_Port", "ACL", "Port_Group", "Address_Set"} {
		for _, r := range nb[table] {
			if fmt.Sprint(r.Columns["name"]) != want[r.UUID] {
				out = append(out, fmt.Sprintf("northbound: %s %s %v should not be there", table, r.UUID, r.Columns["name"]))
			}
			delete(want, r.UUID)
		}
	}
	for id, name := range want {
		out = append(out, fmt.Sprintf("northbound: %s %s is missing", id, name))
	}
	return out
}
