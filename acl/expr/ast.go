package expr

// Expr is a match whose names are resolved and whose types are checked. It does
// not change and may be used from several goroutines.
type Expr struct {
	root      Node
	templates []string // that were expanded, in the order of their first use
}

// Root returns the expression's top. What it points to must not be changed.
func (e *Expr) Root() Node { return e.root }

// Node is one of *Bool, *And, *Or, *Compare, *Resident and *Template. There is no
// negation: it is pushed down into the others.
type Node interface{ node() }

// Bool is the literal 0 or 1.
type Bool struct{ Value bool }

// And holds where all of its terms do. It has two or more, none of them an And.
type And struct{ Terms []Node }

// Or holds where any of its terms does. It has two or more, none of them an Or.
type Or struct{ Terms []Node }

// Compare compares a field with constants: EQ holds where the field equals any of
// them, every other operator where it holds for all of them. The test of a bit
// or predicate, "ip4", is an EQ with 1, and its negation an NE with 1.
type Compare struct {
	Field  FieldRef
	Op     Op
	Values []Constant
	// Negated inverts the comparison as a whole, prerequisites not included. Only
	// the order with a set needs it: "!(tcp.dst < $ports)".
	Negated bool
}

// Resident is is_chassis_resident(Port).
type Resident struct {
	Port    string
	Negated bool
}

// Template is a template variable that stands for a whole term, whose value is
// not known; only with Unresolved.
type Template struct {
	Name    string
	Negated bool
}

func (*Bool) node()     {}
func (*And) node()      {}
func (*Or) node()       {}
func (*Compare) node()  {}
func (*Resident) node() {}
func (*Template) node() {}

// FieldRef is a symbol, or some of its bits.
type FieldRef struct {
	Symbol *Symbol
	Low    int // the first bit, counted from the symbol's least significant
	Width  int // how many; 0 for string fields
}

// whole reports whether the reference is to all of the symbol.
func (f FieldRef) whole() bool { return f.Width == f.Symbol.Width }

// ConstKind is what sort of constant a Constant is.
type ConstKind uint8

const (
	Integer     ConstKind = iota // Value, Mask
	String                       // Text
	SetRef                       // $Text
	GroupRef                     // @Text
	TemplateRef                  // ^Text, only with Unresolved
)

// Constant is one operand of a Compare.
type Constant struct {
	Kind   ConstKind
	Format Format
	Masked bool
	// Value and Mask of an integer; Value has no bits outside Mask. Mask is zero
	// unless Masked.
	Value, Mask Value
	Text        string // a string's content, or a name without its sigil
	Set         *Set   // of SetRef and GroupRef; nil with Unresolved
}

// combine returns the And or Or of terms, without nesting a kind in itself.
func combine(and bool, terms []Node) Node {
	if len(terms) == 1 {
		return terms[0]
	}
	flat := make([]Node, 0, len(terms))
	for _, t := range terms {
		switch n := t.(type) {
		case *And:
			if and {
				flat = append(flat, n.Terms...)
				continue
			}
		case *Or:
			if !and {
				flat = append(flat, n.Terms...)
				continue
			}
		}
		flat = append(flat, t)
	}
	if and {
		return &And{flat}
	}
	return &Or{flat}
}

// negate returns the negation of n, which it may reuse.
func negate(n Node) Node {
	switch n := n.(type) {
	case *Bool:
		n.Value = !n.Value
	case *And:
		negateAll(n.Terms)
		return &Or{n.Terms}
	case *Or:
		negateAll(n.Terms)
		return &And{n.Terms}
	case *Compare:
		if n.Op.ordered() && n.Values[0].Kind != Integer {
			n.Negated = !n.Negated
		} else {
			n.Op = n.Op.inverted()
		}
	case *Resident:
		n.Negated = !n.Negated
	case *Template:
		n.Negated = !n.Negated
	}
	return n
}

func negateAll(terms []Node) {
	for i, t := range terms {
		terms[i] = negate(t)
	}
}
