package northd_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/ctl"
	"northwall/ovsdb/memdb"
	"northwall/tests/golden"
)

// A bench is a Northd between two databases in memory, with what it logs.
type bench struct {
	*testing.T
	m    *golden.Memory
	logs *observer.ObservedLogs
}

func newBench(t *testing.T, lines ...string) *bench {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	b := &bench{t, golden.NewMemory(), logs}
	b.m.Northd.Northd = northd.New(zap.New(core))
	b.run("init")
	b.run(lines...)
	return b
}

// run executes northbound commands, or southbound ones after "sb: ", each
// followed by what the Northd makes of it.
func (b *bench) run(lines ...string) {
	b.Helper()
	for _, line := range lines {
		rest, southbound := strings.CutPrefix(line, "sb: ")
		args, err := ctl.Words(rest)
		if err == nil && southbound {
			err = b.m.Southbound(b.Context(), args)
		} else if err == nil {
			err = b.m.Northbound(b.Context(), args)
		}
		if err != nil {
			b.Fatalf("%.200s: %v", line, err)
		}
	}
}

func (b *bench) settle() []*ovsdb.Txn {
	b.Helper()
	written, err := b.m.Northd.Settle()
	if err != nil {
		b.Fatal(err)
	}
	return written
}

// others executes a raw southbound operation behind the Northd's back.
func (b *bench) others(op string) {
	b.Helper()
	txn := ovsdb.NewTxn()
	txn.Raw([]byte(op))
	if _, err := b.m.SB.Transact(txn); err != nil {
		b.Fatalf("%s: %v", op, err)
	}
}

// logged counts the messages that begin with text about an object.
func (b *bench) logged(object, text string) int {
	n := 0
	for _, e := range b.logs.All() {
		o, _ := e.ContextMap()["object"].(string)
		if o == object && strings.HasPrefix(e.Message, "northbound configuration: "+text) {
			n++
		}
	}
	return n
}

// hasFlow reports whether there is a flow with this match.
func (b *bench) hasFlow(match string) bool {
	for _, r := range b.m.SB.Snapshot()["Logical_Flow"] {
		if r.Columns["match"] == match {
			return true
		}
	}
	return false
}

// find is the UUID of the row with a value in a column.
func find(t *testing.T, db *memdb.DB, table, column, value string) string {
	t.Helper()
	for _, r := range db.Snapshot()[table] {
		if fmt.Sprint(r.Columns[column]) == value {
			return r.UUID
		}
	}
	t.Fatalf("no row of %s with %s %.100s", table, column, value)
	return ""
}

// flowTexts counts flows by their text.
func flowTexts(db *memdb.DB) map[string]int {
	out := map[string]int{}
	for _, r := range db.Snapshot()["Logical_Flow"] {
		out[fmt.Sprint(r.Columns["pipeline"], r.Columns["table_id"], r.Columns["priority"], r.Columns["match"], r.Columns["actions"])]++
	}
	return out
}

