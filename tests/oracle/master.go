package oracle

import (
	"context"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/ctl"
	"northwall/ovsdb/memdb"
	"northwall/schema"
	"northwall/schema/nbctl"
	"northwall/tests/golden/sbdump"
)

// master is the northbound database that edits are made in. No northd writes to
// it, so that what changes in it is what an edit has changed.
type master struct {
	db   *memdb.DB
	ctl  ctl.DB
	tool *ctl.Tool
	rows sbdump.Contents // before the edit to come
}

func newMaster() *master {
	db := memdb.New(schema.Northbound()).LimitRows("NB_Global", 1)
	return &master{db: db, ctl: ctl.New(db.Connect(everyTable(db.Schema())...), db.Schema),
		tool: nbctl.New(schema.Northbound()), rows: db.Snapshot()}
}

func everyTable(s *libovsdb.DatabaseSchema) []*ovsdb.Table {
	var out []*ovsdb.Table
	for name := range s.Tables {
		out = append(out, ovsdb.DynamicTable(name))
	}
	return out
}

// edit runs a command line and returns what it changed as operations for other
// databases with the same contents; none where it changed nothing. A command
// line that fails has changed nothing.
func (m *master) edit(ctx context.Context, line string) ([]libovsdb.Operation, error) {
	words, err := ctl.Words(line)
	if err != nil {
		return nil, err
	}
	script, err := m.tool.Parse(words)
	if err != nil {
		return nil, err
	}
	if err := nbctl.RunScript(ctx, script, m.ctl, io.Discard, ctl.Options{}, nbctl.WaitNone); err != nil {
		return nil, err
	}
	before := m.rows
	m.rows = m.db.Snapshot()
	return changes(before, m.rows), nil
}

// changes are the operations that turn one database's contents into another's.
func changes(before, after sbdump.Contents) []libovsdb.Operation {
	var ops []libovsdb.Operation
	for _, table := range slices.Sorted(maps.Keys(schema.Northbound().Tables)) {
		old := byUUID(before[table])
		for _, r := range after[table] {
			was, ok := old[r.UUID]
			delete(old, r.UUID)
			if !ok {
				ops = append(ops, libovsdb.Operation{Op: libovsdb.OperationInsert, Table: table, UUID: r.UUID, Row: r.Columns})
				continue
			}
			ops = append(ops, update(table, was, r)...)
		}
		for _, uuid := range slices.Sorted(maps.Keys(old)) {
			ops = append(ops, libovsdb.Operation{Op: libovsdb.OperationDelete, Table: table, Where: rowIs(uuid)})
		}
	}
	return ops
}

// update turns one row into another. Options of NB_Global, of which northds write
// some, are changed key by key.
func update(table string, old, new *ovsdb.Row) []libovsdb.Operation {
	row := libovsdb.Row{}
	for column, v := range new.Columns {
		if !sameValue(old.Columns[column], v) {
			row[column] = v
		}
	}
	if len(row) == 0 {
		return nil
	}
	if _, ok := row["options"]; !ok || table != "NB_Global" {
		return []libovsdb.Operation{{Op: libovsdb.OperationUpdate, Table: table, Where: rowIs(new.UUID), Row: row}}
	}
	was, is := old.Columns["options"].(libovsdb.OvsMap), new.Columns["options"].(libovsdb.OvsMap)
	gone := libovsdb.OvsSet{GoSet: []any{}}
	for key, value := range was.GoMap {
		if is.GoMap[key] != value {
			gone.GoSet = append(gone.GoSet, key)
		}
	}
	ops := []libovsdb.Operation{{Op: libovsdb.OperationMutate, Table: table, Where: rowIs(new.UUID), Mutations: []libovsdb.Mutation{
		{Column: "options", Mutator: libovsdb.MutateOperationDelete, Value: gone},
		{Column: "options", Mutator: libovsdb.MutateOperationInsert, Value: is},
	}}}
	if delete(row, "options"); len(row) > 0 {
		ops = append(ops, libovsdb.Operation{Op: libovsdb.OperationUpdate, Table: table, Where: rowIs(new.UUID), Row: row})
	}
	return ops
}

func rowIs(uuid string) []libovsdb.Condition {
	return []libovsdb.Condition{libovsdb.NewCondition("_uuid", libovsdb.ConditionEqual, libovsdb.UUID{GoUUID: uuid})}
}

func byUUID(rows []*ovsdb.Row) map[string]*ovsdb.Row {
	out := map[string]*ovsdb.Row{}
	for _, r := range rows {
		out[r.UUID] = r
	}
	return out
}

// sameValue compares values of columns; sets have no order, and one of one
// element may be the element.
func sameValue(a, b any) bool {
	if _, ok := a.(libovsdb.OvsMap); ok {
		return reflect.DeepEqual(a, b)
	}
	return slices.Equal(elements(a), elements(b))
}

func elements(v any) []string {
	set, ok := v.(libovsdb.OvsSet)
	if !ok {
		return []string{fmt.Sprint(v)}
	}
	var out []string
	for _, e := range set.GoSet {
		out = append(out, fmt.Sprint(e))
	}
	slices.Sort(out)
	return out
}
