package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"northwall/ovsdb"
)

// Where the databases of a host are, as OVN's packages have them.
const (
	defaultNorthbound = "unix:/var/run/ovn/ovnnb_db.sock"
	defaultSouthbound = "unix:/var/run/ovn/ovnsb_db.sock"
)

// probe is the idle time after which a server is asked whether it lives.
const probe = 30 * time.Second

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}

// deadline is the run's context with --timeout applied.
func deadline(c *cli.Context) (context.Context, context.CancelFunc, error) {
	value := c.String("timeout")
	if value == "" || value == "0" {
		ctx, cancel := context.WithCancel(c.Context)
		return ctx, cancel, nil
	}
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds < 0 {
		return nil, nil, fmt.Errorf("value %s on -t or --timeout is invalid", value)
	}
	ctx, cancel := context.WithTimeoutCause(c.Context, time.Duration(seconds)*time.Second, errTimeout)
	return ctx, cancel, nil
}

// connect opens a database and waits for its contents. It fails when no address
// can be connected to, as a command line must not hang on a mistyped one.
func connect(ctx context.Context, c *cli.Context, database, addresses string, tables []*ovsdb.Table) (*ovsdb.Client, error) {
	log, err := logger(c)
	if err != nil {
		return nil, err
	}
	remotes := strings.FieldsFunc(addresses, func(r rune) bool { return r == ',' })
	if !c.Bool("no-shuffle-remotes") {
		rand.Shuffle(len(remotes), func(i, j int) { remotes[i], remotes[j] = remotes[j], remotes[i] })
	}
	o := ovsdb.Options{
		Database: database, Remotes: remotes, Tables: tables,
		LeaderOnly: !c.Bool("no-leader-only"), Probe: probe, Log: log,
	}
	if files := (ovsdb.TLSFiles{PrivateKey: c.String("private-key"), Certificate: c.String("certificate"), CACert: c.String("ca-cert")}); files != (ovsdb.TLSFiles{}) {
		o.TLS = files.Config
	}
	client, err := ovsdb.Open(o)
	if err != nil {
		return nil, err
	}
	if err := firstContents(ctx, client, len(remotes)); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// firstContents waits until the client is connected or every address has failed.
func firstContents(ctx context.Context, client *ovsdb.Client, remotes int) error {
	failed := map[string]bool{}
	for {
		s := client.Status()
		if s.Connected {
			return nil
		}
		if s.Err != nil {
			failed[s.Remote] = true
			if len(failed) >= remotes {
				return fmt.Errorf("%s: database connection failed (%w)", s.Remote, s.Err)
			}
		}
		select {
		case <-client.Ready():
		case <-ctx.Done():
			if s.Err != nil {
				return fmt.Errorf("%s: database connection failed (%w): %w", s.Remote, s.Err, context.Cause(ctx))
			}
			return context.Cause(ctx)
		}
	}
}

// logger logs to stderr at the level that -v names, if given.
func logger(c *cli.Context) (*zap.Logger, error) {
	if !c.IsSet("verbose") {
		return zap.NewNop(), nil
	}
	// vlog's words besides a level choose modules and destinations that are not
	// here.
	level := zapcore.DebugLevel
	for _, word := range strings.FieldsFunc(c.String("verbose"), func(r rune) bool { return strings.ContainsRune(" ,:", r) }) {
		switch strings.ToLower(word) {
		case "off", "emer":
			level = zapcore.FatalLevel
		case "err":
			level = zapcore.ErrorLevel
		case "warn":
			level = zapcore.WarnLevel
		case "info":
			level = zapcore.InfoLevel
		case "dbg":
			level = zapcore.DebugLevel
		}
	}
	encoder := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(c.App.ErrWriter), level)), nil
}
