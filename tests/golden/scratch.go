package golden

import (
	"errors"
	"fmt"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
	"northwall/tests/golden/sbdump"
)

// Scratch returns what a new northd makes of m's northbound contents in a southbound
// database with nothing but what others have written in m's, whose contents are
// sb: chassis themselves, the ports that they claim, and how the services on those
// are; ovn-ic the monitors that other zones need. It fails where that northd would
// change the northbound database.
func (m *Memory) Scratch(sb sbdump.Contents) (sbdump.Contents, error) {
	db := newSouthbound()
	if err := insertRows(db, foreignRows(sb)); err != nil {
		return nil, fmt.Errorf("copying chassis: %w", err)
	}
	s := NewStepper(m.NB, db)
	defer s.Close()
	if err := s.southbound(); err != nil {
		return nil, err
	}
	made := db.Snapshot()
	changed, err := copyState(db, sb, made)
	if err != nil {
		return nil, fmt.Errorf("copying what chassis have written: %w", err)
	}
	if changed {
		if err := s.southbound(); err != nil {
			return nil, err
		}
		made = db.Snapshot()
	}
	txn := s.nb.NewTxn()
	if s.Northd.WriteNorthbound(txn); txn.Len() > 0 {
		return nil, fmt.Errorf("the northbound database is not as it should be; a northd from scratch writes:\n%s", txn)
	}
	return made, nil
}

// southbound settles the southbound database alone.
func (s *Stepper) southbound() error {
	for range rounds {
		s.take()
		s.Northd.Derive()
		wrote, err := s.writeSouthbound()
		if err != nil || len(wrote) == 0 {
			return err
		}
	}
	return errors.New("still writing to the southbound database")
}

// state are the columns that chassis write in the rows of a northd, which are
// known by the columns names.
var state = []struct {
	table          string
	names, written []string
}{
	{"Port_Binding", []string{"logical_port"}, []string{"chassis", "up", "options"}},
	// A monitor keeps the name of the chassis that its port was on last.
	{"Service_Monitor", []string{"logical_port", "ip", "port", "protocol"}, []string{"status", "chassis_name"}},
}

// copyState gives the rows of db, whose contents are made, what chassis have
// written in the same rows of from.
func copyState(db *memdb.DB, from, made sbdump.Contents) (changed bool, err error) {
	txn := ovsdb.NewTxn()
	for _, t := range state {
		name := func(r *ovsdb.Row) string {
			var out []any
			for _, c := range t.names {
				out = append(out, r.Columns[c])
			}
			return fmt.Sprintf("%q", out)
		}
		rows := map[string]*ovsdb.Row{}
		for _, r := range made[t.table] {
			rows[name(r)] = r
		}
		for _, r := range from[t.table] {
			to, ok := rows[name(r)]
			if !ok {
				continue // the comparison will show it
			}
			op := libovsdb.Operation{Op: libovsdb.OperationUpdate, Table: t.table, Row: libovsdb.Row{},
				Where: []libovsdb.Condition{libovsdb.NewCondition("_uuid", libovsdb.ConditionEqual, libovsdb.UUID{GoUUID: to.UUID})}}
			for _, c := range t.written {
				if fmt.Sprint(r.Columns[c]) != fmt.Sprint(to.Columns[c]) {
					op.Row[c] = r.Columns[c]
				}
			}
			if len(op.Row) == 0 {
				continue
			}
			if err := txn.Op(op); err != nil {
				return false, err
			}
		}
	}
	if txn.Len() == 0 {
		return false, nil
	}
	_, err = db.Transact(txn)
	return true, err
}

// FromScratch returns a World with northbound contents as sbdump.Read returns
// them, whose southbound database a new northd has made from nothing.
func FromScratch(nb sbdump.Contents) (*Memory, error) {
	m := &Memory{NB: newNorthbound(), SB: newSouthbound()}
	if err := insertRows(m.NB, nb); err != nil {
		return nil, fmt.Errorf("copying the northbound database: %w", err)
	}
	m.Northd = NewStepper(m.NB, m.SB)
	_, err := m.Northd.Settle()
	return m, err
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

// insertRows inserts rows in one transaction.
func insertRows(db *memdb.DB, contents sbdump.Contents) error {
	txn := ovsdb.NewTxn()
	for table, rows := range contents {
		for _, r := range rows {
			if err := txn.Op(libovsdb.Operation{Op: libovsdb.OperationInsert, Table: table, UUID: r.UUID, Row: r.Columns}); err != nil {
				return err
			}
		}
	}
	_, err := db.Transact(txn)
	return err
}