// TestProblems: what is wrong is reported once, by name, and once more when it
// is not wrong any longer.
func TestProblems(t *testing.T) {
	const (
		key   = "options:requested-tnl-key="
		lsKey = "other_config:requested-tnl-key="
	)
	for _, c := range []struct {
		name   string
		wrong  []string
		object string // part of its name
		reason string // part of it
		fix    []string
	}{
		{"a match that does not parse",
			[]string{"--name=bad acl-add sw0 to-lport 7 'ip4 &&' drop"},
			"bad (sw0, to-lport 7)", "match: ", []string{"set acl bad match=ip4"}},
		{"a match of a group's ACL",
			[]string{"pg-add pg0", "--type=port-group --name=bad acl-add pg0 to-lport 7 'nosuch == 1' drop"},
			"bad (port group pg0, to-lport 7)", "match: ", []string{"pg-del pg0"}},
		{"a drop with a network function",
			[]string{"nfg-add nfg0 1 inline", "--name=bad acl-add sw0 to-lport 7 ip4 allow-related nfg0", "set acl bad action=drop"},
			"bad (sw0, to-lport 7)", "counts as drop without it", []string{"clear acl bad network_function_group"}},
		{"a drop that samples established packets only",
			[]string{"--id=@s create sample metadata=1 -- --id=@a create acl name=bad direction=to-lport priority=7 match=ip4 action=drop sample_est=@s -- add logical_switch sw0 acls @a"},
			"bad (sw0, to-lport 7)", "sample_est: ", []string{"set acl bad action=allow-related"}},
		{"a port in two switches",
			[]string{"ls-add sw1", "--id=@p create logical_switch_port name=p1 -- add logical_switch sw0 ports @p -- add logical_switch sw1 ports @p"},
			"logical switch port p1 (", "is on another switch too", []string{"ls-del sw1"}},
		{"a port's tunnel key that is taken",
			[]string{"lsp-add sw0 p1 -- set logical_switch_port p1 " + key + "5", "lsp-add sw0 p2 -- set logical_switch_port p2 " + key + "5"},
			"logical switch port p", "requested-tnl-key 5 is in use", []string{"lsp-del p1"}},
		{"a port's tunnel key that is too high",
			[]string{"lsp-add sw0 p1 -- set logical_switch_port p1 " + key + "99999"},
			"logical switch port p1 (", "requested-tnl-key 99999", []string{"set logical_switch_port p1 " + key + "9"}},
		{"a switch's tunnel key that is taken",
			[]string{"set logical_switch sw0 " + lsKey + "5", "ls-add sw1 -- set logical_switch sw1 " + lsKey + "5"},
			"logical switch sw", "requested-tnl-key 5 is in use", []string{"ls-del sw1"}},
		{"a network function that has nothing to be checked with",
			[]string{"lsp-add sw0 i", "lsp-add sw0 o", "nf-add f 1 i o",
				"--id=@h create network_function_health_check name=h -- set network_function f health_check=@h",
				"set nb_global . options:svc_monitor_ip=10.0.0.1 options:svc_monitor_ip_dst=10.0.0.2/24"},
			"network function f (", "svc_monitor_ip_dst", []string{"set nb_global . options:svc_monitor_ip_dst=10.0.0.2"}},
		{"a health check of an address that the port has not",
			[]string{"lsp-add sw0 p1 -- lsp-set-addresses p1 '50:54:00:00:00:01 10.0.0.1'",
				"--id=@h create logical_switch_port_health_check protocol=icmp src_ip='\"10.0.0.3\"' address='\"10.0.0.2\"' -- add logical_switch_port p1 health_checks @h"},
			"logical switch port p1 (", "10.0.0.2 is not an address of the port", []string{"lsp-set-addresses p1 '50:54:00:00:00:01 10.0.0.2'"}},
		{"a network identifier that is none",
			[]string{"set logical_switch sw0 other_config:dynamic-routing-vni=16777216"},
			"logical switch sw0 (", "dynamic-routing-vni 16777216", []string{"set logical_switch sw0 other_config:dynamic-routing-vni=7"}},
		{"a port of a type that is none",
			[]string{"lsp-add sw0 p1 -- set logical_switch_port p1 type=nosuch"},
			"logical switch port p1 (", "type nosuch is not known", []string{"set logical_switch_port p1 type=localport"}},
		{"drop samples of a domain that is none",
			[]string{"set nb_global . options:debug_drop_collector_set=1 options:debug_drop_domain_id=255"},
			"NB_Global", "debug_drop_domain_id 255", []string{"set nb_global . options:debug_drop_domain_id=254"}},
		{"a health check from nowhere",
			[]string{"lsp-add sw0 p1 -- lsp-set-addresses p1 '50:54:00:00:00:01 10.0.0.1'",
				"--id=@h create logical_switch_port_health_check protocol=icmp src_ip=host address='\"10.0.0.1\"' -- add logical_switch_port p1 health_checks @h"},
			"logical switch port p1 (", "src_ip host is not an IP address", []string{"clear logical_switch_port p1 health_checks"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "ls-add sw0")
			b.run(c.wrong...)
			ps := b.m.Northd.Northd.Problems()
			if len(ps) != 1 || !strings.Contains(ps[0].Object, c.object) || !strings.Contains(ps[0].Reason, c.reason) {
				t.Fatalf("problems are %q, want one of %q with %q", ps, c.object, c.reason)
			}
			b.run("ls-add other", "lsp-add other q", "acl-add other to-lport 1 tcp allow-related")
			b.m.Northd.Northd.Recompute()
			b.settle()
			if n := b.logged(ps[0].Object, ps[0].Reason); n != 1 {
				t.Errorf("logged %d times, want once", n)
			}
			b.run(c.fix...)
			if left := b.m.Northd.Northd.Problems(); len(left) != 0 {
				t.Errorf("still there: %q", left)
			}
			if n := b.logged(ps[0].Object, "resolved: "+ps[0].Reason); n != 1 {
				t.Errorf("resolved %d times, want once", n)
			}
		})
	}
}

