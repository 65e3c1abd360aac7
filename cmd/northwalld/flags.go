package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// options are what the command line says, paths absolute.
type options struct {
	nb, sb                     []string
	standalone                 string
	standaloneNB, standaloneSB []string
	unixctl, pidfile, logFile  string
	overwritePidfile           bool
	detach, chdir, dryRun      bool
	verbose                    []string
	key, cert, ca              string
}

// runDir is where sockets and pidfiles are, as OVN's programs have it.
func runDir() string { return cmp.Or(os.Getenv("OVN_RUNDIR"), "/var/run/ovn") }

func logDir() string { return cmp.Or(os.Getenv("OVN_LOGDIR"), "/var/log/ovn") }

func newApp() *cli.App {
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "print the version"}
	return &cli.App{
		Name:            "northwalld",
		Usage:           "compile the OVN northbound database to logical flows in the southbound one",
		UsageText:       "northwalld [OPTIONS]\n\nIn the place of ovn-northd:\n   northwalld --ovnnb-db=unix:/run/ovn/ovnnb_db.sock --ovnsb-db=unix:/run/ovn/ovnsb_db.sock --pidfile --detach --log-file\nWith databases of its own:\n   northwalld --standalone ./net",
		Version:         version,
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "ovnnb-db", Usage: "northbound database `REMOTES`, separated by commas: unix:PATH, tcp:HOST:PORT, ssl:HOST:PORT", EnvVars: []string{"OVN_NB_DB"}, DefaultText: "unix:" + runDir() + "/ovnnb_db.sock"},
			&cli.StringFlag{Name: "ovnsb-db", Usage: "southbound database `REMOTES`", EnvVars: []string{"OVN_SB_DB"}, DefaultText: "unix:" + runDir() + "/ovnsb_db.sock"},
			&cli.StringFlag{Name: "standalone", Usage: "run both databases as children, their files and sockets (nb.sock, sb.sock) in `DIR`"},
			&cli.StringSliceFlag{Name: "standalone-nb-remote", Usage: "with --standalone: listen on `REMOTE` too, such as ptcp:6641:127.0.0.1"},
			&cli.StringSliceFlag{Name: "standalone-sb-remote", Usage: "with --standalone: listen on `REMOTE` too, such as ptcp:6642:127.0.0.1"},
			&cli.StringFlag{Name: "unixctl", Usage: "control socket `PATH` for ovn-appctl; \"none\" for none", DefaultText: runDir() + "/northwalld.PID.ctl"},
			&cli.StringFlag{Name: "pidfile", Usage: "write and lock a pidfile, `[=PATH]` (default: " + runDir() + "/northwalld.pid)"},
			&cli.BoolFlag{Name: "overwrite-pidfile", Usage: "start although another process has the pidfile"},
			&cli.BoolFlag{Name: "detach", Usage: "run in the background; returns once the daemon serves its control socket"},
			&cli.BoolFlag{Name: "no-chdir", Usage: "with --detach: stay in the current directory"},
			&cli.StringFlag{Name: "log-file", Usage: "log to a file, `[=PATH]` (default: " + logDir() + "/northwalld.log)"},
			&cli.StringSliceFlag{Name: "verbose", Usage: "log level `[MODULE:DESTINATION:LEVEL]`, as -vconsole:off or -vnorthd:file:dbg; destinations console and file; levels off, emer, err, warn, info, dbg"},
			&cli.StringFlag{Name: "private-key", Aliases: []string{"p"}, Usage: "TLS key, PEM `FILE`"},
			&cli.StringFlag{Name: "certificate", Aliases: []string{"c"}, Usage: "TLS certificate, PEM `FILE`"},
			&cli.StringFlag{Name: "ca-cert", Aliases: []string{"C"}, Usage: "certificate of the authority that the servers' are signed by, PEM `FILE`"},
			&cli.IntFlag{Name: "n-threads", Usage: "accepted for compatibility; has no effect"},
			&cli.BoolFlag{Name: "dry-run", Usage: "derive everything and write nothing"},
		},
		Action: action,
	}
}

// optionalValue are the options that may stand without a value, and their value
// then. The flag library knows no such options, so the command line is brought
// into its form first: "--pidfile" becomes "--pidfile=DEFAULT".
var optionalValue = map[string]func() string{
	"pidfile":  func() string { return filepath.Join(runDir(), "northwalld.pid") },
	"log-file": func() string { return filepath.Join(logDir(), "northwalld.log") },
	"verbose":  func() string { return "dbg" },
}

