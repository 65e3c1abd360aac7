package acl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/acl/expr"
	"northwall/flows"
)

// A verdict is what becomes of a packet at the end of a pipeline.
type verdict string

const (
	passes   verdict = "pass"
	dropped  verdict = "drop"
	rejected verdict = "reject"
)

const dropText = "/* drop */"

// A filter is the ACL tables of one switch, in the order in which packets pass
// them, with the flows that the package makes for a list of rules.
type filter struct{ tables map[flows.Stage][]entry }

type entry struct {
	flow  flows.Flow
	match *expr.Expr
}

// pipelines are the stages that the walker passes.
var pipelines = map[flows.Pipeline][]flows.Stage{
	flows.Ingress: {
		flows.SwitchInPreACL, flows.SwitchInACLHint,
		flows.SwitchInACLEval, flows.SwitchInACLSample, flows.SwitchInACLAction,
		flows.SwitchInACLAfterLBEval, flows.SwitchInACLAfterLBSample, flows.SwitchInACLAfterLBAction,
	},
	flows.Egress: {
		flows.SwitchOutPreACL, flows.SwitchOutACLHint,
		flows.SwitchOutACLEval, flows.SwitchOutACLSample, flows.SwitchOutACLAction,
	},
}

// newFilter puts together what a switch with these rules has.
func newFilter(t *testing.T, defaultDrop bool, rules ...Rule) *filter {
	t.Helper()
	all := slices.Clone(Always)
	var sw Switch
	var highest [NumStages]int
	for _, r := range rules {
		sw.StatefulACL = sw.StatefulACL || r.Stateful()
		highest[r.Stage] = max(highest[r.Stage], r.Tier)
	}
	sw.Tracked = sw.StatefulACL
	if len(rules) == 0 {
		all = slices.Concat(all, Unfiltered, WithoutRules)
	} else {
		all = append(all, Filtered...)
		for s := range NumStages {
			all = append(all, Actions(s, highest[s], defaultDrop, dropText)...)
			all = append(all, RejectReply(s, highest[s]))
			if sw.StatefulACL && s != AfterLB {
				all = append(all, Reallow(s, highest[s]))
			}
		}
	}
	if sw.StatefulACL {
		all = slices.Concat(all, Stateful(false), Tracked(true))
	}
	for i := range rules {
		of := sw
		of.Tiered = highest[rules[i].Stage] > 0
		for _, f := range rules[i].Flows(of, Domains{}) {
			all = append(all, f.Flow)
		}
	}
	f := &filter{map[flows.Stage][]entry{}}
	for _, fl := range all {
		e, err := expr.Parse(fl.Match, expr.Unresolved)
		if err != nil {
			t.Fatalf("%s: match %s: %v", fl.Stage, fl.Match, err)
		}
		f.tables[fl.Stage] = append(f.tables[fl.Stage], entry{fl, e})
	}
	return f
}

// A connection is what connection tracking remembers between packets.
type connection struct{ known, blocked, established bool }

// Bits of ct_state, ovn-sb(5).
const (
	ctNew = 1 << 0
	ctEst = 1 << 1
	ctRpl = 1 << 3
	ctInv = 1 << 4
	ctTrk = 1 << 5
)

// A state is a packet on its way.
type state struct {
	regs    map[string]uint64 // by field, as actions write it
	ct      connection
	ctState int
	ctMark  int
	tracked bool
}

func (s state) clone() state {
	s.regs = maps.Clone(s.regs)
	return s
}

// An outcome is a packet's verdict and what it leaves behind.
type outcome struct {
	Verdict verdict
	Tracked bool // it went through connection tracking
	ct      connection
}

// send passes a packet and returns every outcome that Open vSwitch may choose:
// of equal priorities that match, any.
func (f *filter) send(t *testing.T, p flows.Pipeline, packet string, ct connection, ctFlags int) []outcome {
	t.Helper()
	w := walker{t: t, filter: f, pipeline: p, packet: packet, flags: ctFlags}
	w.enter(0, state{regs: map[string]uint64{}, ct: ct})
	return w.outcomes
}

