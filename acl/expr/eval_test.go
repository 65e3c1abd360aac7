package expr

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEval states, for each rule of evaluation, matches that hold for a packet and
// matches that do not. TestOracleEval compares many more with OVN.
func TestEval(t *testing.T) {
	const (
		web  = `inport == "p1" && eth.src == 00:00:00:00:00:01 && ip4.src == 10.0.1.7 && ip4.dst == 10.9.9.9 && tcp.src == 1024 && tcp.dst == 80`
		arp  = `inport == "p3" && arp.op == 1 && arp.spa == 10.0.0.1`
		ping = `outport == "p2" && ip6.src == fd01::5 && icmp6.type == 128 && ct.new && reg1 == 0x1234`
		frag = `ip4 && ip.frag == 3 && ip.proto == 17 && eth.dst == 01:00:00:00:00:00`
	)
	for _, c := range []struct {
		packet, match string
		want          bool
	}{
		{web, "1", true},
		{web, "0", false},

		// Masks, subfields and order.
		{web, "ip4.src == 10.0.0.0/8", true},
		{web, "ip4.src == 11.0.0.0/8", false},
		{web, "ip4.src != 11.0.0.0/8", true},
		{web, "ip4.src == 0.0.0.7/0.0.0.255", true},
		{web, "ip4.src == 0.0.0.0/0", true},
		{web, "ip4.src != 0.0.0.0/0", false},
		{web, "ip4.src[0..7] == 7", true},
		{web, "ip4.src[0..7] < 8", true},
		{web, "ip4.src[3]", false},
		{web, "ip4.src[2]", true},
		{web, "tcp.dst >= 80", true},
		{web, "tcp.dst > 80", false},
		{web, "1 <= tcp.dst <= 79", false},
		{ping, "ip6.src > fd01::", true},
		{ping, "ip6.src < fd00:ffff::", false},
		{ping, "xxreg0[64..95] == 0x1234", true},
		{ping, "xreg0[0..31] == 0x1234", true},
		{ping, "reg0 == 0", true},

		// Prerequisites: of the comparison, negated or not.
		{web, "udp.dst == 0", false},
		{web, "udp.dst != 5", false},
		{web, "!(udp.dst == 5)", false},
		{arp, "ip4.src == 0.0.0.0/0", false},
		{arp, "ip4.src != 1.2.3.4", false},
		{arp, "arp.spa == 10.0.0.1", true},
		{arp, "rarp.spa == 10.0.0.1", false},
		{ping, "ct.new", true},
		{ping, "!ct.est", true},
		{web, "!ct.est", false}, // not tracked
		{web, "vlan.vid == 0", false},

		// Prerequisites: of a predicate, negated with it.
		{frag, "ip.is_frag", true},
		{frag, "ip.first_frag", false},
		{web, "!ip.is_frag", true},
		{arp, "!ip.is_frag", true},
		{web, "!ip.first_frag", true},
		{frag, "eth.mcast && !eth.bcast", true},

		// Sets: in braces, address sets, port groups.
		{web, "tcp.dst == {80, 443}", true},
		{web, "tcp.dst == {81, 443}", false},
		{web, "tcp.dst != {81, 443}", true},
		{web, "tcp.dst != {80, 443}", false},
		{arp, "tcp.dst != {81, 443}", false},
		{web, "ip4.src == $as4", true},
		{web, "ip4.dst == $as4", false},
		{web, "ip4.dst != $as4", true},
		{web, "ip4.dst == {$as4, 10.9.0.0/16}", true},
		{web, "ip4.src[0..7] == $as4", true}, // what is left of 10.0.1.0/24 has no mask bit
		{web, "ip4.dst[0..7] == {$as4, 9}", true},
		{ping, "ip6.src == $as6", true},
		{web, "eth.src == $mac", true},
		{web, "ip4.src == $empty", false},
		{web, "ip4.src != $empty", true},
		{arp, "tcp.dst != $empty", true}, // no comparison, no prerequisite
		{web, "tcp.dst < $port", false},  // less than all
		{web, "tcp.src > $port", true},
		{web, "!(tcp.dst < $port)", true},
		{arp, "!(tcp.dst < $port)", false},
		{web, "inport == @pg", true},
		{arp, "inport == @pg", false},
		{arp, `inport == {@pg, "p3"}`, true},
		{ping, "outport == @pg", true},
		{web, "inport == @pg.0", false},
		{web, "ip4 == $one", true},

		// Chassis.
		{web, `is_chassis_resident("here")`, true},
		{web, `is_chassis_resident("there")`, false},
		{web, `!is_chassis_resident("there")`, true},

		// Joined.
		{web, "ip4 && (udp || tcp)", true},
		{web, "ip6 || (udp && tcp)", false},
		{web, "!(ct.trk || tcp.dst == 81)", true},
	} {
		e, err := Parse(c.match, testEnv())
		if err != nil {
			t.Errorf("%s: %v", c.match, err)
			continue
		}
		h, err := NewHeader(c.packet)
		if err != nil {
			t.Fatal(err)
		}
		h.AddResident("here")
		if got := e.Eval(h); got != c.want {
			t.Errorf("%s on %s: got %v, want %v", c.match, c.packet, got, c.want)
		}
	}
}

