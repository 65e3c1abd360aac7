// Package standalone runs the two databases of OVN as ovsdb-server children of
// this process, for those who have no database servers yet: created from the
// project's own schemas, watched, compacted and stopped with the process.
package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"northwall/ovsdb/unixctl"
	"northwall/schema"
)

// Options for Start.
type Options struct {
	// Dir holds everything: databases, sockets, logs. It is made if missing.
	Dir string
	// NBRemotes and SBRemotes are further addresses to listen on, in
	// ovsdb-server(1)'s form ("ptcp:6641:127.0.0.1"), beside the Unix sockets.
	NBRemotes, SBRemotes []string
	Log                  *zap.Logger
}

// Databases are the running children.
type Databases struct {
	o      Options
	lock   *os.File
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// database is one of the two.
type database struct {
	short  string // "nb"
	name   string
	schema []byte
	more   []string // remotes
	dir    string
	log    *zap.Logger
}

func (d *database) path(ext string) string { return filepath.Join(d.dir, d.short+ext) }

// ErrMissing says how to get the programs that are needed.
var ErrMissing = errors.New("ovsdb-server and ovsdb-tool are needed: they are in the package openvswitch-common (Debian, Ubuntu) or openvswitch (Fedora)")

// Start creates the databases where they are missing, and starts the servers.
// When it returns, both answer.
func Start(ctx context.Context, o Options) (*Databases, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	for _, prog := range []string{"ovsdb-server", "ovsdb-tool"} {
		if _, err := exec.LookPath(prog); err != nil {
			return nil, ErrMissing
		}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	if err := unixctl.CheckPath(filepath.Join(dir, "nb.sock")); err != nil {
		return nil, fmt.Errorf("standalone directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("standalone directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &Databases{o: o, lock: lock, cancel: cancel}
	for _, db := range []*database{
		{short: "nb", name: "OVN_Northbound", schema: schema.NorthboundJSON, more: o.NBRemotes, dir: dir, log: o.Log.Named("nb")},
		{short: "sb", name: "OVN_Southbound", schema: schema.SouthboundJSON, more: o.SBRemotes, dir: dir, log: o.Log.Named("sb")},
	} {
		if err := d.start(ctx, db); err != nil {
			d.Stop()
			return nil, fmt.Errorf("%s: %w", db.name, err)
		}
	}
	return d, nil
}

// NB is the address of the northbound database, SB that of the southbound one.
func (d *Databases) NB() string { return "unix:" + filepath.Join(d.o.Dir, "nb.sock") }

// SB is the address of the southbound database.
func (d *Databases) SB() string { return "unix:" + filepath.Join(d.o.Dir, "sb.sock") }

// Stop ends the servers and waits for them.
func (d *Databases) Stop() {
	d.cancel()
	d.wg.Wait()
	d.lock.Close()
}

// lockDir makes sure that one process only uses dir.
func lockDir(dir string) (*os.File, error) {
	name := filepath.Join(dir, ".lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		pid := make([]byte, 20)
		n, _ := f.Read(pid)
		f.Close()
		return nil, fmt.Errorf("%s is in use by another northwalld (process %s)", dir, strings.TrimSpace(string(pid[:n])))
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	fmt.Fprintf(f, "%d\n", os.Getpid())
	return f, nil
}

func (d *Databases) start(ctx context.Context, db *database) error {
	if err := db.prepare(ctx); err != nil {
		return err
	}
	cmd, exited, err := db.run()
	if err != nil {
		return err
	}
	if err := db.waitUp(ctx, exited); err != nil {
		stop(cmd, exited)
		return err
	}
	d.wg.Go(func() { db.watch(ctx, cmd, exited) })
	d.wg.Go(func() { db.compactPeriodically(ctx) })
	return nil
}

// prepare makes the database file, or brings an older one up to the schema.
func (db *database) prepare(ctx context.Context) error {
	schemaFile := db.path(".ovsschema")
	if err := os.WriteFile(schemaFile, db.schema, 0o644); err != nil {
		return err
	}
	file := db.path(".db")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return tool(ctx, "create", file, schemaFile)
	} else if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "ovsdb-tool", "needs-conversion", file, schemaFile).Output()
	if err != nil {
		return fmt.Errorf("%s is damaged, or no database: %w", file, describe(err))
	}
	if strings.TrimSpace(string(out)) == "yes" {
		db.log.Info("converting the database to the current schema", zap.String("file", file))
		return tool(ctx, "convert", file, schemaFile)
	}
	return nil
}

func tool(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ovsdb-tool", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ovsdb-tool %s: %s", strings.Join(args, " "), strings.TrimSpace(string(out)))
	}
	return nil
}

func describe(err error) error {
	var e *exec.ExitError
	if errors.As(err, &e) && len(e.Stderr) > 0 {
		return errors.New(strings.TrimSpace(string(e.Stderr)))
	}
	return err
}

// run starts a server. It dies with this process, however that ends.
func (db *database) run() (*exec.Cmd, <-chan error, error) {
	args := []string{
		"--unixctl=" + db.path(".ctl"),
		"--remote=punix:" + db.path(".sock"),
		"--remote=db:" + db.name + "," + globalTable(db.name) + ",connections",
		"--log-file=" + db.path(".log"),
		"-vconsole:off",
	}
	for _, r := range db.more {
		args = append(args, "--remote="+r)
	}
	cmd := exec.Command("ovsdb-server", append(args, db.path(".db"))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	started := make(chan error, 1)
	exited := make(chan error, 1)
	// The kernel sends Pdeathsig when the thread that started the child ends, so
	// one thread is kept for as long as the child lives.
	go func() {
		runtime.LockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		err := cmd.Wait()
		if msg := strings.TrimSpace(stderr.String()); msg != "" {
			err = errors.New(msg)
		}
		exited <- err
	}()
	if err := <-started; err != nil {
		return nil, nil, err
	}
	return cmd, exited, nil
}

func globalTable(name string) string {
	if name == "OVN_Northbound" {
		return "NB_Global"
	}
	return "SB_Global"
}

// waitUp waits until the server answers.
func (db *database) waitUp(ctx context.Context, exited <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if _, err := unixctl.Call(ctx, db.path(".ctl"), "version"); err == nil {
			if _, err := os.Stat(db.path(".sock")); err == nil {
				return nil
			}
		}
		select {
		case err := <-exited:
			return fmt.Errorf("ovsdb-server ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("ovsdb-server does not answer: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// watch starts the server again when it ends, until ctx is done.
func (db *database) watch(ctx context.Context, cmd *exec.Cmd, exited <-chan error) {
	backoff := time.Duration(0)
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			stop(cmd, exited)
			return
		case err := <-exited:
			db.log.Error("ovsdb-server ended, starting it again", zap.Error(err))
		}
		if time.Since(began) > time.Minute {
			backoff = 0
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(backoff):
			}
			backoff = min(2*backoff+100*time.Millisecond, 8*time.Second)
			var err error
			if cmd, exited, err = db.run(); err == nil {
				break
			}
			db.log.Error("ovsdb-server cannot be started", zap.Error(err))
		}
	}
}

func stop(cmd *exec.Cmd, exited <-chan error) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(5 * time.Second):
		_ = cmd.Process.Kill()
		<-exited
	}
}

// compactEvery is how often a database's file is looked at. ovsdb-server
// compacts by itself once the file has grown fourfold; a quiet database that
// was busy before is compacted here.
const compactEvery = 10 * time.Minute

func (db *database) compactPeriodically(ctx context.Context) {
	for {
		if fi, err := os.Stat(db.path(".db")); err == nil && fi.Size() > 1<<20 {
			if _, err := unixctl.Call(ctx, db.path(".ctl"), "ovsdb-server/compact"); err != nil && ctx.Err() == nil {
				db.log.Warn("compacting", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(compactEvery):
		}
	}
}
