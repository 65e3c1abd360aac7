package expr

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// String returns the match in its canonical form, which parses, in the same Env,
// to the same expression. Template variables stand in it with their values.
func (e *Expr) String() string {
	var b strings.Builder
	write(&b, e.root)
	return b.String()
}

// String returns the reference as it is written in a match.
func (f FieldRef) String() string {
	switch {
	case f.whole():
		return f.Symbol.Name
	case f.Width == 1:
		return fmt.Sprintf("%s[%d]", f.Symbol.Name, f.Low)
	}
	return fmt.Sprintf("%s[%d..%d]", f.Symbol.Name, f.Low, f.Low+f.Width-1)
}

func write(b *strings.Builder, n Node) {
	switch n := n.(type) {
	case *Bool:
		if n.Value {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	case *And:
		writeAll(b, n.Terms, " && ")
	case *Or:
		writeAll(b, n.Terms, " || ")
	case *Compare:
		n.write(b)
	case *Resident:
		writeNot(b, n.Negated)
		b.WriteString("is_chassis_resident(" + quote(n.Port) + ")")
	case *Template:
		writeNot(b, n.Negated)
		b.WriteString("^" + n.Name)
	}
}

func writeNot(b *strings.Builder, not bool) {
	if not {
		b.WriteByte('!')
	}
}

func writeAll(b *strings.Builder, terms []Node, op string) {
	for i, t := range terms {
		if i > 0 {
			b.WriteString(op)
		}
		switch t.(type) {
		case *And, *Or:
			b.WriteByte('(')
			write(b, t)
			b.WriteByte(')')
		default:
			write(b, t)
		}
	}
}

// bitTest reports whether the comparison is the test of a bit or predicate.
func (n *Compare) bitTest() bool {
	return n.Field.Width == 1 && len(n.Values) == 1 && n.Values[0].Kind == Integer && !n.Values[0].Masked && !n.Op.ordered()
}

func (n *Compare) write(b *strings.Builder) {
	if n.bitTest() {
		writeNot(b, n.Op == NE)
		b.WriteString(n.Field.String())
		return
	}
	if n.Negated {
		b.WriteString("!(")
		defer b.WriteByte(')')
	}
	b.WriteString(n.Field.String())
	b.WriteByte(' ')
	b.WriteString(n.Op.String())
	b.WriteByte(' ')
	if len(n.Values) == 1 {
		b.WriteString(n.Values[0].String())
		return
	}
	for i := range n.Values {
		b.WriteString([...]string{"{", ", "}[min(i, 1)])
		b.WriteString(n.Values[i].String())
	}
	b.WriteByte('}')
}

// String returns the constant as it is written in a match.
func (c *Constant) String() string {
	switch c.Kind {
	case String:
		return quote(c.Text)
	case SetRef:
		return "$" + c.Text
	case GroupRef:
		return "@" + c.Text
	case TemplateRef:
		return "^" + c.Text
	}
	s := c.Value.format(c.Format)
	if !c.Masked {
		return s
	}
	if c.Format == IPv4 || c.Format == IPv6 {
		if n, ok := c.Mask.prefixLen(c.Format.width()); ok {
			return s + "/" + strconv.Itoa(n)
		}
	}
	return s + "/" + c.Mask.format(c.Format)
}

// format returns v in one of the forms that an integer is written in.
func (v Value) format(f Format) string {
	switch f {
	case IPv4:
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(v.Lo))
		return netip.AddrFrom4(b).String()
	case IPv6:
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], v.Hi)
		binary.BigEndian.PutUint64(b[8:], v.Lo)
		return netip.AddrFrom16(b).String()
	case Ethernet:
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], v.Lo)
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[2], b[3], b[4], b[5], b[6], b[7])
	case Decimal:
		return strconv.FormatUint(v.Lo, 10)
	}
	if v.Hi != 0 {
		return fmt.Sprintf("0x%x%016x", v.Hi, v.Lo)
	}
	return fmt.Sprintf("0x%x", v.Lo)
}
