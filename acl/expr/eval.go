package expr

// Eval reports whether the packet matches.
func (e *Expr) Eval(p Packet) bool { return eval(e.root, p) }

func eval(n Node, p Packet) bool {
	switch n := n.(type) {
	case *Bool:
		return n.Value
	case *And:
		for _, t := range n.Terms {
			if !eval(t, p) {
				return false
			}
		}
		return true
	case *Or:
		for _, t := range n.Terms {
			if eval(t, p) {
				return true
			}
		}
		return false
	case *Compare:
		return n.eval(p)
	case *Resident:
		return p.Resident(n.Port) != n.Negated
	}
	return false // a Template: what it stands for is not known
}

// eval compares, and asks for the field's prerequisites. With nothing but empty
// sets there is no comparison and so no prerequisite: all of nothing holds, none
// of nothing does.
func (n *Compare) eval(p Packet) bool {
	s := n.Field.Symbol
	if n.empty() {
		return n.Op != EQ
	}
	if s.Predicate() {
		return n.evalPredicate(eval(s.expansion, p))
	}
	if s.prereq != nil && !eval(s.prereq, p) {
		return false
	}
	if s.Width == 0 {
		return n.isPort(p.Str(s.field)) == (n.Op == EQ)
	}
	v := p.Int(s.field).shr(s.ofs + n.Field.Low).and(ones(n.Field.Width))
	if n.Op.ordered() {
		return n.ordered(v) != n.Negated
	}
	return n.equals(v) == (n.Op == EQ)
}

// empty reports whether the comparison is with nothing.
func (n *Compare) empty() bool {
	for i := range n.Values {
		if k := &n.Values[i]; k.Kind == Integer || k.Kind == String || k.Set.Len() > 0 {
			return false
		}
	}
	return true
}

// isPort reports whether any of the constants is the port's name.
func (n *Compare) isPort(name string) bool {
	for i := range n.Values {
		if k := &n.Values[i]; k.Kind == String && k.Text == name || k.Set.hasPort(name) {
			return true
		}
	}
	return false
}

// equals reports whether v equals any of the constants.
func (n *Compare) equals(v Value) bool {
	for i := range n.Values {
		k := &n.Values[i]
		switch {
		case k.Kind != Integer:
			if k.Set.hasValue(v, n.Field.Width) {
				return true
			}
		case k.Masked:
			if v.and(k.Mask) == k.Value {
				return true
			}
		case v == k.Value:
			return true
		}
	}
	return false
}

// ordered reports whether the operator, one for order, holds for v and every
// constant.
func (n *Compare) ordered(v Value) bool {
	all := ones(n.Field.Width)
	for i := range n.Values {
		k := &n.Values[i]
		if k.Kind == Integer && !n.Op.holds(v.cmp(k.Value)) {
			return false
		}
		if k.Set == nil {
			continue
		}
		for j := range k.Set.values {
			if !n.Op.holds(v.cmp(k.Set.values[j].value.and(all))) {
				return false
			}
		}
	}
	return true
}

// evalPredicate compares a predicate's truth: each constant stands for the value
// of its low bit.
func (n *Compare) evalPredicate(truth bool) bool {
	equal := func(odd bool) bool { return truth == odd }
	for i := range n.Values {
		k := &n.Values[i]
		var some bool
		if k.Kind == Integer {
			some = equal(k.Value.odd())
		} else if k.Set != nil {
			some = k.Set.parity[0] && equal(false) || k.Set.parity[1] && equal(true)
		}
		if some {
			return n.Op == EQ
		}
	}
	return n.Op != EQ
}
