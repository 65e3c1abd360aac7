package expr

import (
	"fmt"
	"strings"
)

// mistaken are names that people expect, and what the language has instead.
var mistaken = map[string]string{
	"ip4.proto": "ip.proto", "ip6.proto": "ip.proto", "ip.version": "ip4 or ip6",
	"ip4.ttl": "ip.ttl", "ip6.ttl": "ip.ttl", "ip6.hlim": "ip.ttl",
	"ip.src": "ip4.src or ip6.src", "ip.dst": "ip4.dst or ip6.dst",
	"tcp.port": "tcp.src or tcp.dst", "udp.port": "udp.src or udp.dst",
	"icmp.type": "icmp4.type or icmp6.type", "icmp.code": "icmp4.code or icmp6.code",
	"ipv4": "ip4", "ipv6": "ip6", "icmpv4": "icmp4", "icmpv6": "icmp6",
	"in_port": "inport", "out_port": "outport", "true": "1", "false": "0",
	"ip4.src_multicast": "ip4.src_mcast", "ip4.multicast": "ip4.mcast", "not": "!",
}

// suggest returns a hint for a name that is no symbol, or "".
func (t symbolTable) suggest(name string) string {
	if s, ok := mistaken[strings.ToLower(name)]; ok {
		return fmt.Sprintf("did you mean %s?", s)
	}
	if len(name) > 40 {
		return ""
	}
	best, near := "", len(name)/3+1
	for s := range t {
		d := distance(name, s)
		if d < near || d == near && best != "" && s < best || d == near && best == "" {
			best, near = s, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", best)
}

// distance returns how many insertions, deletions, replacements and exchanges of
// neighbours turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(last[j]+cost, last[j+1]+1, cur[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cur[j+1] = min(cur[j+1], before[j-1]+1)
			}
		}
		before, last, cur = last, cur, before
	}
	return last[len(b)]
}
