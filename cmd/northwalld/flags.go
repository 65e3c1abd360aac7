package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

const usage = `northwalld [OPTIONS]

In the place of ovn-northd:
   northwalld --ovnnb-db=unix:/run/ovn/ovnnb_db.sock --ovnsb-db=unix:/run/ovn/ovnsb_db.sock --pidfile --detach --log-file
With databases of its own:
   northwalld --standalone ./net`

func newApp() *cli.App {
	return &cli.App{
		Name:            "northwalld",
		Usage:           "compile the OVN northbound database to logical flows in the southbound one",
		UsageText:       usage,
		HideHelpCommand: true,
		HideVersion:     true, // the library's has -v, which is --verbose here
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "ovnnb-db", Aliases: []string{"D"}, Usage: "northbound database `REMOTES`, separated by commas: unix:PATH, tcp:HOST:PORT, ssl:HOST:PORT", DefaultText: "$OVN_NB_DB, or unix:" + runDir() + "/ovnnb_db.sock"},
			&cli.StringFlag{Name: "ovnsb-db", Aliases: []string{"d"}, Usage: "southbound database `REMOTES`", DefaultText: "$OVN_SB_DB, or unix:" + runDir() + "/ovnsb_db.sock"},
			&cli.StringFlag{Name: "standalone", Usage: "run both databases as children, their files and sockets (nb.sock, sb.sock) in `DIR`"},
			&cli.StringFlag{Name: "standalone-nb-remote", Usage: "with --standalone: listen on `REMOTES` too, such as ptcp:6641:127.0.0.1"},
			&cli.StringFlag{Name: "standalone-sb-remote", Usage: "with --standalone: listen on `REMOTES` too, such as ptcp:6642:127.0.0.1"},
			&cli.StringFlag{Name: "unixctl", Aliases: []string{"u"}, Usage: "control socket `PATH` for ovn-appctl; \"none\" for none", DefaultText: runDir() + "/" + program() + ".PID.ctl, or northwalld.ctl in the directory of --standalone"},
			&cli.StringFlag{Name: "metrics", Usage: "serve metrics for Prometheus at http://`ADDRESS`/metrics, and profiles at /debug/pprof/: HOST:PORT, such as 127.0.0.1:9476", DefaultText: "not served"},
			&cli.StringFlag{Name: "pidfile", Usage: "write and lock a pidfile `[=PATH]`", DefaultText: "none; without PATH " + defaultPidfile()},
			&cli.BoolFlag{Name: "overwrite-pidfile", Usage: "start although another process has the pidfile"},
			&cli.BoolFlag{Name: "detach", Usage: "run in the background; returns once the daemon serves its control socket"},
			&cli.BoolFlag{Name: "no-chdir", Usage: "with --detach: stay in the current directory, do not change to /"},
			&cli.BoolFlag{Name: "monitor", Usage: "run the daemon in a child, and start it again when it has crashed"},
			&cli.StringFlag{Name: "user", Usage: "become another user: `USER[:GROUP]` or :GROUP"},
			&cli.BoolFlag{Name: "no-self-confinement", Usage: "accepted for compatibility: has no effect"},
			&cli.StringFlag{Name: "log-file", Usage: "log to a file `[=PATH]`", DefaultText: "none; without PATH " + defaultLogFile()},
			&cli.GenericFlag{Name: "verbose", Value: new(repeated), Usage: "log level `[=SPEC]`, also -v[SPEC], as console:off or northd:file:dbg: of a module (" + strings.Join(modules(), ", ") + ") a destination (console, file) and a level (off, emer, err, warn, info, dbg), each optional; may be repeated"},
			&cli.StringFlag{Name: "syslog-method", Usage: "accepted for compatibility: has no effect, nothing is sent to syslog (`METHOD`)"},
			&cli.StringFlag{Name: "syslog-target", Usage: "accepted for compatibility: has no effect, nothing is sent to `HOST:PORT`"},
			&cli.StringFlag{Name: "private-key", Aliases: []string{"p"}, Usage: "TLS key, PEM `FILE`"},
			&cli.StringFlag{Name: "certificate", Aliases: []string{"c"}, Usage: "TLS certificate, PEM `FILE`"},
			&cli.StringFlag{Name: "ca-cert", Aliases: []string{"C"}, Usage: "certificate of the authority that the servers' are signed by, PEM `FILE`; \"none\" to take any server for the right one"},
			&cli.StringFlag{Name: "ssl-protocols", Usage: "`VERSIONS` of TLS, such as TLSv1.2,TLSv1.3 or TLSv1.3+", DefaultText: "TLSv1.2+"},
			&cli.StringFlag{Name: "ssl-ciphers", Usage: "`CIPHERS` of TLS 1.2, by OpenSSL's names with colons between them", DefaultText: "all that are safe"},
			&cli.StringFlag{Name: "ssl-ciphersuites", Usage: "refused: the `SUITES` of TLS 1.3 cannot be chosen"},
			&cli.StringFlag{Name: "ssl-server-name", Usage: "`NAME` to ask servers for (SNI)", DefaultText: "the host of the address"},
			&cli.IntFlag{Name: "n-threads", Usage: "accepted for compatibility: has no effect"},
			&cli.BoolFlag{Name: "dry-run", Usage: "begin paused: write nothing before the command resume"},
			&cli.BoolFlag{Name: "options", Aliases: []string{"o"}, Usage: "list the options, for programs"},
			&cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "print the version"},
		},
		Action:       action,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error { return err }, // one line, not all of --help
	}
}