// TestKeysRunOut: with VXLAN there are few keys; a port that gets none is
// reported, and compiled when there is one again.
func TestKeysRunOut(t *testing.T) {
	const most = 1<<11 - 1 // of ports on a switch, with VXLAN
	ports := make([]string, 0, most+1)
	for i := range most + 1 {
		ports = append(ports, fmt.Sprintf("lsp-add sw0 p%d", i))
	}
	b := newBench(t, "set nb_global . options:vxlan_mode=true",
		"sb: --id=@e create encap type=vxlan ip=1.2.3.4 chassis_name=c1 -- create chassis name=c1 encaps=@e", "ls-add sw0", strings.Join(ports, " -- "))
	ps := b.m.Northd.Northd.Problems()
	if len(ps) != 1 || !strings.Contains(ps[0].Reason, "no tunnel key is left") {
		t.Fatalf("problems are %.300q, want one", ps)
	}
	if n := b.m.SB.Len("Port_Binding"); n != most {
		t.Errorf("%d ports are bound, want %d", n, most)
	}
	victim := "p0"
	if strings.Contains(ps[0].Object, "port p0 ") {
		victim = "p1"
	}
	b.run("lsp-del " + victim)
	if left := b.m.Northd.Northd.Problems(); len(left) != 0 {
		t.Errorf("still there after a key is free: %q", left)
	}
	if n := b.m.SB.Len("Port_Binding"); n != most {
		t.Errorf("%d ports are bound after a key is free, want %d", n, most)
	}
}

// TestKeysAreFreed: what found no key left gets the one that another gives back.
func TestKeysAreFreed(t *testing.T) {
	uuid := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	datapath := func(b *bench) string { return find(b.T, b.m.SB, "Datapath_Binding", "tunnel_key", "1") }
	for _, c := range []struct {
		name    string
		exhaust func(b *bench)             // leaves one key
		need    func(b *bench, n int)      // makes the nth thing that needs one
		free    string                     // removes the first
		has     func(b *bench, n int) bool // the nth thing has one
	}{
		{"IP multicast groups",
			func(b *bench) { b.m.Northd.Northd.ExhaustMulticastKeys(datapath(b), 1) },
			func(b *bench, n int) {
				b.run(fmt.Sprintf("sb: --id=%s create igmp_group address=239.0.0.%d datapath=%s chassis=%s ports=%s", uuid(n), n, datapath(b),
					find(b.T, b.m.SB, "Chassis", "name", "hv0"), find(b.T, b.m.SB, "Port_Binding", "logical_port", "p0")))
			},
			"sb: destroy igmp_group " + uuid(1),
			func(b *bench, n int) bool { return b.has("Multicast_Group", "name", fmt.Sprintf("239.0.0.%d", n)) }},
		{"tags of containers",
			func(b *bench) { b.m.Northd.Northd.ExhaustTags("p0", 1) },
			func(b *bench, n int) { b.run(fmt.Sprintf("lsp-add sw0 c%d p0 0", n)) },
			"lsp-del c1",
			func(b *bench, n int) bool {
				return b.has("Port_Binding", "logical_port", fmt.Sprintf("c%d", n)) && b.has("Port_Binding", "tag", "4095")
			}},
		{"persistent ACLs",
			func(b *bench) { b.m.Northd.Northd.ExhaustACLIDs(1) },
			func(b *bench, n int) {
				b.run(fmt.Sprintf("--id=%s create acl direction=to-lport priority=%d match=tcp action=allow-related options:persist-established=true -- add logical_switch sw0 acls %[1]s", uuid(n), n))
			},
			"acl-del sw0 to-lport 1 tcp",
			func(b *bench, n int) bool { return b.m.SB.Snapshot()["ACL_ID"][0].UUID == uuid(n) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "ls-add sw0", "lsp-add sw0 p0", "set logical_switch sw0 other_config:mcast_snoop=true", "sb: chassis-add hv0 geneve 127.0.0.1")
			c.exhaust(b)
			c.need(b, 1)
			c.need(b, 2)
			if !c.has(b, 1) || len(b.m.Northd.Northd.Problems()) != 1 {
				t.Fatalf("the first has none, or no problem is reported of the second: %q", b.m.Northd.Northd.Problems())
			}
			b.run(c.free)
			if left := b.m.Northd.Northd.Problems(); !c.has(b, 2) || len(left) != 0 {
				t.Errorf("the second does not get the key that the first gave back: %q", left)
			}
		})
	}
}

