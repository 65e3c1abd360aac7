package ctl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

var (
	ifExists = Flag("if-exists", "do nothing for a record that does not exist")
	columns  = Valued("columns", "COLUMN[,COLUMN]...", "print these columns, in this order")
	id       = Valued("id", "@NAME", "a name for the row that other commands may use for it")
)

// Generic returns the commands that work on any table. example is a table of
// the Tool's database with a record that its help can speak of.
func Generic(table, record, column, mapColumn string) []*Command {
	in := func(format string) string {
		return strings.NewReplacer("TABLE", table, "RECORD", record, "COLUMN", column, "MAP", mapColumn).Replace(format)
	}
	return []*Command{
		{Name: "list", Args: "TABLE [RECORD]...", Min: 1, Max: -1, Options: []Option{ifExists, columns},
			Help: "print the records, or all records of TABLE", Example: in("list TABLE RECORD"),
			Needs: needsColumns, ReadOnly: true, Run: list},
		{Name: "find", Args: "TABLE [COLUMN[:KEY]=VALUE]...", Min: 1, Max: -1, Options: []Option{columns},
			Help: "print the records of TABLE that satisfy all conditions", Example: in("--columns=COLUMN find TABLE MAP:key=value"),
			Notes: "Operators are = != < > <= >= for comparison and {=} {!=} {<} {>} {<=} {>=} {in} {not-in} for sets.",
			Needs: needsColumns, ReadOnly: true, Run: find},
		{Name: "get", Args: "TABLE RECORD [COLUMN[:KEY]]...", Min: 2, Max: -1, Options: []Option{ifExists, id},
			Help: "print values of COLUMNs in RECORD", Example: in("get TABLE RECORD MAP:key"),
			Needs: needsArgs(2), ReadOnly: true, Run: get},
		{Name: "set", Args: "TABLE RECORD COLUMN[:KEY]=VALUE...", Min: 3, Max: -1, Options: []Option{ifExists},
			Help: "set COLUMN values in RECORD", Example: in("set TABLE RECORD MAP:key=value"),
			Needs: needsArgs(2), Run: set},
		{Name: "add", Args: "TABLE RECORD COLUMN [KEY=]VALUE...", Min: 4, Max: -1, Options: []Option{ifExists},
			Help: "add values to COLUMN in RECORD; a key that exists keeps its value", Example: in("add TABLE RECORD MAP key=value"),
			Needs: needsArgs(2), Run: add},
		{Name: "remove", Args: "TABLE RECORD COLUMN KEY|VALUE|KEY=VALUE...", Min: 4, Max: -1, Options: []Option{ifExists},
			Help: "remove values from COLUMN in RECORD", Example: in("remove TABLE RECORD MAP key"),
			Needs: needsArgs(2), Run: remove},
		{Name: "clear", Args: "TABLE RECORD COLUMN...", Min: 3, Max: -1, Options: []Option{ifExists},
			Help: "empty COLUMNs in RECORD", Example: in("clear TABLE RECORD MAP"),
			Needs: needsArgs(2), Run: clearColumns},
		{Name: "create", Args: "TABLE COLUMN[:KEY]=VALUE...", Min: 2, Max: -1,
			Options: []Option{Valued("id", "@NAME|UUID", "a name for the new row that other commands may use, or its UUID")},
			Help:    "create a record, initialize it and print its UUID", Example: in("create TABLE COLUMN=value"),
			Notes: "A record of a table that is not a root of the database vanishes unless another refers to it: give it an --id and use that.",
			Needs: needsArgs(1), Run: create},
		{Name: "destroy", Args: "TABLE [RECORD]...", Min: 1, Max: -1,
			Options: []Option{ifExists, Flag("all", "destroy all records of TABLE")},
			Help:    "delete the records from TABLE", Example: in("destroy TABLE RECORD"),
			Needs: needsArgs(1), Run: destroy},
		{Name: "wait-until", Args: "TABLE RECORD [COLUMN[:KEY]=VALUE]...", Min: 2, Max: -1,
			Help: "wait until RECORD exists and satisfies all conditions", Example: in("wait-until TABLE RECORD MAP:key=value"),
			Notes: "Give --timeout with it. It has the operators of find.",
			Needs: needsArgs(2), ReadOnly: true, Run: waitUntil},
		{Name: "comment", Args: "[ARG]...", Max: -1, Help: "do nothing; the words are in the database's log record of the transaction",
			Example: "comment why -- " + in("set TABLE RECORD MAP:key=value"), ReadOnly: true, Run: func(*Call) error { return nil }},
	}
}

