package expr

import "testing"

func TestQuick(t *testing.T) {
	for _, m := range []string{"ip4.src == 10.0.0.0/8 && tcp.dst == {80, 443}", "inport == @pg && (ip4 || ip6) && !(tcp.dst < 5)", "ip4.scr == 1", "1 <= tcp.dst <= 5", "!ip.is_frag", "!ip4", "reg0[3..1]", "tcp.dst == 65536", "a && b || c", "ip4 && ip6 || 1", "icmp6.type == {1,2,}", "((ip4)"} {
		e, err := Parse(m, Unresolved)
		if err != nil {
			t.Log(m, "=>", err)
			continue
		}
		t.Log(m, "=>", e.String())
	}
}
func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Check("inport == @pg0 && ip4 && ip4.src == $as_ip4 && tcp && tcp.dst == {80, 443}")
	}
}
