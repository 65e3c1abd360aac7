package expr

// Measure is a level of measurement: what can be asked of a symbol's value.
type Measure uint8

const (
	Nominal Measure = iota // only whether it equals a value
	Boolean                // true or false
	Ordinal                // order, and single bits
)

func (m Measure) String() string { return [...]string{"nominal", "Boolean", "ordinal"}[m] }

// Symbol is a name that a match can use: a field, a subfield or a predicate.
// Symbols do not change.
type Symbol struct {
	Name    string
	Width   int // in bits, 1 for predicates; 0 marks the string fields
	Measure Measure

	// field is where a packet holds the value: bits ofs and up of it, for
	// subfields; meaningless for predicates.
	field Field
	ofs   int
	// prereq must hold for a comparison to; nil for none.
	prereq Node
	// expansion is what a predicate stands for; nil for fields.
	expansion Node
	// action is set for the fields that only actions can use.
	action bool
}

// Predicate reports whether the symbol stands for an expression.
func (s *Symbol) Predicate() bool { return s.expansion != nil }

// symbolTable holds the symbols by name.
type symbolTable map[string]*Symbol

// Lookup returns the symbol of that name, or nil.
func Lookup(name string) *Symbol { return symbols[name] }

// define parses a definition over the symbols so far.
func (t symbolTable) define(name, text string) Node {
	e, err := parseWith(t, text, nil)
	if err != nil {
		panic("expr: definition of " + name + ": " + err.Error())
	}
	return e.root
}

// measure returns what can be asked of an expression's result: a nominal
// comparison anywhere in it makes all of it nominal.
func measure(n Node) Measure {
	switch n := n.(type) {
	case *And:
		return measureAll(n.Terms)
	case *Or:
		return measureAll(n.Terms)
	case *Compare:
		if n.Field.Symbol.Measure == Nominal {
			return Nominal
		}
	}
	return Boolean
}

func measureAll(terms []Node) Measure {
	for _, t := range terms {
		if measure(t) == Nominal {
			return Nominal
		}
	}
	return Boolean
}
