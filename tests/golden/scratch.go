package golden

import (
	"fmt"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
)

// Scratch returns a World with the northbound contents of m, whose southbound
// database a new northd has made from nothing but what chassis have written in
// m's: themselves, and the ports that they claim.
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
	claims := ovsdb.NewTxn()
	for _, port := range m.SB.Snapshot()["Port_Binding"] {
		err := claims.Op(libovsdb.Operation{
			Op: libovsdb.OperationUpdate, Table: "Port_Binding",
			Where: []libovsdb.Condition{libovsdb.NewCondition("logical_port", libovsdb.ConditionEqual, port.Columns["logical_port"])},
			Row:   libovsdb.Row{"chassis": port.Columns["chassis"], "up": port.Columns["up"]},
		})
		if err != nil {
			return nil, err
		}
	}
	if _, err := fresh.SB.Transact(claims); err != nil {
		return nil, fmt.Errorf("copying the ports' chassis: %w", err)
	}
	_, err := fresh.Northd.Settle()
	return fresh, err
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
