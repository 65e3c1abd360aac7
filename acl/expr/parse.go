package expr

const (
	// MaxSize is the length, in bytes, of the longest text that is parsed,
	// together with the template variables' values in it.
	MaxSize = 1 << 20
	// MaxDepth is how deeply parentheses may be nested, OVN's own limit.
	MaxDepth = 100
)

// Parse reads a match, resolves the names in it with env and checks it. A nil env
// knows no set and no variable. The error, if any, is an *Error; where it is
// Transient nothing else is wrong with the match.
func Parse(match string, env Env) (*Expr, error) {
	if env == nil {
		env = &Sets{}
	}
	return parseWith(symbols, match, env)
}

// Check reports, as an *Error, why ovn-controller would refuse a match whatever
// the database holds: sets and template variables are taken to exist and to fit,
// and sets not to be empty.
func Check(match string) error {
	_, err := parseWith(symbols, match, Unresolved)
	return err
}

func parseWith(t symbolTable, match string, env Env) (*Expr, error) {
	p := parser{symbols: t, env: env, lex: lexer{src: match}, match: match}
	if len(match) > MaxSize {
		return nil, p.failAt(0, Limit, "match of %d bytes is longer than %d", len(match), MaxSize).
			hint("put its addresses into address sets")
	}
	if i := badByte(match); i >= 0 {
		return nil, p.failAt(i, Lexical, "byte 0x%02x is no text", match[i])
	}
	p.budget = MaxSize - len(match)
	root, err := p.parse()
	switch {
	case err != nil:
		return nil, err
	case p.missing != nil:
		return nil, p.missing
	}
	return &Expr{root: root, templates: p.templates}, nil
}

// parser reads a match by recursive descent, one token ahead. It looks at
// nothing twice, so its time is linear in the text; its depth is MaxDepth.
type parser struct {
	symbols symbolTable
	env     Env
	match   string // the text, for errors

	lex   lexer
	tok   token
	outer *outerText // where to go on behind a template variable's value

	not    bool // inside an odd number of negations
	depth  int  // of parentheses
	budget int  // bytes that template variables may still expand to

	sets      map[string]*Set // resolved so far, with their sigils
	templates []string        // expanded so far
	missing   *Error          // the first name that env does not know
}

// outerText is the text that a template variable is in.
type outerText struct {
	lex  lexer
	at   int // of the variable
	name string
}

// advance reads the next token. The value of a template variable is read as if
// it stood in the variable's place.
func (p *parser) advance() {
	for {
		p.lex.next(&p.tok)
		if p.tok.kind == tokEnd && p.outer != nil {
			p.lex, p.outer = p.outer.lex, nil
			continue
		}
		p.tok.at = p.tok.start
		if p.outer != nil {
			p.tok.at = p.outer.at
		}
		if p.tok.kind != tokTemplate || p.env == Unresolved || !p.expand() {
			return
		}
	}
}

// expand goes on with the value of the template variable that is next. It
// returns false where the token is to be taken as it then is.
func (p *parser) expand() bool {
	name := p.tok.text
	if p.outer != nil {
		p.tok.err = p.fail(Syntax, "^%s is within another template variable", clip(name))
		p.tok.kind = tokError
		return false
	}
	value, ok := "", false
	if p.env != nil {
		value, ok = p.env.Template(name)
	}
	if !ok {
		p.miss(UnknownTemplate, "^", "template variable")
		return false
	}
	if p.budget -= len(value); p.budget < 0 {
		p.tok.err = p.fail(Limit, "match is longer than %d bytes once its template variables are expanded", MaxSize)
		p.tok.kind = tokError
		return false
	}
	p.templates = append(p.templates, name)
	p.outer = &outerText{lex: p.lex, at: p.tok.start, name: name}
	p.lex = lexer{src: value}
	return true
}

// accept passes over a token of the kind, if that is what comes next.
func (p *parser) accept(k tokenKind) bool {
	if p.tok.kind != k {
		return false
	}
	p.advance()
	return true
}