// TestEvalNegation is a property: where no prerequisite is involved, exactly one
// of a match and its negation holds.
func TestEvalNegation(t *testing.T) {
	g := newGenerator(3)
	env := testEnv()
	var plain []string
	for _, n := range g.names {
		if s := symbols[n]; s.prereq == nil && s.Width != 0 && s.Measure != Nominal {
			plain = append(plain, n)
		}
	}
	g.names = plain
	checked := 0
	for range 3000 {
		m := g.expression(2)
		if strings.Contains(m, "port") {
			continue // strings are nominal
		}
		e, err := Parse(m, env)
		if err != nil {
			continue
		}
		not, err := Parse("!("+m+")", env)
		if err != nil {
			t.Fatalf("!(%s): %v", m, err)
		}
		for range 4 {
			h := g.header()
			if e.Eval(h) == not.Eval(h) {
				t.Fatalf("%s and its negation %s agree on %+v", m, not, h.ints)
			}
			checked++
		}
	}
	if checked < 1000 {
		t.Errorf("only %d cases", checked)
	}
}

// header returns a packet with random values, most of them small.
func (g *generator) header() *Header {
	h := &Header{}
	for f := range Field(numInts) {
		if g.r.IntN(2) == 0 {
			h.SetInt(f, g.value(fieldWidth(f)))
		}
	}
	h.SetInt(EthType, Uint([]uint64{0x800, 0x86dd, 0x806}[g.r.IntN(3)]))
	h.SetInt(IPProto, Uint([]uint64{1, 6, 17, 58, 132}[g.r.IntN(5)]))
	h.SetStr(Inport, g.pick("p1", "p2", "p3"))
	h.SetStr(Outport, g.pick("p1", "p2", "p3"))
	return h
}

func fieldWidth(f Field) int {
	for _, s := range fieldSpecs {
		if s.field == f {
			return s.width
		}
	}
	return 0
}

// TestCanonicalEval is a property: the canonical form means what the match does,
// and is its own.
func TestCanonicalEval(t *testing.T) {
	g := newGenerator(4)
	env := testEnv()
	checked := 0
	for range 3000 {
		m := g.expression(3)
		e, err := Parse(m, env)
		if err != nil {
			continue
		}
		again, err := Parse(e.String(), env)
		if err != nil {
			t.Fatalf("%s is canonically %s: %v", m, e, err)
		}
		if diff := cmp.Diff(again.root, e.root, cmpNodes); diff != "" {
			t.Fatalf("%s (-got +want):\n%s", m, diff)
		}
		for range 3 {
			if h := g.header(); e.Eval(h) != again.Eval(h) {
				t.Fatalf("%s and %s differ on %+v", m, e, h)
			}
		}
		checked++
	}
	if checked < 500 {
		t.Errorf("only %d cases", checked)
	}
}

func TestNewHeader(t *testing.T) {
	if _, err := NewHeader(`inport == "a" && ip6 && tcp.dst == 5 || 1`); err == nil {
		t.Fatal("&& and || without parentheses")
	}
	h, err := NewHeader(`inport == "a" && ip6 && tcp.dst == 5 && vlan.vid == 3 && eth.dst[40] && ct.new && is_chassis_resident("r") && reg0 == {7, 8}`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Value{}
	for _, s := range fieldSpecs {
		if s.width > 0 && !h.Int(s.field).isZero() && s.name != "rarp.op" {
			got[s.name] = h.Int(s.field)
		}
	}
	want := map[string]Value{
		"eth.type": Uint(0x86dd), "ip.proto": Uint(6), "tcp.dst": Uint(5), "vlan.tci": Uint(0x1003),
		"eth.dst": Uint(1 << 40), "ct_state": Uint(0x21), "xxreg0": {Hi: 7 << 32},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("fields (-got +want):\n%s", diff)
	}
	if h.Str(Inport) != "a" || h.Str(Outport) != "" || !h.Resident("r") || h.Resident("s") {
		t.Errorf("got %+v", h)
	}
	for m, says := range map[string]string{
		"tcp.dst > 5":                      "leaves the value open",
		"tcp.dst != {1, 2}":                "leaves the value open",
		"0":                                "describes no packet",
		"ip4 && ip6":                       "contradicts",
		"reg0 == 1 && xxreg0[96..97] == 2": "contradicts",
		`inport == "a" && inport == "b"`:   "contradicts",
		"ip4.scr == 1":                     "unknown field",
	} {
		if _, err := NewHeader(m); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", m, err, says)
		}
	}
}

func TestRefs(t *testing.T) {
	const match = `inport == {@pg, "p1"} && outport == "p9" && (ip4.src == {$as4, 1.2.3.4} || !(ip4.dst == $pg_ip4)) && ip6.src == $as6 && ` +
		`ip4.dst == $as4 && !is_chassis_resident("cr-lrp") && tcp.dst == ^ports && ^term`
	env := testEnv()
	env.Addresses["pg_ip4"] = env.Addresses["as4"]
	want := Refs{
		AddressSets: []string{"as4", "as6", "pg_ip4"},
		PortGroups:  []string{"pg"},
		Ports:       []string{"cr-lrp", "p1", "p9"},
		Templates:   []string{"ports", "term"},
	}
	for name, env := range map[string]Env{"resolved": env, "unresolved": Unresolved} {
		e, err := Parse(match, env)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e.Refs(), want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
	e, err := Parse("ip4 && tcp.dst == 80", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.Refs(), Refs{}); diff != "" {
		t.Errorf("without names (-got +want):\n%s", diff)
	}
}

func TestNewAddressSet(t *testing.T) {
	s, err := NewAddressSet([]string{"10.0.0.1", "oops", "10.0.0.0/33", "::1", ""})
	if s.Len() != 2 {
		t.Errorf("got %d members, want 2", s.Len())
	}
	for _, bad := range []string{`"oops"`, `"10.0.0.0/33"`, `""`} {
		if err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("got %v, want it to name %s", err, bad)
		}
	}
}
