package standalone

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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
	out, err := exec.Command("pgrep", "-f", "ovsdb-server.*"+filepath.Join(dir, "nb.db")).Output()
	if err != nil {
		t.Fatalf("no server is running: %v", err)
	}
	pid, _ := strconv.Atoi(strings.Fields(string(out))[0])
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
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

func TestConversion(t *testing.T) {
	needServer(t)
	dir := t.TempDir()
	old := strings.Replace(string(schema.NorthboundJSON), `"7.18.0"`, `"7.0.0"`, 1)
	if old == string(schema.NorthboundJSON) {
		t.Fatal("the schema's version was not found")
	}
	file := filepath.Join(dir, "old.ovsschema")
	if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ovsdb-tool", "create", filepath.Join(dir, "nb.db"), file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	if got := open(t, d.NB()).Schema().Version; got != "7.18.0" {
		t.Errorf("got version %s, want 7.18.0", got)
	}
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
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.Context(), Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "openvswitch-common") {
		t.Errorf("without the server: got error %v", err)
	}
}
