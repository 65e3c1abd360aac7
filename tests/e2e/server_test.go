package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"northwall/ovsdb/unixctl"
	"northwall/schema"
)

// A server is an ovsdb-server of a test's own, alone or a member of a cluster.
type server struct {
	t    testing.TB
	dir  string
	name string // of the database
	cmd  *exec.Cmd
}

// needServer skips a test where the programs of Open vSwitch's databases are not.
func needServer(t *testing.T) {
	t.Helper()
	for _, program := range []string{"ovsdb-server", "ovsdb-tool", "ovsdb-client"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *server) remote() string { return "unix:" + s.path("sock") }

// tempDir is a directory whose name leaves room for the names of sockets.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// schemas are those of the two databases.
var schemas = map[string][]byte{northbound: schema.NorthboundJSON, southbound: schema.SouthboundJSON}

const (
	northbound = "OVN_Northbound"
	southbound = "OVN_Southbound"
)

// newServer starts a server with an empty database.
func newServer(t testing.TB, name string, schema []byte) *server {
	t.Helper()
	s := &server{t: t, dir: tempDir(t), name: name}
	s.create(schema)
	s.start()
	t.Cleanup(s.kill)
	return s
}

// create makes the database, in the place of the one that there may be.
func (s *server) create(schema []byte) {
	s.t.Helper()
	if err := os.WriteFile(s.path("schema"), schema, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Remove(s.path("db")); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	run(s.t, "ovsdb-tool", "create", s.path("db"), s.path("schema"))
}

// convert gives the database that is being served another schema.
func (s *server) convert(schema []byte) {
	s.t.Helper()
	if err := os.WriteFile(s.path("newer"), schema, 0o600); err != nil {
		s.t.Fatal(err)
	}
	run(s.t, "ovsdb-client", "-t60", "convert", s.remote(), s.path("newer"))
}

// newCluster starts a clustered database of three servers.
func newCluster(t testing.TB, name string) (members []*server) {
	t.Helper()
	for i := range 3 {
		s := &server{t: t, dir: tempDir(t), name: name}
		local := "unix:" + s.path("raft")
		if i == 0 {
			if err := os.WriteFile(s.path("schema"), schemas[name], 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, "ovsdb-tool", "--election-timer=1000", "create-cluster", s.path("db"), s.path("schema"), local)
		} else {
			run(t, "ovsdb-tool", "join-cluster", s.path("db"), name, local, "unix:"+members[0].path("raft"))
		}
		s.start()
		t.Cleanup(s.kill)
		members = append(members, s)
		s.waitMember()
	}
	return members
}

// waitMember waits until the server is a member of its cluster again.
func (s *server) waitMember() {
	s.t.Helper()
	run(s.t, "ovsdb-client", "-t60", "wait", s.remote(), s.name, "connected")
}

func (s *server) start() {
	s.t.Helper()
	os.Remove(s.path("sock"))
	// A write past limitFiles must fail, and not end the server, as the signal would.
	s.cmd = exec.Command("sh", "-c", `trap "" XFSZ; exec "$0" "$@"`, "ovsdb-server", "--no-chdir", "--log-file="+s.path("log"), "-vconsole:off",
		"--unixctl="+s.path("ctl"), "--remote=p"+s.remote(), s.path("db"))
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	until(s.t, "the server's socket", func() bool { _, err := os.Stat(s.path("sock")); return err == nil })
}

// kill ends the server as kill -9 does.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// limitFiles makes writes fail that would make a file larger than size, a number
// or "unlimited", as on a disk that is full.
func (s *server) limitFiles(size string) {
	s.t.Helper()
	run(s.t, "prlimit", "--pid", strconv.Itoa(s.cmd.Process.Pid), "--fsize="+size+":")
}

// leads reports whether the server leads its cluster.
func (s *server) leads() bool {
	if s.cmd == nil {
		return false
	}
	out, err := unixctl.Call(s.t.Context(), s.path("ctl"), "cluster/status", s.name)
	return err == nil && strings.Contains(out, "Role: leader")
}

// remotes are the addresses of servers.
func remotes(servers []*server) (out []string) {
	for _, s := range servers {
		out = append(out, s.remote())
	}
	return out
}

// leader is the member that leads, once one does.
func leader(t testing.TB, members []*server) (found *server) {
	t.Helper()
	until(t, "a leader", func() bool {
		for _, s := range members {
			if s.leads() {
				found = s
			}
		}
		return found != nil
	})
	return found
}

// until waits for a condition, with a bound.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: not within three minutes", what)
		}
	}
}
