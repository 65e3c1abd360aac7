package nbctl

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// parseMAC reads an Ethernet address, six hexadecimal numbers separated by
// colons, at the start of s and returns it in its usual form and what follows.
func parseMAC(s string) (mac, rest string, ok bool) {
	parts := make([]string, 0, 6)
	for len(parts) < 6 {
		n := 0
		for n < len(s) && n < 2 && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0 {
			n++
		}
		if n == 0 {
			return "", "", false
		}
		parts = append(parts, strings.ToLower(strings.Repeat("0", 2-n)+s[:n]))
		s = s[n:]
		if len(parts) < 6 {
			if !strings.HasPrefix(s, ":") {
				return "", "", false
			}
			s = s[1:]
		}
	}
	return strings.Join(parts, ":"), s, true
}

// isMAC reports whether s is an Ethernet address and nothing else.
func isMAC(s string) bool {
	_, rest, ok := parseMAC(s)
	return ok && rest == ""
}

// linkLocal is the IPv6 link-local address that follows from an Ethernet address
// (RFC 4291, appendix A).
func linkLocal(mac string) (netip.Addr, bool) {
	normal, _, ok := parseMAC(mac)
	if !ok {
		return netip.Addr{}, false
	}
	hw, err := net.ParseMAC(normal)
	if err != nil {
		return netip.Addr{}, false
	}
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: hw[0] ^ 2, 9: hw[1], 10: hw[2], 11: 0xff, 12: 0xfe, 13: hw[3], 14: hw[4], 15: hw[5]}), true
}

// portAddressIPs returns the IP addresses in an element of a port's addresses:
// an Ethernet address followed by IP addresses, with or without a mask.
func portAddressIPs(address string) []netip.Addr {
	_, rest, ok := parseMAC(address)
	if !ok {
		return nil
	}
	var out []netip.Addr
	for _, field := range strings.Fields(rest) {
		host, _, _ := strings.Cut(field, "/")
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return out
		}
		out = append(out, ip)
	}
	return out
}

// normalizePrefix reads an IP address or prefix and clears its host bits:
// "10.0.0.7/24" becomes "10.0.0.0/24". A mask may be dotted in IPv4.
func normalizePrefix(s string) (string, netip.Prefix, bool) {
	host, mask, masked := strings.Cut(s, "/")
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Zone() != "" {
		return "", netip.Prefix{}, false
	}
	bits := ip.BitLen()
	if masked {
		if m, err := netip.ParseAddr(mask); err == nil && m.Is4() && ip.Is4() {
			if bits = maskBits(m); bits < 0 {
				return "", netip.Prefix{}, false
			}
		} else if bits, err = strconv.Atoi(mask); err != nil {
			return "", netip.Prefix{}, false
		}
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return "", netip.Prefix{}, false
	}
	if p.Bits() == ip.BitLen() {
		return p.Addr().String(), p, true
	}
	return p.String(), p, true
}

// maskBits counts the ones of a mask, -1 where they are not in one piece.
func maskBits(mask netip.Addr) int {
	bits, ended := 0, false
	for _, b := range mask.AsSlice() {
		for i := 7; i >= 0; i-- {
			switch {
			case b>>i&1 == 0:
				ended = true
			case ended:
				return -1
			default:
				bits++
			}
		}
	}
	return bits
}