// failAt describes a mistake at byte off of the match.
func (p *parser) failAt(off int, k Kind, format string, args ...any) *Error {
	return newError(k, p.match, off, format, args...)
}

// fail describes a mistake at the next token. If that is no token at all, that is
// what the error says.
func (p *parser) fail(k Kind, format string, args ...any) *Error {
	e := p.tok.err
	switch {
	case e == nil:
		e = p.failAt(p.tok.at, k, format, args...)
	case p.outer == nil || e.Kind != Lexical:
		return e
	default:
		hint := e.Hint
		e = p.failAt(p.tok.at, Lexical, "%s", e.Msg)
		e.Hint = hint
	}
	if p.outer != nil {
		e.Msg += ", in the value of ^" + clip(p.outer.name)
	}
	return e
}

// miss notes that env does not know the next token's name. The rest is checked
// all the same: a mistake in it would outlast the missing name.
func (p *parser) miss(k Kind, sigil, what string) {
	if p.missing == nil {
		name := sigil + p.tok.text
		p.missing = p.failAt(p.tok.at, k, "no %s named %s", what, clip(p.tok.text)).named(name)
		p.missing.Hint = "OVN leaves the flow out until it exists"
	}
}

// found describes the next token in an error message.
func (p *parser) found() string {
	if p.tok.kind == tokEnd {
		return "end of match"
	}
	return clip(p.lex.src[p.tok.start:p.tok.end])
}

// expected describes the lack of something where the next token is.
func (p *parser) expected(what string) *Error {
	return p.fail(Syntax, "%s expected, found %s", what, p.found())
}

// parse reads the whole text.
func (p *parser) parse() (Node, *Error) {
	p.advance()
	if p.tok.kind == tokEnd {
		return nil, p.failAt(0, Syntax, "match is empty").hint("1 matches every packet")
	}
	n, err := p.expression()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.trailing()
	}
	return n, nil
}

// trailing describes what follows a complete expression.
func (p *parser) trailing() *Error {
	e := p.fail(Syntax, "end of match expected, found %s", p.found())
	if e.Kind != Syntax || e.Hint != "" {
		return e
	}
	switch {
	case p.tok.kind == tokRParen:
		e.hint("there is no ( for it")
	case p.tok.kind == tokID && (p.tok.text == "and" || p.tok.text == "AND"):
		e.hint("the logical and is &&")
	case p.tok.kind == tokID && (p.tok.text == "or" || p.tok.text == "OR"):
		e.hint("the logical or is ||")
	default:
		e.hint("terms are joined by && or ||")
	}
	return e
}

// expression reads terms joined by && or by ||.
func (p *parser) expression() (Node, *Error) {
	first, err := p.term()
	if err != nil {
		return nil, err
	}
	op := p.tok.kind
	if op != tokAnd && op != tokOr {
		return first, nil
	}
	terms := []Node{first}
	for p.accept(op) {
		n, err := p.term()
		if err != nil {
			return nil, err
		}
		terms = append(terms, n)
	}
	if p.tok.kind == tokAnd || p.tok.kind == tokOr {
		return nil, p.fail(Ambiguous, "&& and || are used together without parentheses").
			hint("write (a && b) || c or a && (b || c)")
	}
	return combine(op == tokAnd, terms), nil
}

// term reads one operand of && and ||.
func (p *parser) term() (Node, *Error) {
	if p.tok.kind != tokNot {
		n, _, err := p.primary()
		return n, err
	}
	p.advance()
	at := p.tok.at
	p.not = !p.not
	n, atomic, err := p.primary()
	p.not = !p.not
	switch {
	case err != nil:
		return nil, err
	case p.tok.kind == tokError:
		return nil, p.fail(Lexical, "")
	case !atomic:
		return nil, p.failAt(at, Ambiguous, "! before a comparison without parentheses").
			hint("write !(a == b), or turn the operator around")
	}
	return negate(n), nil
}

