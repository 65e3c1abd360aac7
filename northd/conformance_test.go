package northd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"northwall/northd"
	"northwall/ovsdb"
)

// The tests of this file are for ground that OVN's own tests cover and no scenario
// does; docs/conformance.md says which.

// TestVXLANModeEnds: switches that found no key left with VXLAN get one when the
// mode is switched off.
func TestVXLANModeEnds(t *testing.T) {
	const most = 1<<12 - 1 // of switches, with VXLAN
	b := newBench(t, "sb: --id=@e create encap type=vxlan ip=1.2.3.4 chassis_name=c1 -- create chassis name=c1 encaps=@e")
	txn := ovsdb.NewTxn()
	for i := range most + 2 {
		txn.Insert("Logical_Switch", ovsdb.NewUUID()).String("name", fmt.Sprintf("sw%d", i))
	}
	if _, err := b.m.NB.Transact(txn); err != nil {
		t.Fatal(err)
	}
	b.settle()
	if n := b.m.SB.Len("Datapath_Binding"); n != most {
		t.Errorf("%d datapaths with VXLAN, want %d", n, most)
	}
	if ps := b.m.Northd.Northd.Problems(); len(ps) != 2 || !strings.Contains(ps[0].Reason, "no tunnel key is left") {
		t.Errorf("problems are %.300q, want two about keys", ps)
	}
	b.run("set nb_global . options:vxlan_mode=false")
	if n := b.m.SB.Len("Datapath_Binding"); n != most+2 {
		t.Errorf("%d datapaths without VXLAN, want %d", n, most+2)
	}
	if ps := b.m.Northd.Northd.Problems(); len(ps) != 0 {
		t.Errorf("still there: %.300q", ps)
	}
}

// TestDuplicates: a second southbound row for one northbound thing goes, whoever
// made it, and one stays.
func TestDuplicates(t *testing.T) {
	b := newBench(t, scene...)
	sw0 := find(t, b.m.NB, "Logical_Switch", "name", "sw0")
	before, flows := b.m.SB.Snapshot(), flowTexts(b.m.SB)
	for _, c := range []struct{ table, ops string }{
		{"Datapath_Binding", "--id=@d create datapath_binding tunnel_key=123 type=logical-switch nb_uuid=" + sw0 + " external_ids:name=sw0" +
			" -- create ip_multicast datapath=@d"},
		{"Load_Balancer", "create load_balancer name=lb0"},
		{"RBAC_Role", "create rbac_role name=ovn-controller"},
	} {
		b.run("sb: " + c.ops)
		for _, table := range []string{c.table, "IP_Multicast", "Logical_Flow"} {
			if got, want := b.m.SB.Len(table), len(before[table]); got != want {
				t.Errorf("a second %s: %d rows of %s, want %d", c.table, got, table, want)
			}
		}
	}
	if diff := cmp.Diff(flows, flowTexts(b.m.SB)); diff != "" {
		t.Error(diff)
	}
}

