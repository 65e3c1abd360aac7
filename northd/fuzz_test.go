package northd_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
	"northwall/schema"
	"northwall/tests/golden"
)

// FuzzNorthbound writes whatever there is into the northbound tables, and wants
// that nothing crashes, that a switch which nobody touched has exactly the flows
// that it would have alone, that later edits arrive, that what is wrong is said
// once, and that there is nothing left to write in the end: neither for this
// northd, nor for one that derives everything again, nor for one that starts now.
func FuzzNorthbound(f *testing.F) {
	for _, program := range hostilePrograms() {
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		core, logs := observer.New(zap.InfoLevel)
		m := golden.NewMemory()
		m.Northd.Northd = northd.New(zap.New(core))
		m.Northd.Refused = func(r northd.Refusal, err error) { t.Logf("left out: %s: %.300v", r.Row, err) }
		settle := func(what string) []*ovsdb.Txn {
			written, err := m.Northd.Settle()
			if err != nil {
				t.Fatalf("%s: %.2000v", what, err)
			}
			return written
		}
		commit(t, m.NB, addCanary)
		settle("the canary")

		w := &writer{program: program, nb: m.NB, rows: map[string][]string{}}
		for w.step() {
			settle("hostile rows")
		}
		commit(t, m.NB, extendCanary)
		settle("a later edit")

		if diff := golden.Diff(aloneFlows(t, m.NB), canaryFlows(m.SB)); diff != "" {
			t.Errorf("the canary's flows:\n%.3000s", diff)
		}
		for _, e := range logs.FilterMessageSnippet("derivation failed").All() {
			t.Errorf("a derivation failed: %.1000v", e.ContextMap())
		}
		saidOnce(t, logs)
		m.Northd.Northd.Recompute()
		if written := settle("a recompute"); len(written) != 0 {
			t.Errorf("a recompute writes: %.1000s", written[0])
		}
		if m.Northd.Northd.LeftOut() > 0 {
			return // which a northd that starts now tries again
		}
		second := golden.NewStepper(m.NB, m.SB)
		defer second.Close()
		if written, err := second.Settle(); err != nil {
			t.Errorf("a northd that starts now: %.2000v", err)
		} else if len(written) != 0 {
			t.Errorf("a northd that starts now writes: %.1000s", written[0])
		}
	})
}

// UUIDs of the canary's rows.
const (
	canarySwitch  = "ca000000-0000-4000-8000-000000000001"
	canaryPort    = "ca000000-0000-4000-8000-000000000002"
	canaryACL     = "ca000000-0000-4000-8000-000000000003"
	canaryPort2   = "ca000000-0000-4000-8000-000000000004"
	canaryACL2    = "ca000000-0000-4000-8000-000000000005"
	canaryGroup   = "ca000000-0000-4000-8000-000000000006"
	canaryGlobal  = "ca000000-0000-4000-8000-00000000000f"
	canaryAddress = "ca000000-0000-4000-8000-000000000007"
)

// addCanary makes the switch that must not be touched by anything.
func addCanary(txn *ovsdb.Txn) {
	p := txn.Insert("Logical_Switch_Port", canaryPort)
	p.String("name", "canary port")
	p.Strings("addresses", []string{"50:54:00:00:00:01 10.0.0.1 fd00::1"})
	a := txn.Insert("ACL", canaryACL)
	a.String("direction", "to-lport")
	a.Int("priority", 7)
	a.String("match", "outport == @canary_group && ip4.src == $canary_set")
	a.String("action", "allow-related")
	s := txn.Insert("Logical_Switch", canarySwitch)
	s.String("name", "canary")
	s.UUIDs("ports", []string{canaryPort})
	g := txn.Insert("Port_Group", canaryGroup)
	g.String("name", "canary_group")
	g.UUIDs("ports", []string{canaryPort})
	g.UUIDs("acls", []string{canaryACL})
	as := txn.Insert("Address_Set", canaryAddress)
	as.String("name", "canary_set")
	as.Strings("addresses", []string{"10.9.0.0/16"})
}

