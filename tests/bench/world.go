package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"northwall/ovsdb"
	"northwall/schema"
	"northwall/schema/sb"
)

// patience bounds each wait for a northd: the original takes minutes for a large
// network.
const patience = 30 * time.Minute

// A world is two databases, a northd between them, and the client that makes the
// edits and has the clock.
type world struct {
	northd
	dir    string
	nb, sb *database
	daemon *process
	client *numbers
	cfg    int // nb_cfg of the last edit
}

// newWorld starts a northd on fresh databases, in a directory in parent.
func newWorld(ctx context.Context, parent string, n northd) (w *world, err error) {
	dir, err := os.MkdirTemp(parent, "nwbench")
	if err != nil {
		return nil, err
	}
	w = &world{northd: n, dir: dir}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	w.nb, w.sb = newDatabases(dir)
	if err := w.nb.start(ctx, true); err != nil {
		return nil, err
	}
	if err := w.sb.start(ctx, true); err != nil {
		return nil, err
	}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	if err := w.startNorthd(w.sbSocket()); err != nil {
		return nil, err
	}
	_, err = w.edit(ctx, ovsdb.NewTxn())
	return w, err
}

func (w *world) startNorthd(sb string) (err error) {
	w.daemon, err = w.start(w.dir, sb)
	return err
}

func (w *world) sbSocket() string { return w.sb.path(".sock") }

func (w *world) connect(ctx context.Context) (err error) {
	if w.client, err = openNumbers(ctx, w.nb.path(".sock")); err != nil {
		return err
	}
	w.cfg = max(w.client.nbCfg, w.client.sbCfg)
	return nil
}

// close ends everything and removes the directory.
func (w *world) close() {
	if w.daemon != nil {
		w.daemon.stop()
	}
	if w.client != nil {
		w.client.Close()
	}
	w.nb.stop()
	w.sb.stop()
	os.RemoveAll(w.dir)
}

// send makes changes without waiting for the northd.
func (w *world) send(ctx context.Context, txn *ovsdb.Txn) error {
	_, err := w.client.Transact(ctx, txn)
	return err
}

// edit makes changes and waits until the southbound database has what follows
// from them, as sb_cfg says. It returns how long that took.
func (w *world) edit(ctx context.Context, txn *ovsdb.Txn) (time.Duration, error) {
	began := time.Now()
	if err := w.bump(ctx, txn); err != nil {
		return 0, err
	}
	err := w.wait(ctx)
	return time.Since(began), err
}

// bump makes changes and gives the result the next number.
func (w *world) bump(ctx context.Context, txn *ovsdb.Txn) error {
	w.cfg++
	txn.Update("NB_Global", w.client.row).Int("nb_cfg", w.cfg)
	return w.send(ctx, txn)
}

// wait waits for sb_cfg to be the number of the last edit.
func (w *world) wait(ctx context.Context) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		w.client.take()
		if w.client.sbCfg >= w.cfg {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.daemon.ended:
			return w.daemon.failure()
		case <-limit.C:
			return fmt.Errorf("%s has not come to nb_cfg %d in %v", w.name, w.cfg, patience)
		case <-w.client.Ready():
		}
	}
}

// usage is what the northd has taken since it was started.
func (w *world) usage() (u whole, err error) {
	if u.CPU, err = w.daemon.cpu(); err != nil {
		return u, err
	}
	u.Peak, err = w.daemon.peak()
	return u, err
}

// restart ends the northd and starts it again with a new number to come to, on
// an empty southbound database where empty says so. socket is where it finds
// that database.
func (w *world) restart(ctx context.Context, empty bool, socket string) (whole, error) {
	w.daemon.stop()
	if empty {
		if err := w.emptySouthbound(ctx); err != nil {
			return whole{}, err
		}
	}
	if err := w.bump(ctx, ovsdb.NewTxn()); err != nil {
		return whole{}, err
	}
	began := time.Now()
	if err := w.startNorthd(socket); err != nil {
		return whole{}, err
	}
	if err := w.wait(ctx); err != nil {
		return whole{}, err
	}
	took := time.Since(began)
	// A northd may have put off some of a start: it counts, too.
	if _, err := w.edit(ctx, ovsdb.NewTxn()); err != nil {
		return whole{}, err
	}
	next := time.Since(began)
	u, err := w.usage()
	u.Took, u.Next = took, next
	return u, err
}

// emptySouthbound replaces the southbound database by a fresh one.
func (w *world) emptySouthbound(ctx context.Context) error {
	w.sb.stop()
	return w.sb.start(ctx, true)
}

// flows counts the logical flows.
func (w *world) flows(ctx context.Context) (int, error) {
	c, err := ovsdb.Open(ovsdb.Options{
		Database: "OVN_Southbound", Remotes: []string{"unix:" + w.sbSocket()},
		Tables: []*ovsdb.Table{ovsdb.TableOf[sb.LogicalFlow](schema.Southbound(), "Logical_Flow", "table_id")},
	})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.WaitConnected(ctx); err != nil {
		return 0, err
	}
	return len(c.Take().Changes["Logical_Flow"]), nil
}
