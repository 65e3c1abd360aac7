package northd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tracks reports whether some switch sends packets to connection tracking.
func (b *bench) tracks() bool {
	for _, r := range b.m.SB.Snapshot()["Logical_Flow"] {
		if r.Columns["actions"] == "reg0[0] = 1; next;" && r.Columns["match"] == "ip" {
			return b.switchesOf("ip") > 0
		}
	}
	return false
}

// switchesOf is on how many switches the flow with this match is.
func (b *bench) switchesOf(match string) int {
	b.Helper()
	db := b.m.SB.Snapshot()
	n := 0
	for _, r := range db["Logical_Flow"] {
		if r.Columns["match"] != match {
			continue
		}
		for _, dp := range db["Datapath_Binding"] {
			if strings.Contains(fmt.Sprint(r.Columns["logical_datapath"]), dp.UUID) {
				n++
			}
			for _, g := range db["Logical_DP_Group"] {
				if strings.Contains(fmt.Sprint(r.Columns["logical_dp_group"]), g.UUID) && strings.Contains(fmt.Sprint(g.Columns["datapaths"]), dp.UUID) {
					n++
				}
			}
		}
	}
	return n
}

func TestGroupWithoutPorts(t *testing.T) {
	b := newBench(t, "ls-add sw0", "pg-add pg0", "--type=port-group acl-add pg0 to-lport 1 tcp allow-related")
	if b.hasFlow("(tcp)") || b.tracks() {
		t.Error("the ACL of a group without ports does something")
	}
	b.run("lsp-add sw0 p0", "pg-set-ports pg0 p0")
	if !b.tracks() {
		t.Error("the group's first port does not bring its ACLs")
	}
}

func TestLastPortLeavesSwitch(t *testing.T) {
	b := newBench(t, "ls-add sw0", "ls-add sw1", "lsp-add sw0 p0", "lsp-add sw1 p1",
		"pg-add pg0 p0 p1", "--type=port-group acl-add pg0 to-lport 1 tcp drop")
	if n := b.switchesOf("(tcp)"); n != 2 {
		t.Fatalf("on %d switches, want 2", n)
	}
	b.run("pg-set-ports pg0 p1")
	if n := b.switchesOf("(tcp)"); n != 1 {
		t.Errorf("on %d switches after one was left, want 1", n)
	}
	b.run("lsp-del p1")
	if b.hasFlow("(tcp)") {
		t.Error("the ACL stays after the last port")
	}
}

func TestAllowBecomesRelated(t *testing.T) {
	for _, owner := range []string{"sw0", "pg0"} {
		b := newBench(t, "ls-add sw0", "lsp-add sw0 p0", "pg-add pg0 p0")
		kind := map[string]string{"sw0": "switch", "pg0": "port-group"}[owner]
		b.run("--type=" + kind + " --name=x acl-add " + owner + " to-lport 1 tcp allow")
		before := flowTexts(b.m.SB)
		if b.tracks() {
			t.Errorf("%s: allow makes the switch stateful", owner)
		}
		b.run("set acl x action=allow-related")
		if !b.tracks() {
			t.Errorf("%s: allow-related does not make the switch stateful", owner)
		}
		b.run("set acl x action=allow")
		if diff := cmp.Diff(before, flowTexts(b.m.SB)); diff != "" {
			t.Errorf("%s: there and back: %s", owner, diff)
		}
	}
}

func TestTierOneOnly(t *testing.T) {
	b := newBench(t, "ls-add sw0", "--tier=1 acl-add sw0 to-lport 1 tcp drop")
	if !b.hasFlow("reg8[30..31] == 1 && (tcp)") || !b.hasFlow("reg8[30..31] == 0") {
		t.Error("no way into tier 1")
	}
}

func TestPassOnly(t *testing.T) {
	b := newBench(t, "ls-add sw0", "acl-add sw0 to-lport 1 tcp pass")
	if !b.hasFlow("(tcp)") || b.tracks() {
		t.Error("a pass rule alone is not compiled, or makes the switch stateful")
	}
}