// has reports whether a row has a value in a column.
func (b *bench) has(table, column, value string) bool {
	return slices.ContainsFunc(b.m.SB.Snapshot()[table], func(r *ovsdb.Row) bool { return fmt.Sprint(r.Columns[column]) == value })
}

// TestHostile: contents that nobody should write cost their own row at most.
func TestHostile(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	inSwitch := func(columns string) string {
		return "--id=@p create logical_switch_port name=px " + columns + " -- add logical_switch sw0 ports @p"
	}
	acl := func(match string) string {
		return "--id=@a create acl direction=to-lport priority=1 action=drop log=true match='" + match + "' -- add logical_switch sw0 acls @a"
	}
	for _, c := range []struct{ name, line string }{
		{"a long match", acl(`"$` + long + `"`)},
		{"a deep match", acl(`"` + strings.Repeat("(", 1<<19) + "1" + strings.Repeat(")", 1<<19) + `"`)},
		{"control characters in a match", acl(`"ip4\u0001\n\t\u007f"`)},
		{"an empty match", acl(`""`)},
		{"control characters in an ACL's name", `--id=@a create acl direction=to-lport priority=1 match=ip4 action=drop log=true name='"a\u0001\n"' -- add logical_switch sw0 acls @a`},
		{"a long port name", "--id=@p create logical_switch_port name=" + long + " -- add logical_switch sw0 ports @p"},
		{"control characters in a port's name", `--id=@p create logical_switch_port name='"a\u0001\n\t\"\\"' -- add logical_switch sw0 ports @p`},
		{"an empty port name", `--id=@p create logical_switch_port name='""' -- add logical_switch sw0 ports @p`},
		{"an address set without a name", `create address_set name='""' addresses='"10.0.0.1"' -- create port_group name='""'`},
		{"a meter without a name", `--id=@b create meter_band action=drop rate=1 -- create meter name='""' unit=kbps bands=@b`},
		{"broken addresses", inSwitch(`addresses='["zz:50 10.0.0","50:54:00:00:00:01 999.1.1.1","dynamic dynamic"," ","unknown x"]'`)},
		{"broken port security", inSwitch(`port_security='["zz","50:54:00:00:00:01 10.0.0.0/99"]'`)},
		{"a long address", inSwitch(`addresses='"50:54:00:00:00:01 ` + long + `"'`)},
		{"a router port of nothing", inSwitch("type=router options:router-port=nosuch options:requested-chassis=nosuch")},
		{"a peer that does not exist", inSwitch("type=switch options:peer=nosuch")},
		{"an unknown type", inSwitch("type=nosuch")},
		{"a parent that does not exist", inSwitch("parent_name=nosuch tag=7")},
		{"a virtual port of nothing", inSwitch("type=virtual options:virtual-ip=x options:virtual-parents='\"nosuch,,\"'")},
		{"a broken subnet", `set logical_switch sw0 other_config:subnet='"10.0.0.0/99"' other_config:exclude_ips=x..y other_config:ipv6_prefix=zz`},
		{"nonsense in global options", "set nb_global . options:mac_prefix=zz options:svc_monitor_mac=zz options:use_ct_inv_match=maybe"},
		{"a broken virtual address", `--id=@l create load_balancer name=lb0 vips='{zz=yy,"10.0.0.300:80"="10.0.0.4:99999"}' -- add logical_switch sw0 load_balancer @l`},
		{"an address set of nonsense", `create address_set name=as0 addresses='["zz","10.0.0.1/99",""]'`},
		{"a meter that does not exist", "--log --meter=nosuch acl-add sw0 to-lport 1 ip4 drop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "ls-add sw0", "lsp-add sw0 good")
			b.run(c.line, "acl-add sw0 to-lport 99 'udp.dst == 99' drop", "lsp-add sw0 late")
			// With a load balancer, packets are tracked here.
			if !b.hasFlow("(udp.dst == 99)") && !b.hasFlow("reg0[9] == 1 && (udp.dst == 99)") {
				t.Error("an ACL that came later has no flow")
			}
			find(t, b.m.SB, "Port_Binding", "logical_port", "good")
			find(t, b.m.SB, "Port_Binding", "logical_port", "late")
			b.m.Northd.Northd.Recompute()
			if written := b.settle(); len(written) != 0 {
				t.Errorf("writes again: %.300s", written[0])
			}
			for _, e := range b.logs.FilterMessageSnippet("derivation failed").All() {
				t.Errorf("a derivation failed: %.300v", e.ContextMap())
			}
		})
	}
}

