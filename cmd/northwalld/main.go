// Northwalld watches an OVN northbound database and keeps the southbound
// database holding the logical flows that follow from it, in the place of
// ovn-northd(8).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

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
	app := newApp()
	args, err := normalize(os.Args, app.Flags)
	if err == nil {
		err = app.Run(args)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "northwalld: %v\n", err)
		os.Exit(1)
	}
}

// probe is the inactivity probe of both databases, ovn-northd's default.
const probe = 5 * time.Second

// action is the program's only one: it runs until it is told to end.
func action(c *cli.Context) error {
	if c.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: everything is an option (see --help)", c.Args().First())
	}
	o, err := readOptions(c)
	if err != nil {
		return err
	}
	if o.detach {
		parent, err := detach()
		if err != nil || parent {
			return err
		}
		if o.chdir {
			if err := os.Chdir("/"); err != nil {
				return err
			}
		}
	}
	return run(o)
}

func run(o *options) (err error) {
	logs, err := newLogs(o.logFile, o.verbose)
	if err != nil {
		return err
	}
	defer logs.Close()
	log := logs.Logger()
	defer func() {
		if err != nil {
			log.Error("ending", zap.Error(err))
		}
	}()
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
		for range hup {
			if err := logs.Reopen(); err != nil {
				log.Error("reopening the log file", zap.Error(err))
			}
		}
	}()

	if o.standalone != "" {
		dbs, err := standalone.Start(ctx, standalone.Options{Dir: o.standalone, NBRemotes: o.standaloneNB, SBRemotes: o.standaloneSB, Log: log.Named("standalone")})
		if err != nil {
			return err
		}
		// The databases outlive the connections to them.
		defer dbs.Stop()
		o.nb, o.sb = []string{dbs.NB()}, []string{dbs.SB()}
	}
	nb, err := ovsdb.Open(ovsdb.Options{
		Database: "OVN_Northbound", Remotes: o.nb, Tables: northd.NorthboundTables(),
		LeaderOnly: true, Probe: probe, TLS: o.tls, Log: log.Named("nb"),
	})
	if err != nil {
		return fmt.Errorf("--ovnnb-db: %w", err)
	}
	defer nb.Close()
	sbo := ovsdb.Options{
		Database: "OVN_Southbound", Remotes: o.sb, Tables: northd.SouthboundTables(),
		LeaderOnly: true, Probe: probe, TLS: o.tls, Lock: northd.LockName, Log: log.Named("sb"),
	}
	if o.dryRun {
		sbo.Lock = "" // a dry run stands in nobody's way
	}
	sb, err := ovsdb.Open(sbo)
	if err != nil {
		return fmt.Errorf("--ovnsb-db: %w", err)
	}
	defer sb.Close()
	d := northd.NewDaemon(nb, sb, log.Named("northd"), northd.DaemonOptions{
		NoLock: o.dryRun, DryRun: o.dryRun, CreateGlobal: o.standalone != "",
	})
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	if o.unixctl != "" {
		ctl, err := unixctl.Listen(o.unixctl, commands(d, nb, sb, logs, cancel)...)
		if err != nil {
			cancel()
			<-ended
			return fmt.Errorf("control socket: %w", err)
		}
		defer ctl.Close()
	}
	log.Info("started", zap.String("version", version), zap.Strings("ovnnb-db", o.nb), zap.Strings("ovnsb-db", o.sb), zap.Int("pid", os.Getpid()))
	if err := ready(); err != nil {
		return err
	}
	err = <-ended
	log.Info("ended")
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

func splitRemotes(s string) []string {
	var out []string
	for _, r := range strings.Split(s, ",") {
		if r = strings.TrimSpace(r); r != "" {
			out = append(out, r)
		}
	}
	return out
}
