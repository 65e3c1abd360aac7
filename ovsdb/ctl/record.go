package ctl

import (
	"fmt"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// A RowName is a way to name the rows of a table beside their UUID: by the value
// of a column, or of a key in a map column. With Via, it is the value in a row of
// that table which refers to the row by the column Ref. The zero RowName stands
// for ".", the only row of its table.
type RowName struct {
	Via, Ref    string
	Column, Key string
}

// NameReads says which columns naming a row of the table reads.
func (t *Tool) NameReads(table string) []Read {
	own := Read{Table: table, Columns: []string{}}
	var out []Read
	for _, n := range t.Names[table] {
		switch {
		case n.Via != "":
			out = append(out, Read{n.Via, []string{n.Ref, n.Column}})
		case n.Column != "":
			own.Columns = append(own.Columns, n.Column)
		}
	}
	// A table that nothing names is still listed, by whatever is cheap to read.
	if len(own.Columns) == 0 {
		own.Columns = append(own.Columns, smallColumn(t.Schema, table))
	}
	return append(out, own)
}

// Record returns the row of table that id names: by UUID, by "@name", by one of
// the table's names, or by the start of a UUID of at least four digits.
func (t *Txn) Record(table, id string) (*Row, error) {
	row, err := t.findRecord(table, id)
	if row == nil && err == nil {
		err = fmt.Errorf("no row %q in table %s; `list %s` shows its rows", id, table, table)
	}
	return row, err
}

// findRecord is Record, but returns nil where there is no such row.
func (t *Txn) findRecord(table, id string) (*Row, error) {
	if !t.HasTable(table) {
		return nil, fmt.Errorf("the server's schema has no table %s", table)
	}
	if IsUUID(id) {
		if row := t.Row(table, strings.ToLower(id)); row != nil {
			return row, nil
		}
	}
	if strings.HasPrefix(id, "@") && t.Symbols.defined[id] {
		return t.Row(table, t.Symbols.refer(id)), nil
	}
	for _, name := range t.names[table] {
		rows := t.named(table, name, id)
		if len(rows) > 1 {
			if name == (RowName{}) {
				return nil, fmt.Errorf("table %s has more than one row", table)
			}
			return nil, fmt.Errorf("multiple rows in %s match %q: use one of the UUIDs %s", table, id, uuidList(rows))
		}
		if len(rows) == 1 {
			return rows[0], nil
		}
	}
	if !partialUUID.MatchString(id) {
		return nil, nil
	}
	var found []*Row
	for _, row := range t.Rows(table) {
		if strings.HasPrefix(row.UUID, strings.ToLower(id)) {
			found = append(found, row)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%q is the start of several UUIDs in table %s: %s", id, table, uuidList(found))
}

// named returns the rows that id names in that way.
func (t *Txn) named(table string, name RowName, id string) []*Row {
	if name == (RowName{}) {
		if id == "." {
			return t.Rows(table)
		}
		return nil
	}
	from := table
	if name.Via != "" {
		from = name.Via
	}
	var out []*Row
	for _, row := range t.Rows(from) {
		if name.Key != "" {
			if v, ok := row.Key(name.Column, name.Key); !ok || v != id {
				continue
			}
		} else if d := row.Get(name.Column); len(d.Keys) != 1 || bareAtom(d.Keys[0]) != id {
			continue
		}
		if name.Via == "" {
			out = append(out, row)
			continue
		}
		for _, target := range row.Refs(name.Ref) {
			if !slices.Contains(out, target) {
				out = append(out, target)
			}
		}
	}
	return out
}

func uuidList(rows []*Row) string {
	var b strings.Builder
	for i, row := range rows {
		if i == 8 {
			b.WriteString(", ...")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(row.UUID)
	}
	return b.String()
}

// ParseUUIDs reads a reference as an option may give it: a UUID or "@name".
func (t *Txn) ParseUUIDs(s string) (Datum, error) {
	atom, err := parseAtom(s, &libovsdb.BaseType{Type: libovsdb.TypeUUID}, t.Symbols)
	if err != nil {
		return Datum{}, err
	}
	return Set(atom), nil
}
