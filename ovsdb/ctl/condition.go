package ctl

import (
	"fmt"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// operators in the order in which they are tried, so that none hides a longer
// one that starts the same.
var operators = []string{"{not-in}", "{in}", "{!=}", "{<=}", "{>=}", "{=}", "{<}", "{>}", "!=", "<=", ">=", "=", "<", ">"}

// A columnArg is an argument that names a column and mostly has a value:
// COLUMN[:KEY][OPERATOR VALUE].
type columnArg struct {
	column   string
	key      Atom // nil for none
	operator string
	value    string // what is behind the operator
	t        columnType
}

// parseColumnArg reads arg for the columns of table. allowed are the operators
// that may follow the column.
func parseColumnArg(schema *libovsdb.DatabaseSchema, table, arg string, allowed []string) (columnArg, error) {
	var c columnArg
	typed, rest, err := parseToken(arg)
	if err != nil {
		return c, fmt.Errorf("%s: %w", arg, err)
	}
	if typed == "" {
		return c, fmt.Errorf("%s: missing column name", arg)
	}
	if c.column, err = findColumn(schema, table, typed); err != nil {
		return c, err
	}
	c.t = columnTypeOf(schema, table, c.column)
	if strings.HasPrefix(rest, ":") {
		var key string
		if key, rest, err = parseToken(rest[1:]); err != nil {
			return c, fmt.Errorf("%s: %w", arg, err)
		}
		if key == "" {
			return c, fmt.Errorf("%s: missing key name", arg)
		}
		if c.t.value == nil {
			return c, fmt.Errorf("%s: cannot specify a key for non-map column %s", arg, c.column)
		}
		if c.key, err = parseAtom(key, c.t.key, nil); err != nil {
			return c, fmt.Errorf("%s: %w", arg, err)
		}
	}
	for _, op := range allowed {
		if strings.HasPrefix(rest, op) {
			c.operator, c.value = op, rest[len(op):]
			break
		}
	}
	switch {
	case c.operator != "" && c.value == "":
		return c, fmt.Errorf("%s: argument does not end in %q followed by a value", arg, c.operator)
	case c.operator == "" && len(allowed) == 1:
		return c, fmt.Errorf("%s: argument does not end in %q followed by a value", arg, allowed[0])
	case c.operator == "" && len(allowed) > 0:
		return c, fmt.Errorf("%s: argument does not end in an operator and a value (operators: %s)", arg, strings.Join(allowed, " "))
	case c.operator == "" && rest != "":
		return c, fmt.Errorf("%s: trailing garbage %q in argument", arg, rest)
	}
	return c, nil
}

func columnTypeOf(schema *libovsdb.DatabaseSchema, table, column string) columnType {
	if column == "_uuid" {
		return typeOf(&libovsdb.UUIDColumn)
	}
	return typeOf(schema.Tables[table].Columns[column])
}

// A condition selects rows.
type condition struct {
	columnArg
	want Datum
}

func parseCondition(schema *libovsdb.DatabaseSchema, table, arg string, symbols *Symbols) (condition, error) {
	c, err := parseColumnArg(schema, table, arg, operators)
	if err != nil {
		return condition{}, err
	}
	var want Datum
	if c.key != nil {
		// A key's value is a set of one or none, or of more for set operators.
		set := columnType{key: c.t.value, min: 0, max: libovsdb.Unlimited}
		if strings.HasPrefix(c.operator, "{") {
			want, err = parseDatum(c.value, set, symbols, false)
		} else {
			var atom Atom
			if atom, err = parseAtom(c.value, c.t.value, symbols); err == nil {
				want = Set(atom)
			}
		}
	} else {
		want, err = parseDatum(c.value, c.t, symbols, false)
	}
	if err != nil {
		return condition{}, fmt.Errorf("%s: %w", arg, err)
	}
	return condition{c, want}, nil
}

// match evaluates the condition on a row.
func (c condition) match(row *Row) bool {
	have := row.Get(c.column)
	if c.key != nil {
		value, ok := have.Value(c.key)
		switch {
		case ok:
			have = Set(value)
		case !strings.HasPrefix(c.operator, "{"):
			return false
		default:
			have = Datum{}
		}
	}
	want := c.want
	switch c.operator {
	case "=":
		return have.compare(want) == 0
	case "!=":
		return have.compare(want) != 0
	case "<":
		return have.compare(want) < 0
	case ">":
		return have.compare(want) > 0
	case "<=":
		return have.compare(want) <= 0
	case ">=":
		return have.compare(want) >= 0
	case "{=}":
		return have.Equal(want)
	case "{!=}":
		return !have.Equal(want)
	case "{<=}", "{in}":
		return have.subset(want)
	case "{<}":
		return have.subset(want) && have.Len() < want.Len()
	case "{>=}":
		return want.subset(have)
	case "{>}":
		return want.subset(have) && want.Len() < have.Len()
	case "{not-in}":
		return have.disjoint(want)
	}
	return false
}
