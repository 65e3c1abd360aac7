package northd

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/schema/nb"
)

func TestForwardingFlows(t *testing.T) {
	for _, c := range []struct {
		name  string
		group nb.ForwardingGroup
		want  []string // match => actions of the second flow, which spreads packets
	}{
		{"no ports", nb.ForwardingGroup{Vip: "10.0.0.9", Vmac: "50:54:00:00:00:aa"}, nil},
		{"sorted", nb.ForwardingGroup{Vip: "10.0.0.9", Vmac: "50:54:00:00:00:aa", ChildPort: []string{"b", "a"}},
			[]string{"arp.tpa == 10.0.0.9 && arp.op == 1", `eth.dst == 50:54:00:00:00:aa => fwd_group(childports="a","b");`}},
		{"liveness", nb.ForwardingGroup{Vip: "10.0.0.9", Vmac: "50:54:00:00:00:aa", ChildPort: []string{"a"}, Liveness: true},
			[]string{"arp.tpa == 10.0.0.9 && arp.op == 1", `eth.dst == 50:54:00:00:00:aa => fwd_group(liveness="true",childports="a");`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for i, f := range forwardingFlows(&c.group) {
				s := f.Match
				if i > 0 {
					s += " => " + f.Actions
				}
				got = append(got, s)
			}
			if d := cmp.Diff(got, c.want); d != "" {
				t.Errorf("got (-) and want (+):\n%s", d)
			}
		})
	}
}

func TestDNSRecords(t *testing.T) {
	got := dnsRecords(map[string]string{"VM.ovn.org": "10.0.0.1 FD00::A", "1.0.0.10.in-addr.arpa": "VM.ovn.org"})
	want := map[string]string{"VM.ovn.org": "10.0.0.1 fd00::a", "1.0.0.10.in-addr.arpa": "vm.ovn.org"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got (-) and want (+):\n%s", d)
	}
}