type walker struct {
	t        *testing.T
	filter   *filter
	pipeline flows.Pipeline
	packet   string
	flags    int
	steps    int
	outcomes []outcome
}

func (w *walker) enter(at int, s state) {
	w.t.Helper()
	if w.steps++; w.steps > 1000 {
		w.t.Fatalf("%s goes round in circles", w.packet)
	}
	stages := pipelines[w.pipeline]
	if at == len(stages) {
		if s.regs[bitCommit] == 1 {
			s.ct.known, s.ct.blocked = true, false
			s.ct.established = s.ct.established || s.regs[bitPersist] == 1
		}
		w.finish(passes, s)
		return
	}
	stage := stages[at]
	if stage == flows.SwitchInACLHint || stage == flows.SwitchOutACLHint {
		s = w.track(s)
	}
	h := w.header(s)
	var best []entry
	for _, e := range w.filter.tables[stage] {
		if !e.match.Eval(h) {
			continue
		}
		if len(best) > 0 && e.flow.Priority > best[0].flow.Priority {
			best = best[:0]
		}
		if len(best) == 0 || e.flow.Priority == best[0].flow.Priority {
			best = append(best, e)
		}
	}
	if len(best) == 0 {
		w.t.Fatalf("%s: no flow of %s matches", w.packet, stage)
	}
	for _, e := range best {
		w.act(at, e.flow, s.clone())
	}
}

// track is table "pre-stateful": what the ACLs have marked goes to connection
// tracking.
func (w *walker) track(s state) state {
	if s.regs[bitTrack] != 1 {
		return s
	}
	s.tracked = true
	s.ctState = ctTrk | w.flags
	switch {
	case w.flags&ctInv != 0:
	case !s.ct.known:
		s.ctState = ctTrk | ctNew
	default:
		s.ctState |= ctEst
	}
	if s.ct.blocked {
		s.ctMark |= 1
	}
	if s.ct.established {
		s.ctMark |= 1 << 6
	}
	return s
}

// header is the packet as matches see it.
func (w *walker) header(s state) *expr.Header {
	terms := []string{w.packet, fmt.Sprintf("ct_state == %d && ct_mark == %d", s.ctState, s.ctMark)}
	for _, name := range slices.Sorted(maps.Keys(s.regs)) {
		terms = append(terms, name+" == "+strconv.FormatUint(s.regs[name], 10))
	}
	h, err := expr.NewHeader(strings.Join(terms, " && "))
	if err != nil {
		w.t.Fatalf("%s: %v", strings.Join(terms, " && "), err)
	}
	return h
}

// act carries out a flow's actions.
func (w *walker) act(at int, f flows.Flow, s state) {
	w.t.Helper()
	rest := f.Actions
	for {
		rest = strings.TrimSpace(rest)
		switch {
		case rest == dropText:
			w.finish(dropped, s)
			return
		case strings.HasPrefix(rest, "reject {"):
			w.finish(rejected, s)
			return
		case strings.HasPrefix(rest, "ct_commit {"):
			body, after, _ := strings.Cut(rest, "};")
			if !strings.Contains(body, "ct_mark.blocked = 1;") {
				w.t.Fatalf("%s: unknown commit in %s", f.Stage, f.Actions)
			}
			s.ct.known, s.ct.blocked = true, true
			rest = after
			continue
		}
		var one string
		var more bool
		one, rest, more = strings.Cut(rest, ";")
		if !more {
			w.t.Fatalf("%s: actions that end without a verdict: %q", f.Stage, f.Actions)
		}
		switch {
		case one == "next" || one == "ct_commit_nat":
			w.enter(at+1, s)
			return
		case strings.HasPrefix(one, "next("):
			w.enter(w.target(f, one), s)
			return
		}
		field, value, ok := strings.Cut(one, " = ")
		if !ok {
			w.t.Fatalf("%s: unknown action %q", f.Stage, one)
		}
		if value == "ct_label.nf" {
			value = "0" // no network functions here
		}
		if field == "reg0" {
			maps.DeleteFunc(s.regs, func(name string, _ uint64) bool { return strings.HasPrefix(name, "reg0[") })
			continue
		}
		v, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			w.t.Fatalf("%s: %q: %v", f.Stage, one, err)
		}
		s.regs[field] = v
	}
}

