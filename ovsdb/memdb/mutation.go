package memdb

import (
	"math"
	"math/bits"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// A mutation is a change to a column's value (RFC 7047 section 5.1).
type mutation struct {
	column  *column
	mutator libovsdb.Mutator
	arg     datum
}

func (t *txn) mutate(table *table, o *operation) (ovsdb.Result, *failure) {
	mutations, err := t.mutations(table, o.mutations)
	if err != nil {
		return ovsdb.Result{}, err
	}
	keys, err := t.matching(table, o)
	if err != nil {
		return ovsdb.Result{}, err
	}
	for _, k := range keys {
		before := t.get(k)
		values := map[*column]datum{}
		for _, m := range mutations {
			d, ok := values[m.column]
			if !ok {
				d = before[m.column.number]
			}
			if values[m.column], err = m.apply(d); err != nil {
				return ovsdb.Result{}, err
			}
		}
		t.set(k, values)
	}
	return ovsdb.Result{Count: len(keys)}, nil
}

func (t *txn) mutations(table *table, list []byte) ([]mutation, *failure) {
	p := newParser(list)
	var out []mutation
	if !p.open('[') {
		return nil, p.failure()
	}
	for p.more(']') {
		if !p.open('[') {
			break
		}
		name, mutator := p.string(), libovsdb.Mutator(p.string())
		if err := p.failure(); err != nil {
			return nil, err
		}
		m, err := t.mutation(table, name, mutator, p.raw())
		if err != nil {
			return nil, err
		}
		if p.more(']') {
			return nil, failf(syntaxError, "a mutation has three elements")
		}
		out = append(out, m)
	}
	return out, p.failure()
}

func (t *txn) mutation(table *table, name string, mutator libovsdb.Mutator, arg []byte) (mutation, *failure) {
	c := table.column(name)
	if c == nil {
		return mutation{}, failf("unknown column", "No column %s in table %s.", name, table.name)
	}
	if !c.mutable || c.number < 0 {
		return mutation{}, failf(constraintViolation, "Cannot mutate immutable column %s in table %s.", name, table.name)
	}
	m := mutation{column: c, mutator: mutator}
	mismatch := failf(syntaxError, "Type mismatch: %q mutator may not be applied to column %s.", mutator, name)
	var err *failure
	switch mutator {
	case libovsdb.MutateOperationAdd, libovsdb.MutateOperationSubtract, libovsdb.MutateOperationMultiply,
		libovsdb.MutateOperationDivide, libovsdb.MutateOperationModulo:
		if c.isMap || c.key.kind != kindInteger && (c.key.kind != kindReal || mutator == libovsdb.MutateOperationModulo) {
			return m, mismatch
		}
		// The operand is a scalar without the column's constraints.
		plain := newPlainNumber(c)
		m.arg, err = t.datum(newParser(arg), plain.shape())
	case libovsdb.MutateOperationInsert, libovsdb.MutateOperationDelete:
		if !c.isSet() && !c.isMap {
			return m, mismatch
		}
		m.arg, err = t.datum(newParser(arg), c.anySize())
		if err != nil && c.isMap && mutator == libovsdb.MutateOperationDelete {
			// Keys alone will do.
			keys := c.anySize()
			keys.isMap = false
			m.arg, err = t.datum(newParser(arg), keys)
		}
	default:
		return m, failf("unknown mutator", "No mutator named %s.", mutator)
	}
	return m, err
}

func newPlainNumber(c *column) *column {
	return &column{
		name: c.name, min: 1, max: 1,
		key: baseType{
			kind: c.key.kind, minInt: math.MinInt64, maxInt: math.MaxInt64,
			minReal: math.Inf(-1), maxReal: math.Inf(1),
		},
	}
}

func (m *mutation) apply(d datum) (datum, *failure) {
	switch m.mutator {
	case libovsdb.MutateOperationInsert:
		d = d.add(m.arg, m.column)
		return d, d.checkSize(m.column)
	case libovsdb.MutateOperationDelete:
		d = d.remove(m.arg, m.column)
		return d, d.checkSize(m.column)
	}
	out := datum{keys: make([]atom, len(d.keys))}
	for i, a := range d.keys {
		var err *failure
		if m.column.key.kind == kindReal {
			out.keys[i], err = realArithmetic(m.mutator, a.real(), m.arg.keys[0].real())
		} else {
			out.keys[i], err = intArithmetic(m.mutator, a.n, m.arg.keys[0].n)
		}
		if err == nil {
			err = m.column.key.check(out.keys[i])
		}
		if err != nil {
			return d, err
		}
	}
	if err := out.sort(m.column.shape()); err != nil {
		return d, failf(constraintViolation, "Result of %q operation is not a proper set: %s", m.mutator, err.details)
	}
	return out, nil
}

func intArithmetic(mutator libovsdb.Mutator, x, y int64) (atom, *failure) {
	overflow := failf("range error", "Result of %q operation is out of range.", mutator)
	switch mutator {
	case libovsdb.MutateOperationAdd:
		if z := x + y; (z > x) == (y > 0) {
			return atom{n: z}, nil
		}
		return atom{}, overflow
	case libovsdb.MutateOperationSubtract:
		if z := x - y; (z < x) == (y > 0) {
			return atom{n: z}, nil
		}
		return atom{}, overflow
	case libovsdb.MutateOperationMultiply:
		hi, lo := bits.Mul64(abs(x), abs(y))
		negative := (x < 0) != (y < 0)
		limit := uint64(math.MaxInt64)
		if negative {
			limit++
		}
		if hi != 0 || lo > limit {
			return atom{}, overflow
		}
		return atom{n: x * y}, nil
	}
	switch {
	case y == 0:
		return atom{}, failf("domain error", "Division by zero.")
	case x == math.MinInt64 && y == -1:
		return atom{}, overflow
	case mutator == libovsdb.MutateOperationDivide:
		return atom{n: x / y}, nil
	}
	return atom{n: x % y}, nil
}

func abs(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func realArithmetic(mutator libovsdb.Mutator, x, y float64) (atom, *failure) {
	var z float64
	switch mutator {
	case libovsdb.MutateOperationAdd:
		z = x + y
	case libovsdb.MutateOperationSubtract:
		z = x - y
	case libovsdb.MutateOperationMultiply:
		z = x * y
	case libovsdb.MutateOperationDivide:
		if y == 0 {
			return atom{}, failf("domain error", "Division by zero.")
		}
		z = x / y
	}
	if math.IsInf(z, 0) || math.IsNaN(z) {
		return atom{}, failf("range error", "Result of %q operation is out of range.", mutator)
	}
	return realAtom(z), nil
}
