package expr

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes matches at random, most of them well-formed.
type generator struct {
	r     *rand.Rand
	names []string
}

func newGenerator(seed uint64) *generator {
	names := slices.Sorted(maps.Keys(symbols))
	names = slices.DeleteFunc(names, func(n string) bool { return symbols[n].action })
	return &generator{rand.New(rand.NewPCG(seed, seed)), names}
}

func (g *generator) pick(s ...string) string { return s[g.r.IntN(len(s))] }

// expression returns terms joined and nested up to depth.
func (g *generator) expression(depth int) string {
	n := 1 + g.r.IntN(3)
	op := g.pick(" && ", " || ")
	terms := make([]string, n)
	for i := range terms {
		terms[i] = g.term(depth)
	}
	return strings.Join(terms, op)
}

func (g *generator) term(depth int) string {
	if depth > 0 && g.r.IntN(4) == 0 {
		return g.pick("", "", "!") + "(" + g.expression(depth-1) + ")"
	}
	switch g.r.IntN(12) {
	case 0:
		return g.pick("0", "1", `is_chassis_resident("p1")`)
	case 1:
		return `inport == ` + g.pick(`"p1"`, "@pg", `{"p1", "p2"}`, `{@pg "p9"}`)
	}
	s := symbols[g.pick(g.names...)]
	switch {
	case s.Width == 0:
		return g.pick(`outport == "p2"`, `"p1" == inport`)
	case s.Width == 1:
		if g.r.IntN(4) > 0 {
			return g.pick("", "", "", "!") + s.Name
		}
		return s.Name + g.pick(" == ", " != ", " == ", " < ") + g.pick("0", "1", "{0, 1}", "1/1")
	}
	name, width := s.Name, s.Width
	if s.Measure == Ordinal && g.r.IntN(4) == 0 {
		low := g.r.IntN(width)
		if g.r.IntN(3) == 0 {
			return fmt.Sprintf("%s%s[%d]", g.pick("", "!"), name, low)
		}
		high := low + g.r.IntN(width-low)
		name = fmt.Sprintf("%s[%d..%d]", name, low, high)
	}
	op := "=="
	if s.Measure == Ordinal || g.r.IntN(8) == 0 {
		op = g.pick("==", "==", "!=", "<", "<=", ">", ">=")
	}
	if op[0] == '<' || op[0] == '>' {
		return fmt.Sprintf("%s %s %s", name, op, g.integer(width))
	}
	switch g.r.IntN(8) {
	case 0:
		if s.Measure == Ordinal {
			lt := g.pick("<", ">")
			return g.integer(width) + " " + lt + g.pick("", "=") + " " + name + " " + lt + g.pick("", "=") + " " + g.integer(width)
		}
	case 1:
		return g.integer(width) + " " + op + " " + name
	case 2:
		return fmt.Sprintf("%s %s {%s, %s}", name, op, g.constant(width), g.constant(width))
	case 3:
		return fmt.Sprintf("!(%s %s %s)", name, op, g.constant(width))
	case 4:
		return fmt.Sprintf("%s %s %s", name, op, g.masked(width))
	}
	return fmt.Sprintf("%s %s %s", name, op, g.constant(width))
}

// value returns a number of up to width bits, small more often than not.
func (g *generator) value(width int) Value {
	v := Value{g.r.Uint64(), g.r.Uint64()}
	switch g.r.IntN(3) {
	case 0:
		v = Uint(v.Lo & 0xff)
	case 1:
		v = v.or(ones(64))
	}
	return v.and(ones(width))
}

// constant returns a constant, of a type that fits the width in most cases.
func (g *generator) constant(width int) string {
	switch {
	case width == 32 && g.r.IntN(3) > 0:
		return g.pick("10.0.0.1", "10.0.1.5", "224.0.0.1", "$as4", "10.0.0.0/8", "0.0.0.0/0", "1.2.3.4/255.0.0.255")
	case width == 128 && g.r.IntN(3) > 0:
		return g.pick("::1", "fd00::1", "$as6", "fd00::/8", "ff02::1:ff00:1", "::/0")
	case width == 48 && g.r.IntN(3) > 0:
		return g.pick("00:00:00:00:00:01", "$mac", "01:00:00:00:00:00/01:00:00:00:00:00")
	case width == 16 && g.r.IntN(4) == 0:
		return g.pick("$port", "80", "443", "$empty")
	}
	return g.integer(width)
}

// integer returns a number without a mask.
func (g *generator) integer(width int) string {
	if g.r.IntN(2) == 0 && width <= 64 {
		return g.value(width).format(Decimal)
	}
	return g.value(width).format(Hex)
}

func (g *generator) masked(width int) string {
	return g.value(width).format(Hex) + "/" + g.value(width).format(Hex)
}

// spoil changes a few characters of a match.
func (g *generator) spoil(m string) string {
	b := []byte(m)
	for range 1 + g.r.IntN(2) {
		i := g.r.IntN(len(b))
		switch g.r.IntN(4) {
		case 0:
			b = slices.Delete(b, i, i+1)
		case 1:
			b[i] = alphabet[g.r.IntN(len(alphabet))]
		case 2:
			b = slices.Insert(b, i, alphabet[g.r.IntN(len(alphabet))])
		case 3:
			j := i + g.r.IntN(min(6, len(b)-i))
			b = slices.Insert(b, i, slices.Clone(b[i:j])...)
		}
		if len(b) == 0 {
			return "("
		}
	}
	return string(b)
}

const alphabet = `(){}[]<>=!&|$@."\/:,;-+ 019afxABz_*#`

// tokens returns tokens in no order.
func (g *generator) tokens() string {
	var b strings.Builder
	for range 1 + g.r.IntN(9) {
		b.WriteString(g.pick("(", ")", "{", "}", "[0]", "[0..3]", "==", "!=", "<", "<=", ">", ">=", "!", "&&", "||",
			",", "0", "1", "80", "0xff", "10.0.0.1", "10.0.0.0/8", "::1", "fe80::/10", "00:00:00:00:00:01", `"p1"`,
			"$as4", "@pg", "$port", "ip4", "tcp.dst", "inport", "reg0", "eth.mcast", "vlan.present", "eth.type", "="))
		b.WriteString(g.pick("", " ", " ", " "))
	}
	return b.String()
}