// normalize brings a command line as OVN's programs take it into the form of the
// flag library.
func normalize(args []string, flags []cli.Flag) ([]string, error) {
	out := args[:1:1]
	for _, a := range args[1:] {
		name, isLong := strings.CutPrefix(a, "--")
		switch {
		case a == "-v":
			a = "--verbose=" + optionalValue["verbose"]()
		case strings.HasPrefix(a, "-v"):
			a = "--verbose=" + a[2:]
		case len(a) > 2 && !isLong && a[0] == '-' && strings.IndexByte("pcC", a[1]) >= 0:
			out = append(out, a[:2])
			a = a[2:]
		case isLong:
			if f := optionalValue[name]; f != nil {
				a += "=" + f()
			}
			if n, _, _ := strings.Cut(name, "="); n != "" && !isKnown(n, flags) {
				return nil, fmt.Errorf("unknown option --%s (see --help)", n)
			}
		}
		out = append(out, a)
	}
	return out, nil
}

func isKnown(name string, flags []cli.Flag) bool {
	if name == "help" || name == "version" {
		return true
	}
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return true
			}
		}
	}
	return false
}

func readOptions(c *cli.Context) (*options, error) {
	o := &options{
		nb:               splitRemotes(cmp.Or(c.String("ovnnb-db"), "unix:"+runDir()+"/ovnnb_db.sock")),
		sb:               splitRemotes(cmp.Or(c.String("ovnsb-db"), "unix:"+runDir()+"/ovnsb_db.sock")),
		standalone:       c.String("standalone"),
		standaloneNB:     c.StringSlice("standalone-nb-remote"),
		standaloneSB:     c.StringSlice("standalone-sb-remote"),
		unixctl:          c.String("unixctl"),
		pidfile:          c.String("pidfile"),
		logFile:          c.String("log-file"),
		overwritePidfile: c.Bool("overwrite-pidfile"),
		detach:           c.Bool("detach"),
		chdir:            !c.Bool("no-chdir"),
		dryRun:           c.Bool("dry-run"),
		verbose:          c.StringSlice("verbose"),
		key:              c.String("private-key"),
		cert:             c.String("certificate"),
		ca:               c.String("ca-cert"),
	}
	if o.standalone != "" && (c.IsSet("ovnnb-db") && os.Getenv("OVN_NB_DB") == "" || c.IsSet("ovnsb-db") && os.Getenv("OVN_SB_DB") == "") {
		return nil, fmt.Errorf("--standalone brings its own databases: leave out --ovnnb-db and --ovnsb-db")
	}
	if o.standalone == "" && len(o.standaloneNB)+len(o.standaloneSB) > 0 {
		return nil, fmt.Errorf("--standalone-nb-remote and --standalone-sb-remote go with --standalone")
	}
	switch {
	case o.unixctl == "none":
		o.unixctl = ""
	case o.unixctl != "" && !strings.Contains(o.unixctl, "/"):
		o.unixctl = filepath.Join(runDir(), o.unixctl)
	case o.unixctl == "" && o.standalone != "":
		o.unixctl = filepath.Join(o.standalone, "northwalld.ctl")
	case o.unixctl == "":
		o.unixctl = filepath.Join(runDir(), "northwalld."+strconv.Itoa(os.Getpid())+".ctl")
	}
	for _, p := range []*string{&o.standalone, &o.unixctl, &o.pidfile, &o.logFile, &o.key, &o.cert, &o.ca} {
		if *p != "" {
			abs, err := filepath.Abs(*p)
			if err != nil {
				return nil, err
			}
			*p = abs
		}
	}
	if o.standalone != "" {
		// The control socket may be in a directory that does not exist yet.
		if err := os.MkdirAll(o.standalone, 0o755); err != nil {
			return nil, fmt.Errorf("--standalone: %w", err)
		}
	}
	return o, nil
}

// tls reads the certificates anew, as they may have been replaced.
func (o *options) tls() (*tls.Config, error) {
	if o.key == "" || o.cert == "" || o.ca == "" {
		return nil, fmt.Errorf("ssl: needs --private-key, --certificate and --ca-cert")
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", o.ca)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		// The servers are known by their authority, not by name, as OVS has it
		// (ovs-pki(8)): the chain is verified here.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			inter := x509.NewCertPool()
			for _, c := range s.PeerCertificates[1:] {
				inter.AddCert(c)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: inter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			return err
		},
	}, nil
}