// TestSameTextInTwoGroups: the row is there as long as one of them wants it.
func TestSameTextInTwoGroups(t *testing.T) {
	b := newBench(t, "ls-add sw0", "lsp-add sw0 p0", "pg-add pg0 p0", "pg-add pg1 p0",
		"--type=port-group acl-add pg0 to-lport 1 tcp drop", "--type=port-group acl-add pg1 to-lport 1 tcp drop")
	if n := b.switchesOf("(tcp)"); n != 1 {
		t.Fatalf("there %d times, want once", n)
	}
	b.run("pg-del pg0")
	if n := b.switchesOf("(tcp)"); n != 1 {
		t.Errorf("there %d times after one group has gone, want once", n)
	}
	b.run("pg-del pg1")
	if b.hasFlow("(tcp)") {
		t.Error("stays after both groups")
	}
}

// TestGroupOfStrayPort: a port of no switch gives its group no switch.
func TestGroupOfStrayPort(t *testing.T) {
	b := newBench(t, "ls-add sw0", "lsp-add sw0 p0", "pg-add pg0 p0", "--type=port-group acl-add pg0 to-lport 1 tcp drop")
	b.run("remove logical_switch sw0 ports " + find(t, b.m.NB, "Logical_Switch_Port", "name", "p0"))
	if b.hasFlow("(tcp)") {
		t.Error("the ACL stays on the switch that the port has left")
	}
}

// TestACLOfNobody: rows that nothing refers to, as a database keeps them within
// one transaction, have no flows.
func TestACLOfNobody(t *testing.T) {
	b := newBench(t, "ls-add sw0", "create acl direction=to-lport priority=1 match=tcp action=drop")
	if b.hasFlow("(tcp)") {
		t.Error("an ACL of nobody has a flow")
	}
}

// TestSamePortInTwoSwitches: it is on one of them, and the other has nothing of it.
func TestSamePortInTwoSwitches(t *testing.T) {
	b := newBench(t, "ls-add sw0", "ls-add sw1", "lsp-add sw0 p0 -- lsp-set-addresses p0 \"50:54:00:00:00:01 10.0.0.1\"")
	p0 := find(t, b.m.NB, "Logical_Switch_Port", "name", "p0")
	b.run("add logical_switch sw1 ports " + p0)
	if n := b.switchesOf("eth.dst == 50:54:00:00:00:01"); n != 1 {
		t.Errorf("the port's flow is on %d switches, want 1", n)
	}
	b.run("remove logical_switch sw0 ports " + p0)
	if n := b.switchesOf("eth.dst == 50:54:00:00:00:01"); n != 1 || b.m.SB.Len("Port_Binding") != 1 {
		t.Errorf("after it has left one, the port's flow is on %d switches, want 1", n)
	}
}

