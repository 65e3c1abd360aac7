package expr

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// Format is how an integer constant was written, and is printed.
type Format uint8

const (
	Decimal Format = iota
	Hex
	IPv4
	IPv6
	Ethernet
)

// width returns the bits that a constant of this format always has, or 0 where
// they depend on its value.
func (f Format) width() int { return [...]int{0, 0, 32, 128, 48}[f] }

// number is an integer constant as written.
type number struct {
	value, mask Value
	format      Format
	masked      bool
	// bits is the width of value, and maskBits that of mask; above 128 the high
	// bits are in neither. OVN lets them pass where a mask removes them.
	bits, maskBits int
}

// width returns the bits that a field needs at least to be compared with n.
func (n *number) width() int {
	if n.masked {
		return n.maskBits
	}
	if w := n.format.width(); w != 0 {
		return w
	}
	return n.bits
}

// number reads an integer constant with its mask.
func (l *lexer) number(t *token) {
	start := l.pos
	t.kind = tokInteger
	t.num = number{}
	if what := l.integer(&t.num); what != "" {
		l.fail(t, start, "%s", what)
		return
	}
	if l.at(l.pos) != '/' {
		return
	}
	l.pos++
	var mask number
	if what := l.integer(&mask); what != "" {
		l.fail(t, start, "mask of %s: %s", clip(l.src[start:l.pos]), what)
		return
	}
	n := &t.num
	bits := uint32(mask.value.Lo) // as OVN takes it, modulo 2**32
	switch {
	case n.format == mask.format:
		n.mask, n.maskBits = mask.value, mask.bits
	case n.format == IPv4 && mask.format == Decimal && bits <= 32:
		n.mask = prefix(int(bits), 32)
		n.maskBits = n.mask.bitLen()
	case n.format == IPv6 && mask.format == Decimal && bits <= 128:
		n.mask = prefix(int(bits), 128)
		n.maskBits = n.mask.bitLen()
	case n.format == Decimal && mask.format == Hex && n.value.isZero():
		// 0/0x1234: zero is the same in either format.
		n.format = Hex
		n.mask, n.maskBits = mask.value, mask.bits
	default:
		e := l.fail(t, start, "%s does not go with its mask", clip(l.src[start:l.pos]))
		switch {
		case mask.format == Decimal && n.format == IPv4:
			e.hint("an IPv4 prefix is 0 to 32 bits")
		case mask.format == Decimal && n.format == IPv6:
			e.hint("an IPv6 prefix is 0 to 128 bits")
		default:
			e.hint("value and mask must be written in the same form")
		}
		return
	}
	n.masked = true
	n.value = n.value.and(n.mask)
	n.bits = n.value.bitLen()
}

// integer reads one integer, without a mask, into n. It returns what is wrong
// with it, or "". The text's extent is found first: a second dot in a row is
// another token (0..7), and so is a colon behind a dot (an address's port).
func (l *lexer) integer(n *number) (what string) {
	start := l.pos
	dot := false
	for {
		c := l.at(l.pos)
		if c == '.' {
			if l.at(l.pos+1) == '.' {
				break
			}
			dot = true
		} else if !isDigit(c) && !isAlpha(c) && (c != ':' || dot) {
			break
		}
		l.pos++
	}
	return parseInteger(l.src[start:l.pos], n)
}

// parseInteger reads s, all of it.
func parseInteger(s string, n *number) (what string) {
	if s == "" {
		return "number expected"
	}
	if mac, ok := parseMAC(s); ok {
		n.format, n.value, n.bits = Ethernet, Uint(mac), Uint(mac).bitLen()
		return ""
	}
	if strings.Trim(s, "0123456789") == "" {
		if s[0] == '0' && len(s) > 1 {
			return "decimal number with a leading zero"
		}
		x, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return "decimal number of 2**64 or more"
		}
		n.format, n.value, n.bits = Decimal, Uint(x), Uint(x).bitLen()
		return ""
	}
	if s[0] == '0' && s[1]|0x20 == 'x' {
		return parseHex(s[2:], n)
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || len(s) > 45 {
		return fmt.Sprintf("%s is no number or address", clip(s))
	}
	if addr.Is4() {
		b := addr.As4()
		n.format, n.value = IPv4, Uint(uint64(binary.BigEndian.Uint32(b[:])))
	} else {
		b := addr.As16()
		n.format, n.value = IPv6, Value{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
	}
	n.bits = n.value.bitLen()
	return ""
}

// parseMAC reads an Ethernet address: six groups of hexadecimal digits in 17
// characters. OVN keeps the low byte of a longer group; so does this.
func parseMAC(s string) (mac uint64, ok bool) {
	if len(s) != 17 {
		return 0, false
	}
	groups, digits := 0, 0
	var b byte
	for i := 0; i <= len(s); i++ {
		if i < len(s) && isHex(s[i]) {
			b = b<<4 | hexDigit(s[i])
			digits++
			continue
		}
		if digits == 0 || i < len(s) && s[i] != ':' {
			return 0, false
		}
		mac = mac<<8 | uint64(b)
		groups++
		b, digits = 0, 0
	}
	return mac, groups == 6
}

func hexDigit(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// maxHexBits is the widest hexadecimal constant that OVN reads.
const maxHexBits = 1024

// parseHex reads the digits behind 0x.
func parseHex(s string, n *number) (what string) {
	if s == "" {
		return "no digits behind 0x"
	}
	for i := 0; i < len(s); i++ {
		if !isHex(s[i]) {
			return fmt.Sprintf("%q is no hexadecimal digit", s[i])
		}
	}
	s = strings.TrimLeft(s, "0")
	n.format = Hex
	for i := max(0, len(s)-32); i < len(s); i++ {
		n.value = n.value.shl(4).or(Uint(uint64(hexDigit(s[i]))))
	}
	if len(s) <= 32 {
		n.bits = n.value.bitLen()
		return ""
	}
	if n.bits = 4*(len(s)-1) + Uint(uint64(hexDigit(s[0]))).bitLen(); len(s) > maxHexBits/4 {
		return fmt.Sprintf("hexadecimal number of more than %d bits", maxHexBits)
	}
	return ""
}

// smallInt returns the token's value where it is a plain decimal number that
// can be the number of a bit.
func (t *token) smallInt() (int, bool) {
	n := &t.num
	if t.kind != tokInteger || n.format != Decimal || n.masked || n.value.Lo > math.MaxInt32 {
		return 0, false
	}
	return int(n.value.Lo), true
}
