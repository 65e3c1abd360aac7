package main

import (
	"crypto/tls"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/urfave/cli/v2"

	"northwall/ovsdb"
)

// parse returns what a command line says.
func parse(args ...string) (*options, error) {
	var o *options
	app := newApp()
	app.Action = func(c *cli.Context) (err error) {
		o, err = readOptions(c)
		return err
	}
	args, err := normalize(append([]string{"northwalld"}, args...), app.Flags)
	if err == nil {
		err = app.Run(args)
	}
	return o, err
}

// environment is that of the machine of the tests below.
func environment(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{"OVN_RUNDIR": "/run", "OVN_LOGDIR": "/log", "OVN_NB_DB": "", "OVN_SB_DB": ""} {
		t.Setenv(name, value)
	}
	t.Chdir("/tmp")
}

func TestOptions(t *testing.T) {
	environment(t)
	// What an empty command line says.
	base := func() *options {
		return &options{
			nb: []string{"unix:/run/ovnnb_db.sock"}, sb: []string{"unix:/run/ovnsb_db.sock"},
			unixctl: "/run/northwalld." + strconv.Itoa(os.Getpid()) + ".ctl",
			chdir:   true,
		}
	}
	standalone := func() *options {
		return &options{standalone: "/tmp/d", unixctl: "/tmp/d/northwalld.ctl", chdir: true}
	}
	for _, tc := range []struct {
		args string // separated by blanks
		want func(o *options)
		base func() *options // base, if nil
	}{
		{"", func(*options) {}, nil},
		{"--pidfile", func(o *options) { o.pidfile = "/run/northwalld.pid" }, nil},
		{"--pidfile=x", func(o *options) { o.pidfile = "/run/x" }, nil},
		{"--pidfile=./x", func(o *options) { o.pidfile = "/tmp/x" }, nil},
		{"--pidfile --detach", func(o *options) { o.pidfile, o.detach = "/run/northwalld.pid", true }, nil},
		{"--log-file --no-chdir", func(o *options) { o.logFile, o.chdir = "/log/northwalld.log", false }, nil},
		{"--log-file=/a/b.log", func(o *options) { o.logFile = "/a/b.log" }, nil},
		{"-v", func(o *options) { o.verbose = []string{"dbg"} }, nil},
		{"-vconsole:off --verbose=nb,file,dbg -v --verbose", func(o *options) { o.verbose = []string{"console:off", "nb,file,dbg", "dbg", "dbg"} }, nil},
		{"--unixctl=none", func(o *options) { o.unixctl = "" }, nil},
		{"--unixctl x.ctl", func(o *options) { o.unixctl = "/run/x.ctl" }, nil},
		{"--unixctl --detach", func(o *options) { o.unixctl = "/run/--detach" }, nil},
		{"--ovnnb-db=unix:a,tcp:[::1]:6641,unix:/b --ovnsb-db ssl:h:1,", func(o *options) {
			o.nb, o.sb = []string{"unix:/tmp/a", "tcp:[::1]:6641", "unix:/b"}, []string{"ssl:h:1"}
		}, nil},
		{"-pkey -c cert -C /ca", func(o *options) {
			o.tls = ovsdb.TLSFiles{PrivateKey: "/tmp/key", Certificate: "/tmp/cert", CACert: "/ca"}
		}, nil},
		{"--private-key=key --certificate cert", func(o *options) {
			o.tls = ovsdb.TLSFiles{PrivateKey: "/tmp/key", Certificate: "/tmp/cert"}
		}, nil},
		{"-C none --ssl-protocols=TLSv1.2 --ssl-ciphers ECDHE-RSA-AES256-GCM-SHA384 --ssl-server-name=db", func(o *options) {
			o.tls = ovsdb.TLSFiles{CACert: "none", ServerName: "db", MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, Ciphers: "ECDHE-RSA-AES256-GCM-SHA384"}
		}, nil},
		{"-D unix:/n -dunix:/s -u/c", func(o *options) { o.nb, o.sb, o.unixctl = []string{"unix:/n"}, []string{"unix:/s"}, "/c" }, nil},
		{"--user a:b --no-self-confinement --syslog-method=null --syslog-target=1.2.3.4:514", func(o *options) { o.user, o.syslogTarget = "a:b", "1.2.3.4:514" }, nil},
		{"--log-file=/a --pidfile=/p --log-file=/b", func(o *options) { o.logFile, o.pidfile = "/b", "/p" }, nil},
		{"--n-threads=4 --dry-run --monitor --overwrite-pidfile", func(o *options) { o.dryRun, o.monitor, o.overwritePidfile = true, true, true }, nil},
		{"--n-threads 4 --dry-run", func(o *options) { o.dryRun = true }, nil},
		{"--standalone d", func(*options) {}, standalone},
		{"--standalone=d --standalone-nb-remote=ptcp:1,ptcp:2", func(o *options) { o.standaloneNB = []string{"ptcp:1", "ptcp:2"} }, standalone},
	} {
		want := base()
		if tc.base != nil {
			want = tc.base()
		}
		tc.want(want)
		got, err := parse(strings.Fields(tc.args)...)
		if err != nil {
			t.Errorf("%s: %v", tc.args, err)
			continue
		}
		if diff := cmp.Diff(*want, *got, cmp.AllowUnexported(options{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.args, diff)
		}
	}
}

func TestEnvironment(t *testing.T) {
	environment(t)
	t.Setenv("OVN_NB_DB", "tcp:nb:1")
	t.Setenv("OVN_SB_DB", "tcp:sb:1")
	for _, tc := range []struct {
		args   []string
		nb, sb string
	}{
		{nil, "tcp:nb:1", "tcp:sb:1"},
		{[]string{"--ovnnb-db=tcp:x:1"}, "tcp:x:1", "tcp:sb:1"},
		{[]string{"--standalone=d"}, "", ""},
	} {
		o, err := parse(tc.args...)
		if err != nil {
			t.Errorf("%s: %v", tc.args, err)
			continue
		}
		if nb, sb := strings.Join(o.nb, ","), strings.Join(o.sb, ","); nb != tc.nb || sb != tc.sb {
			t.Errorf("%s: got %q and %q, want %q and %q", tc.args, nb, sb, tc.nb, tc.sb)
		}
	}
}

func TestOptionErrors(t *testing.T) {
	environment(t)
	for _, tc := range []struct{ args, want string }{
		{"--nosuch", "unknown option --nosuch (see --help)"},
		{"--nosuch=1", "unknown option --nosuch (see --help)"},
		{"-x", "unknown option -x (see --help)"},
		{"-xdetach", "unknown option -x (see --help)"},
		{"--unixctl", "option --unixctl needs a value"},
		{"-p", "option --private-key needs a value"},
		{"--log-file /x", `unexpected argument "/x": everything is an option (see --help)`},
		{"start", `unexpected argument "start": everything is an option (see --help)`},
		{"-- --detach", `unexpected argument "--detach": everything is an option (see --help)`},
		{"--standalone=d --ovnsb-db=tcp:a:1", "--standalone brings its own databases: leave out --ovnnb-db and --ovnsb-db"},
		{"--standalone-sb-remote=ptcp:1", "--standalone-nb-remote and --standalone-sb-remote go with --standalone"},
		{"--ovnnb-db=,", `--ovnnb-db: no address in ","`},
		{"--n-threads=x", "invalid value"},
		{"--ssl-protocols=SSLv3", `--ssl-protocols: no version "sslv3" of TLS; there are TLSv1.2 and TLSv1.3`},
		{"--ssl-ciphers=RC4-MD5", `--ssl-ciphers: cipher suite "RC4-MD5" is not supported`},
		{"--ssl-ciphersuites=TLS_AES_128_CCM_SHA256", "--ssl-ciphersuites: the cipher suites of TLS 1.3 cannot be chosen"},
	} {
		_, err := parse(strings.Fields(tc.args)...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %s", tc.args, err, tc.want)
		}
	}
}
