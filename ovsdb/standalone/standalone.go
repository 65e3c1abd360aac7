// Package standalone runs the two databases of OVN as ovsdb-server children of
// this process, for those who have no database servers yet: created from the
// project's own schemas, watched, compacted and stopped with the process.
//
// A directory holds all of it, for each database ("nb", "sb"): the file nb.db,
// the socket nb.sock that clients connect to, the server's control socket
// nb.ctl, its pidfile nb.pid and its log nb.log. Start with Start.
package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"go.uber.org/zap"

	"northwall/ovsdb/unixctl"
	"northwall/schema"
)

// Options for Start.
type Options struct {
	// Dir holds everything; it is made if missing.
	Dir string
	// NBRemotes and SBRemotes are further addresses to listen on, in
	// ovsdb-server(1)'s form ("ptcp:6641:127.0.0.1"), beside the Unix sockets.
	NBRemotes, SBRemotes []string
	Log                  *zap.Logger
}

// Databases are the running children.
type Databases struct {
	dir    string
	lock   *os.File
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// ErrMissing says how to get the programs that are needed.
var ErrMissing = errors.New("ovsdb-server and ovsdb-tool are needed: they are in the package openvswitch-common (Debian, Ubuntu) or openvswitch (Fedora)")

// Start creates the databases where they are missing, brings older ones up to
// the schema, and starts the servers. When it returns, both answer. They run
// until Stop, or until ctx is done, or until this process ends in any way.
//
// A directory has one user: Start refuses one in which another process has
// started databases, naming that.
func Start(ctx context.Context, o Options) (*Databases, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	for _, program := range []string{"ovsdb-server", "ovsdb-tool"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, ErrMissing
		}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("standalone directory: %w", err)
	}
	if err := unixctl.CheckPath(filepath.Join(dir, "nb.sock")); err != nil {
		return nil, fmt.Errorf("standalone directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("standalone directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("standalone directory: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &Databases{dir: dir, lock: lock, cancel: cancel}
	for _, db := range []*database{
		{short: "nb", name: "OVN_Northbound", version: schema.Northbound().Version, schema: schema.NorthboundJSON, global: "NB_Global", remotes: o.NBRemotes},
		{short: "sb", name: "OVN_Southbound", version: schema.Southbound().Version, schema: schema.SouthboundJSON, global: "SB_Global", remotes: o.SBRemotes},
	} {
		db.dir, db.log = dir, o.Log.Named(db.short)
		if err := d.start(ctx, db); err != nil {
			d.Stop()
			return nil, fmt.Errorf("%s: %w", db.name, err)
		}
	}
	return d, nil
}

// NB is the address of the northbound database, as clients take it.
func (d *Databases) NB() string { return "unix:" + filepath.Join(d.dir, "nb.sock") }

// SB is the address of the southbound database.
func (d *Databases) SB() string { return "unix:" + filepath.Join(d.dir, "sb.sock") }

// Stop ends the servers and waits for them. Their files stay.
func (d *Databases) Stop() {
	d.cancel()
	d.wg.Wait()
	d.lock.Close()
}

func (d *Databases) start(ctx context.Context, db *database) error {
	for _, r := range db.remotes {
		if err := checkRemote(r); err != nil {
			return err
		}
	}
	if err := db.endLeftover(ctx); err != nil {
		return err
	}
	if err := db.prepare(ctx); err != nil {
		return err
	}
	s, err := db.run()
	if err != nil {
		return err
	}
	if err := db.waitUp(ctx, s); err != nil {
		s.stop()
		return err
	}
	d.wg.Go(func() { db.watch(ctx, s) })
	d.wg.Go(func() { db.compactPeriodically(ctx) })
	return nil
}