// scene has something in most tables.
var scene = []string{
	"ls-add sw0", "ls-add sw1",
	"lsp-add sw0 p0 -- lsp-set-addresses p0 '50:54:00:00:00:01 10.0.0.1 fd00::1'",
	"lsp-add sw0 p1 -- lsp-set-addresses p1 unknown",
	"lsp-add sw1 p2 -- lsp-set-addresses p2 dynamic",
	`set logical_switch sw1 other_config:subnet='"10.1.0.0/24"' other_config:mcast_snoop=true`,
	"pg-add pg0 p0 p2",
	"--type=port-group acl-add pg0 to-lport 10 'outport == @pg0 && ip4.src == $as0' allow-related",
	`create address_set name=as0 addresses='"10.0.0.0/24"'`,
	"meter-add m0 drop 10 pktps 5",
	"--log --meter=m0 --tier=1 acl-add sw0 from-lport 5 tcp reject",
	"lb-add lb0 10.9.0.1:80 10.0.0.1:8080", "ls-lb-add sw0 lb0",
	"--id=@d create dns records:a.example=10.0.0.1 -- add logical_switch sw0 dns_records @d",
}

// TestSecondNorthd: one that starts on what another has written writes nothing.
func TestSecondNorthd(t *testing.T) {
	b := newBench(t, scene...)
	before := b.m.SB.Snapshot()
	second := golden.NewStepper(b.m.NB, b.m.SB)
	defer second.Close()
	written, err := second.Settle()
	if err != nil {
		t.Fatal(err)
	}
	for _, txn := range written {
		t.Errorf("wrote %s", txn)
	}
	if diff := cmp.Diff(before, b.m.SB.Snapshot()); diff != "" {
		t.Error(diff)
	}
}

// TestSettleRows: rows that the southbound database has as they are wanted are looked at
// before its flows are known; what differs of the others is written with the flows.
func TestSettleRows(t *testing.T) {
	b := newBench(t, append([]string{"sb: chassis-add hv1 geneve 127.0.0.1"}, scene...)...)
	b.others(`{"op":"update","table":"Port_Binding","where":[["logical_port","==","p1"]],"row":{"mac":"other","up":["set",[]]}}`)
	b.others(`{"op":"update","table":"Address_Set","where":[["name","==","as0"]],"row":{"addresses":"10.1.0.0/24"}}`)
	b.others(`{"op":"delete","table":"DNS","where":[]}`)
	contents := b.m.SB.Connect(northd.SouthboundTables()...).Take()
	flows := &ovsdb.Batch{Changes: map[string][]ovsdb.Change{"Logical_Flow": contents.Changes["Logical_Flow"]}}
	delete(contents.Changes, "Logical_Flow")

	second := northd.New(zap.NewNop())
	second.Northbound(b.m.NB.Connect(northd.NorthboundTables()...).Take())
	second.Southbound(contents)
	second.Derive()
	for range 2 {
		txn := ovsdb.NewTxn()
		if second.SettleRows(txn); txn.Len() > 0 {
			t.Errorf("left in the transaction: %s", txn)
		}
	}
	second.Southbound(flows)
	second.Derive()
	txn := ovsdb.NewTxn()
	second.WriteSouthbound(txn, 0)
	want := map[string]int{"Port_Binding": 2, "Address_Set": 1, "DNS": 1} // "up" by itself
	if diff := cmp.Diff(want, txn.Rows()); diff != "" {
		t.Errorf("rows written (-want +got):\n%s\n%s", diff, txn)
	}
	if _, err := b.m.SB.Transact(txn); err != nil {
		t.Fatal(err)
	}
	if !b.has("Port_Binding", "mac", "unknown") || !b.has("Address_Set", "addresses", "10.0.0.0/24") {
		t.Error("what was written is not what was wanted")
	}
}

