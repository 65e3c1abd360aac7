package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/standalone"
	"northwall/ovsdb/unixctl"
	"northwall/schema/sb"
)

// asDaemon makes the test's program be northwalld itself, so that the tests
// below run real processes of it.
const asDaemon = "NORTHWALLD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// daemon returns northwalld, not started.
func daemon(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	// A program built with -race waits a second at its end otherwise.
	cmd.Env = append(os.Environ(), asDaemon+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// invoke runs northwalld to its end.
func invoke(t *testing.T, args ...string) (output string, status int) {
	t.Helper()
	cmd := daemon(t, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("northwalld %s: %v", strings.Join(args, " "), err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// A place is a directory for a daemon, its name short enough for sockets.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T) place {
	t.Helper()
	if _, err := exec.LookPath("ovsdb-server"); err != nil {
		t.Skip("ovsdb-server is not installed")
	}
	dir, err := os.MkdirTemp("", "northwalld")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return place{t, dir}
}

func (p place) path(name string) string { return filepath.Join(p.dir, name) }

// standalone are the options for a daemon with databases of its own here.
func (p place) standalone(more ...string) []string {
	return append([]string{"--standalone=" + p.dir, "--pidfile=" + p.path("pid"), "--log-file=" + p.path("log"), "-vconsole:off"}, more...)
}

// appctl gives a command to the daemon.
func (p place) appctl(command string, args ...string) string {
	p.t.Helper()
	return appctl(p.t, p.path("northwalld.ctl"), command, args...)
}

func appctl(t *testing.T, socket, command string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := unixctl.Call(ctx, socket, command, args...)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return out
}

// tryAppctl is appctl, and "" where nobody listens.
func (p place) tryAppctl(command string) string {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	out, err := unixctl.Call(ctx, p.path("northwalld.ctl"), command)
	if err != nil {
		return ""
	}
	return out
}

// pidIn returns the process that a pidfile names, 0 while it names none.
func pidIn(path string) int {
	b, _ := os.ReadFile(path)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

// pid returns the process that a pidfile names.
func (p place) pid(name string) int {
	p.t.Helper()
	b, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
	return pid
}

// has tells which of some files there are.
func (p place) has(names ...string) string {
	var out []string
	for _, n := range names {
		if _, err := os.Lstat(p.path(n)); err == nil {
			out = append(out, n)
		}
	}
	return strings.Join(out, " ")
}

// patience bounds every wait.
const patience = 30 * time.Second

// eventually waits until got returns want.
func eventually(t *testing.T, what, want string, got func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		g := got()
		if g == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: got %q, want %q", what, g, want)
		}
	}
}

// gone tells whether a process has ended; one that its parent has not waited for
// has.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(state, "Z")
}

func waitGone(t *testing.T, what string, pid int) {
	t.Helper()
	eventually(t, what+" has ended", "true", func() string { return strconv.FormatBool(gone(pid)) })
}

// background starts a detached daemon, and sees to its end.
func (p place) background(args ...string) (pid int) {
	p.t.Helper()
	if out, status := invoke(p.t, append(args, "--detach")...); out != "" || status != 0 {
		p.t.Fatalf("--detach: got %q, status %d", out, status)
	}
	pid = p.pid("pid")
	p.t.Cleanup(func() {
		if !gone(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return pid
}

// TestDetach follows a daemon through its life in the background.
func TestDetach(t *testing.T) {
	p := newPlace(t)
	pid := p.background(p.standalone()...)
	servers := []int{p.pid("nb.pid"), p.pid("sb.pid")}

	// It serves as soon as the command line returns.
	if got, want := p.appctl("version"), "northwalld "+version+"\n"; got != want {
		t.Errorf("version: got %q, want %q", got, want)
	}
	eventually(t, "status", "Status: active\n", func() string { return p.appctl("status") })
	for _, db := range []string{"nb", "sb"} { // only begun when the command line returns
		command := db + "-connection-status"
		eventually(t, command, "connected\n", func() string { return p.appctl(command) })
	}
	if got, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); got != "/" {
		t.Errorf("current directory: got %s, %v, want /", got, err)
	}
	for fd := range 3 {
		if got, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); got != os.DevNull {
			t.Errorf("descriptor %d: got %s, %v, want %s", fd, got, err, os.DevNull)
		}
	}

	// A second one is refused, by the pidfile and without.
	for _, tc := range []struct {
		args []string
		want string
	}{
		{p.standalone(), fmt.Sprintf("pidfile %s: already running as process %d", p.path("pid"), pid)},
		{p.standalone("--detach"), fmt.Sprintf("pidfile %s: already running as process %d", p.path("pid"), pid)},
		{[]string{"--standalone=" + p.dir}, fmt.Sprintf("--standalone: standalone directory: %s is in use by another northwalld (process %d)", p.dir, pid)},
	} {
		if out, status := invoke(t, tc.args...); out != "northwalld: "+tc.want+"\n" || status != 1 {
			t.Errorf("a second one with %q: got %q, status %d; want %q", tc.args, out, status, tc.want)
		}
	}

	// The log is opened anew on SIGHUP.
	if err := os.Rename(p.path("log"), p.path("log.1")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new log", "log", func() string { return p.has("log") })

	if got := p.appctl("exit"); got != "" {
		t.Errorf("exit: got %q", got)
	}
	waitGone(t, "the daemon", pid)
	for _, s := range servers {
		waitGone(t, "its ovsdb-server", s)
	}
	if got := p.has("pid", "northwalld.ctl", "nb.pid", "sb.pid", "nb.sock", "sb.sock", "nb.db", "sb.db"); got != "nb.db sb.db" {
		t.Errorf("files that stay: got %s, want nb.db sb.db", got)
	}
	if b, err := os.ReadFile(p.path("log")); err != nil || !strings.Contains(string(b), "ended") {
		t.Errorf("the new log: got %q, %v", b, err)
	}
}

// TestForeground: a signal ends a daemon cleanly.
func TestForeground(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		p := newPlace(t)
		cmd := daemon(t, "--standalone="+p.dir, "--pidfile="+p.path("pid"))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "control socket", "northwalld.ctl", func() string { return p.has("northwalld.ctl") })
		if got := p.pid("pid"); got != cmd.Process.Pid {
			t.Errorf("pidfile: got %d, want %d", got, cmd.Process.Pid)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", sig, err)
		}
		if got := p.has("pid", "northwalld.ctl", "nb.sock", "nb.pid"); got != "" {
			t.Errorf("%s: left %s", sig, got)
		}
		if got := stderr.String(); !strings.Contains(got, "\tINFO\tstarted\t{") || !strings.Contains(got, "\tINFO\tended\n") {
			t.Errorf("%s: got log\n%s", sig, got)
		}
	}
}

// TestCrash: the servers end with a daemon that is killed, and the next one
// starts on what it left.
func TestCrash(t *testing.T) {
	p := newPlace(t)
	for range 3 {
		pid := p.background(p.standalone()...)
		servers := []int{p.pid("nb.pid"), p.pid("sb.pid")}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waitGone(t, "the daemon", pid)
		for _, s := range servers {
			waitGone(t, "its ovsdb-server", s)
		}
		if got := p.has("pid", "northwalld.ctl"); got != "pid northwalld.ctl" {
			t.Fatalf("a crash left %s", got) // or nothing is tested
		}
	}
	// Nor does the next one wait for the servers to have ended.
	for range 3 {
		pid := p.background(p.standalone()...)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waitGone(t, "the daemon", pid)
	}
	p.background(p.standalone()...)
	eventually(t, "status", "Status: active\n", func() string { return p.appctl("status") })
}

// TestStartErrors: what prevents a start is said in one line, by either way of
// starting, and nothing is left behind.
func TestStartErrors(t *testing.T) {
	p := newPlace(t)
	listener, err := net.Listen("unix", p.path("taken.ctl"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--nosuch"}, "unknown option --nosuch"},
		{[]string{"--n-threads=x"}, "invalid value"},
		{p.standalone("--unixctl=" + p.path("taken.ctl")), "another process is listening there"},
		{p.standalone("--unixctl=" + p.path("no/such/dir")), "no such file or directory"},
		{p.standalone("--standalone-nb-remote=tcp:x"), "want ptcp:PORT[:ADDRESS]"},
		{p.standalone("-vbogus"), `no destination, level, or module "bogus"`},
		{[]string{"--standalone=" + p.path(strings.Repeat("x", 100))}, "too many for the name of a Unix socket"},
		{[]string{"--ovnnb-db=bogus", "--ovnsb-db=tcp:127.0.0.1:1", "--unixctl=none", "-vconsole:off"}, "--ovnnb-db: "},
		{[]string{"--ovnnb-db=tcp:127.0.0.1:1", "--ovnsb-db=bogus:1", "--unixctl=none", "-vconsole:off"}, "--ovnsb-db: "},
	} {
		for _, detach := range []bool{false, true} {
			args := tc.args
			if detach {
				args = append(args[:len(args):len(args)], "--detach")
			}
			out, status := invoke(t, args...)
			if !strings.HasPrefix(out, "northwalld: ") || !strings.Contains(out, tc.want) || strings.Count(out, "\n") != 1 || status != 1 {
				t.Errorf("%q: got %q, status %d; want one line with %q, status 1", args, out, status, tc.want)
			}
			if got := p.has("pid", "nb.pid", "nb.sock"); got != "" {
				t.Errorf("%q: left %s", args, got)
			}
		}
	}
	if out, status := invoke(t, "--version"); out != "northwalld "+version+"\n" || status != 0 {
		t.Errorf("--version: got %q, status %d", out, status)
	}
	if out, status := invoke(t, "--help"); !strings.Contains(out, "--ovnnb-db") || status != 0 {
		t.Errorf("--help: got %q, status %d", out, status)
	}
}

// TestCommands gives the commands of the control socket that TestDetach does not.
func TestCommands(t *testing.T) {
	p := newPlace(t)
	p.background(p.standalone()...)
	eventually(t, "status", "Status: active\n", func() string { return p.appctl("status") })
	// The first run, which begins after that, is counted below.
	eventually(t, "the first run", "1\n", func() string { return p.appctl("inc-engine/show-stats", "northd", "recompute") })
	list := p.appctl("list-commands")
	for _, c := range []string{
		"debug/chassis-features-list", "exit", "inc-engine/clear-stats", "inc-engine/recompute", "inc-engine/show-stats", "is-paused",
		"list-commands", "memory/show", "nb-cluster-state-reset", "nb-connection-status", "northwall/problems", "northwall/show",
		"parallel-build/get-n-threads", "parallel-build/set-n-threads", "pause", "resume", "sb-cluster-state-reset", "sb-connection-status",
		"status", "stopwatch/reset", "stopwatch/show", "version", "vlog/close", "vlog/disable-rate-limit", "vlog/enable-rate-limit",
		"vlog/list", "vlog/reopen", "vlog/set",
	} {
		if !strings.Contains(list, "\n  "+c+" ") {
			t.Errorf("list-commands: no %s in\n%s", c, list)
		}
	}
	for _, tc := range []struct {
		command string
		args    []string
		want    string // a part, "" for an empty answer
	}{
		{"is-paused", nil, "false\n"},
		{"pause", nil, ""},
		{"is-paused", nil, "true\n"},
		{"status", nil, "Status: paused\n"},
		{"resume", nil, ""},
		{"is-paused", nil, "false\n"},
		{"inc-engine/recompute", nil, ""},
		{"northwall/show", nil, "full recomputes:          1\n"},
		{"northwall/problems", nil, ""},
		{"inc-engine/show-stats", nil, "\nNode: traits of switch\n- recompute:            0\n- compute:              0\n- cancel:               0\n"},
		{"inc-engine/show-stats", []string{"lflow"}, "Node: lflow\n- recompute:            2\n- compute:"},
		{"inc-engine/show-stats", []string{"northd", "recompute"}, "2\n"},
		{"inc-engine/show-stats", []string{"options", "abort"}, "0\n"},
		{"inc-engine/clear-stats", nil, ""},
		{"inc-engine/show-stats", []string{"northd", "recompute"}, "0\n"},
		{"stopwatch/show", nil, "Statistics for 'ovn-northd-loop'\n  Total samples: "},
		{"stopwatch/show", []string{"northd"}, "\n  95th percentile: "},
		{"stopwatch/reset", nil, ""},
		{"stopwatch/show", []string{"nbctl"}, `no stopwatch "nbctl"; there are lflows_to_sb`},
		{"parallel-build/set-n-threads", []string{"2"}, ""},
		{"parallel-build/set-n-threads", []string{"257"}, "invalid n_threads: 257"},
		{"parallel-build/get-n-threads", nil, "1\n"},
		{"nb-cluster-state-reset", nil, ""},
		{"sb-cluster-state-reset", nil, ""},
		{"debug/chassis-features-list", nil, "ct_label_flush: true\n"},
		{"memory/show", nil, "heap-kB:"},
		{"inc-engine/show-stats", []string{"nosuch"}, `no node "nosuch"`},
		{"vlog/set", nil, ""},
		{"vlog/list", nil, "\nsb                     DBG     DBG\n"},
		{"vlog/set", []string{"nb:file:dbg", "console:warn"}, ""},
		{"vlog/list", nil, "\nnb                    WARN     DBG\n"},
		{"vlog/close", nil, ""},
		{"vlog/reopen", nil, ""},
		{"vlog/disable-rate-limit", nil, ""},
	} {
		got, err := unixctl.Call(t.Context(), p.path("northwalld.ctl"), tc.command, tc.args...)
		if err != nil {
			got = err.Error()
		}
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s %s: got %q, want %q", tc.command, strings.Join(tc.args, " "), got, tc.want)
		}
	}
	eventually(t, "status after resume", "Status: active\n", func() string { return p.appctl("status") })
	if _, err := unixctl.Call(t.Context(), p.path("northwalld.ctl"), "vlog/set", "bogus:dbg"); err == nil || !strings.Contains(err.Error(), `no destination, level, or module "bogus"`) {
		t.Errorf("vlog/set bogus:dbg: got error %v", err)
	}
}

// datapaths connects to a southbound database, and returns what counts its
// datapaths.
func datapaths(t *testing.T, remote string) func() string {
	t.Helper()
	client, err := ovsdb.Open(ovsdb.Options{Database: "OVN_Southbound", Remotes: []string{remote}, Tables: northd.SouthboundTables()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	rows := map[string]bool{}
	return func() string {
		batch := client.Take()
		if batch == nil {
			return strconv.Itoa(len(rows))
		}
		ovsdb.Each(batch, "Datapath_Binding", func(uuid string, _, now *sb.DatapathBinding) {
			if now == nil {
				delete(rows, uuid)
			} else {
				rows[uuid] = true
			}
		})
		return strconv.Itoa(len(rows))
	}
}

func addSwitch(t *testing.T, remote, name string) {
	t.Helper()
	client, err := ovsdb.Open(ovsdb.Options{Database: "OVN_Northbound", Remotes: []string{remote}, Tables: northd.NorthboundTables()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := client.WaitConnected(ctx); err != nil {
		t.Fatal(err)
	}
	txn := client.NewTxn()
	txn.Insert("Logical_Switch", ovsdb.NewUUID()).String("name", name)
	if _, err := client.Transact(ctx, txn); err != nil {
		t.Fatal(err)
	}
}

// TestTakeOver: three daemons on databases that are not theirs: one works, the
// second stands by until the first ends, and the third is paused.
func TestTakeOver(t *testing.T) {
	p := newPlace(t)
	dbs, err := standalone.Start(t.Context(), standalone.Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer dbs.Stop()
	start := func(name string, more ...string) (pid int, ask func(command string) func() string) {
		t.Helper()
		args := append([]string{
			"--ovnnb-db=" + dbs.NB(), "--ovnsb-db=" + dbs.SB(), "--unixctl=" + p.path(name+".ctl"),
			"--pidfile=" + p.path("pid"), "--overwrite-pidfile", "-vconsole:off",
		}, more...)
		return p.background(args...), func(command string) func() string {
			return func() string { return appctl(t, p.path(name+".ctl"), command) }
		}
	}
	_, dry := start("dry", "--dry-run")
	eventually(t, "the dry run", "Status: paused\n", dry("status"))
	eventually(t, "its connection", "connected\n", dry("sb-connection-status"))
	count := datapaths(t, dbs.SB())
	first, ask1 := start("first")
	eventually(t, "the first", "Status: active\n", ask1("status"))
	second, ask2 := start("second")
	eventually(t, "the second's connection", "connected\n", ask2("sb-connection-status"))
	if got := ask2("status")(); got != "Status: standby\n" {
		t.Errorf("the second: got %q, want standby", got)
	}
	// An edit goes through; there being no NB_Global row, "ovn-nbctl init" has not
	// been run, and a daemon on databases of others leaves that to them.
	addSwitch(t, dbs.NB(), "sw0")
	eventually(t, "datapaths", "1", count)
	// The second has derived what the first has written, and written nothing.
	flows, _, _ := strings.Cut(ask1("northwall/show")(), "derivations")
	_, flows, _ = strings.Cut(flows, "logical flows:")
	eventually(t, "flows of the second", flows, func() string {
		got, _, _ := strings.Cut(ask2("northwall/show")(), "derivations")
		_, got, _ = strings.Cut(got, "logical flows:")
		return got
	})
	if stats := ask2("northwall/show")(); !strings.Contains(stats, "southbound transactions:  0 ") {
		t.Errorf("the second wrote while it stood by:\n%s", stats)
	}

	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second alone", "Status: active\n", ask2("status"))
	addSwitch(t, dbs.NB(), "sw1")
	eventually(t, "datapaths", "2", count)

	// The paused one takes over when it is told to, not before.
	if err := syscall.Kill(second, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitGone(t, "the second", second)
	if got := dry("status")(); got != "Status: paused\n" {
		t.Errorf("the dry run alone: got %q, want paused", got)
	}
	dry("resume")()
	eventually(t, "the dry run resumed", "Status: active\n", dry("status"))
	addSwitch(t, dbs.NB(), "sw2")
	eventually(t, "datapaths", "3", count)
}

// TestDryRun: a daemon that begins paused writes nothing.
func TestDryRun(t *testing.T) {
	p := newPlace(t)
	dbs, err := standalone.Start(t.Context(), standalone.Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer dbs.Stop()
	addSwitch(t, dbs.NB(), "sw0")
	p.background("--ovnnb-db="+dbs.NB(), "--ovnsb-db="+dbs.SB(), "--unixctl="+p.path("northwalld.ctl"),
		"--pidfile="+p.path("pid"), "--dry-run", "-vconsole:off")
	eventually(t, "batches", "true", func() string {
		stats := p.appctl("northwall/show")
		return strconv.FormatBool(strings.Contains(stats, "northbound batches:       1\nsouthbound batches:       1\n"))
	})
	count := datapaths(t, dbs.SB())
	if stats := p.appctl("northwall/show"); !strings.Contains(stats, "southbound transactions:  0 ") || count() != "0" {
		t.Errorf("a paused daemon wrote:\n%s", stats)
	}
	p.appctl("resume")
	eventually(t, "datapaths", "1", count)
}

// TestNotify: a service manager is told when the daemon serves, and when it ends.
func TestNotify(t *testing.T) {
	p := newPlace(t)
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: p.path("notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	cmd := daemon(t, "--standalone="+p.dir, "-vconsole:off")
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+p.path("notify"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	next := func() string {
		b := make([]byte, 100)
		if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got := next(); got != "READY=1" {
		t.Errorf("got %q, want READY=1", got)
	}
	if got := p.appctl("is-paused"); got != "false\n" {
		t.Errorf("is-paused when it is ready: got %q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "STOPPING=1" {
		t.Errorf("got %q, want STOPPING=1", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
