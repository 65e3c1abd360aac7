package golden

import (
	"fmt"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
)

// Scratch returns a World with the northbound contents of m, whose southbound
// database a new northd has made from nothing but what chassis have written in
// m's: themselves, the ports that they claim, and how the services on those are.
func (m *Memory) Scratch() (*Memory, error) {
	fresh := &Memory{NB: newNorthbound(), SB: newSouthbound()}
	if err := copyRows(m.NB, fresh.NB, nil); err != nil {
		return nil, fmt.Errorf("copying the northbound database: %w", err)
	}
	if err := copyRows(m.SB, fresh.SB, []string{"Chassis", "Chassis_Private", "Encap"}); err != nil {
		return nil, fmt.Errorf("copying chassis: %w", err)
	}
	fresh.Northd = NewStepper(fresh.NB, fresh.SB)
	if _, err := fresh.Northd.Settle(); err != nil {
		return nil, err
	}
	if err := copyState(m.SB, fresh.SB); err != nil {
		return nil, fmt.Errorf("copying what chassis have written: %w", err)
	}
	_, err := fresh.Northd.Settle()
	return fresh, err
}

// copyState copies the columns that chassis write in the rows of a northd.
func copyState(from, to *memdb.DB) error {
	txn := ovsdb.NewTxn()
	for _, t := range []struct {
		table          string
		names, written []string // columns
	}{
		{"Port_Binding", []string{"logical_port"}, []string{"chassis", "up"}},
		// A monitor keeps the name of the chassis that its port was on last.
		{"Service_Monitor", []string{"logical_port", "ip", "port", "protocol"}, []string{"status", "chassis_name"}},
	} {
		for _, r := range from.Snapshot()[t.table] {
			op := libovsdb.Operation{Op: libovsdb.OperationUpdate, Table: t.table, Row: libovsdb.Row{}}
			for _, c := range t.names {
				op.Where = append(op.Where, libovsdb.NewCondition(c, libovsdb.ConditionEqual, r.Columns[c]))
			}
			for _, c := range t.written {
				op.Row[c] = r.Columns[c]
			}
			if err := txn.Op(op); err != nil {
				return err
			}
		}
	}
	_, err := to.Transact(txn)
	return err
}

// copyRows copies the rows of some tables, all if none is named, in one
// transaction.
func copyRows(from, to *memdb.DB, tables []string) error {
	contents := from.Snapshot()
	if tables == nil {
		for table := range contents {
			tables = append(tables, table)
		}
	}
	txn := ovsdb.NewTxn()
	for _, table := range tables {
		for _, r := range contents[table] {
			if err := txn.Op(libovsdb.Operation{Op: libovsdb.OperationInsert, Table: table, UUID: r.UUID, Row: r.Columns}); err != nil {
				return err
			}
		}
	}
	_, err := to.Transact(txn)
	return err
}