// TestUpMeanwhile: that a port is not up yet is not written over what its chassis says
// after the northd has looked.
func TestUpMeanwhile(t *testing.T) {
	b := newBench(t, "ls-add sw0 -- lsp-add sw0 p0", "sb: chassis-add hv1 geneve 127.0.0.1")
	up := func(value string) {
		b.others(`{"op":"update","table":"Port_Binding","where":[["logical_port","==","p0"]],"row":{"up":` + value + `}}`)
	}
	up(`["set",[]]`)
	second := northd.New(zap.NewNop())
	second.Northbound(b.m.NB.Connect(northd.NorthboundTables()...).Take())
	second.Southbound(b.m.SB.Connect(northd.SouthboundTables()...).Take())
	second.Derive()
	txn := ovsdb.NewTxn()
	second.WriteSouthbound(txn, 0)
	if txn.Len() != 1 {
		t.Fatalf("want one operation, that the port is not up, got %s", txn)
	}
	up("true")
	if _, err := b.m.SB.Transact(txn); err != nil {
		t.Fatal(err)
	}
	if !b.has("Port_Binding", "up", "true") {
		t.Error("the port is no longer up")
	}
}

// TestMovedToAnotherSwitch: a port that is made again on another switch is to be
// claimed again.
func TestMovedToAnotherSwitch(t *testing.T) {
	b := newBench(t, "ls-add sw0 -- lsp-add sw0 p0", "ls-add sw1", "sb: chassis-add hv1 geneve 127.0.0.1", "sb: lsp-bind p0 hv1")
	if !b.has("Port_Binding", "up", "true") {
		t.Fatal("the port is not up")
	}
	b.run("lsp-del p0 -- lsp-add sw1 p0")
	for _, r := range b.m.SB.Snapshot()["Port_Binding"] {
		if up, chassis := fmt.Sprint(r.Columns["up"]), fmt.Sprint(r.Columns["chassis"]); up != "false" || chassis != "{[]}" {
			t.Errorf("up is %s and chassis %s", up, chassis)
		}
	}
}

// TestBecomesVirtual: a port that becomes virtual, or is no more, is to be claimed
// again: it is in another chassis's hands, or in nobody's.
func TestBecomesVirtual(t *testing.T) {
	b := newBench(t, "ls-add sw0 -- lsp-add sw0 p0", "sb: chassis-add hv1 geneve 127.0.0.1")
	for _, kind := range []string{"virtual", "vtep", "virtual", `""`} {
		b.run("sb: lsp-bind p0 hv1", "sb: set port_binding p0 virtual_parent=p1")
		if !b.has("Port_Binding", "up", "true") {
			t.Fatal("the port is not up")
		}
		b.run("lsp-set-type p0 " + kind)
		for _, r := range b.m.SB.Snapshot()["Port_Binding"] {
			if up, chassis, parent := r.Columns["up"], fmt.Sprint(r.Columns["chassis"]), fmt.Sprint(r.Columns["virtual_parent"]); fmt.Sprint(up) != "false" || chassis != "{[]}" || parent != "{[]}" {
				t.Errorf("type %s: up is %v, chassis %s and virtual_parent %s", kind, up, chassis, parent)
			}
		}
	}
}

// TestPortOfFunction: a network function's port is where its packets go, if that is on
// the switch, and a child of it otherwise.
func TestPortOfFunction(t *testing.T) {
	b := newBench(t, "ls-add sw0 -- lsp-add sw0 a -- lsp-add sw0 b -- lsp-add sw0 child a 1",
		"ls-add sw1 -- lsp-add sw1 other a 2 -- lsp-add sw1 another b 2", "nf-add nf0 1 a b -- nfg-add g 1 inline nf0")
	for i, sw := range []string{"sw0", "sw1"} {
		id := ovsdb.NewUUID()
		b.run(fmt.Sprintf("--id=%s create acl direction=from-lport priority=%d match=ip4 action=allow-related network_function_group=%s -- add logical_switch %s acls %s",
			id, i, find(t, b.m.NB, "Network_Function_Group", "name", "g"), sw, id))
	}
	flows := flowTexts(b.m.SB)
	for port, want := range map[string]bool{"a": true, "child": false, "other": true, "another": true} {
		got := 0
		for text, n := range flows {
			if strings.Contains(text, `inport == "`+port+`"`) && strings.Contains(text, "ct_label.tun_if_id") {
				got += n
			}
		}
		if got > 0 != want {
			t.Errorf("%d flows for packets from %s, want some: %t", got, port, want)
		}
	}
}

