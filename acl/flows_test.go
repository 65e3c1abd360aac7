package acl

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/flows"
)

// lines are flows as text, sorted.
func lines(fs []Flow) []string {
	var out []string
	for _, f := range fs {
		out = append(out, fmt.Sprintf("%s %d %s -> %s", f.Stage, f.Priority, f.Match, f.Actions))
	}
	slices.Sort(out)
	return out
}

// with changes a rule.
func with(r Rule, change func(*Rule)) Rule {
	change(&r)
	return r
}

const blockText = "ct_commit { ct_mark.blocked = 1; ct_label.obs_point_id = 0; }; next;"

func TestFlows(t *testing.T) {
	untracked, tracked := Switch{}, Switch{Tracked: true, StatefulACL: true}
	tieredUntracked, tieredTracked := Switch{Tiered: true}, Switch{Tracked: true, StatefulACL: true, Tiered: true}
	egress := func(v Verb, priority int, match string) Rule {
		return with(rule(v, priority, match), func(r *Rule) { r.Stage = Egress })
	}
	afterLB := func(v Verb, priority int, match string) Rule {
		return with(rule(v, priority, match), func(r *Rule) { r.Stage = AfterLB })
	}
	for _, c := range []struct {
		name string
		rule Rule
		on   Switch
		want []string
	}{
		{"allow, untracked", egress(Allow, 100, "tcp"), untracked, []string{
			"ls_out_acl_eval 1100 (tcp) -> reg8[16] = 1; next;",
		}},
		{"allow, tracked", rule(Allow, 70, "icmp4"), tracked, []string{
			"ls_in_acl_eval 1070 reg0[7] == 1 && (icmp4) -> reg8[16] = 1; next;",
			"ls_in_acl_eval 1070 reg0[8] == 1 && (icmp4) -> reg8[16] = 1; next;",
		}},
		{"allow-related, untracked", rule(AllowRelated, 1, "tcp"), untracked, []string{
			"ls_in_acl_eval 1001 (tcp) -> reg8[16] = 1; next;",
		}},
		{"allow-related, tracked", egress(AllowRelated, 100, "tcp"), tracked, []string{
			"ls_out_acl_eval 1100 reg0[7] == 1 && (tcp) -> reg8[16] = 1; next;",
			"ls_out_acl_eval 1100 reg0[8] == 1 && (tcp) -> reg8[16] = 1; next;",
		}},
		{"allow-stateless, untracked", egress(AllowStateless, 100, "tcp"), untracked, []string{
			"ls_out_acl_eval 1100 (tcp) -> reg8[16] = 1; next;",
		}},
		{"allow-stateless, tracked", egress(AllowStateless, 100, "tcp"), tracked, []string{
			"ls_out_acl_eval 1100 (tcp) -> reg8[16] = 1; next;",
			"ls_out_pre_acl 1100 tcp -> reg0[16] = 1; next;",
		}},
		{"allow-stateless after load balancing, tracked", afterLB(AllowStateless, 100, "tcp"), tracked, []string{
			"ls_in_acl_after_lb_eval 1100 (tcp) -> reg8[16] = 1; next;",
			"ls_in_pre_acl 1100 tcp -> reg0[16] = 1; next;",
		}},
		{"drop, untracked", egress(Drop, 102, "icmp4"), untracked, []string{
			"ls_out_acl_eval 1102 (icmp4) -> reg8[17] = 1; next;",
		}},
		{"drop, tracked", rule(Drop, 103, "ip6"), tracked, []string{
			"ls_in_acl_eval 1103 reg0[10] == 1 && (ip6) -> reg8[17] = 1; " + blockText,
			"ls_in_acl_eval 1103 reg0[9] == 1 && (ip6) -> reg8[17] = 1; next;",
		}},
		{"reject, untracked", rule(Reject, 101, "udp"), untracked, []string{
			"ls_in_acl_eval 1101 (udp) -> reg8[18] = 1; next;",
		}},
		{"reject after load balancing, tracked", afterLB(Reject, 80, "icmp4"), tracked, []string{
			"ls_in_acl_after_lb_eval 1080 reg0[10] == 1 && (icmp4) -> reg8[18] = 1; " + blockText,
			"ls_in_acl_after_lb_eval 1080 reg0[9] == 1 && (icmp4) -> reg8[18] = 1; next;",
		}},
		{"pass, untracked", rule(Pass, 100, "tcp"), untracked, []string{
			"ls_in_acl_eval 1100 (tcp) -> next;",
		}},
		{"pass, tracked", afterLB(Pass, 100, "tcp"), tracked, []string{
			"ls_in_acl_after_lb_eval 1100 (tcp) -> next;",
		}},
		{"the highest priority", rule(Drop, 32767, "1"), untracked, []string{
			"ls_in_acl_eval 33767 (1) -> reg8[17] = 1; next;",
		}},

		{"tier 0 beside others", rule(Allow, 1, "tcp"), tieredUntracked, []string{
			"ls_in_acl_eval 1001 reg8[30..31] == 0 && (tcp) -> reg8[16] = 1; next;",
		}},
		{"tier 1, allow-related", tiered(1, rule(AllowRelated, 100, "tcp")), tieredTracked, []string{
			"ls_in_acl_eval 1100 reg8[30..31] == 1 && reg0[7] == 1 && (tcp) -> reg8[16] = 1; next;",
			"ls_in_acl_eval 1100 reg8[30..31] == 1 && reg0[8] == 1 && (tcp) -> reg8[16] = 1; next;",
		}},
		{"tier 2, drop after load balancing", tiered(2, afterLB(Drop, 100, "tcp")), tieredTracked, []string{
			"ls_in_acl_after_lb_eval 1100 reg8[30..31] == 2 && reg0[10] == 1 && (tcp) -> reg8[17] = 1; " + blockText,
			"ls_in_acl_after_lb_eval 1100 reg8[30..31] == 2 && reg0[9] == 1 && (tcp) -> reg8[17] = 1; next;",
		}},
		{"tier 3, reject", tiered(3, rule(Reject, 10, "udp")), tieredTracked, []string{
			"ls_in_acl_eval 1010 reg8[30..31] == 3 && reg0[10] == 1 && (udp) -> reg8[18] = 1; " + blockText,
			"ls_in_acl_eval 1010 reg8[30..31] == 3 && reg0[9] == 1 && (udp) -> reg8[18] = 1; next;",
		}},
		{"tier 3, stateless: past tracking before any tier", tiered(3, rule(AllowStateless, 1, "tcp")), tieredTracked, []string{
			"ls_in_acl_eval 1001 reg8[30..31] == 3 && (tcp) -> reg8[16] = 1; next;",
			"ls_in_pre_acl 1001 tcp -> reg0[16] = 1; next;",
		}},
		{"pass, logged, in tier 2", with(tiered(2, egress(Pass, 100, "udp")), func(r *Rule) { r.Log, r.Name = true, "t2" }), tieredUntracked, []string{
			`ls_out_acl_eval 1100 reg8[30..31] == 2 && (udp) -> log(name="t2", severity=info, verdict=pass); next;`,
		}},

		{"logged", with(egress(Drop, 100, "tcp"), func(r *Rule) { r.Log = true }), tracked, []string{
			"ls_out_acl_eval 1100 reg0[10] == 1 && (tcp) -> log(severity=info, verdict=drop); reg8[17] = 1; " + blockText,
			"ls_out_acl_eval 1100 reg0[9] == 1 && (tcp) -> log(severity=info, verdict=drop); reg8[17] = 1; next;",
		}},
		{"logged with a name and a severity", with(egress(AllowRelated, 101, "tcp.dst == 80"), func(r *Rule) {
			r.Log, r.Name, r.Severity = true, "allow-web", "warning"
		}), tracked, []string{
			`ls_out_acl_eval 1101 reg0[7] == 1 && (tcp.dst == 80) -> log(name="allow-web", severity=warning, verdict=allow); reg8[16] = 1; next;`,
			`ls_out_acl_eval 1101 reg0[8] == 1 && (tcp.dst == 80) -> log(name="allow-web", severity=warning, verdict=allow); reg8[16] = 1; next;`,
		}},
		{"logged through a meter", with(rule(Reject, 1, "udp"), func(r *Rule) { r.Log, r.Name, r.Meter = true, `a"b`, "m0" }), untracked, []string{
			`ls_in_acl_eval 1001 (udp) -> log(name="a\"b", severity=info, verdict=reject, meter="m0"); reg8[18] = 1; next;`,
		}},
		{"named, but not logged", with(rule(Drop, 1, "udp"), func(r *Rule) { r.Name, r.Severity, r.Meter = "n", "alert", "m0" }), untracked, []string{
			"ls_in_acl_eval 1001 (udp) -> reg8[17] = 1; next;",
		}},

		{"a label", with(egress(AllowRelated, 1002, "tcp"), func(r *Rule) { r.Label = 1234 }), tracked, []string{
			"ls_out_acl_eval 2002 reg0[7] == 1 && (tcp) -> reg8[16] = 1; reg0[13] = 1; reg3 = 1234; reg9 = 1234; reg8[0..7] = 0; reg8[8..15] = 0; reg8[19..20] = 2; next;",
			"ls_out_acl_eval 2002 reg0[8] == 1 && (tcp) -> reg8[16] = 1; reg0[1] = 1; reg0[13] = 1; reg3 = 1234; reg9 = 1234; reg8[0..7] = 0; reg8[8..15] = 0; reg8[19..20] = 2; next;",
		}},
		{"replies that are logged", with(rule(AllowRelated, 99, "udp.dst == 53"), func(r *Rule) {
			r.Log, r.Name, r.LogRelated, r.Label = true, "allow-dns", true, 77
		}), tracked, []string{
			`ls_in_acl_eval 1099 reg0[7] == 1 && (udp.dst == 53) -> log(name="allow-dns", severity=info, verdict=allow); reg8[16] = 1; reg0[13] = 1; reg3 = 77; reg9 = 77; reg8[0..7] = 0; reg8[8..15] = 0; reg8[19..20] = 0; next;`,
			`ls_in_acl_eval 1099 reg0[8] == 1 && (udp.dst == 53) -> log(name="allow-dns", severity=info, verdict=allow); reg8[16] = 1; reg0[1] = 1; reg0[13] = 1; reg3 = 77; reg9 = 77; reg8[0..7] = 0; reg8[8..15] = 0; reg8[19..20] = 0; next;`,
			`ls_out_acl_eval 65533 !ct.est && ct.rel && !ct.new && ct_mark.blocked == 0 && ct_label.label == 77 -> log(name="allow-dns", severity=info, verdict=allow); reg8[21] = ct_label.nf; reg8[16] = 1; next;`,
			`ls_out_acl_eval 65533 ct.est && !ct.rel && ct.rpl && ct_mark.blocked == 0 && ct_label.label == 77 -> log(name="allow-dns", severity=info, verdict=allow); reg8[21] = ct_label.nf; reg8[16] = 1; next;`,
		}},
		{"replies cannot be told without a label", with(egress(AllowRelated, 101, "tcp"), func(r *Rule) { r.Log, r.Name, r.LogRelated = true, "n", true }), tracked, []string{
			`ls_out_acl_eval 1101 reg0[7] == 1 && (tcp) -> log(name="n", severity=info, verdict=allow); reg8[16] = 1; next;`,
			`ls_out_acl_eval 1101 reg0[8] == 1 && (tcp) -> log(name="n", severity=info, verdict=allow); reg8[16] = 1; next;`,
		}},
		{"persistent", with(egress(AllowRelated, 100, "tcp"), func(r *Rule) { r.Persist, r.ID = true, 1 }), tracked, []string{
			"ls_out_acl_eval 1100 reg0[7] == 1 && (tcp) -> reg8[16] = 1; reg2[16..31] = 1; reg0[20] = 1; next;",
			"ls_out_acl_eval 1100 reg0[8] == 1 && (tcp) -> reg8[16] = 1; next;",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines(c.rule.Flows(c.on, Domains{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSampleFlows(t *testing.T) {
	tracked, untracked := Switch{Tracked: true, StatefulACL: true}, Switch{}
	c1, c2 := Collector{ID: 1, Probability: 65535, SetID: 100}, Collector{ID: 2, Probability: 500, SetID: 200}
	sampled := func(v Verb, stage Stage, new, est *Sample) Rule {
		return with(rule(v, 1, "1"), func(r *Rule) { r.Stage, r.SampleNew, r.SampleEst = stage, new, est })
	}
	of := func(point uint32, cs ...Collector) *Sample { return &Sample{Point: point, Collectors: cs} }
	both := Domains{New: 42, Est: 43, Registers: true}
	const (
		observe = "reg0[13] = 1; reg3 = 4301; reg9 = 4302; reg8[0..7] = 1; reg8[8..15] = 1; reg8[19..20] = 0; next;"
		est     = "flags.pkt_sampled == 0 && ip && ct.trk && (ct.est || ct.rel)"
	)
	for _, c := range []struct {
		name string
		rule Rule
		on   Switch
		d    Domains
		want []string
	}{
		{"one collector", sampled(AllowRelated, Ingress, of(4301, c1), of(4302, c1)), tracked, both, []string{
			"ls_in_acl_eval 1001 reg0[7] == 1 && (1) -> reg8[16] = 1; " + observe,
			"ls_in_acl_eval 1001 reg0[8] == 1 && (1) -> reg8[16] = 1; reg0[1] = 1; " + observe,
			"ls_in_acl_sample 1000 " + est + " && ct_label.obs_unused == 0 && !ct.rpl && ct_mark.obs_collector_id == 1 && ct_mark.obs_stage == 0 -> flags.pkt_sampled = 1; sample(probability=65535,collector_set=100,obs_domain=43,obs_point=ct_label.obs_point_id); next;",
			"ls_in_acl_sample 1000 ip && ct.new && reg8[0..7] == 1 && reg8[19..20] == 0 -> flags.pkt_sampled = 1; sample(probability=65535,collector_set=100,obs_domain=42,obs_point=reg3); next;",
			"ls_out_acl_sample 1000 " + est + " && ct_label.obs_unused == 0 && ct.rpl && ct_mark.obs_collector_id == 1 -> flags.pkt_sampled = 1; sample(probability=65535,collector_set=100,obs_domain=43,obs_point=ct_label.obs_point_id); next;",
		}},
		{"one collector, a chassis that cannot share", sampled(AllowStateless, Egress, of(4301, c1), nil), tracked, Domains{New: 42}, []string{
			"ls_out_acl_eval 1001 (1) -> reg8[16] = 1; reg0[13] = 1; reg3 = 4301; reg9 = 0; reg8[0..7] = 1; reg8[8..15] = 0; reg8[19..20] = 2; next;",
			"ls_out_acl_sample 1100 ip && reg3 == 4301 -> flags.pkt_sampled = 1; sample(probability=65535,collector_set=100,obs_domain=42,obs_point=4301); next;",
			"ls_out_pre_acl 1001 1 -> reg0[16] = 1; next;",
		}},
		{"several collectors, untracked", sampled(Drop, Egress, of(4301, c2, c1), nil), untracked, both, []string{
			"ls_out_acl_eval 1001 (1) -> reg8[17] = 1; reg0[13] = 1; reg3 = 4301; reg9 = 0; reg8[0..7] = 0; reg8[8..15] = 0; reg8[19..20] = 2; next;",
			"ls_out_acl_sample 1100 ip && reg3 == 4301 -> flags.pkt_sampled = 1; sample(probability=500,collector_set=200,obs_domain=42,obs_point=4301);sample(probability=65535,collector_set=100,obs_domain=42,obs_point=4301); next;",
		}},
		{"no collector", sampled(AllowStateless, Egress, of(99), nil), untracked, both, []string{
			"ls_out_acl_eval 1001 (1) -> reg8[16] = 1; reg0[13] = 1; reg3 = 99; reg9 = 0; reg8[0..7] = 0; reg8[8..15] = 0; reg8[19..20] = 2; next;",
			"ls_out_acl_sample 1100 ip && reg3 == 99 ->  next;",
		}},
		{"several collectors, no domain", sampled(Drop, Egress, of(4301, c1, c2), nil), untracked, Domains{}, []string{
			"ls_out_acl_eval 1001 (1) -> reg8[17] = 1; reg0[13] = 1; reg3 = 4301; reg9 = 0; reg8[0..7] = 0; reg8[8..15] = 0; reg8[19..20] = 2; next;",
		}},
		{"one collector, and chassis that cannot read registers", sampled(AllowRelated, Ingress, of(4301, c1), of(4302, c1)), tracked, Domains{New: 42, Est: 43}, []string{
			"ls_in_acl_eval 1001 reg0[7] == 1 && (1) -> reg8[16] = 1; " + observe,
			"ls_in_acl_eval 1001 reg0[8] == 1 && (1) -> reg8[16] = 1; reg0[1] = 1; " + observe,
			"ls_in_acl_sample 1100 ip && ct.new && reg3 == 4301 -> flags.pkt_sampled = 1; sample(probability=65535,collector_set=100,obs_domain=42,obs_point=4301); next;",
			"ls_in_acl_sample 1200 " + est + " && !ct.rpl && ct_label.obs_point_id == 4302 && ct_label.obs_unused == 0 -> flags.pkt_sampled = 1; sample(probability=65535,collector_set=100,obs_domain=43,obs_point=4302); next;",
			"ls_out_acl_sample 1200 " + est + " && ct.rpl && ct_label.obs_point_id == 4302 && ct_label.obs_unused == 0 -> flags.pkt_sampled = 1; sample(probability=65535,collector_set=100,obs_domain=43,obs_point=4302); next;",
		}},
		{"no sample", sampled(Drop, Egress, nil, nil), untracked, both, []string{
			"ls_out_acl_eval 1001 (1) -> reg8[17] = 1; next;",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines(c.rule.Flows(c.on, c.d))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestHints: the rule's own flows name its row; the sample flows, which rules
// share, name none.
func TestHints(t *testing.T) {
	r := with(rule(Drop, 1, "1"), func(r *Rule) {
		r.UUID = "0123456789abcdef"
		r.SampleNew = &Sample{Point: 1, Collectors: []Collector{{ID: 1}}}
	})
	for _, f := range r.Flows(Switch{}, Domains{}) {
		want := flows.Hint(r.UUID)
		if f.Stage == flows.SwitchInACLSample {
			want = ""
		}
		if f.Attrs.Hint != want {
			t.Errorf("%s: hint %q, want %q", f.Stage, f.Attrs.Hint, want)
		}
	}
}
