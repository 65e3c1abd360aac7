package expr

// operands are the constants on one side of a comparison, as read.
type operands struct {
	at     int // where they begin
	braces bool
	kind   ConstKind // Integer or String, what all of them are
	known  bool      // kind is known; not while there are only template variables
	list   []Constant
	wide   widest
}

// widest is the operand that needs the widest field.
type widest struct {
	bits int
	at   int
	text string
}

// constants reads one constant, or several in braces. Commas are optional there.
func (p *parser) constants() (operands, *Error) {
	c := operands{at: p.tok.at}
	if !p.accept(tokLCurly) {
		return c, p.constant(&c)
	}
	c.braces = true
	for {
		if err := p.constant(&c); err != nil {
			return c, err
		}
		p.accept(tokComma)
		if p.accept(tokRCurly) {
			return c, nil
		}
	}
}

// constant reads one constant into c.
func (p *parser) constant(c *operands) *Error {
	switch p.tok.kind {
	case tokInteger:
		if err := p.agree(c, Integer); err != nil {
			return err
		}
		n := &p.tok.num
		if w := n.width(); w > c.wide.bits {
			c.wide = widest{w, p.tok.at, p.lex.src[p.tok.start:p.tok.end]}
		}
		c.list = append(c.list, Constant{Kind: Integer, Format: n.format, Masked: n.masked, Value: n.value, Mask: n.mask})
	case tokString:
		if err := p.agree(c, String); err != nil {
			return err
		}
		c.list = append(c.list, Constant{Kind: String, Text: p.tok.text})
	case tokSet:
		if err := p.set(c, SetRef, Integer, "$"); err != nil {
			return err
		}
	case tokGroup:
		if err := p.set(c, GroupRef, String, "@"); err != nil {
			return err
		}
	case tokTemplate:
		c.list = append(c.list, Constant{Kind: TemplateRef, Text: p.tok.text})
	case tokRCurly:
		return p.expected("constant").hint("a set in braces cannot be empty")
	case tokID:
		return p.expected("constant").hint("strings are quoted, sets begin with $ and port groups with @")
	default:
		return p.expected("constant")
	}
	p.advance()
	return nil
}

// agree settles that the operands are of a kind, or fails where they are not. An
// empty set fits everything that follows it.
func (p *parser) agree(c *operands, k ConstKind) *Error {
	if c.known && c.kind != k && !c.empty() {
		return p.fail(Mismatch, "%s among %ss", p.found(), c.kind)
	}
	c.kind, c.known = k, true
	return nil
}

func (k ConstKind) String() string {
	return [...]string{"integer", "string", "address set", "port group", "template variable"}[k]
}

// set resolves the set that is next and adds it to c.
func (p *parser) set(c *operands, ref, kind ConstKind, sigil string) *Error {
	if err := p.agree(c, kind); err != nil {
		return err
	}
	s := p.resolve(ref, sigil)
	if s != nil && len(s.values) > 0 {
		if w := s.maxBits(); w > c.wide.bits {
			c.wide = widest{w, p.tok.at, p.lex.src[p.tok.start:p.tok.end]}
		}
	}
	c.list = append(c.list, Constant{Kind: ref, Text: p.tok.text, Set: s})
	return nil
}

// resolve returns the set that the next token names; nil where it is not known.
func (p *parser) resolve(ref ConstKind, sigil string) *Set {
	if p.env == Unresolved {
		return nil
	}
	key := p.lex.src[p.tok.start:p.tok.end]
	if s, ok := p.sets[key]; ok {
		return s
	}
	var s *Set
	ok := false
	switch {
	case p.env == nil:
	case ref == SetRef:
		s, ok = p.env.AddressSet(p.tok.text)
	default:
		s, ok = p.env.PortGroup(p.tok.text)
	}
	switch {
	case ok && s == nil:
		s = &Set{}
	case !ok && ref == SetRef:
		p.miss(UnknownSet, sigil, "address set")
	case !ok:
		p.miss(UnknownSet, sigil, "port group")
	}
	if p.sets == nil {
		p.sets = map[string]*Set{}
	}
	p.sets[key] = s
	return s
}

// empty reports whether the operands are nothing but empty sets.
func (c *operands) empty() bool {
	for i := range c.list {
		if k := &c.list[i]; k.Kind != SetRef && k.Kind != GroupRef || k.Set == nil || k.Set.Len() > 0 {
			return false
		}
	}
	return true
}

// term returns the term that the operands are by themselves: 0, 1 or a template
// variable that may hold one. Else it returns nil.
func (c *operands) term() Node {
	if c.braces {
		return nil
	}
	switch k := &c.list[0]; {
	case k.Kind == TemplateRef:
		return &Template{Name: k.Text}
	case k.Kind == Integer && k.Format == Decimal && !k.Masked && k.Value.cmp(Uint(1)) <= 0:
		return &Bool{Value: k.Value.odd()}
	}
	return nil
}
