package expr

// compare checks a comparison and makes its node. The operator is one with the
// field on the left.
func (p *parser) compare(f FieldRef, op Op, c *operands) (Node, *Error) {
	if p.tok.kind == tokError {
		return nil, p.fail(Lexical, "")
	}
	err := p.checkTypes(f, c)
	if err == nil && op.ordered() {
		err = p.checkOrder(f, op, c)
	}
	if err == nil && f.Symbol.Measure == Nominal {
		err = p.checkNominal(f, op, c)
	}
	if err != nil {
		return nil, err.named(f.Symbol.Name)
	}
	n := &Compare{Field: f, Op: op, Values: c.list}
	n.normalize()
	return n, nil
}

// checkTypes requires that field and constants are of one type, and that no
// constant is wider than the field. It is the symbol's width that counts, even
// where only some of its bits are compared.
func (p *parser) checkTypes(f FieldRef, c *operands) *Error {
	s := f.Symbol
	want := Integer
	if s.Width == 0 {
		want = String
	}
	if c.known && c.kind != want {
		if want == String {
			return p.failAt(c.at, Mismatch, "%s is a string, compared with an integer", s.Name).hint(`quote port names: "name"`)
		}
		return p.failAt(c.at, Mismatch, "%s is an integer of %d bits, compared with a string", s.Name, s.Width).
			hint("numbers and addresses are not quoted")
	}
	if s.Width != 0 && c.wide.bits > s.Width {
		return p.failAt(c.wide.at, Mismatch, "%s has %d bits, %s needs %d", s.Name, s.Width, clip(c.wide.text), c.wide.bits)
	}
	return nil
}

// checkOrder requires that constants and field have an order.
func (p *parser) checkOrder(f FieldRef, op Op, c *operands) *Error {
	s := f.Symbol
	switch {
	case c.braces:
		return p.failAt(c.at, Level, "%s cannot compare with a set in braces", op).hint("only == and != can")
	case s.Measure != Ordinal:
		return p.failAt(c.at, Level, "%s is %s and has no order for %s", s.Name, s.Measure, op).hint("only == and != apply")
	}
	first := &c.list[0]
	masked := first.Masked
	if first.Set != nil {
		if first.Set.Len() == 0 {
			return p.failAt(c.at, Level, "%s cannot compare with an empty set", op)
		}
		masked = first.Set.masked
	}
	if masked {
		return p.failAt(c.at, Level, "%s cannot compare with a masked constant", op).
			hint("select bits of the field instead, as in %s[0..%d]", s.Name, max(s.Width/2-1, 0))
	}
	return nil
}

// checkNominal requires that, negations around it included, a comparison with a
// nominal field is one for equality: a flow can say what a packet is, not what it
// is not.
func (p *parser) checkNominal(f FieldRef, op Op, c *operands) *Error {
	s := f.Symbol
	if !s.Predicate() {
		if (op == NE) != p.not {
			e := p.failAt(c.at, Level, "%s is nominal: it can be tested for equality only", s.Name)
			if p.not {
				return e.hint("the ! before it makes this an inequality; list the values that match instead")
			}
			return e.hint("list the values that match instead")
		}
		return nil
	}
	// The test is positive where the value's low bit, the operator and the
	// negations around it cancel out.
	odd := (op == NE) == p.not
	for i := range c.list {
		k := &c.list[i]
		bad := k.Kind == Integer && k.Value.odd() != odd
		if k.Set != nil && len(k.Set.values) > 0 {
			bad = odd && k.Set.parity[0] || !odd && k.Set.parity[1]
		}
		if bad {
			return p.failAt(c.at, Level, "%s is a nominal predicate: it can be tested for truth only, not for falsehood", s.Name).
				hint("list what matches instead, as in ip6 for !ip4")
		}
	}
	return nil
}

// normalize brings a comparison that passed the checks into its canonical form:
// constants are cut to the bits that are compared, masks that say nothing go, and
// the test of a bit becomes one for 1.
func (n *Compare) normalize() {
	f := n.Field
	if f.Symbol.Width == 0 {
		return
	}
	all := ones(f.Width)
	for i := range n.Values {
		k := &n.Values[i]
		if k.Kind != Integer {
			continue
		}
		k.Value, k.Mask = k.Value.and(all), k.Mask.and(all)
		if k.Masked && (k.Mask == all || f.Symbol.Predicate()) {
			k.Masked, k.Mask = false, Value{}
		}
		// An address is as wide as its form, whatever its mask was.
		if !k.Masked && k.Format.width() > f.Symbol.Width {
			k.Format = Hex
		}
	}
	if k := &n.Values[0]; f.Width == 1 && len(n.Values) == 1 && k.Kind == Integer && !k.Masked && !n.Op.ordered() {
		if !k.Value.odd() {
			n.Op = n.Op.inverted()
		}
		*k = Constant{Format: Decimal, Value: Uint(1)}
	}
}
