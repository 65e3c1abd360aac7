package standalone

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"northwall/ovsdb"
	"northwall/schema"
	"northwall/schema/nb"
)

func needServer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ovsdb-server"); err != nil {
		t.Skip("ovsdb-server is not installed")
	}
}

func open(t *testing.T, remote string) *ovsdb.Client {
	t.Helper()
	c, err := ovsdb.Open(ovsdb.Options{
		Database: "OVN_Northbound", Remotes: []string{remote}, MinBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
		Tables: []*ovsdb.Table{ovsdb.TableOf[nb.LogicalSwitch](schema.Northbound(), "Logical_Switch")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	waitUp(t, c)
	return c
}

func waitUp(t *testing.T, c *ovsdb.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.WaitConnected(ctx); err != nil {
		t.Fatal(err)
	}
}

func addSwitch(t *testing.T, c *ovsdb.Client, name string) {
	t.Helper()
	txn := c.NewTxn()
	txn.Insert("Logical_Switch", ovsdb.NewUUID()).String("name", name)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := c.Transact(ctx, txn); err != nil {
		t.Fatal(err)
	}
}

// TestLife: contents outlive a stop, a killed server comes back, and a second
// process is refused.
func TestLife(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	d, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	addSwitch(t, open(t, d.NB()), "a")
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use by another northwalld (process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("a second start: got error %v", err)
	}
	d.Stop()

	if d, err = Start(t.Context(), Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	c := open(t, d.NB())
	if got := names(c.Take()); got != "a" {
		t.Errorf("after a restart: got switches %q, want a", got)
	}
	before := c.Status().Epoch
	if err := syscall.Kill(serverPid(t, dir, "nb"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); c.Status().Epoch == before; {
		if time.Now().After(deadline) {
			t.Fatal("the server did not come back")
		}
		time.Sleep(10 * time.Millisecond)
	}
	addSwitch(t, c, "b")
}

func names(b *ovsdb.Batch) string {
	var out []string
	ovsdb.Each(b, "Logical_Switch", func(_ string, _, ls *nb.LogicalSwitch) { out = append(out, ls.Name) })
	return strings.Join(out, " ")
}

// serverPid returns the process that serves a database of dir.
func serverPid(t *testing.T, dir, short string) int {
	t.Helper()
	pid, err := holder(filepath.Join(dir, short+".pid"))
	if err != nil || pid == 0 {
		t.Fatalf("no server of %s is running: %v", short, err)
	}
	return pid
}

// createDB makes the northbound database of dir with another version of the
// schema.
func createDB(t *testing.T, dir, version string) {
	t.Helper()
	text := strings.Replace(string(schema.NorthboundJSON), `"7.18.0"`, strconv.Quote(version), 1)
	file := filepath.Join(dir, "test.ovsschema")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tool(t.Context(), "create", filepath.Join(dir, "nb.db"), file); err != nil {
		t.Fatal(err)
	}
}

// TestConversion: an older database is converted, a newer one is not.
func TestConversion(t *testing.T) {
	needServer(t)
	for _, tc := range []struct{ have, want string }{
		{"7.9.0", "7.18.0"}, {"7.18.0", "7.18.0"}, {"7.18.1", "7.18.1"}, {"10.0.0", "10.0.0"},
	} {
		dir := t.TempDir()
		createDB(t, dir, tc.have)
		d, err := Start(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if got := open(t, d.NB()).Schema().Version; got != tc.want {
			t.Errorf("version %s: got %s, want %s", tc.have, got, tc.want)
		}
		d.Stop()
	}
}

func TestIsOlder(t *testing.T) {
	for _, tc := range []struct {
		a, b    string
		want    bool
		wantErr string
	}{
		{a: "7.18.0", b: "7.18.0"},
		{a: "7.9.0", b: "7.18.0", want: true},
		{a: "7.18.0", b: "7.9.0"},
		{a: "7.18.0", b: "7.18.1", want: true},
		{a: "6.99.99", b: "7.0.0", want: true},
		{a: "", b: "7.0.0", wantErr: `schema version "": want X.Y.Z`},
		{a: "7.0.0", b: "7.0", wantErr: `schema version "7.0": want X.Y.Z`},
	} {
		got, err := isOlder(tc.a, tc.b)
		if tc.wantErr != "" {
			if err == nil || err.Error() != tc.wantErr {
				t.Errorf("%q < %q: got error %v, want %s", tc.a, tc.b, err, tc.wantErr)
			}
		} else if got != tc.want || err != nil {
			t.Errorf("%q < %q: got %t, %v, want %t", tc.a, tc.b, got, err, tc.want)
		}
	}
}

// TestGlobalRow: new databases have the row that several clients would insert at
// once otherwise, and only one could.
func TestGlobalRow(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	for range 2 { // a new database, and one that is there
		d, err := Start(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		d.Stop()
		for file, transaction := range map[string]string{
			"nb.db": `["OVN_Northbound",{"op":"select","table":"NB_Global","where":[],"columns":["nb_cfg"]}]`,
			"sb.db": `["OVN_Southbound",{"op":"select","table":"SB_Global","where":[],"columns":["nb_cfg"]}]`,
		} {
			got, err := tool(t.Context(), "query", filepath.Join(dir, file), transaction)
			if want := `[{"rows":[{"nb_cfg":0}]}]`; err != nil || got != want {
				t.Errorf("%s: got %s, %v, want %s", file, got, err, want)
			}
		}
	}
}

// TestRefusedGlobalRow: what the database says against the row is an error, not a
// database without it.
func TestRefusedGlobalRow(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	createDB(t, dir, "7.18.0")
	db := &database{name: "OVN_Northbound", global: "No_Such_Table"}
	err := db.insertGlobal(t.Context(), filepath.Join(dir, "nb.db"))
	if err == nil || !strings.Contains(err.Error(), "inserting the row of No_Such_Table: ") || !strings.Contains(err.Error(), "No table named No_Such_Table") {
		t.Errorf("got error %v", err)
	}
}

// TestInterruptedCreation: a start that ends in the middle of making a database,
// or was stopped there, leaves nothing that a later start would stumble over.
func TestInterruptedCreation(t *testing.T) {
	needServer(t)
	path, dir, fake := os.Getenv("PATH"), t.TempDir(), t.TempDir()
	// What is left of an ovsdb-tool that is killed after making the file.
	script := "#!/bin/sh\n[ \"$1\" = create ] && : >\"$2\"\nkill -KILL $$\n"
	if err := os.WriteFile(filepath.Join(fake, "ovsdb-tool"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", fake+":"+path)
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "OVN_Northbound: ovsdb-tool create") {
		t.Fatalf("with a tool that is killed: got error %v", err)
	}
	t.Setenv("PATH", path)
	d, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatalf("starting again: %v", err)
	}
	defer d.Stop()
	addSwitch(t, open(t, d.NB()), "a")
	if left, err := filepath.Glob(filepath.Join(dir, "*.new*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestStoppedStart: a start whose context ends says so, whatever it was doing.
func TestStoppedStart(t *testing.T) {
	needServer(t)
	path, fake := os.Getenv("PATH"), t.TempDir()
	started := filepath.Join(fake, "started")
	script := "#!/bin/sh\n: >" + started + "\nexec sleep 60\n"
	if err := os.WriteFile(filepath.Join(fake, "ovsdb-tool"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", fake+":"+path)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() { _, err := Start(ctx, Options{Dir: dir}); ended <- err }()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("ovsdb-tool was not run")
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want one that is %v", err, context.Canceled)
	}
}

// TestLeftover: the server of a process that crashed is ended, even one that
// hangs. It takes as long as such a server is given to end by itself.
func TestLeftover(t *testing.T) {
	needServer(t)
	t.Parallel()
	dir := t.TempDir()
	createDB(t, dir, "7.18.0")
	left := &database{short: "nb", name: "OVN_Northbound", global: "NB_Global", dir: dir, log: zap.NewNop()}
	s, err := left.run()
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	if err := left.waitUp(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	d, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	addSwitch(t, open(t, d.NB()), "a")
	if got := serverPid(t, dir, "nb"); got == s.process.Pid {
		t.Errorf("the database is served by the old server still, process %d", got)
	}
}

// TestRemotes: stock tools edit the databases, over each kind of connection.
func TestRemotes(t *testing.T) {
	needServer(t)
	root := ovnRoot(t)
	dir, err := os.MkdirTemp(filepath.Join(root, "tmp"), "standalone")
	if err != nil {
		t.Skipf("OVN_ROOT: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if _, err := Start(t.Context(), Options{Dir: dir, NBRemotes: []string{"ptcp:" + port + ":127.0.0.1"}}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a port that is taken: got error %v", err)
	}
	l.Close()
	d, err := Start(t.Context(), Options{Dir: dir, NBRemotes: []string{"ptcp:" + port + ":127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	inRoot := "/tmp/" + filepath.Base(dir)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"ovn-nbctl", "--db=unix:" + inRoot + "/nb.sock", "ls-add", "sw0"}, ""},
		{[]string{"ovn-nbctl", "--db=tcp:127.0.0.1:" + port, "--bare", "--columns=name", "list", "Logical_Switch"}, "sw0\n"},
		{[]string{"ovn-sbctl", "--db=unix:" + inRoot + "/sb.sock", "chassis-add", "hv1", "geneve", "192.0.2.1"}, ""},
		{[]string{"ovn-sbctl", "--db=unix:" + inRoot + "/sb.sock", "--bare", "--columns=ip", "list", "Encap"}, "192.0.2.1\n"},
	} {
		out, err := exec.CommandContext(t.Context(), "chroot", append([]string{root}, tc.args...)...).CombinedOutput()
		if err != nil || string(out) != tc.want {
			t.Errorf("%s: got %q, %v; want %q", strings.Join(tc.args, " "), out, err, tc.want)
		}
	}
}

// ovnRoot returns the tree with OVN 26.03, or skips the test.
func ovnRoot(t *testing.T) string {
	t.Helper()
	root := os.Getenv("OVN_ROOT")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("no OVN_ROOT with OVN 26.03: %v", err)
		}
		root = filepath.Join(cache, "northwall", "ovn")
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/ovn-nbctl")); err != nil || os.Getuid() != 0 {
		t.Skipf("no OVN 26.03 in OVN_ROOT=%s, or not root: stock tools are not tried", root)
	}
	return root
}

func TestErrors(t *testing.T) {
	needServer(t)
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if _, err := Start(t.Context(), Options{Dir: long}); err == nil || !strings.Contains(err.Error(), "too many for the name of a Unix socket") {
		t.Errorf("a long name: got error %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nb.db"), []byte("no database"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "nb.db is damaged") {
		t.Errorf("a damaged file: got error %v", err)
	}
	dir = t.TempDir()
	createDB(t, dir, "7.18.0")
	if err := os.Rename(filepath.Join(dir, "nb.db"), filepath.Join(dir, "sb.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "sb.db holds the database OVN_Northbound, not OVN_Southbound") {
		t.Errorf("another database: got error %v", err)
	}
	if _, err := Start(t.Context(), Options{Dir: t.TempDir(), SBRemotes: []string{"tcp:127.0.0.1:6642"}}); err == nil || !strings.Contains(err.Error(), "want ptcp:PORT[:ADDRESS]") {
		t.Errorf("a remote to connect to: got error %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.Context(), Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "openvswitch-common") {
		t.Errorf("without the server: got error %v", err)
	}
}
