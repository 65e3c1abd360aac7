package golden

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/ctl"
	"northwall/ovsdb/memdb"
	"northwall/schema"
	"northwall/schema/nbctl"
	"northwall/tests/golden/sbdump"
)

// Memory is a World of two databases in memory, where nothing happens at the
// same time: each command is followed by what a northd makes of it.
type Memory struct {
	NB, SB  *memdb.DB
	Northd  *Stepper
	editors editors
}

// NewMemory returns a World with empty databases.
func NewMemory() *Memory {
	m := &Memory{NB: newNorthbound(), SB: newSouthbound()}
	m.Northd = NewStepper(m.NB, m.SB)
	m.editors = newEditors(memoryDB(m.NB), memoryDB(m.SB))
	return m
}

func newNorthbound() *memdb.DB { return memdb.New(schema.Northbound()).LimitRows("NB_Global", 1) }
func newSouthbound() *memdb.DB { return memdb.New(schema.Southbound()).LimitRows("SB_Global", 1) }

// memoryDB opens a database for commands.
func memoryDB(db *memdb.DB) ctl.DB {
	return ctl.New(db.Connect(allTables(db.Schema())...), db.Schema)
}

// allTables declares every table of a schema.
func allTables(s *libovsdb.DatabaseSchema) []*ovsdb.Table {
	var out []*ovsdb.Table
	for name := range s.Tables {
		out = append(out, ovsdb.DynamicTable(name))
	}
	return out
}

// Northbound implements World.
func (m *Memory) Northbound(ctx context.Context, args []string) error {
	if err := m.editors.northbound(ctx, args, nbctl.WaitNone); err != nil {
		return err
	}
	return m.sync()
}

// Southbound implements World.
func (m *Memory) Southbound(ctx context.Context, args []string) error {
	if err := m.editors.southbound(ctx, args); err != nil {
		return err
	}
	return m.sync()
}

// sync does what --wait=sb does: it counts nb_cfg up, and checks that sb_cfg has
// come to the same.
func (m *Memory) sync() error {
	count := ovsdb.NewTxn()
	all := []byte(`{"op":"mutate","table":"NB_Global","where":[],"mutations":[["nb_cfg","+=",1]]}`)
	count.Raw(all)
	if _, err := m.NB.Transact(count); err != nil {
		return err
	}
	if _, err := m.Northd.Settle(); err != nil {
		return err
	}
	for _, g := range m.NB.Snapshot()["NB_Global"] {
		if g.Columns["nb_cfg"] != g.Columns["sb_cfg"] {
			return fmt.Errorf("nb_cfg is %v, but sb_cfg is %v although nothing is left to do", g.Columns["nb_cfg"], g.Columns["sb_cfg"])
		}
	}
	return nil
}

// Contents implements World.
func (m *Memory) Contents() (sb, nb sbdump.Contents, err error) {
	return m.SB.Snapshot(), m.NB.Snapshot(), nil
}

// Stepper drives a Northd by hand between two databases.
type Stepper struct {
	Northd *northd.Northd
	// Refused, if set, is told of rows that the southbound database does not take,
	// which are then left out, as a daemon does; otherwise that is an error.
	Refused func(northd.Refusal, error)
	nb, sb  *memdb.Conn
}

// NewStepper connects a new Northd, which has not seen the databases' contents
// yet.
func NewStepper(nb, sb *memdb.DB) *Stepper {
	return &Stepper{
		Northd: northd.New(zap.NewNop()),
		nb:     nb.Connect(northd.NorthboundTables()...),
		sb:     sb.Connect(northd.SouthboundTables()...),
	}
}

// Close ends the connections.
func (s *Stepper) Close() {
	s.nb.Close()
	s.sb.Close()
}

// rounds bounds Settle: a northd that writes again and again disagrees with
// itself.
const rounds = 20

// Settle lets the Northd take what has changed and write what follows from it
// until there is nothing left to do. It returns the transactions.
func (s *Stepper) Settle() ([]*ovsdb.Txn, error) {
	var written []*ovsdb.Txn
	for range rounds {
		wrote, err := s.step()
		written = append(written, wrote...)
		if err != nil || len(wrote) == 0 {
			return written, err
		}
	}
	last := written[len(written)-1]
	return written, fmt.Errorf("still writing after %d rounds: %s", rounds, last)
}

func (s *Stepper) take() {
	for b := range ovsdb.Batches(s.nb) {
		s.Northd.Northbound(b)
	}
	for b := range ovsdb.Batches(s.sb) {
		s.Northd.Southbound(b)
	}
}

func (s *Stepper) step() (written []*ovsdb.Txn, err error) {
	s.take()
	if !s.Northd.HasGlobal() {
		return nil, errors.New("the northbound database has no NB_Global row")
	}
	s.Northd.Derive()
	if written, err = s.writeSouthbound(); err != nil {
		return written, fmt.Errorf("southbound: %w", err)
	}
	txn := s.nb.NewTxn()
	s.Northd.WriteNorthbound(txn)
	s.Northd.WriteCfg(txn)
	if txn.Len() == 0 {
		return written, nil
	}
	if err := s.send(s.nb, txn); err != nil {
		return written, fmt.Errorf("northbound: %w", err)
	}
	return append(written, txn), nil
}

// insertLimit is small, so that a scenario takes several transactions.
const insertLimit = 10

// writeSouthbound writes what the southbound database lacks, each transaction
// prepared before the one ahead of it has been sent. It returns the transactions.
func (s *Stepper) writeSouthbound() (written []*ovsdb.Txn, err error) {
	for again := true; again; {
		again = false
		txn := s.sb.NewTxn()
		more := s.Northd.WriteSouthbound(txn, insertLimit)
		nbCfg := s.Northd.NBCfg()
		if !more {
			s.Northd.WriteNBCfg(txn, nbCfg)
		}
		for txn != nil {
			var next *ovsdb.Txn
			if more {
				next = s.sb.NewTxn()
				if more = s.Northd.ContinueSouthbound(next, insertLimit); !more {
					s.Northd.WriteNBCfg(next, nbCfg)
				}
			}
			if txn.Len() > 0 {
				written = append(written, txn)
				if err := s.send(s.sb, txn); err != nil {
					if !s.leftOut(txn, err) {
						return written, err
					}
					again = true
					break
				}
			}
			if txn = next; txn != nil {
				s.Northd.Advance()
			}
		}
		if !again {
			s.Northd.Committed(nbCfg)
		}
	}
	return written, nil
}

func (s *Stepper) send(c *memdb.Conn, txn *ovsdb.Txn) error {
	if _, err := c.Send(txn).Result(); err != nil {
		return fmt.Errorf("%w; the transaction was:\n%s", err, txn)
	}
	s.take()
	return nil
}

// leftOut reports whether the northd leaves out the row that err is about.
func (s *Stepper) leftOut(txn *ovsdb.Txn, err error) bool {
	var refused *ovsdb.TxnError
	if s.Refused == nil || !errors.As(err, &refused) {
		return false
	}
	r, ok := s.Northd.Refused(txn.Len(), refused)
	if ok {
		s.Northd.Retry()
		s.Refused(r, err)
	}
	return ok
}