// smallColumn is a column of the table that is cheap to read.
func smallColumn(schema *libovsdb.DatabaseSchema, table string) string {
	weight := func(column string) int {
		t := columnTypeOf(schema, table, column)
		if t.max != 1 || t.value != nil {
			return 2
		}
		if t.key.Type == libovsdb.TypeString {
			return 1
		}
		return 0
	}
	names := slices.Sorted(maps.Keys(schema.Tables[table].Columns))
	if len(names) == 0 {
		return "_uuid"
	}
	return slices.MinFunc(names, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
}

// needsArgs says what a command reads that names columns from argument first on.
func needsArgs(first int) func(*Tool, Invocation) ([]Read, error) {
	return func(tool *Tool, i Invocation) ([]Read, error) {
		table, err := FindTable(tool.Schema, i.Args[0])
		if err != nil {
			return nil, err
		}
		own := Read{Table: table, Columns: []string{}}
		for n, arg := range i.Args[min(first, len(i.Args)):] {
			if i.Command.Name == "destroy" || n > 0 && (i.Command.Name == "add" || i.Command.Name == "remove") {
				break
			}
			typed, _, err := parseToken(arg)
			if err != nil {
				continue // Run says what is wrong
			}
			if column, err := findColumn(tool.Schema, table, typed); err == nil {
				own.Columns = append(own.Columns, column)
			}
		}
		return append(tool.NameReads(table), own), nil
	}
}

// needsColumns says what list and find read: the columns that they print, all
// by default, and those in conditions.
func needsColumns(tool *Tool, i Invocation) ([]Read, error) {
	table, err := FindTable(tool.Schema, i.Args[0])
	if err != nil {
		return nil, err
	}
	reads := tool.NameReads(table)
	own := Read{Table: table}
	if list, ok := i.Options["columns"]; ok {
		if own.Columns, err = columnList(tool.Schema, table, list); err != nil {
			return nil, err
		}
		if i.Command.Name == "find" {
			conditions, err := needsArgs(1)(tool, i)
			if err != nil {
				return nil, err
			}
			reads = append(reads, conditions...)
		}
	}
	return append(reads, own), nil
}

// columnList reads the value of --columns.
func columnList(schema *libovsdb.DatabaseSchema, table, list string) ([]string, error) {
	out := []string{}
	for _, typed := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		column, err := findColumn(schema, table, typed)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, column) {
			return nil, fmt.Errorf("--columns names %s twice", column)
		}
		out = append(out, column)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("must specify at least one column name")
	}
	return out, nil
}

// table returns the table that the first argument names, if the server has it.
func (c *Call) table() (string, error) {
	table, err := FindTable(c.run.tool.Schema, c.Args[0])
	if err == nil && !c.Tx.HasTable(table) {
		err = fmt.Errorf("the server's schema has no table %s", table)
	}
	return table, err
}

// record returns the row that an argument names; nil where there is none and
// --if-exists was given.
func (c *Call) record(table, id string) (*Row, error) {
	if c.Has("if-exists") {
		return c.Tx.findRecord(table, id)
	}
	return c.Tx.Record(table, id)
}

// printRows prints rows of a table as the style and --columns say.
func (c *Call) printRows(table string, rows []*Row) error {
	schema := c.Tx.Schema()
	list, ok := c.Options["columns"]
	var names []string
	if ok {
		var err error
		if names, err = columnList(schema, table, list); err != nil {
			return err
		}
	} else {
		names = append([]string{"_uuid"}, slices.Sorted(maps.Keys(schema.Tables[table].Columns))...)
	}
	cells := make([][]cell, len(rows))
	for i, row := range rows {
		for _, name := range names {
			cells[i] = append(cells[i], cell{row.Get(name), columnTypeOf(schema, table, name)})
		}
	}
	c.run.style.print(c.Out, names, cells, c.run.tables == 0)
	c.run.tables++
	return nil
}

func list(c *Call) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	if len(c.Args) == 1 {
		return c.printRows(table, c.Tx.Rows(table))
	}
	var rows []*Row
	for _, id := range c.Args[1:] {
		row, err := c.record(table, id)
		if err != nil {
			return err
		}
		if row != nil {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return c.printRows(table, rows)
}

func find(c *Call) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	conditions, err := c.conditions(table, c.Args[1:])
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(c.Tx.Rows(table), func(r *Row) bool { return !satisfies(r, conditions) })
	return c.printRows(table, rows)
}

func (c *Call) conditions(table string, args []string) ([]condition, error) {
	var out []condition
	for _, arg := range args {
		cond, err := parseCondition(c.Tx.Schema(), table, arg, c.Tx.Symbols)
		if err != nil {
			return nil, err
		}
		out = append(out, cond)
	}
	return out, nil
}

func satisfies(row *Row, conditions []condition) bool {
	for _, c := range conditions {
		if !c.match(row) {
			return false
		}
	}
	return true
}

func get(c *Call) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	if c.Has("id") && c.Has("if-exists") {
		return fmt.Errorf("--id and --if-exists may not be specified together")
	}
	row, err := c.record(table, c.Args[1])
	if err != nil || row == nil {
		return err
	}
	if name, ok := c.Options["id"]; ok {
		if !strings.HasPrefix(name, "@") {
			return fmt.Errorf("row id %q does not begin with \"@\"", name)
		}
		if _, err := c.Tx.Symbols.define(name, row.UUID); err != nil {
			return err
		}
	}
	for _, arg := range c.Args[2:] {
		a, err := parseColumnArg(c.Tx.Schema(), table, arg, nil)
		if err != nil {
			return err
		}
		value := row.Get(a.column)
		if a.key == nil {
			c.Printf("%s\n", value.format(a.t, FormatString))
			continue
		}
		atom, ok := value.Value(a.key)
		switch {
		case ok:
			c.Printf("%s\n", FormatAtom(atom))
		case c.Has("if-exists"):
			c.Printf("\n")
		default:
			return fmt.Errorf("no key %q in %s record %q column %s", bareAtom(a.key), table, c.Args[1], a.column)
		}
	}
	return nil
}

func waitUntil(c *Call) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	conditions, err := c.conditions(table, c.Args[2:])
	if err != nil {
		return err
	}
	row, err := c.Tx.findRecord(table, c.Args[1])
	if err != nil {
		return err
	}
	if row == nil || !satisfies(row, conditions) {
		return ErrTryAgain
	}
	return nil
}