// extendCanary is an edit that comes later.
func extendCanary(txn *ovsdb.Txn) {
	p := txn.Insert("Logical_Switch_Port", canaryPort2)
	p.String("name", "canary port, later")
	p.Strings("addresses", []string{"unknown"})
	a := txn.Insert("ACL", canaryACL2)
	a.String("direction", "from-lport")
	a.Int("priority", 8)
	a.String("match", "tcp.dst == 99")
	a.String("action", "drop")
	m := txn.Mutate("Logical_Switch", canarySwitch)
	m.InsertUUIDs("ports", []string{canaryPort2})
	m.InsertUUIDs("acls", []string{canaryACL2})
}

// aloneFlows are the canary's flows in a database that has nothing else, but for
// the global options of another one, which are about all switches.
func aloneFlows(t *testing.T, db *memdb.DB) []string {
	global := db.Snapshot()["NB_Global"][0].Columns
	key := fmt.Sprint(global["options"], global["ipsec"], global["name"])
	flows, ok := alone[key]
	if ok {
		return flows
	}
	m := golden.NewMemory()
	commit(t, m.NB, addCanary, extendCanary, func(txn *ovsdb.Txn) {
		op := libovsdb.Operation{Op: libovsdb.OperationUpdate, Table: "NB_Global", Where: byUUID(canaryGlobal),
			Row: libovsdb.Row{"options": global["options"], "ipsec": global["ipsec"], "name": global["name"]}}
		if err := txn.Op(op); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := m.Northd.Settle(); err != nil {
		t.Fatal(err)
	}
	alone[key] = canaryFlows(m.SB)
	return alone[key]
}

// alone remembers what aloneFlows found.
var alone = map[string][]string{}

// commit executes northbound operations, which must be all right.
func commit(t *testing.T, db *memdb.DB, edits ...func(*ovsdb.Txn)) {
	t.Helper()
	txn := ovsdb.NewTxn()
	if db.Len("NB_Global") == 0 {
		txn.Insert("NB_Global", canaryGlobal)
	}
	for _, edit := range edits {
		edit(txn)
	}
	if _, err := db.Transact(txn); err != nil {
		t.Fatal(err)
	}
}

// canaryFlows are the texts of the flows on the canary, sorted.
func canaryFlows(db *memdb.DB) (out []string) {
	contents := db.Snapshot()
	on := map[string]bool{}
	refersToOn := func(v any) bool {
		return slices.ContainsFunc(references(v), func(id string) bool { return on[id] })
	}
	for _, dp := range contents["Datapath_Binding"] {
		on[dp.UUID] = slices.Contains(references(dp.Columns["nb_uuid"]), canarySwitch)
	}
	for _, g := range contents["Logical_DP_Group"] {
		on[g.UUID] = refersToOn(g.Columns["datapaths"])
	}
	for _, r := range contents["Logical_Flow"] {
		if c := r.Columns; refersToOn(c["logical_datapath"]) || refersToOn(c["logical_dp_group"]) {
			out = append(out, fmt.Sprint(c["pipeline"], c["table_id"], c["priority"], c["match"], c["actions"], c["controller_meter"]))
		}
	}
	for _, p := range contents["Port_Binding"] {
		if c := p.Columns; refersToOn(c["datapath"]) {
			out = append(out, fmt.Sprint("port ", c["logical_port"], c["type"], c["mac"], c["options"]))
		}
	}
	slices.Sort(out)
	return out
}

// references are the UUIDs in a value.
func references(v any) (ids []string) {
	switch v := v.(type) {
	case libovsdb.UUID:
		return []string{v.GoUUID}
	case libovsdb.OvsSet:
		for _, e := range v.GoSet {
			ids = append(ids, references(e)...)
		}
	}
	return ids
}

// saidOnce requires that each problem is logged once, unless it was resolved in
// between.
func saidOnce(t *testing.T, logs *observer.ObservedLogs) {
	said := map[string]bool{}
	for _, e := range logs.All() {
		rest, ok := strings.CutPrefix(e.Message, "northbound configuration: ")
		if !ok {
			continue
		}
		object, _ := e.ContextMap()["object"].(string)
		if reason, ok := strings.CutPrefix(rest, "resolved: "); ok {
			delete(said, object+reason)
			continue
		}
		if said[object+rest] {
			t.Errorf("said twice: %.300s: %.300s", object, rest)
		}
		said[object+rest] = true
	}
}

// writer makes of a program, any bytes, transactions of the northbound database
// that its schema allows as far as types go: rows of all tables that a northd
// reads, with texts of the program's and of hostileTexts, attached to each other.
// It does not know of the canary.
type writer struct {
	program []byte
	nb      *memdb.DB
	rows    map[string][]string // UUIDs of its rows, by table
	made    int
	long    bool // a long text has been used
}

func (w *writer) byte() int {
	if len(w.program) == 0 {
		return 0
	}
	b := w.program[0]
	w.program = w.program[1:]
	return int(b)
}

// hostileTables are those that a northd reads; those that matter most come up
// more often.
var hostileTables = func() (names []string) {
	for _, t := range northd.NorthboundTables() {
		names = append(names, t.Name)
	}
	for range 5 {
		names = append(names, "Logical_Switch_Port", "ACL", "Load_Balancer", "Logical_Switch", "DHCP_Options")
	}
	return names
}()

// step executes some operations, and reports whether there were any.
func (w *writer) step() bool {
	if len(w.program) == 0 || w.made > 60 {
		return false
	}
	for more := true; more && len(w.program) > 0; {
		action := w.byte()
		more = action&0x80 != 0 // another before the northd sees it
		table := hostileTables[w.byte()%len(hostileTables)]
		txn := ovsdb.NewTxn()
		ids := w.rows[table]
		switch {
		case table == "NB_Global":
			w.set(txn, table, libovsdb.Operation{Op: libovsdb.OperationUpdate, Where: byUUID(canaryGlobal)})
		case action%4 == 1 && len(ids) > 0:
			w.set(txn, table, libovsdb.Operation{Op: libovsdb.OperationUpdate, Where: byUUID(ids[w.byte()%len(ids)])})
		case action%8 == 3 && len(ids) > 0:
			i := w.byte() % len(ids)
			txn.Delete(table, ids[i])
			w.rows[table] = slices.Delete(ids, i, i+1)
		default:
			w.insert(txn, table)
		}
		_, _ = w.nb.Transact(txn) // what the database does not take is of no interest
	}
	return true
}

func byUUID(id string) []libovsdb.Condition {
	return []libovsdb.Condition{libovsdb.NewCondition("_uuid", libovsdb.ConditionEqual, libovsdb.UUID{GoUUID: id})}
}

// insert makes a row and, where only that keeps it, puts it into another.
func (w *writer) insert(txn *ovsdb.Txn, table string) {
	w.made++
	id := fmt.Sprintf("bad00000-0000-4000-8000-%012x", w.made)
	w.set(txn, table, libovsdb.Operation{Op: libovsdb.OperationInsert, UUID: id})
	w.rows[table] = append(w.rows[table], id)
	if in := referrers[table]; len(in) > 0 {
		r := in[w.byte()%len(in)]
		if len(w.rows[r.table]) == 0 {
			w.insert(txn, r.table)
		}
		owners := w.rows[r.table]
		txn.Mutate(r.table, owners[w.byte()%len(owners)]).InsertUUIDs(r.column, []string{id})
	}
}

// referrer is a column that holds references to rows of a table.
type referrer struct{ table, column string }

// referrers are the sets of references by the table that they refer to: those of
// switches, if there are any, as they are what most rows are made for.
var referrers = func() map[string][]referrer {
	out := map[string][]referrer{}
	for _, t := range northd.NorthboundTables() {
		table := t.Name
		columns := schema.Northbound().Tables[table].Columns
		for _, name := range slices.Sorted(maps.Keys(columns)) {
			if o := columns[name].TypeObj; o != nil && o.Value == nil && o.Max() != 1 && o.Key.Type == libovsdb.TypeUUID {
				to, _ := o.Key.RefTable()
				out[to] = append(out[to], referrer{table, name})
			}
		}
	}
	for to, in := range out {
		if i := slices.IndexFunc(in, func(r referrer) bool { return r.table == "Logical_Switch" }); i >= 0 {
			out[to] = append(in, in[i], in[i])
		}
	}
	return out
}()

// set completes an operation with values for some columns and appends it.
func (w *writer) set(txn *ovsdb.Txn, table string, op libovsdb.Operation) {
	columns := schema.Northbound().Tables[table].Columns
	names := slices.Sorted(maps.Keys(columns))
	op.Table, op.Row = table, libovsdb.Row{}
	for range 1 + w.byte()%6 {
		w.column(op.Row, table, names[w.byte()%len(names)])
	}
	if op.Op == libovsdb.OperationInsert { // without these a row is seldom of interest
		for _, name := range []string{"name", "match", "addresses", "vips", "cidr", "priority", "vip"} {
			if _, given := op.Row[name]; !given && columns[name] != nil {
				w.column(op.Row, table, name)
			}
		}
	}
	_ = txn.Op(op) // fails for no value that there is
}

// column gives a column a value, unless that would be a reference to nothing.
func (w *writer) column(row libovsdb.Row, table, name string) {
	texts, known := columnTexts[table+"."+name]
	if !known {
		texts = columnTexts[name]
	}
	if v, ok := w.value(schema.Northbound().Tables[table].Columns[name], texts, columnTexts[name+"="]); ok {
		row[name] = v
	}
}

// value is one for a column, of which elements, or keys, are likely to be one of
// texts, and values of a map one of those of the option or of others.
func (w *writer) value(c *libovsdb.ColumnSchema, texts, others []string) (v any, ok bool) {
	o := c.TypeObj
	if o == nil {
		return w.atom(&libovsdb.BaseType{Type: c.Type}, texts)
	}
	if o.Value == nil && o.Min() == 1 && o.Max() == 1 {
		return w.atom(o.Key, texts)
	}
	most := o.Max()
	if most == libovsdb.Unlimited {
		most = 4
	}
	n := max(w.byte()%(most+1), o.Min())
	if o.Value != nil {
		m := map[any]any{}
		for range n {
			k, _ := w.atom(o.Key, texts)
			key, _ := k.(string)
			values, known := optionTexts[key]
			if !known {
				values = others
			}
			if v, ok := w.atom(o.Value, values); ok && k != nil {
				m[k] = v
			}
		}
		return libovsdb.OvsMap{GoMap: m}, true
	}
	set := libovsdb.OvsSet{GoSet: []any{}}
	for range n {
		if v, ok := w.atom(o.Key, texts); ok && !slices.Contains(set.GoSet, v) {
			set.GoSet = append(set.GoSet, v)
		}
	}
	return set, true
}

// atom is a value of a type; strings are likely to be one of texts.
func (w *writer) atom(b *libovsdb.BaseType, texts []string) (v any, ok bool) {
	if len(b.Enum) > 0 {
		return b.Enum[w.byte()%len(b.Enum)], true
	}
	switch b.Type {
	case libovsdb.TypeInteger:
		low, _ := b.MinInteger()
		high, _ := b.MaxInteger()
		some := []int{0, 1, 2, 255, 4095, 65535, 1 << 31, -1, low, high, w.byte()}
		return min(max(some[w.byte()%len(some)], low), high), true
	case libovsdb.TypeReal:
		return float64(w.byte()), true
	case libovsdb.TypeBoolean:
		return w.byte()%2 == 0, true
	case libovsdb.TypeUUID:
		to, _ := b.RefTable()
		ids := w.rows[to]
		if len(ids) == 0 {
			return nil, false
		}
		return libovsdb.UUID{GoUUID: ids[w.byte()%len(ids)]}, true
	}
	return w.text(texts), true
}

// text is one of texts or of hostileTexts, or some bytes of the program. What is
// no UTF-8 no database has; see TestBrokenUTF8.
func (w *writer) text(texts []string) string {
	switch kind := w.byte(); {
	case kind < 160 && len(texts) > 0:
		return texts[w.byte()%len(texts)]
	case kind < 224:
		s := hostileTexts[w.byte()%len(hostileTexts)]
		if len(s) > 1<<16 && w.long {
			return "long" // one is enough
		}
		w.long = w.long || len(s) > 1<<16
		return s
	default:
		n := min(kind-224, len(w.program))
		s := string(w.program[:n])
		w.program = w.program[n:]
		return strings.ToValidUTF8(s, "\uFFFD")
	}
}
