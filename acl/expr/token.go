package expr

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokError
	tokID       // a name; token.text
	tokString   // a quoted string; token.text is what it means
	tokInteger  // a number, address or masked one; token.num
	tokSet      // $name
	tokGroup    // @name
	tokTemplate // ^name
	tokLParen
	tokRParen
	tokLCurly
	tokRCurly
	tokLSquare
	tokRSquare
	tokEq
	tokNe
	tokLt
	tokLe
	tokGt
	tokGe
	tokNot
	tokAnd
	tokOr
	tokEllipsis
	tokComma
	tokAssign // "=", which only actions use
	tokOther  // the rest of what only actions use
)

// token is one token of the language.
type token struct {
	kind       tokenKind
	start, end int // where it is in the lexer's text
	at         int // where it, or the template variable that it is from, is in the match
	text       string
	num        number
	err        *Error // of tokError
}

// op returns the relational operator that the token is.
func (t *token) op() (Op, bool) {
	if t.kind < tokEq || t.kind > tokGe {
		return 0, false
	}
	return Op(t.kind - tokEq), true
}

// Op is a relational operator.
type Op uint8

// In the order of their tokens.
const (
	EQ Op = iota
	NE
	LT
	LE
	GT
	GE
)

func (o Op) String() string { return [...]string{"==", "!=", "<", "<=", ">", ">="}[o] }

// ordered reports whether the operator needs an order, beyond equality.
func (o Op) ordered() bool { return o >= LT }

// turned returns the operator with its operands exchanged.
func (o Op) turned() Op { return [...]Op{EQ, NE, GT, GE, LT, LE}[o] }

// inverted returns the operator that holds exactly where o does not.
func (o Op) inverted() Op { return [...]Op{NE, EQ, GE, GT, LE, LT}[o] }

// holds reports whether the operator holds for a three-way comparison's result.
func (o Op) holds(cmp int) bool {
	switch o {
	case EQ:
		return cmp == 0
	case NE:
		return cmp != 0
	case LT:
		return cmp < 0
	case LE:
		return cmp <= 0
	case GT:
		return cmp > 0
	}
	return cmp >= 0
}
