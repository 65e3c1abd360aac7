package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"northwall/ovsdb"
)

// options are what the command line says, paths absolute, as the daemon may
// change its directory.
type options struct {
	nb, sb                     []string // remotes
	standalone                 string
	standaloneNB, standaloneSB []string
	unixctl, pidfile, logFile  string // "" for none
	metrics                    string // HOST:PORT, "" for none
	overwritePidfile           bool
	detach, chdir, dryRun      bool
	monitor                    bool
	user                       string // USER, :GROUP or USER:GROUP, "" for no other
	syslogTarget               string
	verbose                    []string
	tls                        ovsdb.TLSFiles
}

// runDir is where sockets and pidfiles are, as OVN's programs have it.
func runDir() string { return cmp.Or(os.Getenv("OVN_RUNDIR"), "/var/run/ovn") }

// logDir is where log files are.
func logDir() string { return cmp.Or(os.Getenv("OVN_LOGDIR"), "/var/log/ovn") }

func readOptions(c *cli.Context) (*options, error) {
	if c.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: everything is an option (see --help)", c.Args().First())
	}
	o := &options{
		standalone:       c.String("standalone"),
		standaloneNB:     splitList(c.String("standalone-nb-remote")),
		standaloneSB:     splitList(c.String("standalone-sb-remote")),
		unixctl:          c.String("unixctl"),
		metrics:          c.String("metrics"),
		pidfile:          c.String("pidfile"),
		logFile:          c.String("log-file"),
		overwritePidfile: c.Bool("overwrite-pidfile"),
		detach:           c.Bool("detach"),
		chdir:            !c.Bool("no-chdir"),
		dryRun:           c.Bool("dry-run"),
		monitor:          c.Bool("monitor"),
		user:             c.String("user"),
		syslogTarget:     c.String("syslog-target"),
		verbose:          *c.Generic("verbose").(*repeated),
		tls: ovsdb.TLSFiles{
			PrivateKey: c.String("private-key"), Certificate: c.String("certificate"), CACert: c.String("ca-cert"),
			ServerName: c.String("ssl-server-name"), Ciphers: c.String("ssl-ciphers"),
		},
	}
	if err := o.readTLS(c); err != nil {
		return nil, err
	}
	if o.standalone != "" && (c.IsSet("ovnnb-db") || c.IsSet("ovnsb-db")) {
		return nil, errors.New("--standalone brings its own databases: leave out --ovnnb-db and --ovnsb-db")
	}
	if o.standalone == "" && len(o.standaloneNB)+len(o.standaloneSB) > 0 {
		return nil, errors.New("--standalone-nb-remote and --standalone-sb-remote go with --standalone")
	}
	switch {
	case o.unixctl == "none":
		o.unixctl = ""
	case o.unixctl == "" && o.standalone != "":
		o.unixctl = filepath.Join(o.standalone, "northwalld.ctl")
	case o.unixctl == "":
		o.unixctl = filepath.Join(runDir(), program()+"."+strconv.Itoa(os.Getpid())+".ctl")
	case !strings.Contains(o.unixctl, "/"):
		o.unixctl = filepath.Join(runDir(), o.unixctl)
	}
	if o.pidfile != "" && !strings.Contains(o.pidfile, "/") {
		o.pidfile = filepath.Join(runDir(), o.pidfile)
	}
	for _, p := range []*string{&o.standalone, &o.unixctl, &o.pidfile, &o.logFile, &o.tls.PrivateKey, &o.tls.Certificate, &o.tls.CACert} {
		if *p == "" || p == &o.tls.CACert && *p == "none" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return nil, err
		}
		*p = abs
	}
	if o.standalone != "" {
		return o, nil
	}
	var err error
	if o.nb, err = splitRemotes(cmp.Or(c.String("ovnnb-db"), os.Getenv("OVN_NB_DB"), "unix:"+runDir()+"/ovnnb_db.sock")); err != nil {
		return nil, fmt.Errorf("--ovnnb-db: %w", err)
	}
	if o.sb, err = splitRemotes(cmp.Or(c.String("ovnsb-db"), os.Getenv("OVN_SB_DB"), "unix:"+runDir()+"/ovnsb_db.sock")); err != nil {
		return nil, fmt.Errorf("--ovnsb-db: %w", err)
	}
	return o, nil
}

// withoutEffect lists what the command line asks for and does not get. What scripts
// give without thinking, as -vsyslog:err, is not in it.
func (o *options) withoutEffect(l *logs) []string {
	out := slices.Clone(l.ignored)
	if o.syslogTarget != "" {
		out = append(out, "--syslog-target="+o.syslogTarget)
	}
	return out
}

// readTLS checks the options about TLS that can be wrong in themselves.
func (o *options) readTLS(c *cli.Context) (err error) {
	if versions := c.String("ssl-protocols"); versions != "" {
		if o.tls.MinVersion, o.tls.MaxVersion, err = ovsdb.ParseTLSVersions(versions); err != nil {
			return fmt.Errorf("--ssl-protocols: %w", err)
		}
	}
	if _, err := ovsdb.ParseCiphers(o.tls.Ciphers); err != nil {
		return fmt.Errorf("--ssl-ciphers: %w", err)
	}
	if c.IsSet("ssl-ciphersuites") {
		return errors.New("--ssl-ciphersuites: the cipher suites of TLS 1.3 cannot be chosen: all of them are safe")
	}
	return nil
}

// tlsConfig is for ovsdb.Options; nil where no file is named, so that an ssl: address
// is refused at once.
func (o *options) tlsConfig() func() (*tls.Config, error) {
	if o.tls.PrivateKey == "" && o.tls.Certificate == "" && o.tls.CACert == "" {
		return nil
	}
	return o.tls.Config
}

// splitRemotes takes a list of addresses apart and makes the paths in it
// absolute.
func splitRemotes(list string) ([]string, error) {
	remotes := splitList(list)
	if len(remotes) == 0 {
		return nil, fmt.Errorf("no address in %q", list)
	}
	for i, r := range remotes {
		if path, ok := strings.CutPrefix(r, "unix:"); ok {
			abs, err := filepath.Abs(path)
			if err != nil {
				return nil, err
			}
			remotes[i] = "unix:" + abs
		}
	}
	return remotes, nil
}

// splitList returns what is between commas and not empty.
func splitList(list string) []string {
	var out []string
	for _, s := range strings.Split(list, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
