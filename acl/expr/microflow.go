package expr

import "fmt"

// NewHeader returns a packet from a description in the language itself, as
// ovn-trace(8) takes it: a conjunction of "field == value" and predicates, with
// their prerequisites implied. Where a term offers a choice ("ip" is ip4 or ip6)
// and what the rest says does not decide it, the first is taken.
func NewHeader(microflow string) (*Header, error) {
	e, err := Parse(microflow, nil)
	if err != nil {
		return nil, err
	}
	h := &Header{}
	w := describer{h: h}
	if err := w.apply(e.root); err != nil {
		return nil, fmt.Errorf("packet %q: %w", clip(microflow), err)
	}
	// Choices wait until everything that is certain is in place, and then the
	// choices that those bring in their turn.
	for len(w.choices) > 0 {
		or := w.choices[0]
		w.choices = w.choices[1:]
		if eval(or, h) {
			continue
		}
		if err := w.apply(or.Terms[0]); err != nil {
			return nil, fmt.Errorf("packet %q: %w", clip(microflow), err)
		}
	}
	return h, nil
}

type describer struct {
	h       *Header
	choices []*Or
	known   [numInts]Value // the bits that are settled
}

// set settles bits of a field, unless they are already settled otherwise.
func (w *describer) set(n *Compare, value, mask Value) error {
	s := n.Field.Symbol
	ofs := s.ofs + n.Field.Low
	value, mask = value.shl(ofs), mask.shl(ofs)
	field, known := &w.h.ints[s.field], &w.known[s.field]
	if both := mask.and(*known); value.and(both) != field.and(both) {
		e := Expr{root: n}
		return fmt.Errorf("%s contradicts the rest of the description", e.String())
	}
	*field = field.or(value)
	*known = known.or(mask)
	return nil
}

func (w *describer) apply(n Node) error {
	switch n := n.(type) {
	case *Bool:
		if n.Value {
			return nil
		}
	case *And:
		for _, t := range n.Terms {
			if err := w.apply(t); err != nil {
				return err
			}
		}
		return nil
	case *Or:
		w.choices = append(w.choices, n)
		return nil
	case *Resident:
		if !n.Negated {
			w.h.AddResident(n.Port)
		}
		return nil
	case *Compare:
		return w.compare(n)
	}
	var e = Expr{root: n}
	return fmt.Errorf("%s describes no packet", e.String())
}

func (w *describer) compare(n *Compare) error {
	s := n.Field.Symbol
	single := Expr{root: n}
	if len(n.Values) != 1 {
		if n.Op != EQ {
			return fmt.Errorf("%s leaves the value open", single.String())
		}
		or := &Or{}
		for _, v := range n.Values {
			or.Terms = append(or.Terms, &Compare{Field: n.Field, Op: EQ, Values: []Constant{v}})
		}
		w.choices = append(w.choices, or)
		return nil
	}
	k := &n.Values[0]
	switch {
	case n.bitTest() && s.Predicate():
		if n.Op == EQ {
			return w.apply(s.expansion)
		}
		return nil // a packet is not what nothing says it is
	case n.bitTest():
		v := Uint(1)
		if n.Op == NE {
			v = Value{}
		}
		if err := w.set(n, v, Uint(1)); err != nil {
			return err
		}
	case n.Op != EQ:
		return fmt.Errorf("%s leaves the value open", single.String())
	case k.Kind == String:
		if old := w.h.Str(s.field); old != "" && old != k.Text {
			return fmt.Errorf("%s contradicts %q", single.String(), old)
		}
		w.h.SetStr(s.field, k.Text)
	case k.Kind == Integer:
		mask := ones(n.Field.Width)
		if k.Masked {
			mask = k.Mask
		}
		if err := w.set(n, k.Value, mask); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s leaves the value open", single.String())
	}
	if s.prereq != nil {
		return w.apply(s.prereq)
	}
	return nil
}
