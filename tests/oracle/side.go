package oracle

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/ctl"
	"northwall/ovsdb/standalone"
	"northwall/schema"
	"northwall/schema/nbctl"
	"northwall/tests/golden"
	"northwall/tests/golden/sbdump"
	"northwall/tests/stock"
)

// patience bounds every wait for a side.
const patience = 6 * time.Second

// A side is two database servers with a northd between them.
type side struct {
	name           string
	remotes        [2]string // of the northbound and the southbound database
	nb, sb         *ovsdb.Client
	nbCtl, sbCtl   ctl.DB
	nbTool, sbTool *ctl.Tool
	start          func(context.Context) error // the northd
	recompute      func(context.Context) error
	restart        func(context.Context) error // the northd, where it may be needed
	cleanups       []func()
}

// close ends what the side started, the last first.
func (s *side) close() {
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	s.cleanups = nil
}

func (s *side) atEnd(f func()) { s.cleanups = append(s.cleanups, f) }

// open connects to one of the side's databases.
func (s *side) open(ctx context.Context, of *libovsdb.DatabaseSchema, tables []*ovsdb.Table, lock string) (*ovsdb.Client, error) {
	remote := s.remotes[0]
	if of.Name == schema.Southbound().Name {
		remote = s.remotes[1]
	}
	c, err := ovsdb.Open(ovsdb.Options{Database: of.Name, Remotes: []string{remote}, Tables: tables, Lock: lock, Log: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	s.atEnd(c.Close)
	return c, c.WaitConnected(ctx)
}

// connect opens both databases for edits.
func (s *side) connect(ctx context.Context) (err error) {
	if s.nb, err = s.open(ctx, schema.Northbound(), everyTable(schema.Northbound()), ""); err != nil {
		return err
	}
	if s.sb, err = s.open(ctx, schema.Southbound(), everyTable(schema.Southbound()), ""); err != nil {
		return err
	}
	s.nbCtl, s.sbCtl = ctl.New(s.nb, s.nb.Schema), ctl.New(s.sb, s.sb.Schema)
	s.nbTool, s.sbTool = nbctl.New(schema.Northbound()), golden.ChassisTool(schema.Southbound())
	return nil
}

// newOurs starts Northwall's side in a directory with a short path.
func newOurs(ctx context.Context, dir string) (*side, error) {
	s := &side{name: "Northwall"}
	databases, err := standalone.Start(ctx, standalone.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	s.atEnd(databases.Stop)
	s.remotes = [2]string{databases.NB(), databases.SB()}
	s.start = func(ctx context.Context) error { return s.startDaemon(ctx) }
	s.recompute = func(context.Context) error { return nil } // it need not
	if err := s.connect(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *side) startDaemon(ctx context.Context) error {
	nb, err := s.open(ctx, schema.Northbound(), northd.NorthboundTables(), "")
	if err != nil {
		return err
	}
	sb, err := s.open(ctx, schema.Southbound(), northd.SouthboundTables(), northd.LockName)
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	d := northd.NewDaemon(nb, sb, zap.NewNop(), northd.DaemonOptions{})
	go func() {
		defer close(ended)
		_ = d.Run(run) // ends without error when it is cancelled
	}()
	s.atEnd(func() { cancel(); <-ended })
	return nil
}

// newStock starts the side of the tree's own programs.
func newStock(ctx context.Context, tree stock.Tree) (*side, error) {
	dir, err := tree.Dir("oracle")
	if err != nil {
		return nil, err
	}
	s := &side{name: "stock"}
	s.atEnd(func() { os.RemoveAll(dir) })
	inside := tree.Inside(dir)
	for i, short := range []string{"nb", "sb"} {
		db, sock := filepath.Join(inside, short+".db"), filepath.Join(inside, short+".sock")
		if out, err := tree.Command(ctx, "ovsdb-tool", "create", db, "/usr/share/ovn/ovn-"+short+".ovsschema").CombinedOutput(); err != nil {
			s.close()
			return nil, fmt.Errorf("creating %s: %w: %s", db, err, out)
		}
		stop, err := tree.Start("ovsdb-server", "--no-chdir", "--unixctl="+filepath.Join(inside, short+".ctl"), "--remote=punix:"+sock, db)
		if err != nil {
			s.close()
			return nil, err
		}
		s.atEnd(stop)
		s.remotes[i] = "unix:" + filepath.Join(dir, short+".sock")
	}
	var daemon *stock.Northd
	s.start = func(context.Context) (err error) {
		if daemon, err = tree.StartNorthd(dir); err == nil {
			s.atEnd(daemon.Stop)
		}
		return err
	}
	s.recompute = func(ctx context.Context) error { return daemon.Recompute(ctx) }
	s.restart = func(ctx context.Context) error {
		s.cleanups[len(s.cleanups)-1]() // the northd was started last
		s.cleanups = s.cleanups[:len(s.cleanups)-1]
		return s.start(ctx)
	}
	if err := s.connect(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// transact makes the changes in the northbound database.
func (s *side) transact(ctx context.Context, ops []libovsdb.Operation) error {
	txn := ovsdb.NewTxn()
	for _, op := range ops {
		if err := txn.Op(op); err != nil {
			return err
		}
	}
	if _, err := s.nb.Transact(ctx, txn); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// southbound runs a command line on the southbound database.
func (s *side) southbound(ctx context.Context, line string) error {
	words, err := ctl.Words(line)
	if err != nil {
		return err
	}
	return s.sbTool.Run(ctx, s.sbCtl, words, io.Discard, ctl.Options{})
}

// sync waits until the northd has done what there is to do.
func (s *side) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	script, err := s.nbTool.Parse([]string{"sync"})
	if err != nil {
		return err
	}
	if err := nbctl.RunScript(ctx, script, s.nbCtl, io.Discard, ctl.Options{}, nbctl.WaitSB); err != nil {
		return fmt.Errorf("%s: waiting for sb_cfg: %w", s.name, err)
	}
	return nil
}

// settle syncs, and has everything computed again, as what the original makes of
// an edit incrementally is not always what it makes of the result.
func (s *side) settle(ctx context.Context) error {
	if err := s.sync(ctx); err != nil {
		return err
	}
	if err := s.recompute(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return s.sync(ctx)
}

// contents reads both databases.
func (s *side) contents() (nb, sb sbdump.Contents, err error) {
	if nb, err = sbdump.Read(s.nb, schema.Northbound()); err != nil {
		return nil, nil, err
	}
	sb, err = sbdump.Read(s.sb, schema.Southbound())
	return nb, sb, err
}