// TestOrderOfSets: sets have no order; the same elements in another are no change.
func TestOrderOfSets(t *testing.T) {
	b := newBench(t, "ls-add sw0", "lsp-add sw0 p0", "lsp-add sw0 p1", "pg-add pg0 p0 p1",
		"lsp-set-addresses p0 \"50:54:00:00:00:01 10.0.0.1\" \"50:54:00:00:00:02 10.0.0.2\"",
		"create address_set name=as0 addresses=10.0.0.1,10.0.0.2", "--type=port-group acl-add pg0 to-lport 1 'ip4.src == $as0' drop")
	before := b.m.SB.Snapshot()
	b.run("pg-set-ports pg0 p1 p0", "set address_set as0 addresses=10.0.0.2,10.0.0.1",
		"lsp-set-addresses p0 \"50:54:00:00:00:02 10.0.0.2\" \"50:54:00:00:00:01 10.0.0.1\"")
	after := b.m.SB.Snapshot()
	delete(before, "SB_Global") // it counts the edits
	delete(after, "SB_Global")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// TestOrderOfCollectors: samples go to them in the order of their UUIDs.
func TestOrderOfCollectors(t *testing.T) {
	const first, second = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	b := newBench(t, "ls-add sw0", "create sampling_app type=acl-new id=42",
		"--id="+second+" create sample_collector name=a id=1 set_id=100 probability=5", "--id="+first+" create sample_collector name=b id=2 set_id=200 probability=6",
		"--id=@s create sample metadata=7 collectors="+second+","+first+" -- --sample-new=@s acl-add sw0 to-lport 1 tcp drop")
	const want = "sample(probability=6,collector_set=200,obs_domain=42,obs_point=7);sample(probability=5,collector_set=100,obs_domain=42,obs_point=7);"
	for text := range flowTexts(b.m.SB) {
		if strings.Contains(text, want) {
			return
		}
	}
	t.Errorf("no flow with %s", want)
}

// TestRoutersLeftAlone: what another northd has compiled of routers stays.
func TestRoutersLeftAlone(t *testing.T) {
	b := newBench(t, "lr-add lr0", "ls-add sw0")
	router := find(t, b.m.NB, "Logical_Router", "name", "lr0")
	b.run("sb: --id=@d create datapath_binding tunnel_key=77 external_ids:logical-router=" + router + " external_ids:name=lr0 -- " +
		`--id=@f create logical_flow logical_datapath=@d pipeline=ingress table_id=0 priority=5 match=\"theirs\" actions=\"next;\" -- ` +
		"create port_binding datapath=@d logical_port=lrp0 tunnel_key=1 type=patch")
	b.run("acl-add sw0 to-lport 1 tcp drop", "lsp-add sw0 p0")
	b.m.Northd.Northd.Recompute()
	b.settle()
	find(t, b.m.SB, "Datapath_Binding", "tunnel_key", "77")
	find(t, b.m.SB, "Port_Binding", "logical_port", "lrp0")
	if !b.hasFlow("theirs") {
		t.Error("the router's flow has gone")
	}
}

// TestCfg: sb_cfg follows nb_cfg, hv_cfg the slowest chassis.
func TestCfg(t *testing.T) {
	b := newBench(t, "ls-add sw0")
	number := func(column string) int {
		t.Helper()
		for _, r := range b.m.NB.Snapshot()["NB_Global"] {
			return r.Columns[column].(int)
		}
		t.Fatal("no NB_Global")
		return 0
	}
	if number("sb_cfg") != number("nb_cfg") || number("hv_cfg") != number("nb_cfg") {
		t.Errorf("without chassis: nb_cfg %d, sb_cfg %d, hv_cfg %d", number("nb_cfg"), number("sb_cfg"), number("hv_cfg"))
	}
	if got := b.m.SB.Snapshot()["SB_Global"]; len(got) != 1 || got[0].Columns["nb_cfg"] != number("nb_cfg") {
		t.Errorf("SB_Global is %v, want nb_cfg %d", got, number("nb_cfg"))
	}
	b.run("sb: create chassis_private name=c1 nb_cfg=2 nb_cfg_timestamp=1000", "sb: create chassis_private name=c2 nb_cfg=1 nb_cfg_timestamp=500")
	if got := number("hv_cfg"); got != 1 {
		t.Errorf("hv_cfg is %d, want that of the slowest chassis, 1", got)
	}
	b.run("sb: set chassis_private c2 nb_cfg=2 nb_cfg_timestamp=3000")
	if got := [2]int{number("hv_cfg"), number("hv_cfg_timestamp")}; got != [2]int{2, 3000} {
		t.Errorf("hv_cfg and its timestamp are %v, want 2 and when the last came", got)
	}
	b.run("sb: create chassis name=c3 encaps=@e other_config:is-remote=true -- --id=@e create encap type=geneve ip=1.2.3.4 chassis_name=c3 -- create chassis_private name=c3 nb_cfg=0")
	if got := number("hv_cfg"); got != 2 {
		t.Errorf("hv_cfg is %d, want 2: chassis of other zones do not count", got)
	}
	b.run("sb: destroy chassis_private c1", "sb: destroy chassis_private c2")
	if number("hv_cfg") != number("sb_cfg") {
		t.Error("hv_cfg does not follow sb_cfg when no chassis is left")
	}
}
