package acl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/flows"
)

// texts are flows as text, sorted.
func texts(fs ...flows.Flow) []string {
	var out []string
	for _, f := range fs {
		out = append(out, fmt.Sprintf("%s %d %s -> %s", f.Stage, f.Priority, f.Match, f.Actions))
	}
	slices.Sort(out)
	return out
}

func TestActions(t *testing.T) {
	const reset = "reg8[16] = 0; reg8[17] = 0; reg8[18] = 0; "
	for _, c := range []struct {
		name        string
		stage       Stage
		tier        int
		defaultDrop bool
		want        []string
	}{
		{"one tier", Ingress, 0, false, []string{
			"ls_in_acl_action 0 1 -> " + reset + "next;",
			"ls_in_acl_action 1000 reg8[16] == 1 -> " + reset + "next;",
			"ls_in_acl_action 1000 reg8[17] == 1 -> " + reset + "/* drop */",
		}},
		{"one tier, dropping by default", Egress, 0, true, []string{
			"ls_out_acl_action 0 1 -> " + reset + "/* drop */",
			"ls_out_acl_action 1000 reg8[16] == 1 -> " + reset + "next;",
			"ls_out_acl_action 1000 reg8[17] == 1 -> " + reset + "/* drop */",
		}},
		{"three tiers", AfterLB, 2, false, []string{
			"ls_in_acl_after_lb_action 0 1 -> " + reset + "reg8[30..31] = 0; next;",
			"ls_in_acl_after_lb_action 1000 reg8[16] == 1 -> " + reset + "reg8[30..31] = 0; next;",
			"ls_in_acl_after_lb_action 1000 reg8[17] == 1 -> " + reset + "reg8[30..31] = 0; /* drop */",
			"ls_in_acl_after_lb_action 500 reg8[30..31] == 0 -> reg8[30..31] = 1; next(pipeline=ingress,table=20);",
			"ls_in_acl_after_lb_action 500 reg8[30..31] == 1 -> reg8[30..31] = 2; next(pipeline=ingress,table=20);",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, texts(Actions(c.stage, c.tier, c.defaultDrop, "/* drop */")...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRejectReply(t *testing.T) {
	const body = "reg0 = 0; reject { /* eth.dst <-> eth.src; ip.dst <-> ip.src; is implicit. */ outport <-> inport; "
	for _, c := range []struct {
		stage Stage
		tier  int
		want  string
	}{
		{Ingress, 0, "ls_in_acl_action 1000 reg8[18] == 1 -> reg8[16] = 0; reg8[17] = 0; reg8[18] = 0; " + body + "next(pipeline=egress,table=10); };"},
		{AfterLB, 1, "ls_in_acl_after_lb_action 1000 reg8[18] == 1 -> reg8[16] = 0; reg8[17] = 0; reg8[18] = 0; reg8[30..31] = 0; " + body + "next(pipeline=egress,table=10); };"},
		{Egress, 0, "ls_out_acl_action 1000 reg8[18] == 1 -> reg8[16] = 0; reg8[17] = 0; reg8[18] = 0; " + body + "next(pipeline=ingress,table=32); };"},
	} {
		if diff := cmp.Diff([]string{c.want}, texts(RejectReply(c.stage, c.tier))); diff != "" {
			t.Errorf("stage %d: %s", c.stage, diff)
		}
	}
}

func TestReallow(t *testing.T) {
	for _, c := range []struct {
		stage Stage
		tier  int
		want  string
	}{
		{Ingress, 0, "ls_in_acl_eval 1 ip && ct.est && ct_mark.blocked == 1 -> reg8[16] = 1; next;"},
		{Ingress, 3, "ls_in_acl_eval 1 ip && ct.est && ct_mark.blocked == 1 && reg8[30..31] == 3 -> reg8[16] = 1; next;"},
		{Egress, 1, "ls_out_acl_eval 1 ip && ct.est && ct_mark.blocked == 1 && reg8[30..31] == 1 -> reg8[16] = 1; next;"},
	} {
		if diff := cmp.Diff([]string{c.want}, texts(Reallow(c.stage, c.tier))); diff != "" {
			t.Errorf("stage %d, tier %d: %s", c.stage, c.tier, diff)
		}
	}
}

// egressTracked are the egress flows of switches that track connections.
var egressTracked = []string{
	"ls_out_acl_eval 1 ip && !ct.est -> next;",
	"ls_out_acl_eval 65532 !ct.est && ct.rel && !ct.new && ct_mark.blocked == 0 -> reg8[21] = ct_label.nf; reg8[16] = 1; ct_commit_nat;",
	"ls_out_acl_eval 65532 ct.est && !ct.rel && ct.rpl && ct_mark.blocked == 0 -> reg8[21] = ct_label.nf; reg8[16] = 1; next;",
	"ls_out_acl_eval 65532 ct.est && ct_mark.allow_established == 1 -> reg8[21] = ct_label.nf; reg8[16] = 1; next;",
	"ls_out_acl_eval 65532 ct.inv || (ct.est && ct.rpl && ct_mark.blocked == 1) -> reg8[17] = 1; next;",
	"ls_out_acl_hint 1 ct.est && ct_mark.blocked == 0 -> reg0[10] = 1; next;",
	"ls_out_acl_hint 2 ct.est && ct_mark.blocked == 1 -> reg0[9] = 1; next;",
	"ls_out_acl_hint 3 !ct.est -> reg0[9] = 1; next;",
	"ls_out_acl_hint 4 !ct.new && ct.est && !ct.rpl && ct_mark.blocked == 0 -> reg0[8] = 1; reg0[10] = 1; next;",
	"ls_out_acl_hint 5 !ct.trk -> reg0[8] = 1; reg0[9] = 1; next;",
	"ls_out_acl_hint 6 !ct.new && ct.est && !ct.rpl && ct_mark.blocked == 1 -> reg0[7] = 1; reg0[9] = 1; reg0[1] = 1; next;",
	"ls_out_acl_hint 7 ct.new && !ct.est -> reg0[7] = 1; reg0[9] = 1; reg0[1] = 1; next;",
}

func TestTracked(t *testing.T) {
	of := func(pipeline flows.Pipeline, useInv bool) []string {
		var out []flows.Flow
		for _, f := range Tracked(useInv) {
			if f.Stage.Pipeline() == pipeline {
				out = append(out, f)
			}
		}
		return texts(out...)
	}
	if diff := cmp.Diff(egressTracked, of(flows.Egress, true)); diff != "" {
		t.Error(diff)
	}
	// Ingress also leaves notes for the rules after load balancing.
	var ingress []string
	for _, l := range egressTracked {
		l = strings.Replace(l, "ls_out_", "ls_in_", 1)
		switch {
		case strings.Contains(l, "!ct.rel"):
			l = strings.Replace(l, "-> ", "-> reg0[9] = 0; reg0[10] = 0; reg0[17] = 1; ", 1)
		case strings.Contains(l, "allow_established"):
			l = strings.Replace(l, "-> ", "-> reg0[21] = 1; ", 1)
		case strings.Contains(l, "ct.rel"):
			l = strings.Replace(l, "-> ", "-> reg0[17] = 1; ", 1)
		}
		ingress = append(ingress, l)
	}
	ingress = append(ingress,
		"ls_in_acl_after_lb_eval 65532 reg0[17] == 1 -> reg8[16] = 1; next;",
		"ls_in_acl_after_lb_eval 65532 reg0[21] == 1 -> reg8[16] = 1; next;")
	slices.Sort(ingress)
	if diff := cmp.Diff(ingress, of(flows.Ingress, true)); diff != "" {
		t.Error(diff)
	}
	// Without ct.inv, hardware that cannot match it can take over.
	for _, p := range []flows.Pipeline{flows.Ingress, flows.Egress} {
		var want []string
		for _, l := range of(p, true) {
			want = append(want, strings.Replace(l, "ct.inv || (ct.est", "(ct.est", 1))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, of(p, false)); diff != "" {
			t.Errorf("without ct.inv: %s", diff)
		}
	}
}

func TestStateful(t *testing.T) {
	const untracked = "nd || nd_rs || nd_ra || mldv1 || mldv2 || (udp && udp.src == 546 && udp.dst == 547)"
	always := []string{
		"ls_in_pre_acl 100 ip -> reg0[0] = 1; next;",
		"ls_in_pre_acl 110 ((ip4 && icmp4.type == 3 && icmp4.code == 4) || (ip6 && icmp6.type == 2 && icmp6.code == 0)) && flags.tunnel_rx == 1 -> next;",
		"ls_in_pre_acl 110 " + untracked + " -> next;",
		"ls_out_pre_acl 100 ip -> reg0[0] = 1; next;",
		"ls_out_pre_acl 110 " + untracked + " -> next;",
	}
	if diff := cmp.Diff(always, texts(Stateful(true)...)); diff != "" {
		t.Errorf("tracking multicast: %s", diff)
	}
	want := append(slices.Clone(always), "ls_in_pre_acl 110 eth.mcast -> next;", "ls_out_pre_acl 110 eth.mcast -> next;")
	slices.Sort(want)
	if diff := cmp.Diff(want, texts(Stateful(false)...)); diff != "" {
		t.Error(diff)
	}
}
