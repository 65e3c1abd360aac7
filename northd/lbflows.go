package northd

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
)

// Registers that hold the address and port that a packet was sent to, across
// its translation; and what connection tracking has of the protocol and port.
const (
	regVIP4     = "reg4"
	regVIP6     = "xxreg1"
	regVIPPort  = "reg2[0..15]"
	regCTProto  = "reg1[16..23]"
	regCTPort   = "reg1[0..15]"
	bitAffinity = "reg9[6]"
)

// vipFlows are the static flows of switches with virtual addresses.
var vipFlows = []switchFlow{
	{vipSwitches, flows.SwitchInPreLB, 100, "ip", "reg0[2] = 1; next;", ""},
	{vipSwitches, flows.SwitchOutPreLB, 100, "ip", "reg0[2] = 1; next;", ""},
	{vipSwitches, flows.SwitchInCTExtract, 100, "ct.new && ip", regCTProto + " = ct_proto(); " + regCTPort + " = ct_tp_dst(); next;", ""},
	// Later fragments have no ports: the connection knows what it was sent to.
	{vipSwitches, flows.SwitchInLB, 110, "ct.trk && ct.est && !ct.rpl && reg0[19] == 1 && ip4", regVIP4 + " = ct_nw_dst(); " + regVIPPort + " = ct_tp_dst(); next;", ""},
	{vipSwitches, flows.SwitchInLB, 110, "ct.trk && ct.est && !ct.rpl && reg0[19] == 1 && ip6", regVIP6 + " = ct_ip6_dst(); " + regVIPPort + " = ct_tp_dst(); next;", ""},
	// A backend that is sent what it sent to the virtual address itself.
	{vipSwitches, flows.SwitchInPreHairpin, 100, "ip && ct.trk", "reg0[6] = chk_lb_hairpin(); reg0[12] = chk_lb_hairpin_reply(); next;", ""},
	{vipSwitches, flows.SwitchInNATHairpin, 100, "ip && ct.new && ct.trk && reg0[6] == 1", "ct_snat_to_vip; next;", ""},
	{vipSwitches, flows.SwitchInNATHairpin, 100, "ip && ct.est && ct.trk && reg0[6] == 1", "ct_snat;", ""},
	{vipSwitches, flows.SwitchInNATHairpin, 90, "ip && reg0[12] == 1", "ct_snat;", ""},
	{vipSwitches, flows.SwitchInHairpin, 1, "(reg0[6] == 1 || reg0[12] == 1)", "eth.dst <-> eth.src; outport = inport; flags.loopback = 1; output;", ""},
	// What a stateless rule has let past is tracked nevertheless on its way out,
	// since it may be a reply of a backend, but commits nothing.
	{statelessLBSwitches, flows.SwitchOutPreLB, 115, "reg0[16] == 1", "reg0[2] = 1; next;", ""},
	{statelessLBSwitches, flows.SwitchOutStateful, 110, "reg0[16] == 1 && ct.new", "next;", ""},
}

// deriveLBFlows derives the flows of a load balancer's virtual addresses.
func (n *Northd) deriveLBFlows(s *engine.Scope, uuid string) {
	lb, ok := n.loadBalancers.Get(s, uuid)
	if !ok {
		return
	}
	f := &lbFlows{n: n, s: s, lb: lb, key: n.lbSet(s, uuid), drop: n.options.Get(s, struct{}{}).Drop}
	f.protocol, f.number = protocolOf(lb)
	f.checked = n.checkedVIPs(s, lb)
	f.event = optBool(lb.Options, "event", false) || optBool(n.nbOptions(s), "controller_event", false)
	f.reject = optBool(lb.Options, "reject", false)
	valid, _ := vipsOfLB(lb)
	for _, v := range valid {
		f.balance(v)
	}
}

// lbFlows collects the flows of a load balancer.
type lbFlows struct {
	n                *Northd
	s                *engine.Scope
	lb               *nb.LoadBalancer
	key              flows.SetKey
	protocol, number string // tcp, 6
	drop             string // options.Drop
	checked          map[string]string
	event, reject    bool
}