// primary reads a term without its negation. It is atomic where ! may stand
// before it.
func (p *parser) primary() (n Node, atomic bool, err *Error) {
	switch p.tok.kind {
	case tokLParen:
		n, err = p.parenthesized()
		return n, true, err
	case tokID:
		if p.callFollows() {
			n, err = p.call()
			return n, true, err
		}
		return p.fieldFirst()
	case tokNot:
		return nil, false, p.expected("term").hint("! cannot follow !")
	}
	return p.constantFirst()
}

func (p *parser) parenthesized() (Node, *Error) {
	if p.depth == MaxDepth {
		return nil, p.fail(Limit, "parentheses are nested more than %d deep", MaxDepth)
	}
	at := p.tok.at
	p.advance()
	p.depth++
	n, err := p.expression()
	p.depth--
	if err != nil {
		return nil, err
	}
	if !p.accept(tokRParen) {
		e := p.expected(")")
		if e.Hint == "" && p.tok.kind == tokEnd {
			e.hint("for the ( in column %d", p.failAt(at, Syntax, "").Column)
		}
		return nil, e
	}
	return n, nil
}

// callFollows reports whether the name that is next has a ( behind it.
func (p *parser) callFollows() bool {
	lex := p.lex
	var t token
	if !lex.skip(&t) {
		return false
	}
	return lex.at(lex.pos) == '('
}

// call reads a function and its argument; there is but one function.
func (p *parser) call() (Node, *Error) {
	if p.tok.text != "is_chassis_resident" {
		return nil, p.fail(UnknownField, "unknown function %s", clip(p.tok.text)).
			named(p.tok.text).hint("the only one is is_chassis_resident(\"port\")")
	}
	p.advance()
	p.advance()
	if p.tok.kind != tokString {
		return nil, p.expected("quoted port name")
	}
	n := &Resident{Port: p.tok.text}
	p.advance()
	if !p.accept(tokRParen) {
		return nil, p.expected(")")
	}
	return n, nil
}

// fieldFirst reads "field" or "field op constants".
func (p *parser) fieldFirst() (n Node, atomic bool, err *Error) {
	at := p.tok.at
	f, err := p.field()
	if err != nil {
		return nil, false, err
	}
	op, ok := p.tok.op()
	if !ok {
		n, err := p.mention(f, at)
		return n, true, err
	}
	p.advance()
	c, err := p.constants()
	if err != nil {
		return nil, false, err
	}
	n, err = p.compare(f, op, &c)
	return n, false, err
}

// mention makes the test that a field's name alone is.
func (p *parser) mention(f FieldRef, at int) (Node, *Error) {
	name := f.Symbol.Name
	switch {
	case p.tok.kind == tokAssign:
		return nil, p.expected("comparison").hint("equality is ==")
	case f.Symbol.Width == 0:
		return nil, p.expected("comparison of "+name).hint(`write %s == "port"`, name)
	case f.Width > 1 && !p.not:
		return nil, p.failAtUnlessLexical(at, Mismatch, "%s has %d bits and no truth value", f, f.Width).
			hint("compare it, as in %s != 0", f).named(name)
	}
	zero := operands{kind: Integer, known: true, list: []Constant{{Format: Hex}}, at: at}
	return p.compare(f, NE, &zero)
}

// failAtUnlessLexical is failAt, unless the next token is none: then that is the
// mistake.
func (p *parser) failAtUnlessLexical(off int, k Kind, format string, args ...any) *Error {
	if p.tok.kind == tokError {
		return p.fail(k, "")
	}
	return p.failAt(off, k, format, args...)
}

