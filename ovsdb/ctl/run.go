package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"northwall/ovsdb"
)

// Options of a run.
type Options struct {
	Style  Style
	DryRun bool // commit nothing
	// Reads are read beside what the commands need, for Finish.
	Reads []Read
	// Finish runs after the commands of a transaction, before its commit, and
	// may add to it. It may run several times.
	Finish func(*Txn) error
}

// run is what the calls of one attempt share.
type run struct {
	tool   *Tool
	style  Style
	tables int // printed so far
}

// settle is how long a run waits to see the change that made its commit fail,
// before it concludes that there is none to see.
const settle = 5 * time.Second

// Run runs the commands and commits, trying again whenever the database changed
// in what they rely on, and writes their output when the commit has succeeded.
// The error of a command leaves the database as it was.
func (s *Script) Run(ctx context.Context, db DB, out io.Writer, o Options) error {
	reads, err := s.Reads()
	if err != nil {
		return err
	}
	reads = append(reads, o.Reads...)
	for {
		snapshot, err := db.Snapshot(ctx)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		tx, err := s.attempt(newTxn(db.Schema(), s.tool.Names, snapshot, reads), &text, o)
		if errors.Is(err, ErrTryAgain) {
			if err := db.Changed(ctx, snapshot); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		err = commit(ctx, db, tx, s.comment(), o.DryRun)
		if err == nil {
			_, err = out.Write(text.Bytes())
			return err
		}
		if !conflict(err) {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, settle)
		changed := db.Changed(wait, snapshot)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if changed != nil {
			return fmt.Errorf("the database refuses the change although it still holds what was read: %w", err)
		}
	}
}

// attempt runs the commands once.
func (s *Script) attempt(tx *Txn, out io.Writer, o Options) (*Txn, error) {
	r := &run{tool: s.tool, style: o.Style}
	if s.writes() && s.tool.Prepare != nil {
		if err := s.tool.Prepare(tx); err != nil {
			return nil, err
		}
	}
	for _, i := range s.invocations {
		if err := i.Command.Run(&Call{Invocation: i, Tx: tx, Out: out, run: r}); err != nil {
			return nil, err
		}
		if err := tx.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", i.Command.Name, err)
		}
	}
	if err := tx.Symbols.check(); err != nil {
		return nil, err
	}
	if o.Finish != nil {
		if err := o.Finish(tx); err != nil {
			return nil, err
		}
	}
	return tx, tx.Err()
}

func commit(ctx context.Context, db DB, tx *Txn, comment string, dry bool) error {
	if dry || !tx.Changes() {
		return nil
	}
	t := ovsdb.NewTxn()
	if err := tx.Build(t, comment); err != nil {
		return err
	}
	results, err := db.Commit(ctx, t)
	if err != nil {
		return explain(err)
	}
	return tx.finish(results)
}

// explain words a refused transaction for the person at the command line.
func explain(err error) error {
	var e *ovsdb.TxnError
	if errors.As(err, &e) && !conflict(err) {
		return fmt.Errorf("the database refused the transaction: %w", err)
	}
	return err
}

func (s *Script) comment() string { return s.tool.Name + ": " + s.text }

// Run parses a command line and runs it: the whole of a Tool in one call.
func (t *Tool) Run(ctx context.Context, db DB, args []string, out io.Writer, o Options) error {
	s, err := t.Parse(args)
	if err != nil {
		return err
	}
	return s.Run(ctx, db, out, o)
}

// Watch waits until cond is true of the database, which it reads through a
// transaction that is never committed.
func Watch(ctx context.Context, db DB, reads []Read, cond func(*Txn) (bool, error)) error {
	for {
		snapshot, err := db.Snapshot(ctx)
		if err != nil {
			return err
		}
		done, err := cond(newTxn(db.Schema(), nil, snapshot, reads))
		if done || err != nil {
			return err
		}
		if err := db.Changed(ctx, snapshot); err != nil {
			return err
		}
	}
}