// TestRolesRecover: what others change of the role for chassis is put right, and
// roles of their own stay, with permissions for the same table.
func TestRolesRecover(t *testing.T) {
	b := newBench(t, "ls-add sw0",
		"sb: --id=@p create rbac_permission table=Load_Balancer -- --id=@q create rbac_permission table=Chassis authorization=x"+
			" -- create rbac_role name=custom permissions:Load_Balancer=@p permissions:Chassis=@q",
		"sb: create rbac_permission table=Meter")
	role := func(name string) map[string]string {
		db := b.m.SB.Snapshot()
		out := map[string]string{}
		for _, r := range db["RBAC_Role"] {
			if r.Columns["name"] != name {
				continue
			}
			for _, p := range db["RBAC_Permission"] {
				if strings.Contains(fmt.Sprint(r.Columns["permissions"]), p.UUID) {
					out[fmt.Sprint(p.Columns["table"])] += fmt.Sprint(p.Columns["authorization"], p.Columns["insert_delete"], p.Columns["update"])
				}
			}
		}
		return out
	}
	want, custom, rows := role("ovn-controller"), role("custom"), b.m.SB.Len("RBAC_Permission")
	if len(custom) != 2 || len(want) < 10 {
		t.Fatalf("from the start: %v, %v", custom, want)
	}
	permission := func() string {
		for _, r := range b.m.SB.Snapshot()["RBAC_Permission"] {
			if r.Columns["table"] == "Chassis" && !strings.Contains(fmt.Sprint(r.Columns["authorization"]), "x") {
				return r.UUID
			}
		}
		return ""
	}
	id := func() string { return find(t, b.m.SB, "RBAC_Role", "name", "ovn-controller") }
	for _, c := range []struct {
		line string
		more int // permissions that stay, as they may be somebody's
	}{
		{"remove rbac_permission " + permission() + " update vtep_logical_switches", 0},
		{"destroy rbac_permission " + permission(), 0},
		{"remove rbac_role " + id() + " permissions Chassis", 0},
		{"--id=@p create rbac_permission table=Logical_Flow -- set rbac_role " + id() + " permissions:Logical_Flow=@p", 1},
		{"destroy rbac_role " + id(), 0},
		{"create rbac_role name=ovn-controller", 0},
	} {
		rows += c.more
		b.run("sb: " + c.line)
		if diff := cmp.Diff(want, role("ovn-controller")); diff != "" {
			t.Errorf("after %s:\n%s", c.line, diff)
		}
		if diff := cmp.Diff(custom, role("custom")); diff != "" {
			t.Errorf("the role of others after %s:\n%s", c.line, diff)
		}
		if got := [2]int{b.m.SB.Len("RBAC_Role"), b.m.SB.Len("RBAC_Permission")}; got != [2]int{2, rows} {
			t.Errorf("after %s: %d roles, want 2, and %d permissions, want %d", c.line, got[0], got[1], rows)
		}
	}
	// What a role of others had is nobody's when it goes.
	b.run("sb: destroy rbac_role " + find(t, b.m.SB, "RBAC_Role", "name", "custom"))
	if got := b.m.SB.Len("RBAC_Permission"); got != rows-1 {
		t.Errorf("%d permissions without it, want %d: the second one for Chassis goes", got, rows-1)
	}
}

// TestAddressesAreMutated: what an address set gains and loses is written by
// itself, however large the set is.
func TestAddressesAreMutated(t *testing.T) {
	b := newBench(t, "ls-add sw0")
	set := ovsdb.NewUUID()
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	}
	nb := func(edit func(txn *ovsdb.Txn)) (written string) {
		t.Helper()
		txn := ovsdb.NewTxn()
		edit(txn)
		if _, err := b.m.NB.Transact(txn); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, txn := range b.settle() {
			out = append(out, txn.String())
		}
		return strings.Join(out, "\n")
	}
	nb(func(txn *ovsdb.Txn) {
		row := txn.Insert("Address_Set", set)
		row.String("name", "as")
		row.Strings("addresses", all)
	})
	got := nb(func(txn *ovsdb.Txn) {
		m := txn.Mutate("Address_Set", set)
		m.InsertStrings("addresses", []string{"10.9.9.9"})
		m.DeleteStrings("addresses", []string{"10.0.0.7"})
	})
	if !strings.Contains(got, "10.9.9.9") || !strings.Contains(got, "10.0.0.7") || strings.Contains(got, "10.0.0.8") {
		t.Errorf("got %.500s, want the two addresses that have changed", got)
	}
	for _, r := range b.m.SB.Snapshot()["Address_Set"] {
		if r.Columns["name"] == "as" && len(strings.Fields(fmt.Sprint(r.Columns["addresses"]))) != len(all) {
			t.Errorf("the set has become %.200v", r)
		}
	}
}

