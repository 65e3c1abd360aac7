package ctl

import (
	"fmt"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

func set(c *Call) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	row, err := c.record(table, c.Args[1])
	if err != nil || row == nil {
		return err
	}
	for _, arg := range c.Args[2:] {
		if err := c.setColumn(row, arg); err != nil {
			return err
		}
	}
	return nil
}

// setColumn carries out COLUMN[:KEY]=VALUE.
func (c *Call) setColumn(row *Row, arg string) error {
	a, err := parseColumnArg(c.Tx.Schema(), row.Table, arg, []string{"="})
	if err != nil {
		return err
	}
	if a.column == "_uuid" {
		return fmt.Errorf("%s: a row's UUID cannot be changed", arg)
	}
	if a.key != nil {
		value, err := parseAtom(a.value, a.t.value, c.Tx.Symbols)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		row.put(a.column, a.key, value)
		return nil
	}
	value, err := parseDatum(a.value, a.t, c.Tx.Symbols, true)
	if err != nil {
		return fmt.Errorf("column %s: %w", a.column, err)
	}
	row.Set(a.column, value)
	return nil
}

// element resolves the record and the column that add, remove and clear name.
func (c *Call) element(table, arg string) (string, columnType, error) {
	a, err := parseColumnArg(c.Tx.Schema(), table, arg, nil)
	switch {
	case err != nil:
		return "", columnType{}, err
	case a.key != nil:
		return "", columnType{}, fmt.Errorf("%s: %s names a column without a key", arg, c.Command.Name)
	case a.column == "_uuid":
		return "", columnType{}, fmt.Errorf("%s: a row's UUID cannot be changed", arg)
	}
	return a.column, a.t, nil
}

// recordElement resolves "TABLE RECORD COLUMN", as add and remove begin. The row
// is nil where --if-exists lets it be missing.
func (c *Call) recordElement() (*Row, string, columnType, error) {
	table, err := c.table()
	if err != nil {
		return nil, "", columnType{}, err
	}
	row, err := c.record(table, c.Args[1])
	if err != nil || row == nil {
		return nil, "", columnType{}, err
	}
	column, t, err := c.element(table, c.Args[2])
	return row, column, t, err
}

func add(c *Call) error {
	row, column, t, err := c.recordElement()
	if err != nil || row == nil {
		return err
	}
	value := row.Get(column)
	for _, arg := range c.Args[3:] {
		more, err := parseDatum(arg, t, c.Tx.Symbols, false)
		if err != nil {
			return err
		}
		for i, key := range more.Keys {
			switch {
			case value.Has(key): // a key that exists keeps its value
			case t.value != nil:
				value = value.Put(key, more.Values[i])
			default:
				value = value.Add(key)
			}
		}
	}
	return resize(row, column, t, value, "add")
}

func remove(c *Call) error {
	row, column, t, err := c.recordElement()
	if err != nil || row == nil {
		return err
	}
	value := row.Get(column)
	for _, arg := range c.Args[3:] {
		keys, pairs, err := parseRemoval(arg, t, c.Tx.Symbols)
		if err != nil {
			return err
		}
		for _, key := range keys.Keys {
			value = value.Remove(key)
		}
		for i, key := range pairs.Keys {
			if v, ok := value.Value(key); ok && v == pairs.Values[i] {
				value = value.Remove(key)
			}
		}
	}
	return resize(row, column, t, value, "remove")
}

// parseRemoval reads what remove may be given: elements, keys, or pairs.
func parseRemoval(arg string, t columnType, symbols *Symbols) (keys, pairs Datum, err error) {
	if t.value != nil {
		if pairs, err := parseDatum(arg, t, symbols, false); err == nil {
			return Datum{}, pairs, nil
		}
	}
	keys, err = parseDatum(arg, columnType{key: t.key, max: libovsdb.Unlimited}, symbols, false)
	return keys, Datum{}, err
}

// resize stores a value to which elements were added or removed.
func resize(row *Row, column string, t columnType, value Datum, verb string) error {
	switch n := value.Len(); {
	case t.max != libovsdb.Unlimited && n > t.max:
		return fmt.Errorf("%q operation would put %d values in column %s of table %s but the maximum number is %d", verb, n, column, row.Table, t.max)
	case n < t.min:
		return fmt.Errorf("%q operation would put %d values in column %s of table %s but the minimum number is %d", verb, n, column, row.Table, t.min)
	}
	row.change(column, value)
	if t.max != libovsdb.Unlimited {
		row.Verify(column) // its size was checked
	}
	return nil
}

func clearColumns(c *Call) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	row, err := c.record(table, c.Args[1])
	if err != nil || row == nil {
		return err
	}
	for _, arg := range c.Args[2:] {
		column, t, err := c.element(table, arg)
		if err != nil {
			return err
		}
		if t.min > 0 {
			return fmt.Errorf("%q operation cannot be applied to column %s of table %s, which is not allowed to be empty", "clear", column, table)
		}
		row.Set(column, Datum{})
	}
	return nil
}

func create(c *Call) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	row, err := c.newRow(table)
	if err != nil {
		return err
	}
	for _, arg := range c.Args[1:] {
		if err := c.setColumn(row, arg); err != nil {
			return err
		}
	}
	c.Printf("%s\n", row.UUID)
	return nil
}

func (c *Call) newRow(table string) (*Row, error) {
	name, ok := c.Options["id"]
	switch {
	case !ok:
		return c.Tx.Insert(table), nil
	case IsUUID(name):
		uuid := strings.ToLower(name)
		if c.Tx.Row(table, uuid) != nil {
			return nil, fmt.Errorf("table %s already has a row with UUID %s", table, uuid)
		}
		return c.Tx.InsertAs(table, uuid), nil
	case !strings.HasPrefix(name, "@"):
		return nil, fmt.Errorf("row id %q is neither a UUID nor begins with \"@\"", name)
	}
	uuid, err := c.Tx.Symbols.define(name, "")
	if err != nil {
		return nil, err
	}
	return c.Tx.InsertAs(table, uuid), nil
}

func destroy(c *Call) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	switch {
	case c.Has("all") && len(c.Args) > 1:
		return fmt.Errorf("--all and records argument should not be specified together")
	case c.Has("all") && c.Has("if-exists"):
		return fmt.Errorf("--all and --if-exists should not be specified together")
	case c.Has("all"):
		for _, row := range c.Tx.Rows(table) {
			row.Delete()
		}
		return nil
	case len(c.Args) == 1:
		return fmt.Errorf("either --all or records argument should be specified")
	}
	for _, id := range c.Args[1:] {
		row, err := c.record(table, id)
		if err != nil {
			return err
		}
		if row != nil {
			row.Delete()
		}
	}
	return nil
}
