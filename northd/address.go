package northd

import (
	"crypto/rand"
	"net/netip"
	"strings"
)

// mac is an Ethernet address.
type mac [6]byte

func (m mac) String() string { return string(m.append(nil)) }

func (m mac) append(b []byte) []byte {
	const digits = "0123456789abcdef"
	for i, v := range m {
		if i > 0 {
			b = append(b, ':')
		}
		b = append(b, digits[v>>4], digits[v&15])
	}
	return b
}

// parseMAC parses six pairs of hexadecimal digits, one or two each.
func parseMAC(s string) (mac, bool) {
	var m mac
	for i := range m {
		part, rest, more := strings.Cut(s, ":")
		b, ok := parseHexByte(part)
		if !ok || more != (i < len(m)-1) {
			return m, false
		}
		m[i], s = b, rest
	}
	return m, true
}

func parseHexByte(p string) (byte, bool) {
	if len(p) == 0 || len(p) > 2 {
		return 0, false
	}
	var v byte
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | c
	}
	return v, true
}

// parseMACPrefix parses the first three bytes of an address.
func parseMACPrefix(s string) (string, bool) {
	m, ok := parseMAC(s + ":00:00:00")
	return m.String()[:8], ok
}

// randomMAC returns a locally administered unicast address.
func randomMAC() string {
	var m mac
	_, _ = rand.Read(m[:]) // crypto/rand never fails
	m[0] = m[0]&^1 | 2
	return m.String()
}

// address is what one string of Logical_Switch_Port.addresses or
// port_security says: an Ethernet address with the IP addresses that go with it.
type address struct {
	MAC string
	IP4 []string
	IP6 []netip.Addr
}

// parseAddress reads "MAC [IP[/LEN]]...". Reading ends at the first word that
// is not an address, as the reference does.
func parseAddress(s string) (address, bool) {
	var a address
	var buf [24]byte // room for either, as it is written
	for word := range strings.FieldsSeq(s) {
		if a.MAC == "" {
			m, ok := parseMAC(word)
			if !ok {
				return address{}, false
			}
			a.MAC = stringOr(word, m.append(buf[:0]))
			continue
		}
		ip, ok := parseIP(word)
		if !ok {
			break
		}
		if ip.Is4() {
			a.IP4 = append(a.IP4, stringOr(word, ip.AppendTo(buf[:0])))
		} else {
			a.IP6 = append(a.IP6, ip)
		}
	}
	return a, a.MAC != ""
}

// stringOr is b as a string: s, if it has the same bytes.
func stringOr(s string, b []byte) string {
	if string(b) == s {
		return s
	}
	return string(b)
}

// parseIP reads an address with an optional prefix length.
func parseIP(s string) (netip.Addr, bool) {
	if i := strings.IndexByte(s, '/'); i >= 0 {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return netip.Addr{}, false
		}
		return p.Addr(), true
	}
	ip, err := netip.ParseAddr(s)
	return ip, err == nil && ip.Zone() == ""
}

// isIP reports whether s is an IP address without a prefix length.
func isIP(s string) bool {
	ip, err := netip.ParseAddr(s)
	return err == nil && ip.Zone() == ""
}

// solicitedNode is the multicast address that neighbour solicitations for ip go
// to, RFC 4291 section 2.7.1.
func solicitedNode(ip netip.Addr) string {
	b := ip.As16()
	return netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 11: 1, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]}).String()
}
