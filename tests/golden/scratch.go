package golden

import (
	"fmt"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
	"northwall/tests/golden/sbdump"
)

// Scratch returns a World with the northbound contents of m, whose southbound
// database a new northd has made from nothing but what others have written in
// m's: chassis themselves, the ports that they claim, and how the services on
// those are; ovn-ic the monitors that other zones need.
func (m *Memory) Scratch() (*Memory, error) {
	fresh := &Memory{NB: newNorthbound(), SB: newSouthbound()}
	if err := copyRows(fresh.NB, m.NB.Snapshot()); err != nil {
		return nil, fmt.Errorf("copying the northbound database: %w", err)
	}
	if err := copyRows(fresh.SB, foreignRows(m.SB.Snapshot())); err != nil {
		return nil, fmt.Errorf("copying chassis: %w", err)
	}
	fresh.Northd = NewStepper(fresh.NB, fresh.SB)
	if _, err := fresh.Northd.Settle(); err != nil {
		return nil, err
	}
	if err := copyState(m.SB, fresh.SB, []state{
		{"Port_Binding", []string{"logical_port"}, []string{"chassis", "up", "options"}},
		// A monitor keeps the name of the chassis that its port was on last.
		{"Service_Monitor", []string{"logical_port", "ip", "port", "protocol"}, []string{"status", "chassis_name"}},
	}); err != nil {
		return nil, fmt.Errorf("copying what chassis have written: %w", err)
	}
	// A network function that is active stays so, as long as it is healthy.
	if err := copyState(m.NB, fresh.NB, []state{{"Network_Function_Group", []string{"name"}, []string{"network_function_active"}}}); err != nil {
		return nil, fmt.Errorf("copying active network functions: %w", err)
	}
	_, err := fresh.Northd.Settle()
	return fresh, err
}

// foreignRows are the rows of a southbound database that are not a northd's.
func foreignRows(sb sbdump.Contents) sbdump.Contents {
	out := sbdump.Contents{}
	for _, table := range [...]string{"Chassis", "Chassis_Private", "Encap"} {
		out[table] = sb[table]
	}
	for _, r := range sb["Service_Monitor"] {
		if r.Columns["ic_learned"] == true {
			out["Service_Monitor"] = append(out["Service_Monitor"], r)
		}
	}
	return out
}

// state is what is remembered in rows of a table.
type state struct {
	table          string
	names, written []string // columns
}

// copyState copies columns to the rows of the same names.
func copyState(from, to *memdb.DB, tables []state) error {
	txn := ovsdb.NewTxn()
	for _, t := range tables {
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

// copyRows inserts rows in one transaction.
func copyRows(to *memdb.DB, contents sbdump.Contents) error {
	txn := ovsdb.NewTxn()
	for table, rows := range contents {
		for _, r := range rows {
			if err := txn.Op(libovsdb.Operation{Op: libovsdb.OperationInsert, Table: table, UUID: r.UUID, Row: r.Columns}); err != nil {
				return err
			}
		}
	}
	_, err := to.Transact(txn)
	return err
}