// repeated is the value of an option that may be given more than once. Unlike
// the library's own, it does not take a value apart at its commas.
type repeated []string

func (r *repeated) Set(s string) error { *r = append(*r, s); return nil }

func (r *repeated) String() string { return strings.Join(*r, " ") }

func defaultPidfile() string { return filepath.Join(runDir(), program()+".pid") }

func defaultLogFile() string { return filepath.Join(logDir(), program()+".log") }

// impliedValue returns the value that an option has which may stand without one,
// as GNU's getopt_long has options with optional arguments.
func impliedValue(option string) (string, bool) {
	switch option {
	case "pidfile":
		return defaultPidfile(), true
	case "log-file":
		return defaultLogFile(), true
	case "verbose":
		return "dbg", true
	}
	return "", false
}

// normalize brings a command line as OVN's programs take it into the form of the
// flag library, which has no options with optional values: "--pidfile" becomes
// "--pidfile=PATH", "-vconsole:off" becomes "--verbose=console:off", "-pFILE"
// becomes "--private-key=FILE". All that the library is handed is an option
// known to it with its value in the same word, or an argument.
//
// As with getopt_long, an option that has an optional value takes it only from
// its own word, and one that needs a value takes the next word otherwise.
func normalize(args []string, flags []cli.Flag) ([]string, error) {
	out := args[:1:1]
	for rest := args[1:]; len(rest) > 0; {
		word := rest[0]
		rest = rest[1:]
		if word == "--" || word == "-" || !strings.HasPrefix(word, "-") {
			out = append(out, word)
			if word == "--" {
				return append(out, rest...), nil
			}
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !strings.HasPrefix(word, "--") {
			name, value = word[1:2], word[2:]
			hasValue = value != ""
			if name == "v" { // no alias: the library would give it the value once more
				name = "verbose"
			}
		}
		flag, err := lookup(name, flags)
		if err != nil {
			return nil, err
		}
		long := flag.Names()[0]
		implied, optional := impliedValue(long)
		switch {
		case hasValue:
			// A bool's is for the library to refuse or take.
		case optional:
			value, hasValue = implied, true
		case flag.(cli.DocGenerationFlag).TakesValue():
			if len(rest) == 0 {
				return nil, fmt.Errorf("option --%s needs a value", long)
			}
			value, hasValue = rest[0], true
			rest = rest[1:]
		}
		if long = "--" + long; hasValue {
			long += "=" + value
		}
		out = append(out, long)
	}
	return out, nil
}

// listOptions prints the options in the form in which OVN's programs list theirs.
func listOptions(w io.Writer, flags []cli.Flag) error {
	for _, f := range append(slices.Clone(flags), cli.HelpFlag) {
		_, optional := impliedValue(f.Names()[0])
		for _, name := range f.Names() {
			line, sep := "--"+name, "="
			if len(name) == 1 {
				line, sep = "-"+name, " "
			}
			switch {
			case optional:
				line += sep + "[ARG]"
			case f.(cli.DocGenerationFlag).TakesValue():
				line += sep + "ARG"
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookup finds an option by one of its names.
func lookup(name string, flags []cli.Flag) (cli.Flag, error) {
	for _, f := range append(slices.Clone(flags), cli.HelpFlag) {
		if slices.Contains(f.Names(), name) {
			return f, nil
		}
	}
	dashes := "--"
	if len(name) == 1 {
		dashes = "-"
	}
	return nil, fmt.Errorf("unknown option %s%s (see --help)", dashes, name)
}