// TestCameAndWent: things that come and go between two looks at the database leave
// nothing, and neither do those that go with others that refer to them.
func TestCameAndWent(t *testing.T) {
	b := newBench(t, scene...)
	before := b.m.SB.Snapshot()
	transact := func(edit func(txn *ovsdb.Txn)) {
		t.Helper()
		txn := ovsdb.NewTxn()
		edit(txn)
		if _, err := b.m.NB.Transact(txn); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		sw, port, lb, group, pg := ovsdb.NewUUID(), ovsdb.NewUUID(), ovsdb.NewUUID(), ovsdb.NewUUID(), ovsdb.NewUUID()
		transact(func(txn *ovsdb.Txn) {
			txn.Insert("Logical_Switch", sw).String("name", "guest")
			row := txn.Insert("Load_Balancer", lb)
			row.String("name", "guest")
			row.StringMap("vips", map[string]string{"192.168.0.1": "10.0.0.1"})
		})
		transact(func(txn *ovsdb.Txn) {
			txn.Insert("Logical_Switch_Port", port).String("name", "guest")
			row := txn.Insert("Load_Balancer_Group", group)
			row.String("name", "guest")
			row.UUIDs("load_balancer", []string{lb})
			m := txn.Mutate("Logical_Switch", sw)
			m.InsertUUIDs("ports", []string{port})
			m.InsertUUIDs("load_balancer_group", []string{group})
			row = txn.Insert("Port_Group", pg)
			row.String("name", "guest")
			row.UUIDs("ports", []string{port})
		})
		transact(func(txn *ovsdb.Txn) {
			txn.Delete("Logical_Switch", sw)
			txn.Delete("Load_Balancer", lb)
			txn.Delete("Load_Balancer_Group", group)
			txn.Delete("Port_Group", pg)
		})
		for _, txn := range b.settle() {
			t.Errorf("wrote %s", txn)
		}
	}
	if diff := cmp.Diff(before, b.m.SB.Snapshot()); diff != "" {
		t.Error(diff)
	}

	// A group that is made again and then goes, with its port there all the time.
	pg, p0 := ovsdb.NewUUID(), find(t, b.m.NB, "Logical_Switch_Port", "name", "p0")
	group := func(id string) func(txn *ovsdb.Txn) {
		return func(txn *ovsdb.Txn) {
			row := txn.Insert("Port_Group", id)
			row.String("name", "guest")
			row.UUIDs("ports", []string{p0})
		}
	}
	transact(group(pg))
	b.settle()
	second := ovsdb.NewUUID()
	transact(func(txn *ovsdb.Txn) { txn.Delete("Port_Group", pg) })
	transact(group(second))
	b.settle()
	transact(func(txn *ovsdb.Txn) { txn.Delete("Port_Group", second) })
	b.settle()
	if diff := cmp.Diff(before, b.m.SB.Snapshot()); diff != "" {
		t.Error(diff)
	}
}

// TestOptionsComeBack: what a northd fills into NB_Global's options comes back when
// it is removed.
func TestOptionsComeBack(t *testing.T) {
	b := newBench(t, "ls-add sw0")
	options := func() string {
		for _, r := range b.m.NB.Snapshot()["NB_Global"] {
			return fmt.Sprint(r.Columns["options"])
		}
		return ""
	}
	for _, key := range []string{"svc_monitor_mac", "max_tunid", "mac_prefix"} {
		if !strings.Contains(options(), key+":") {
			t.Errorf("%s is missing from the start: %s", key, options())
		}
		b.run("remove nb_global . options " + key)
		if !strings.Contains(options(), key+":") {
			t.Errorf("%s has not come back: %s", key, options())
		}
	}
	b.run("sb: --id=@e create encap type=geneve ip=1.2.3.4 chassis_name=c1 -- create chassis name=c1 encaps=@e")
	if !strings.Contains(options(), "max_tunid:16711680") {
		t.Errorf("with Geneve: %s", options())
	}
	b.run("sb: set encap " + find(t, b.m.SB, "Encap", "type", "geneve") + " type=vxlan")
	if !strings.Contains(options(), "max_tunid:4095") {
		t.Errorf("with VXLAN: %s", options())
	}
}

// TestQuerySourcesGo: where multicast queries come from is what is configured, not what
// once was.
func TestQuerySourcesGo(t *testing.T) {
	b := newBench(t, "ls-add sw0")
	for option, c := range map[string]struct{ column, value string }{
		"mcast_eth_src": {"eth_src", "00:00:00:00:00:05"},
		"mcast_ip4_src": {"ip4_src", "10.0.0.5"},
		"mcast_ip6_src": {"ip6_src", "fe80::5"},
	} {
		b.run("set logical_switch sw0 other_config:" + option + `='"` + c.value + `"'`)
		find(t, b.m.SB, "IP_Multicast", c.column, c.value)
		b.run("remove logical_switch sw0 other_config " + option)
		find(t, b.m.SB, "IP_Multicast", c.column, "")
	}
}

// TestCfgAfterCommit: sb_cfg is written when the southbound database has the whole
// configuration, and nothing but that is waited for or done before.
func TestCfgAfterCommit(t *testing.T) {
	b := newBench(t, "ls-add sw0")
	txn := ovsdb.NewTxn()
	txn.Insert("Logical_Switch", ovsdb.NewUUID()).String("name", "sw1")
	txn.Raw([]byte(`{"op":"mutate","table":"NB_Global","where":[],"mutations":[["nb_cfg","+=",1]]}`))
	if _, err := b.m.NB.Transact(txn); err != nil {
		t.Fatal(err)
	}
	nb, sb := b.m.NB.Connect(northd.NorthboundTables()...), b.m.SB.Connect(northd.SouthboundTables()...)
	defer nb.Close()
	defer sb.Close()
	n := northd.New(zap.NewNop())
	n.Northbound(nb.Take())
	n.Southbound(sb.Take())
	n.Derive()
	south := sb.NewTxn()
	if n.WriteSouthbound(south, 1000) {
		t.Fatal("one transaction should do")
	}
	number := n.NBCfg()
	n.WriteNBCfg(south, number)
	cfg := func() string {
		txn := nb.NewTxn()
		n.WriteNorthbound(txn)
		n.WriteCfg(txn)
		return txn.String()
	}
	if got := cfg(); strings.Contains(got, "sb_cfg") {
		t.Errorf("before the commit: %s", got)
	}
	if _, err := sb.Send(south).Result(); err != nil {
		t.Fatal(err)
	}
	n.Committed(number)
	if got := cfg(); !strings.Contains(got, "sb_cfg") {
		t.Errorf("after the commit: %s", got)
	}
}