func (f *lbFlows) add(stage flows.Stage, priority int, match, actions string) {
	f.n.emit(f.s, flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions},
		f.n.flows.Set(f.key), flows.Attrs{Hint: flows.Hint(f.lb.UUID)})
}

// addLimited contributes a flow that hands packets to the controller, with the
// meter that limits them on each switch.
func (f *lbFlows) addLimited(p protocol, stage flows.Stage, priority int, match, actions string) {
	parts := f.n.lbMeters.Len(f.s, p) > 1
	for meter := range f.n.lbMeters.Of(f.s, p) {
		key := f.key
		if parts {
			key = limitedSet(key, p, meter)
		}
		f.n.emit(f.s, flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions, Meter: meter},
			f.n.flows.Set(key), flows.Attrs{Hint: flows.Hint(f.lb.UUID)})
	}
}

// addStateless contributes a flow to the switches with stateless rules only.
func (f *lbFlows) addStateless(stage flows.Stage, priority int, match, actions string) {
	key := flows.SetKey{Kind: statelessOfLB, Owner: f.lb.UUID}
	f.n.emit(f.s, flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions},
		f.n.flows.Set(key), flows.Attrs{})
}

// vipText is how the parts of a virtual address read in flows.
type vipText struct {
	ip   string // "ip4"
	reg  string // that holds the address
	dst  string // match of the destination address
	port string // match of the destination port, after dst; "" without one
	ct   string // the same by what connection tracking has
	keep string // remembers the address and port
}

func (f *lbFlows) text(v vip) vipText {
	t := vipText{ip: "ip4", reg: regVIP4}
	if v.V6 {
		t.ip, t.reg = "ip6", regVIP6
	}
	t.dst = t.ip + ".dst == " + v.IP
	t.keep = t.reg + " = " + v.IP + "; "
	if v.Port != "" {
		t.port = " && " + f.protocol + ".dst == " + v.Port
		t.ct = " && " + regCTProto + " == " + f.number + " && " + regCTPort + " == " + v.Port
		t.keep += regVIPPort + " = " + v.Port + "; "
	}
	return t
}

// balance spreads new connections to a virtual address over its backends.
func (f *lbFlows) balance(v vip) {
	t := f.text(v)
	if f.event && len(v.Backends) == 0 && !f.reject {
		f.addLimited(protoEmptyLB, flows.SwitchInPreLB, 130, t.dst+" && "+f.protocol+t.port,
			`trigger_event(event = "empty_lb_backends", vip = "`+endpoint(v.IP, v.Port, v.V6)+`", protocol = "`+f.protocol+
				`", load_balancer = "`+f.lb.UUID+`");`)
	}
	f.add(flows.SwitchInPreStateful, 120, "reg0[2] == 1 && "+t.dst+t.port, t.keep+"ct_lb_mark;")
	if f.key.Kind == loadBalancerSwitches && f.n.statelessLB.Any(f.s, struct{}{}) {
		f.addStateless(flows.SwitchInPreStateful, 150, t.dst+t.port, t.keep+"ct_lb_mark;")
		if v.Port != "" {
			f.addStateless(flows.SwitchInPreStateful, 105, f.protocol+" && "+f.repliesOfHairpins(v, t), "ct_lb_mark;")
		}
	}
	priority := 110
	if v.Port != "" {
		priority = 120
	}
	match := "ct.new && " + t.dst + t.ct
	if actions, rejected := f.choose(v, t); rejected {
		f.addLimited(protoReject, flows.SwitchInLB, priority, match, actions)
	} else {
		f.add(flows.SwitchInLB, priority, match, actions)
	}
	f.stick(v, t)
}

