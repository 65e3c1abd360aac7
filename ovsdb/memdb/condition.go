package memdb

import (
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// A condition is one clause of a "where" (RFC 7047 section 5.1).
type condition struct {
	column   *column // nil for a constant
	function libovsdb.ConditionFunction
	arg      datum
	constant bool
}

type conditions []condition

// conditions reads a "where".
func (t *txn) conditions(table *table, where []byte) (conditions, *failure) {
	if where == nil {
		return nil, failf(syntaxError, "required \"where\" member is missing")
	}
	p := newParser(where)
	var out conditions
	if !p.open('[') {
		return nil, p.failure()
	}
	for p.more(']') {
		switch p.peek() {
		case 't', 'f': // an extension of ovsdb-server(7)
			out = append(out, condition{constant: p.raw()[0] == 't'})
			continue
		}
		if !p.open('[') {
			break
		}
		name, function := p.string(), libovsdb.ConditionFunction(p.string())
		if err := p.failure(); err != nil {
			return nil, err
		}
		c := table.column(name)
		if c == nil {
			return nil, failf("unknown column", "No column %s in table %s.", name, table.name)
		}
		s, err := c.argument(function)
		if err != nil {
			return nil, err
		}
		arg, err := t.datum(p, s)
		if err != nil {
			return nil, err
		}
		if p.more(']') {
			return nil, failf(syntaxError, "a condition has three elements")
		}
		out = append(out, condition{column: c, function: function, arg: arg})
	}
	return out, p.failure()
}

// argument says what a condition's function takes when applied to the column.
func (c *column) argument(f libovsdb.ConditionFunction) (shape, *failure) {
	s := c.shape()
	switch f {
	case libovsdb.ConditionEqual, libovsdb.ConditionNotEqual:
		return s, nil
	case libovsdb.ConditionIncludes:
		if !c.isScalar() {
			s.min = 0
		}
		return s, nil
	case libovsdb.ConditionExcludes:
		if !c.isScalar() {
			return c.anySize(), nil
		}
		return s, nil
	case libovsdb.ConditionLessThan, libovsdb.ConditionLessThanOrEqual,
		libovsdb.ConditionGreaterThan, libovsdb.ConditionGreaterThanOrEqual:
		if c.isMap || c.max != 1 || c.key.kind != kindInteger && c.key.kind != kindReal {
			return s, failf(syntaxError, "Type mismatch: %q operator may not be applied to column %s.", f, c.name)
		}
		s.min = 1
		return s, nil
	}
	return s, failf("unknown function", "No function named %s.", f)
}

// match reports whether a row satisfies all conditions.
func (cs conditions) match(t *txn, k rowKey, values []datum) bool {
	for i := range cs {
		c := &cs[i]
		switch {
		case c.column == nil:
			if !c.constant {
				return false
			}
		case !c.match(t.value(k, values, c.column)):
			return false
		}
	}
	return true
}

func (c *condition) match(d datum) bool {
	switch c.function {
	case libovsdb.ConditionEqual:
		return d.equal(c.arg)
	case libovsdb.ConditionNotEqual:
		return !d.equal(c.arg)
	case libovsdb.ConditionIncludes:
		return d.includes(c.arg, c.column)
	case libovsdb.ConditionExcludes:
		return d.excludes(c.arg, c.column)
	}
	if len(d.keys) != 1 { // an optional number that is not there
		return false
	}
	n := c.column.key.kind.compare(d.keys[0], c.arg.keys[0])
	switch c.function {
	case libovsdb.ConditionLessThan:
		return n < 0
	case libovsdb.ConditionLessThanOrEqual:
		return n <= 0
	case libovsdb.ConditionGreaterThan:
		return n > 0
	default:
		return n >= 0
	}
}