// target is where in the pipeline a "next(pipeline=…,table=…)" leads.
func (w *walker) target(f flows.Flow, action string) int {
	for i, st := range pipelines[w.pipeline] {
		if action == fmt.Sprintf("next(pipeline=%s,table=%d)", w.pipeline, st.Table()) {
			return i
		}
	}
	w.t.Fatalf("%s: %s leads out of the ACLs", f.Stage, action)
	return 0
}

// finish notes an outcome, each once.
func (w *walker) finish(v verdict, s state) {
	o := outcome{v, s.tracked, s.ct}
	if !slices.Contains(w.outcomes, o) {
		w.outcomes = append(w.outcomes, o)
	}
}

// verdicts are the sorted verdicts of outcomes, each once.
func verdicts(os []outcome) []verdict {
	var out []verdict
	for _, o := range os {
		out = append(out, o.Verdict)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Packets.
const (
	web      = "ip4 && tcp.dst == 80"
	ssh      = "ip4 && tcp.dst == 22"
	dns      = "ip4 && udp.dst == 53"
	arp      = "arp.op == 1"
	nd       = "nd_ns"
	ra       = "nd_ra"
	listener = "mldv2"
	group    = "eth.dst == 01:00:5e:00:00:05 && ip4 && udp.dst == 53"
)

// stagesOf are the stages of rules, with the pipeline that they are in.
var stagesOf = []struct {
	stage    Stage
	pipeline flows.Pipeline
}{{Ingress, flows.Ingress}, {AfterLB, flows.Ingress}, {Egress, flows.Egress}}

func rule(v Verb, priority int, match string) Rule {
	return Rule{UUID: "11111111", Verb: v, Priority: priority, Match: match}
}

func tiered(tier int, r Rule) Rule {
	r.Tier = tier
	return r
}

// at moves rules to a stage.
func at(stage Stage, rules []Rule) []Rule {
	out := slices.Clone(rules)
	for i := range out {
		out[i].Stage = stage
	}
	return out
}

// elsewhere makes a switch track connections without deciding anything about
// the packets of these tests.
var elsewhere = rule(AllowRelated, 1, "sctp.dst == 9")

// TestVerdictOfFirstPacket: what happens to the first packet of a connection,
// in every stage, on switches that track connections and on those that do not.
func TestVerdictOfFirstPacket(t *testing.T) {
	for _, c := range []struct {
		name        string
		rules       []Rule
		defaultDrop bool
		want        map[string]verdict // by packet
	}{
		{"no verdict", []Rule{rule(Drop, 1, "udp")}, false, map[string]verdict{web: passes, dns: dropped, arp: passes}},
		{"no verdict, dropping by default", []Rule{rule(Allow, 1, "udp")}, true, map[string]verdict{web: dropped, dns: passes}},
		{"each verb", []Rule{
			rule(Allow, 5, "tcp.dst == 80"), rule(Reject, 4, "tcp.dst == 22"), rule(Drop, 3, "udp"),
		}, false, map[string]verdict{web: passes, ssh: rejected, dns: dropped}},
		{"the higher priority decides: drop", []Rule{rule(Allow, 1, "ip4"), rule(Drop, 2, "tcp")}, false, map[string]verdict{web: dropped, dns: passes}},
		{"the higher priority decides: allow", []Rule{rule(Allow, 2, "tcp"), rule(Drop, 1, "ip4")}, false, map[string]verdict{web: passes, dns: dropped}},
		{"the lowest and the highest priority", []Rule{rule(Reject, 0, "ip4"), rule(Drop, 32767, "tcp")}, false, map[string]verdict{web: dropped, dns: rejected}},
		{"a tier without a verdict is followed by the next", []Rule{
			tiered(0, rule(Allow, 1, "udp")), tiered(1, rule(Drop, 1, "ip4")),
		}, false, map[string]verdict{web: dropped, dns: passes}},
		{"pass goes on to the next tier", []Rule{
			tiered(0, rule(Pass, 9, "tcp")), tiered(0, rule(Drop, 8, "ip4")), tiered(1, rule(Allow, 1, "ip4")),
		}, true, map[string]verdict{web: passes, dns: dropped}},
		{"pass in the last tier leaves it to the default", []Rule{
			tiered(3, rule(Pass, 9, "tcp")), tiered(3, rule(Allow, 8, "ip4")),
		}, true, map[string]verdict{web: dropped, dns: passes}},
		{"pass only", []Rule{rule(Pass, 9, "tcp")}, false, map[string]verdict{web: passes}},
		{"tier 1 only", []Rule{tiered(1, rule(Drop, 1, "tcp"))}, false, map[string]verdict{web: dropped, dns: passes}},
		{"all four tiers", []Rule{
			tiered(0, rule(Pass, 1, "ip4")), tiered(1, rule(Pass, 1, "ip4")), tiered(2, rule(Reject, 1, "udp")), tiered(3, rule(Drop, 1, "ip4")),
		}, false, map[string]verdict{web: dropped, dns: rejected}},
		{"an earlier tier is final", []Rule{
			tiered(0, rule(Allow, 1, "tcp")), tiered(1, rule(Drop, 30000, "ip4")),
		}, false, map[string]verdict{web: passes, dns: dropped}},
		{"a stateless rule", []Rule{rule(AllowStateless, 2, "tcp"), rule(Drop, 1, "ip4")}, false, map[string]verdict{web: passes, dns: dropped}},
		// What every host needs is never filtered; multicast to groups is, but
		// without connection tracking.
		{"neighbour discovery", []Rule{rule(Drop, 32767, "1")}, true, map[string]verdict{nd: passes, ra: passes, listener: passes, arp: dropped}},
	} {
		for _, tracked := range []bool{false, true} {
			for _, where := range stagesOf {
				rules := c.rules
				if tracked {
					rules = append([]Rule{elsewhere}, rules...)
				}
				name := fmt.Sprintf("%s/tracked=%v/stage %d", c.name, tracked, where.stage)
				t.Run(name, func(t *testing.T) {
					f := newFilter(t, false, at(where.stage, rules)...)
					if c.defaultDrop {
						f = newFilter(t, true, at(where.stage, rules)...)
						// The default is for each stage: let the other ingress one be.
						if where.pipeline == flows.Ingress {
							other := Ingress + AfterLB - where.stage
							f = newFilter(t, true, append(at(where.stage, rules), at(other, []Rule{rule(Allow, 0, "1")})...)...)
						}
					}
					for packet, want := range c.want {
						got := verdicts(f.send(t, where.pipeline, packet, connection{}, 0))
						if diff := cmp.Diff([]verdict{want}, got); diff != "" {
							t.Errorf("%s: %s", packet, diff)
						}
					}
				})
			}
		}
	}
}

// TestVerdictWithoutRules: a switch without rules filters nothing.
func TestVerdictWithoutRules(t *testing.T) {
	f := newFilter(t, true)
	for p := range pipelines {
		for _, packet := range []string{web, dns, arp, nd, group} {
			if diff := cmp.Diff([]outcome{{Verdict: passes}}, f.send(t, p, packet, connection{}, 0), cmp.AllowUnexported(outcome{}, connection{})); diff != "" {
				t.Errorf("%s %s: %s", p, packet, diff)
			}
		}
	}
}

// TestVerdictEqualPriorities: of rules of one priority any may decide, but one of
// them does.
func TestVerdictEqualPriorities(t *testing.T) {
	for _, where := range stagesOf {
		f := newFilter(t, false, at(where.stage, []Rule{rule(Drop, 5, "tcp"), rule(Reject, 5, "ip4"), rule(Allow, 4, "1")})...)
		for packet, want := range map[string][]verdict{web: {dropped, rejected}, dns: {rejected}, arp: {passes}} {
			if diff := cmp.Diff(want, verdicts(f.send(t, where.pipeline, packet, connection{}, 0))); diff != "" {
				t.Errorf("stage %d, %s: %s", where.stage, packet, diff)
			}
		}
	}
}

// TestTracking: which packets go to connection tracking.
func TestTracking(t *testing.T) {
	for _, where := range stagesOf {
		stateful := newFilter(t, false, at(where.stage, []Rule{elsewhere, rule(AllowStateless, 10, "tcp.dst == 80")})...)
		untracked := newFilter(t, false, at(where.stage, []Rule{rule(Allow, 1, "ip4"), rule(AllowStateless, 10, "tcp.dst == 80")})...)
		for _, c := range []struct {
			packet string
			want   bool
		}{
			{ssh, true},
			{dns, true},
			{arp, false},
			{nd, false},
			{ra, false},
			{listener, false},
			{group, false},
		} {
			if got := stateful.send(t, where.pipeline, c.packet, connection{}, 0); got[0].Tracked != c.want {
				t.Errorf("stage %d: %s is tracked: %v, want %v", where.stage, c.packet, got[0].Tracked, c.want)
			}
			if got := untracked.send(t, where.pipeline, c.packet, connection{}, 0); got[0].Tracked {
				t.Errorf("stage %d: %s is tracked where no rule asks for it", where.stage, c.packet)
			}
		}
	}
}

// TestStatelessPassesTracking: what an allow-stateless rule matches is never sent
// to connection tracking, in the rule's pipeline, whatever its priority and tier.
func TestStatelessPassesTracking(t *testing.T) {
	for _, where := range stagesOf {
		for _, tier := range []int{0, 3} {
			for _, priority := range []int{0, 10, 32767} {
				f := newFilter(t, false, at(where.stage, []Rule{elsewhere, tiered(tier, rule(AllowStateless, priority, "tcp.dst == 80"))})...)
				want := []outcome{{Verdict: passes}}
				if diff := cmp.Diff(want, f.send(t, where.pipeline, web, connection{}, 0), cmp.AllowUnexported(outcome{}, connection{})); diff != "" {
					t.Errorf("stage %d, tier %d, priority %d: %s", where.stage, tier, priority, diff)
				}
				if got := f.send(t, where.pipeline, ssh, connection{}, 0); !got[0].Tracked {
					t.Errorf("stage %d: packets beside the stateless rule are not tracked", where.stage)
				}
			}
		}
	}
}

// A talk sends packets of one connection, and remembers it.
type talk struct {
	t        *testing.T
	pipeline flows.Pipeline
	ct       connection
}

func (k *talk) packet(f *filter, flags int) verdict {
	k.t.Helper()
	got := f.send(k.t, k.pipeline, web, k.ct, flags)
	if len(got) != 1 {
		k.t.Fatalf("%d outcomes, want one: %v", len(got), got)
	}
	k.ct = got[0].ct
	return got[0].Verdict
}

func (k *talk) expect(what string, f *filter, flags int, want verdict) {
	k.t.Helper()
	if got := k.packet(f, flags); got != want {
		k.t.Fatalf("%s: %s, want %s", what, got, want)
	}
}

// TestConnection follows a connection through changes of the rules: established
// under one set, blocked by the next, allowed again when that is gone.
func TestConnection(t *testing.T) {
	for _, where := range stagesOf {
		if where.stage == AfterLB {
			continue // see TestConnectionAfterLB
		}
		for _, verb := range []Verb{Drop, Reject} {
			for tier := range 4 {
				t.Run(fmt.Sprintf("stage %d/%s/tier %d", where.stage, verb, tier), func(t *testing.T) {
					blocked := map[Verb]verdict{Drop: dropped, Reject: rejected}[verb]
					// The rule in tier 3 keeps the highest tier where it is.
					last := tiered(3, rule(Pass, 1, "udp"))
					allow := newFilter(t, false, at(where.stage, []Rule{last, tiered(tier, rule(AllowRelated, 1, "tcp"))})...)
					block := newFilter(t, false, at(where.stage, []Rule{last, elsewhere, tiered(tier, rule(verb, 1, "tcp"))})...)
					nothing := newFilter(t, false, at(where.stage, []Rule{last, elsewhere})...)

					k := &talk{t: t, pipeline: where.pipeline}
					k.expect("new", allow, 0, passes)
					if want := (connection{known: true}); k.ct != want {
						t.Fatalf("committed as %+v, want %+v", k.ct, want)
					}
					k.expect("established", allow, 0, passes)
					k.expect("reply", allow, ctRpl, passes)
					for i := range 6 {
						// Where later tiers would let it through, every other
						// packet leaks: the block is undone as it is seen.
						k.expect(fmt.Sprintf("packet %d after the rule came", i), block, 0, blocked)
						if !k.ct.blocked {
							t.Fatalf("packet %d did not leave the connection blocked", i)
						}
						k.expect("reply to a blocked connection", block, ctRpl, dropped)
					}
					k.expect("reply while nothing has allowed it again", nothing, ctRpl, dropped)
					k.expect("the rule has gone", nothing, 0, passes)
				})
			}
		}
	}
}

// TestTiersDoNotLeak: packets of an established connection pass from tier to tier
// to the one that blocks it. Every packet is blocked there, the second and the
// third, too, which find the connection marked: what lets such a connection through
// again, where nothing decides, waits for the last tier.
func TestTiersDoNotLeak(t *testing.T) {
	for _, where := range stagesOf {
		for _, verb := range []Verb{Drop, Reject} {
			for tier := range 4 {
				// In the tiers before, a rule passes the packet on, or none decides.
				for _, before := range []string{"ip4", "udp"} {
					t.Run(fmt.Sprintf("stage %d/%s/tier %d/pass %s", where.stage, verb, tier, before), func(t *testing.T) {
						rules := []Rule{elsewhere, tiered(3, rule(Pass, 1, "udp")), tiered(tier, rule(verb, 1, "tcp"))}
						for earlier := range tier {
							rules = append(rules, tiered(earlier, rule(Pass, 1, before)))
						}
						f := newFilter(t, false, at(where.stage, rules)...)
						blocked := map[Verb]verdict{Drop: dropped, Reject: rejected}[verb]
						k := &talk{t: t, pipeline: where.pipeline, ct: connection{known: true}}
						for i := range 5 {
							k.expect(fmt.Sprintf("packet %d", i), f, 0, blocked)
							if !k.ct.blocked {
								t.Fatalf("packet %d left the connection open", i)
							}
						}
					})
				}
			}
		}
	}
}

// TestTiersLeakWithoutGate: the flow that lets a blocked connection through again,
// as 26.03.1 has it, without a tier: every other packet leaks. This shows that
// TestTiersDoNotLeak would see it.
func TestTiersLeakWithoutGate(t *testing.T) {
	for _, where := range stagesOf {
		if where.stage == AfterLB {
			continue // it has no such flow
		}
		f := newFilter(t, false, at(where.stage, []Rule{elsewhere, tiered(0, rule(Pass, 1, "udp")), tiered(1, rule(Drop, 1, "tcp"))})...)
		gated, open := Reallow(where.stage, 1), Reallow(where.stage, 0)
		found := false
		for i, e := range f.tables[open.Stage] {
			if e.flow.Match == gated.Match {
				match, err := expr.Parse(open.Match, expr.Unresolved)
				if err != nil {
					t.Fatal(err)
				}
				f.tables[open.Stage][i], found = entry{open, match}, true
			}
		}
		if !found {
			t.Fatalf("stage %d: there is no flow to replace: %s", where.stage, gated.Match)
		}
		k := &talk{t: t, pipeline: where.pipeline, ct: connection{known: true}}
		k.expect("the first packet", f, 0, dropped)
		k.expect("the second packet", f, 0, passes)
	}
}

// TestConnectionAllowedAgain: a rule that allows a blocked connection commits
// it anew, so that its replies pass.
func TestConnectionAllowedAgain(t *testing.T) {
	for _, where := range stagesOf {
		for _, verb := range []Verb{Allow, AllowRelated} {
			f := newFilter(t, true, append(at(Ingress, []Rule{elsewhere, rule(AllowRelated, 0, "1")}),
				append(at(AfterLB, []Rule{rule(AllowRelated, 0, "1")}), at(where.stage, []Rule{rule(verb, 1, "tcp"), elsewhere})...)...)...)
			k := &talk{t: t, pipeline: where.pipeline, ct: connection{known: true, blocked: true}}
			k.expect("reply before", f, ctRpl, dropped)
			k.expect("allowed again", f, 0, passes)
			if verb == AllowRelated && k.ct.blocked {
				t.Errorf("stage %d, %s: still blocked", where.stage, verb)
			}
		}
	}
}

// TestConnectionAfterLB: rules after load balancing block established
// connections as the others do, and replies, which the first stage has allowed
// already, stay allowed.
func TestConnectionAfterLB(t *testing.T) {
	block := newFilter(t, false, at(AfterLB, []Rule{elsewhere, rule(Drop, 1, "tcp")})...)
	k := &talk{t: t, pipeline: flows.Ingress, ct: connection{known: true}}
	k.expect("reply", block, ctRpl, passes)
	k.expect("established", block, 0, dropped)
	if !k.ct.blocked {
		t.Error("not marked blocked")
	}
	k.expect("reply to a blocked connection", block, ctRpl, dropped)
}

// TestPersistent: a connection that a persistent rule has allowed outlives rules
// that come later.
func TestPersistent(t *testing.T) {
	for _, where := range stagesOf {
		persist := rule(AllowRelated, 1, "tcp")
		persist.Persist, persist.ID = true, 7
		allow := newFilter(t, false, at(where.stage, []Rule{persist})...)
		block := newFilter(t, false, at(where.stage, []Rule{elsewhere, rule(Drop, 2, "tcp")})...)
		k := &talk{t: t, pipeline: where.pipeline}
		k.expect("new", allow, 0, passes)
		k.expect("established", block, 0, passes)
		k.expect("reply", block, ctRpl, passes)
		k.expect("another connection", block, 0, passes)
		k.ct = connection{}
		k.expect("a new connection", block, 0, dropped)
	}
}

// TestInvalid: packets that belong to no connection are dropped, stateless ones
// aside.
func TestInvalid(t *testing.T) {
	for _, where := range stagesOf {
		f := newFilter(t, false, at(where.stage, []Rule{rule(AllowRelated, 1, "ip4"), rule(AllowStateless, 2, "udp")})...)
		if got := verdicts(f.send(t, where.pipeline, web, connection{}, ctInv)); !slices.Equal(got, []verdict{dropped}) {
			t.Errorf("stage %d: an invalid packet: %v", where.stage, got)
		}
		if got := verdicts(f.send(t, where.pipeline, dns, connection{}, ctInv)); !slices.Equal(got, []verdict{passes}) {
			t.Errorf("stage %d: a stateless packet: %v", where.stage, got)
		}
	}
}