// choose are the actions that choose a backend, or that say that there is none.
func (f *lbFlows) choose(v vip, t vipText) (actions string, rejected bool) {
	action, list := "ct_lb_mark", v.Text
	empty := len(v.Backends) == 0
	distributed := optBool(f.lb.Options, "distributed", false)
	health, checked := f.checked[v.Key]
	if distributed || checked {
		var parts []string
		for _, b := range v.Backends {
			text := endpoint(b.IP, strconv.Itoa(b.Port), v.V6)
			m, mapped := mappingOf(f.lb.IPPortMappings, b, v.V6)
			if distributed && (!mapped || isTemplate(f.lb)) {
				continue
			}
			if checked && !f.n.isHealthy(f.s, f.lb, health, v, b) {
				continue
			}
			if distributed {
				text = `"` + m.Port + `":` + text
			}
			parts = append(parts, text)
		}
		list, empty = strings.Join(parts, ","), len(parts) == 0
	}
	if distributed {
		action = "ct_lb_mark_local"
	}
	switch {
	case empty && f.reject:
		return "reg0 = 0; reject { outport <-> inport; next(pipeline=egress,table=" + strconv.Itoa(flows.SwitchOutQoS.Table()) + ");};", true
	case empty:
		return f.drop, false
	}
	if fields := f.hashFields(); fields != "" {
		list += `; hash_fields="` + fields + `"`
	}
	return t.keep + action + "(backends=" + list + ");", false
}

// hashFields are the fields by which backends are chosen, where it is not all.
func (f *lbFlows) hashFields() string {
	fields := slices.Sorted(slices.Values(f.lb.SelectionFields))
	for i, field := range fields {
		if side, ok := strings.CutPrefix(field, "tp_"); ok && f.lb.Protocol != nil {
			fields[i] = f.protocol + "_" + side
		}
	}
	return strings.Join(fields, ",")
}

// repliesOfHairpins matches the destination of what a backend answers to itself: the
// virtual address, in whose name it was asked, or options:hairpin_snat_ip, where that
// is one IPv4 address, in place of an IPv4 one.
func (f *lbFlows) repliesOfHairpins(v vip, t vipText) string {
	if snat, err := netip.ParseAddr(f.lb.Options["hairpin_snat_ip"]); err == nil && snat.Is4() && !v.V6 {
		return t.ip + ".dst == " + snat.String()
	}
	return t.dst
}

// stick sends the connections that a client opens within affinity_timeout to the
// backend that it has had before.
func (f *lbFlows) stick(v vip, t vipText) {
	timeout := affinityTimeout(f.lb)
	if timeout == 0 {
		return
	}
	f.add(flows.SwitchInLBAffCheck, 100, "ct.new && "+t.ip+" && "+t.dst+t.ct, bitAffinity+" = chk_lb_aff(); next;")
	sentTo := t.reg + " == " + v.IP
	proto := ""
	if v.Port != "" {
		sentTo += " && " + regVIPPort + " == " + v.Port
		proto = "proto = " + f.protocol + ", "
	}
	for _, b := range v.Backends {
		known := t.reg + " == " + b.IP
		chosen := t.ip + ".dst == " + b.IP
		if b.Port != 0 {
			port := strconv.Itoa(b.Port)
			known += " && " + regVIPPort + " == " + port
			chosen += " && " + f.protocol + ".dst == " + port
		}
		f.add(flows.SwitchInLB, 150, bitAffinity+" == 1 && ct.new && "+t.dst+" && "+known, t.keep+"ct_lb_mark(backends="+b.text(v.V6)+");")
		f.add(flows.SwitchInLBAffLearn, 100, bitAffinity+" == 0 && ct.new && "+t.ip+" && "+sentTo+" && "+chosen,
			`commit_lb_aff(vip = "`+endpoint(v.IP, v.Port, v.V6)+`", backend = "`+b.text(v.V6)+`", `+proto+"timeout = "+strconv.Itoa(timeout)+"); /* drop */")
	}
}

// affinityTimeout is options:affinity_timeout in seconds, 0 for no affinity.
func affinityTimeout(lb *nb.LoadBalancer) int {
	seconds, err := strconv.ParseUint(lb.Options["affinity_timeout"], 10, 31)
	if err != nil {
		return 0
	}
	return int(min(seconds, 1<<16-1))
}