// TestQueueOfLocalnets: the queue of a port is on the network of one localnet port, and
// for what leaves by that.
func TestQueueOfLocalnets(t *testing.T) {
	b := newBench(t, "ls-add sw0 -- lsp-add sw0 p0 -- lsp-set-options p0 qos_max_rate=1000")
	localnet := func(name string) {
		b.run("lsp-add sw0 " + name + " -- lsp-set-type " + name + " localnet -- lsp-set-options " + name + " network_name=net" + name)
	}
	check := func(want string) {
		t.Helper()
		for _, name := range []string{"a", "b", "c"} {
			if match := `outport == "` + name + `" && inport == "p0"`; b.hasFlow(match) != (name == want) {
				t.Errorf("there is a flow for %s: %t", match, name != want)
			}
		}
		for _, r := range b.m.SB.Snapshot()["Port_Binding"] {
			if options := fmt.Sprint(r.Columns["options"]); fmt.Sprint(r.Columns["logical_port"]) == "p0" && !strings.Contains(options, "qos_physical_network:net"+want) {
				t.Errorf("got the options %s, want those for %s", options, want)
			}
		}
	}
	localnet("b")
	check("b")
	localnet("c")
	check("b")
	localnet("a")
	check("a")
	b.run("lsp-del a")
	check("b")
}

