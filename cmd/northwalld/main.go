// Northwalld watches an OVN northbound database and keeps the southbound
// database holding the logical flows that follow from it, in the place of
// ovn-northd(8).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/standalone"
	"northwall/ovsdb/unixctl"
)

// version is set by the Makefile.
var version = "development"

func main() {
	if program() == original {
		// Scripts look whether the process of a pidfile is still the daemon by its name,
		// which is that of the file that was run.
		_ = os.WriteFile("/proc/self/comm", []byte(original), 0)
	}
	app := newApp()
	args, err := normalize(os.Args, app.Flags)
	if err == nil {
		err = app.Run(args)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program(), err)
		os.Exit(1)
	}
}

// program is the name that the program goes by: that of the original where it is
// called so, as by a link in its place. Files that are not named are found under it.
func program() string {
	if filepath.Base(os.Args[0]) == original {
		return original
	}
	return "northwalld"
}

// original is the name of the program in whose place this one is.
const original = "ovn-northd"

// action is the program's only one: it runs until it is told to end.
func action(c *cli.Context) error {
	if c.Bool("version") {
		_, err := fmt.Fprintln(c.App.Writer, "northwalld "+version)
		return err
	}
	if c.Bool("options") {
		return listOptions(c.App.Writer, c.App.Flags)
	}
	o, err := readOptions(c)
	if err != nil {
		return err
	}
	keepReadyPipe()
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if o.detach {
		if parent, err := detach(); parent || err != nil {
			return err
		}
		if o.chdir {
			if err := os.Chdir("/"); err != nil {
				return fmt.Errorf("--detach: %w", err)
			}
		}
	}
	if o.user != "" {
		if err := becomeUser(o.user); err != nil {
			return fmt.Errorf("--user: %w", err)
		}
	}
	if o.monitor && !isMonitored() {
		return monitor(o, dir)
	}
	if o.standalone != "" { // the log and the pidfile may be in it
		if err := os.MkdirAll(o.standalone, 0o755); err != nil {
			return fmt.Errorf("--standalone: %w", err)
		}
	}
	logs, err := newLogs(o.logFile, o.verbose)
	if err != nil {
		return err
	}
	defer logs.Close()
	if err := run(o, logs); err != nil {
		logs.Logger(file).Error("ending", zap.Error(err)) // main says it on the console
		return err
	}
	return nil
}

func run(o *options, logs *logs) error {
	derived, caughtUp := tuneMemory()
	log := logs.Logger(console, file)
	if o.pidfile != "" {
		pf, err := lockPidfile(o.pidfile, o.overwritePidfile)
		if err != nil {
			return err
		}
		defer pf.Remove()
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
			}
			if o.logFile == "" { // nothing to reopen: the terminal has gone
				cancel()
			} else if err := logs.Reopen(); err != nil {
				log.Error("reopening the log file", zap.Error(err))
			}
		}
	}()
	for _, what := range o.withoutEffect(logs) {
		log.Warn("without effect: " + what)
	}

	if o.standalone != "" {
		dbs, err := standalone.Start(ctx, standalone.Options{Dir: o.standalone, NBRemotes: o.standaloneNB, SBRemotes: o.standaloneSB, Log: log.Named("standalone")})
		if err != nil {
			if ctx.Err() != nil { // told to end meanwhile
				return nil
			}
			return fmt.Errorf("--standalone: %w", err)
		}
		// The databases outlive the connections to them.
		defer dbs.Stop()
		o.nb, o.sb = []string{dbs.NB()}, []string{dbs.SB()}
	}
	nb, err := ovsdb.Open(ovsdb.Options{
		Database: "OVN_Northbound", Remotes: o.nb, Tables: northd.NorthboundTables(),
		LeaderOnly: true, Probe: northd.DefaultProbe, TLS: o.tlsConfig(), Log: log.Named("nb"),
	})
	if err != nil {
		return fmt.Errorf("--ovnnb-db: %w", err)
	}
	defer nb.Close()
	sbo := ovsdb.Options{
		Database: "OVN_Southbound", Remotes: o.sb, Tables: northd.SouthboundTables(),
		LeaderOnly: true, Probe: northd.DefaultProbe, TLS: o.tlsConfig(), Lock: northd.LockName, Log: log.Named("sb"),
	}
	if o.dryRun {
		sbo.Lock = "" // until it is resumed
	}
	sb, err := ovsdb.Open(sbo)
	if err != nil {
		return fmt.Errorf("--ovnsb-db: %w", err)
	}
	defer sb.Close()
	d := northd.NewDaemon(nb, sb, log.Named("northd"), northd.DaemonOptions{
		Paused: o.dryRun, CreateGlobal: o.standalone != "", Derived: derived, CaughtUp: caughtUp,
	})
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	if o.unixctl != "" {
		ctl, err := unixctl.Listen(o.unixctl, commands(d, nb, sb, logs, cancel)...)
		if err != nil {
			cancel()
			<-ended
			return fmt.Errorf("control socket (see --unixctl): %w", err)
		}
		defer ctl.Close()
	}
	if o.metrics != "" {
		m, err := serveMetrics(o.metrics, d)
		if err != nil {
			cancel()
			<-ended
			return fmt.Errorf("--metrics: %w", err)
		}
		defer m.stop()
		log.Info("serving metrics", zap.String("address", m.Addr))
	}
	log.Info("started", zap.String("version", version), zap.Strings("ovnnb-db", o.nb), zap.Strings("ovnsb-db", o.sb), zap.Int("pid", os.Getpid()))
	if err := ready(); err != nil {
		return err
	}
	notify(log, sd.SdNotifyReady)
	err = <-ended
	notify(log, sd.SdNotifyStopping)
	log.Info("ended")
	return err
}

// notify tells a service manager that listens at $NOTIFY_SOCKET (sd_notify(3)) how
// far the daemon is; without one it does nothing.
func notify(log *zap.Logger, state string) {
	if _, err := sd.SdNotify(false, state); err != nil {
		log.Warn("telling the service manager", zap.String("state", state), zap.Error(err))
	}
}
