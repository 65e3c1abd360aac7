package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"northwall/ovsdb/standalone"
	"northwall/ovsdb/unixctl"
	"northwall/tests/stock"
)

// asOriginal returns the program under the name of the original, in a place with
// databases, and the environment that it finds its files by.
func asOriginal(t *testing.T, p place) (path string, dbs *standalone.Databases) {
	t.Helper()
	// A copy, as other users and programs of another root cannot reach the test's own.
	if err := os.Mkdir(p.path("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	copySelf(t, p.path("bin/northwalld"))
	path = p.path("bin/" + original)
	if err := os.Symlink("northwalld", path); err != nil {
		t.Fatal(err)
	}
	dbs, err := standalone.Start(t.Context(), standalone.Options{Dir: p.path("db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dbs.Stop)
	for _, d := range []string{"run", "log"} {
		if err := os.Mkdir(p.path(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path, dbs
}

// TestInTheNameOfOVN: called ovn-northd, the program has its files under that name,
// so that "ovn-appctl -t ovn-northd" finds it.
func TestInTheNameOfOVN(t *testing.T) {
	p := newPlace(t)
	path, dbs := asOriginal(t, p)
	run := func(args ...string) (string, error) {
		cmd := daemon(t, args...)
		cmd.Path = path
		cmd.Args[0] = path
		cmd.Env = append(cmd.Env, "OVN_RUNDIR="+p.path("run"), "OVN_LOGDIR="+p.path("log"), "OVN_NB_DB="+dbs.NB(), "OVN_SB_DB="+dbs.SB())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("--pidfile", "--log-file", "--detach", "-vconsole:off"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid := p.pid("run/ovn-northd.pid")
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	socket := p.path(fmt.Sprintf("run/ovn-northd.%d.ctl", pid))
	eventually(t, "status", "Status: active\n", func() string { return appctl(t, socket, "status") })
	if got := p.has("log/ovn-northd.log"); got == "" {
		t.Error("no log under that name")
	}
	if out, err := run("--pidfile"); err == nil || out != fmt.Sprintf("ovn-northd: pidfile %s: already running as process %d\n", p.path("run/ovn-northd.pid"), pid) {
		t.Errorf("a second one: %v, %q", err, out)
	}
	for _, name := range []string{"ovn-appctl", "ovs-appctl"} {
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		cmd := exec.CommandContext(t.Context(), name, "-t", original, "version")
		cmd.Env = append(os.Environ(), "OVN_RUNDIR="+p.path("run"), "OVS_RUNDIR="+p.path("run"))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "northwalld "+version+"\n" {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	appctl(t, socket, "exit")
	waitGone(t, "the daemon", pid)
}

// TestStartOfDistributions: the daemon runs with the options that ovn-ctl(8) starts
// the original with, in its order.
func TestStartOfDistributions(t *testing.T) {
	p := newPlace(t)
	path, dbs := asOriginal(t, p)
	args := []string{
		"--n-threads=4",
		"-vconsole:emer", "-vsyslog:err", "-vfile:info", "--ovnnb-db=" + dbs.NB(), "--ovnsb-db=" + dbs.SB(),
		"--no-chdir", "--log-file=" + p.path("log/ovn-northd.log"), "--pidfile=" + p.path("run/ovn-northd.pid"), "--detach", "--monitor",
		// And what other scripts give.
		"--overwrite-pidfile", "--no-self-confinement", "--syslog-method=null", "--syslog-target=127.0.0.1:9", "-vPATTERN:console:%m", "-vFACILITY:local0",
	}
	if os.Geteuid() == 0 {
		args = append([]string{"--user", "nobody:nogroup"}, args...)
		for _, d := range []string{"", "run", "log", "db"} {
			if err := os.Chmod(p.path(d), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range []string{"nb.sock", "sb.sock"} {
			if err := os.Chmod(p.path("db/"+s), 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := daemon(t, args...)
	cmd.Path, cmd.Args[0], cmd.Dir = path, original, p.dir
	cmd.Env = append(cmd.Env, "OVN_RUNDIR="+p.path("run"))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	pid := p.pid("run/ovn-northd.pid")
	monitor := parentOf(t, pid)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	eventually(t, "status", "Status: active\n", func() string {
		return appctl(t, p.path(fmt.Sprintf("run/ovn-northd.%d.ctl", pid)), "status")
	})
	if os.Geteuid() == 0 {
		for _, pid := range []int{pid, monitor} {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err != nil || !strings.Contains(string(b), "\nUid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\n") {
				t.Errorf("process %d is of another user: %v\n%s", pid, err, b)
			}
		}
	}
	log, err := os.ReadFile(p.path("log/ovn-northd.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"--syslog-target=127.0.0.1:9", "--verbose=PATTERN:console:%m", "--verbose=FACILITY:local0"} {
		if !strings.Contains(string(log), "without effect: "+what) {
			t.Errorf("the log does not say that %s has no effect:\n%s", what, log)
		}
	}
	signalTo(t, pid, syscall.SIGTERM) // as stop_northd does in the end
	waitGone(t, "the daemon", pid)
	waitGone(t, "its monitor", monitor)
	if got := p.has("run/ovn-northd.pid"); got != "" {
		t.Errorf("left %s", got)
	}
}

// TestOVNCtl: the stock ovn-ctl starts, finds and stops the daemon where ovn-northd
// is a link to it, and the stock ovn-appctl talks to it.
func TestOVNCtl(t *testing.T) {
	tree, err := stock.Find()
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	p := newPlace(t)
	if p.dir, err = tree.Dir("ctl"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(p.dir) })
	_, dbs := asOriginal(t, p)
	in := tree.Inside(p.dir)
	command := func(args ...string) string {
		t.Helper()
		cmd := tree.Command(t.Context(), "env", append([]string{
			"PATH=" + in + "/bin:/usr/sbin:/usr/bin:/sbin:/bin", "OVN_RUNDIR=" + in + "/run", "OVN_LOGDIR=" + in + "/log", "OVN_SYSCONFDIR=" + in,
			"OVS_RUNDIR=" + in + "/run", "INSTALL_USER=root", "INSTALL_GROUP=root", asDaemon + "=1", "GORACE=atexit_sleep_ms=0",
		}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	ctl := func(what string) string {
		return command("/usr/share/ovn/scripts/ovn-ctl", "--ovn-manage-ovsdb=no", "--ovn-northd-nb-db="+strings.ReplaceAll(dbs.NB(), string(tree), ""),
			"--ovn-northd-sb-db="+strings.ReplaceAll(dbs.SB(), string(tree), ""), "--ovn-northd-n-threads=2", what)
	}
	ctl("start_northd")
	pid := p.pid("run/ovn-northd.pid")
	monitor := parentOf(t, pid)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	eventually(t, "status", "Status: active\n", func() string { return command("ovn-appctl", "-t", "ovn-northd", "status") })
	if out := ctl("status_northd"); !strings.Contains(out, "ovn-northd is running with pid") {
		t.Errorf("status_northd: %s", out)
	}
	if out := ctl("start_northd"); !strings.Contains(out, "already running") {
		t.Errorf("a second start: %s", out)
	}
	if out := command("ovn-appctl", "-t", "ovn-northd", "version"); out != "northwalld "+version+"\n" {
		t.Errorf("version: %s", out)
	}
	ctl("stop_northd")
	waitGone(t, "the daemon", pid)
	waitGone(t, "its monitor", monitor)
}

// copySelf copies the test's program.
func copySelf(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNotCommands: commands of the original that would have no honest answer here
// are neither listed nor taken.
func TestNotCommands(t *testing.T) {
	p := newPlace(t)
	p.background(p.standalone()...)
	list := p.appctl("list-commands")
	for _, command := range []string{"coverage/show", "coverage/read-counter", "coverage/reset", "vlog/list-pattern"} {
		if strings.Contains(list, command) {
			t.Errorf("%s is listed", command)
		}
		if _, err := unixctl.Call(t.Context(), p.path("northwalld.ctl"), command); err == nil || !strings.Contains(err.Error(), `"`+command+`" is not a valid command`) {
			t.Errorf("%s: got error %v", command, err)
		}
	}
	if _, err := unixctl.Call(t.Context(), p.path("northwalld.ctl"), "vlog/set", "PATTERN:file:%m"); err == nil || !strings.Contains(err.Error(), "the form of lines is fixed") {
		t.Errorf("vlog/set PATTERN: got error %v", err)
	}
}