// TestDeletedByOthers: rows of its own that others delete come back.
func TestDeletedByOthers(t *testing.T) {
	b := newBench(t, scene...)
	for _, table := range []string{
		"Logical_Flow", "Port_Binding", "Multicast_Group", "Address_Set", "Port_Group", "Meter", "DNS",
		"IP_Multicast", "Load_Balancer", "RBAC_Role", "DHCP_Options", "DHCPv6_Options",
	} {
		t.Run(table, func(t *testing.T) {
			want := b.m.SB.Len(table)
			if want == 0 {
				t.Fatal("there are no rows")
			}
			flows := flowTexts(b.m.SB)
			b.others(`{"op":"delete","table":"` + table + `","where":[]}`)
			b.settle()
			if n := b.m.SB.Len(table); n != want {
				t.Errorf("%d rows came back, want %d", n, want)
			}
			if diff := cmp.Diff(flows, flowTexts(b.m.SB)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWiped: all rows come back, with no key given twice.
func TestWiped(t *testing.T) {
	b := newBench(t, scene...)
	b.run("ls-add sw2 -- lsp-add sw2 p3 -- lsp-add sw2 p4")
	tables := []string{"Datapath_Binding", "Port_Binding", "Multicast_Group", "Address_Set", "Port_Group", "Load_Balancer", "DNS", "Meter", "IP_Multicast"}
	want, flows := map[string]int{}, flowTexts(b.m.SB)
	for _, table := range tables {
		want[table] = b.m.SB.Len(table)
	}
	for range 3 {
		b.wipe()
		b.settle()
		for _, table := range tables {
			if got := b.m.SB.Len(table); got != want[table] {
				t.Errorf("%s: %d rows came back, want %d", table, got, want[table])
			}
		}
		if diff := cmp.Diff(flows, flowTexts(b.m.SB)); diff != "" {
			t.Error(diff)
		}
		b.run("lsp-add sw2 q -- lsp-del q")
	}
}

// TestWipedDuringEdits: what is new when the rows are gone gets no key of those that
// are to come back.
func TestWipedDuringEdits(t *testing.T) {
	b := newBench(t, scene...)
	switches, ports := b.m.SB.Len("Datapath_Binding"), b.m.SB.Len("Port_Binding")
	for i := range 5 {
		b.wipe()
		b.run(fmt.Sprintf("ls-add new%d -- lsp-add new%d np%d -- lsp-add sw1 nq%d", i, i, i, i),
			"sb: chassis-add hv1 geneve 127.0.0.1", "sb: chassis-del hv1")
		switches, ports = switches+1, ports+2
		if n := b.m.SB.Len("Datapath_Binding"); n != switches {
			t.Errorf("%d datapaths, want %d", n, switches)
		}
		if n := b.m.SB.Len("Port_Binding"); n != ports {
			t.Errorf("%d ports, want %d", n, ports)
		}
		if n := b.m.Northd.Northd.LeftOut(); n != 0 {
			t.Errorf("%d rows are left out", n)
		}
	}
}

// wipe deletes all southbound rows behind the Northd's back.
func (b *bench) wipe() {
	b.Helper()
	txn := ovsdb.NewTxn()
	for table := range b.m.SB.Schema().Tables {
		txn.Raw([]byte(`{"op":"delete","table":"` + table + `","where":[]}`))
	}
	if _, err := b.m.SB.Transact(txn); err != nil {
		b.Fatal(err)
	}
}

// TestChangedByOthers: columns of its own that others change are put right.
func TestChangedByOthers(t *testing.T) {
	b := newBench(t, scene...)
	for _, c := range []struct{ table, op string }{
		{"Port_Binding", `"where":[],"row":{"mac":"junk"}`},
		{"Address_Set", `"where":[["name","==","as0"]],"row":{"addresses":"1.2.3.4"}`},
		{"Port_Group", `"where":[],"row":{"ports":["set",[]]}`},
		{"Meter", `"where":[],"row":{"unit":"kbps"}`},
		{"DNS", `"where":[],"row":{"records":["map",[]]}`},
		{"Multicast_Group", `"where":[],"row":{"ports":["set",[]]}`},
		{"Logical_DP_Group", `"where":[],"row":{"datapaths":["set",[]]}`},
	} {
		t.Run(c.table, func(t *testing.T) {
			before := b.m.SB.Snapshot()[c.table]
			b.others(`{"op":"update","table":"` + c.table + `",` + c.op + `}`)
			if cmp.Equal(before, b.m.SB.Snapshot()[c.table]) {
				t.Fatal("nothing has changed")
			}
			b.settle()
			if diff := cmp.Diff(before, b.m.SB.Snapshot()[c.table]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFailedTransactions: a transaction that the database refuses, or of which
// nobody knows what became, is made up for.
func TestFailedTransactions(t *testing.T) {
	refusal := &ovsdb.TxnError{Op: -1, Kind: "resources exhausted"}
	lost := errors.New("cable pulled")
	for _, c := range []struct {
		name  string
		fault func(*memdb.Conn)
	}{
		{"refused", func(c *memdb.Conn) { c.Refuse(1, refusal) }},
		{"refused three times", func(c *memdb.Conn) { c.Refuse(3, refusal) }},
		{"lost on the way there", func(c *memdb.Conn) { c.Break(0, false, lost) }},
		{"lost on the way back", func(c *memdb.Conn) { c.Break(0, true, lost) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, scene...)
			sb := memdb.New(b.m.SB.Schema()).LimitRows("SB_Global", 1)
			nbConn, sbConn := b.m.NB.Connect(northd.NorthboundTables()...), sb.Connect(northd.SouthboundTables()...)
			n := northd.New(zap.NewNop())
			c.fault(sbConn)
			failures := 0
			for round := 0; ; round++ {
				if round == 40 {
					t.Fatal("still writing")
				}
				if batch := nbConn.Take(); batch != nil {
					n.Northbound(batch)
				}
				if batch := sbConn.Take(); batch != nil {
					n.Southbound(batch)
				}
				n.Derive()
				txn := sbConn.NewTxn()
				if more := n.WriteSouthbound(txn, 1000); txn.Len() == 0 && !more {
					break
				}
				if _, err := sbConn.Send(txn).Result(); err != nil {
					failures++
					sbConn.Restore()
					n.Retry()
				}
			}
			if failures == 0 {
				t.Fatal("nothing has failed")
			}
			for _, table := range []string{"Datapath_Binding", "Port_Binding", "Multicast_Group", "Port_Group", "Address_Set", "Meter", "DNS", "Load_Balancer", "Logical_DP_Group"} {
				if got, want := sb.Len(table), b.m.SB.Len(table); got != want {
					t.Errorf("%s has %d rows, want %d", table, got, want)
				}
			}
			if diff := cmp.Diff(flowTexts(b.m.SB), flowTexts(sb)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