// constantFirst reads "constants op field", a range "a < field < b", or a
// literal 0 or 1.
func (p *parser) constantFirst() (n Node, atomic bool, err *Error) {
	if p.tok.kind == tokEnd || p.tok.kind == tokRParen || p.tok.kind == tokAnd || p.tok.kind == tokOr {
		return nil, false, p.expected("term")
	}
	c1, err := p.constants()
	if err != nil {
		return nil, false, err
	}
	op1, ok := p.tok.op()
	if !ok {
		if n := c1.term(); n != nil {
			return n, true, nil
		}
		return nil, false, p.expected("comparison").hint("a term is a comparison, a predicate, 0 or 1")
	}
	p.advance()
	f, err := p.field()
	if err != nil {
		return nil, false, err
	}
	op2, ok := p.tok.op()
	if !ok {
		n, err := p.compare(f, op1.turned(), &c1)
		return n, false, err
	}
	at := p.tok.at
	p.advance()
	c2, err := p.constants()
	if err != nil {
		return nil, false, err
	}
	up := func(o Op) bool { return o == LT || o == LE }
	if !op1.ordered() || !op2.ordered() || up(op1) != up(op2) {
		return nil, false, p.failAtUnlessLexical(at, Syntax, "%s and %s make no range", op1, op2).
			hint("write low <= field <= high or high >= field >= low")
	}
	low, err := p.compare(f, op1.turned(), &c1)
	if err != nil {
		return nil, false, err
	}
	high, err := p.compare(f, op2, &c2)
	if err != nil {
		return nil, false, err
	}
	return combine(true, []Node{low, high}), false, nil
}

// field reads the name of a field or predicate and a selection of bits.
func (p *parser) field() (FieldRef, *Error) {
	if p.tok.kind != tokID {
		return FieldRef{}, p.expected("field")
	}
	name, at := p.tok.text, p.tok.at
	s := p.symbols[name]
	if s == nil {
		e := p.fail(UnknownField, "unknown field %s", clip(name)).named(name)
		if h := p.symbols.suggest(name); h != "" {
			e.hint("%s", h)
		}
		return FieldRef{}, e
	}
	if s.action {
		return FieldRef{}, p.fail(UnknownField, "%s can be set by actions only, not matched", name).named(name)
	}
	p.advance()
	f := FieldRef{Symbol: s, Width: s.Width}
	if p.accept(tokLSquare) {
		return p.bits(s, at)
	}
	return f, nil
}

// bits reads the selection of bits of a symbol, behind its [.
func (p *parser) bits(s *Symbol, at int) (FieldRef, *Error) {
	if s.Width == 0 {
		return FieldRef{}, p.failAtUnlessLexical(at, Mismatch, "%s is a string and has no bits", s.Name).named(s.Name)
	}
	bit := func() (int, *Error) {
		i, ok := p.tok.smallInt()
		if !ok {
			return 0, p.expected("number of a bit")
		}
		p.advance()
		return i, nil
	}
	low, err := bit()
	if err != nil {
		return FieldRef{}, err
	}
	high := low
	if p.accept(tokEllipsis) {
		if high, err = bit(); err != nil {
			return FieldRef{}, err
		}
	}
	if !p.accept(tokRSquare) {
		return FieldRef{}, p.expected("]")
	}
	switch {
	case low > high:
		return FieldRef{}, p.failAtUnlessLexical(at, Mismatch, "bits %d..%d of %s are in the wrong order", low, high, s.Name).
			hint("write %s[%d..%d]", s.Name, high, low).named(s.Name)
	case high >= s.Width:
		return FieldRef{}, p.failAtUnlessLexical(at, Mismatch, "%s has no bit %d", s.Name, high).
			hint("its bits are 0 to %d", s.Width-1).named(s.Name)
	case s.Measure == Nominal && high-low+1 != s.Width:
		return FieldRef{}, p.failAtUnlessLexical(at, Level, "single bits of %s cannot be matched", s.Name).
			hint("it is nominal: compare all of it with ==").named(s.Name)
	}
	return FieldRef{Symbol: s, Low: low, Width: high - low + 1}, nil
}
