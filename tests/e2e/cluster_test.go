package e2e

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb"
	"northwall/ovsdb/unixctl"
)

// freePort is a TCP port of this machine that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// command gives the server a command.
func (s *server) command(args ...string) {
	s.t.Helper()
	if _, err := unixctl.Call(s.t.Context(), s.path("ctl"), args[0], args[1:]...); err != nil {
		s.t.Fatalf("%q: %v", args, err)
	}
}

// listenTCP makes the server listen on TCP, where it probes clients that are silent.
// Of clients at a Unix socket it believes that they live.
func (s *server) listenTCP(t *testing.T) (remote string) {
	t.Helper()
	port := freePort(t)
	s.command("ovsdb-server/add-remote", fmt.Sprintf("ptcp:%d:127.0.0.1", port))
	return fmt.Sprintf("tcp:127.0.0.1:%d", port)
}

// TestFrozenActive: an active daemon that is frozen loses the lock to the one that
// stands by, and when it goes on it writes nothing. It takes some ten seconds, until
// the server has noticed.
func TestFrozenActive(t *testing.T) {
	needServer(t)
	t.Parallel()
	s := newSite(t, single(t, northbound), single(t, southbound), 0)
	remote := []string{s.sb[0].listenTCP(t)}
	frozen := startDaemon(t, remotes(s.nb), remote)
	s.daemons = []*daemon{frozen}
	active(t, s.daemons)
	other := startDaemon(t, remotes(s.nb), remote)
	s.daemons = append(s.daemons, other)
	for range 100 {
		s.e.edit()
	}
	s.e.sync()

	// It freezes with edits under way.
	for range 20 {
		s.e.edit()
	}
	if err := frozen.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		s.e.edit()
	}
	until(t, "the other one to be active", other.active)
	s.e.sync()
	nb := s.read(northbound, s.nb)
	for _, l := range append(s.compare(nb, nil), s.e.lost(nb)...) {
		t.Error(l)
	}
	before := s.read(southbound, s.sb)

	if err := frozen.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, "the frozen one to stand by", func() bool {
		status, err := frozen.call("status")
		connected, _ := frozen.call("sb-connection-status")
		return err == nil && strings.Contains(status, "standby") && connected == "connected\n"
	})
	if diff := cmp.Diff(before, s.read(southbound, s.sb)); diff != "" {
		t.Errorf("somebody has written (-before +after):\n%s", diff)
	}
	for range 50 {
		s.e.edit()
	}
	s.e.sync()
	if !other.active() || frozen.active() {
		t.Error("the other one is not the active one any longer")
	}
	nb = s.read(northbound, s.nb)
	for _, l := range append(s.compare(nb, nil), s.e.lost(nb)...) {
		t.Error(l)
	}
}

// TestLeaderOnly: a daemon that knows only members that do not lead is not connected,
// and says why; it is as soon as one of them leads.
func TestLeaderOnly(t *testing.T) {
	needServer(t)
	t.Parallel()
	members := newCluster(t, southbound)
	s := newSite(t, single(t, northbound), members, 0)
	follower := members[1]
	if leader(t, members) == follower {
		follower = members[2]
	}
	d := startDaemon(t, remotes(s.nb), []string{follower.remote()})
	s.daemons = []*daemon{d}
	until(t, "the reason in the log", func() bool {
		log, err := os.ReadFile(d.log())
		return err == nil && strings.Contains(string(log), "does not lead its cluster")
	})
	if got, err := d.call("sb-connection-status"); got != "not connected\n" || err != nil {
		t.Errorf("at a follower: %q, %v", got, err)
	}
	for range 20 {
		s.e.edit()
	}
	for leader(t, members) != follower {
		s.killLeader(members)
	}
	until(t, "an active daemon", d.active)
	s.e.sync()
	nb := s.read(northbound, s.nb)
	for _, l := range append(s.compare(nb, nil), s.e.lost(nb)...) {
		t.Error(l)
	}
}

// TestForbidden: a daemon at a southbound remote that has a role, which is for
// chassis, or is read-only says so, once, reports nothing as done, and does no harm.
// At a remote that is neither it goes on.
func TestForbidden(t *testing.T) {
	needServer(t)
	t.Parallel()
	s := newSite(t, single(t, northbound), single(t, southbound), 0)
	c := connect(t, southbound, remotes(s.sb), []*ovsdb.Table{ovsdb.DynamicTable("Connection")})
	if err := c.WaitConnected(t.Context()); err != nil {
		t.Fatal(err)
	}
	ports := [2]int{freePort(t), freePort(t)}
	ids := []string{ovsdb.NewUUID(), ovsdb.NewUUID()}
	txn := c.NewTxn()
	for i, id := range ids {
		row := txn.Insert("Connection", id)
		row.String("target", fmt.Sprintf("ptcp:%d:127.0.0.1", ports[i]))
		if i == 0 {
			row.String("role", "ovn-controller")
		} else {
			row.Bool("read_only", true)
		}
	}
	txn.Insert("SB_Global", ovsdb.NewUUID()).UUIDs("connections", ids)
	if _, err := c.Transact(t.Context(), txn); err != nil {
		t.Fatal(err)
	}
	s.sb[0].command("ovsdb-server/add-remote", "db:OVN_Southbound,SB_Global,connections")
	for range 5 {
		s.e.edit()
	}
	daemonAt := func(i int, words string) (d *daemon, log func() string) {
		d = startDaemon(t, remotes(s.nb), []string{fmt.Sprintf("tcp:127.0.0.1:%d", ports[i])})
		log = func() string {
			text, err := os.ReadFile(d.log())
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		until(t, "the reason in the log", func() bool { return strings.Contains(log(), words) })
		return d, log
	}
	const words = "the southbound database forbids writing"
	d, log := daemonAt(0, words)
	until(t, "more tries", func() bool {
		out, err := d.call("northwall/show")
		return err == nil && strings.Contains(out, "(3 failed)")
	})
	if got := log(); strings.Count(got, words) != 1 || !strings.Contains(got, "ovn-controller") {
		t.Errorf("want one line that names the role in\n%s", got)
	}
	d.kill()
	// Where nobody may write there is no lock either.
	d, log = daemonAt(1, "the server does not give out the lock")
	if status, err := d.call("status"); err != nil || !strings.Contains(status, "standby") || !strings.Contains(log(), "read only") {
		t.Errorf("at a read-only remote: %v, %q, and the log\n%s", err, status, log())
	}
	d.kill()
	if rows := len(s.read(southbound, s.sb)["Datapath_Binding"]); rows > 0 {
		t.Errorf("%d datapaths were written", rows)
	}
	s.e.take()
	if s.e.global.SbCfg != 0 {
		t.Errorf("sb_cfg is %d, but nothing is written", s.e.global.SbCfg)
	}
	s.daemons = []*daemon{startDaemon(t, remotes(s.nb), remotes(s.sb))}
	s.e.sync()
}