// TestSamplingOverridesDebugDrop: an application for dropped packets takes the place
// of options:debug_drop_domain_id.
func TestSamplingOverridesDebugDrop(t *testing.T) {
	b := newBench(t, "set nb_global . options:debug_drop_collector_set=123 options:debug_drop_domain_id=1", "ls-add sw0")
	domains := func() []string {
		var out []string
		for _, r := range b.m.SB.Snapshot()["Logical_Flow"] {
			if _, rest, ok := strings.Cut(fmt.Sprint(r.Columns["actions"]), "obs_domain="); ok {
				domain, _, _ := strings.Cut(rest, ",")
				out = append(out, domain)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	if got := domains(); !slices.Equal(got, []string{"1"}) {
		t.Errorf("domains are %q, want that of the option, 1", got)
	}
	b.run("create sampling_app type=drop id=42")
	if got := domains(); !slices.Equal(got, []string{"42"}) {
		t.Errorf("domains are %q, want that of the application, 42", got)
	}
}

// TestCollectorsOfOneSet: collectors that share a set but not a probability are told
// apart.
func TestCollectorsOfOneSet(t *testing.T) {
	b := newBench(t, "create sampling_app type=acl-new id=42", "create sampling_app type=acl-est id=43", "ls-add sw0",
		"create sample_collector name=c1 id=1 probability=10000 set_id=100", "create sample_collector name=c2 id=2 probability=20000 set_id=100")
	c1, c2 := find(t, b.m.NB, "Sample_Collector", "name", "c1"), find(t, b.m.NB, "Sample_Collector", "name", "c2")
	b.run("--id=@n create sample collectors=" + c1 + " metadata=4301 -- --id=@e create sample collectors=" + c2 + " metadata=4302" +
		" -- --sample-new=@n --sample-est=@e acl-add sw0 from-lport 1 1 allow-related")
	counts := map[string]int{}
	for text := range flowTexts(b.m.SB) {
		for _, want := range []string{"probability=10000,collector_set=100,obs_domain=42", "probability=20000,collector_set=100,obs_domain=43"} {
			if strings.Contains(text, want) {
				counts[want]++
			}
		}
		if strings.Contains(text, "probability=10000,collector_set=100,obs_domain=43") || strings.Contains(text, "probability=20000,collector_set=100,obs_domain=42") {
			t.Errorf("the other one's probability: %s", text)
		}
	}
	if len(counts) != 2 {
		t.Errorf("got %v, want both probabilities", counts)
	}
}

// TestNamesOfNeutron: the names that Neutron has for switches and ports are passed
// on, and taken back.
func TestNamesOfNeutron(t *testing.T) {
	b := newBench(t, "ls-add sw0", "lsp-add sw0 p0")
	has := func(table, key, value string) bool {
		return slices.ContainsFunc(b.m.SB.Snapshot()[table], func(r *ovsdb.Row) bool {
			return strings.Contains(fmt.Sprint(r.Columns["external_ids"]), key+":"+value)
		})
	}
	b.run("set logical_switch sw0 'external_ids:\"neutron:network_name\"=net'", "set logical_switch_port p0 'external_ids:\"neutron:port_name\"=web'")
	if !has("Datapath_Binding", "name2", "net") || !has("Port_Binding", "name", "web") {
		t.Errorf("not passed on: %v, %v", b.m.SB.Snapshot()["Datapath_Binding"], b.m.SB.Snapshot()["Port_Binding"])
	}
	b.run("remove logical_switch sw0 external_ids '\"neutron:network_name\"'", "remove logical_switch_port p0 external_ids '\"neutron:port_name\"'")
	if has("Datapath_Binding", "name2", "") || has("Port_Binding", "name", "web") {
		t.Errorf("still there: %v, %v", b.m.SB.Snapshot()["Datapath_Binding"], b.m.SB.Snapshot()["Port_Binding"])
	}
}
