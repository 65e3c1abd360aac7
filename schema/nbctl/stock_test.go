package nbctl_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb"
	"northwall/ovsdb/ctl"
	"northwall/schema"
	"northwall/schema/nbctl"
)

// stock is a tree with OVN's own programs, used through chroot.
type stock struct{ root string }

// findStock returns the tree, and skips the test where there is none with the
// version of OVN that nwctl follows.
func findStock(t *testing.T) stock {
	t.Helper()
	root := os.Getenv("OVN_ROOT")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("no OVN_ROOT with OVN 26.03: %v", err)
		}
		root = filepath.Join(cache, "northwall", "ovn")
	}
	s := stock{root}
	out, err := s.command("ovn-nbctl", "--version").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(" 26.03.")) {
		t.Skipf("no OVN 26.03 in OVN_ROOT=%s: nothing to compare with", root)
	}
	return s
}

func (s stock) command(name string, args ...string) *exec.Cmd {
	return exec.Command("chroot", append([]string{s.root, name}, args...)...)
}

// server starts a northbound database in the tree and returns its address as
// seen from inside and from outside.
func (s stock) server(t *testing.T) (inside, outside string) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Join(s.root, "tmp"), "nbctl.")
	if err != nil {
		t.Fatal(err)
	}
	in := "/tmp/" + filepath.Base(dir)
	t.Cleanup(func() { os.RemoveAll(dir) })
	if out, err := s.command("ovsdb-tool", "create", in+"/nb.db", "/usr/share/ovn/ovn-nb.ovsschema").CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-tool: %v: %s", err, out)
	}
	// In the background by its own means, it is listening when the command ends.
	if out, err := s.command("ovsdb-server", "--detach", "--no-chdir", "--pidfile="+in+"/nb.pid", "--log-file="+in+"/nb.log",
		"--unixctl="+in+"/nb.ctl", "--remote=punix:"+in+"/nb.sock", in+"/nb.db").CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-server: %v: %s", err, out)
	}
	t.Cleanup(func() {
		text, err := os.ReadFile(dir + "/nb.pid")
		if err != nil {
			t.Error(err)
			return
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Error(err)
			return
		}
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	})
	return "unix:" + in + "/nb.sock", "unix:" + dir + "/nb.sock"
}

// everything reads all of the northbound database.
func everything() []ctl.Read {
	var reads []ctl.Read
	for _, table := range slices.Sorted(maps.Keys(schema.Northbound().Tables)) {
		reads = append(reads, ctl.Read{Table: table})
	}
	return reads
}

func open(t *testing.T, address string) ctl.DB {
	t.Helper()
	client, err := ovsdb.Open(ovsdb.Options{Database: "OVN_Northbound", Remotes: []string{address}, Tables: ctl.Tables(everything())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return ctl.New(client, client.Schema)
}

// contents writes a database as lines with no UUIDs in them: a reference is
// written as the row that it leads to.
func contents(ctx context.Context, t *testing.T, db ctl.DB) []string {
	t.Helper()
	var lines []string
	err := ctl.Watch(ctx, db, everything(), func(tx *ctl.Txn) (bool, error) {
		lines = nil
		for _, read := range everything() {
			for _, row := range tx.Rows(read.Table) {
				lines = append(lines, describe(row))
			}
		}
		return true, tx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

var uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func describe(row *ctl.Row) string {
	var b strings.Builder
	b.WriteString(row.Table)
	for _, column := range slices.Sorted(maps.Keys(schema.Northbound().Tables[row.Table].Columns)) {
		value := row.Get(column)
		if value.Len() == 0 {
			continue
		}
		parts := make([]string, value.Len())
		refs := row.Refs(column)
		for i, key := range value.Keys {
			parts[i] = ctl.FormatAtom(key)
			if value.Values != nil {
				parts[i] += "=" + ctl.FormatAtom(value.Values[i])
			}
		}
		for i, ref := range refs {
			parts[i] = "(" + describe(ref) + ")"
		}
		slices.Sort(parts)
		fmt.Fprintf(&b, " %s=%s", column, strings.Join(parts, ","))
	}
	return b.String()
}

// comparable brings output into a form that does not depend on UUIDs or, as the
// order of rows mostly does, on the order of lines.
func comparableOutput(s string) []string {
	lines := strings.Split(strings.TrimRight(uuidPattern.ReplaceAllString(s, "UUID"), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// scenarios are files with a command line on each line.
func scenarios(t *testing.T) []string {
	t.Helper()
	patterns := []string{"testdata/*.nbctl", "../../tests/golden/*/*.nbctl"}
	if dir := os.Getenv("GOLDEN"); dir != "" {
		patterns = append(patterns, filepath.Join(dir, "*", "*.nbctl"))
	}
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

// TestLikeStock runs the same lines through ovn-nbctl and through this package
// and compares what they print, whether they fail, and the databases after.
// It takes a while: ovn-nbctl is started for each line.
func TestLikeStock(t *testing.T) {
	s := findStock(t)
	theirAddress, theirOutside := s.server(t)
	_, ourAddress := s.server(t)
	theirs, ours := open(t, theirOutside), open(t, ourAddress)
	tool := nbctl.New(schema.Northbound())
	for _, file := range scenarios(t) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for n, line := range strings.Split(string(text), "\n") {
				if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "sb: ") {
					continue
				}
				// A line "!..." is one that fails with both, a line "~..." has
				// output that differs on purpose.
				differs := strings.HasPrefix(line, "~")
				fails := strings.HasPrefix(line, "!")
				words, err := ctl.Words(strings.TrimLeft(line, "!~"))
				if err != nil {
					t.Fatal(err)
				}
				cmd := s.command("ovn-nbctl", append([]string{"--no-leader-only", "--db=" + theirAddress}, words...)...)
				var theirOut, theirErr, ourOut bytes.Buffer
				cmd.Stdout, cmd.Stderr = &theirOut, &theirErr
				theirFail := cmd.Run()
				ourFail := nbctl.Run(ctx, tool, ours, words, &ourOut)
				if (theirFail != nil) != (ourFail != nil) {
					t.Errorf("%s:%d: %s: we: %v, ovn-nbctl: %v: %s", file, n+1, line, ourFail, theirFail, theirErr.String())
				}
				if fails != (ourFail != nil) {
					t.Errorf("%s:%d: %s: error %v", file, n+1, line, ourFail)
				}
				if diff := cmp.Diff(comparableOutput(theirOut.String()), comparableOutput(ourOut.String())); diff != "" && !differs {
					t.Errorf("%s:%d: %s: output differs (-ovn-nbctl +nwctl):\n%s", file, n+1, line, diff)
				}
			}
			settled(ctx, t, theirs, ours, file)
			wipe(ctx, t, s, theirAddress, tool, ours)
		})
	}
}

// settled compares the databases. The connection to the stock one learns of its
// changes a little later than ovn-nbctl ends.
func settled(ctx context.Context, t *testing.T, theirs, ours ctl.DB, file string) {
	t.Helper()
	want := contents(ctx, t, ours)
	for {
		snapshot, err := theirs.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(contents(ctx, t, theirs), want)
		if diff == "" {
			return
		}
		wait, stop := context.WithTimeout(ctx, 300*time.Millisecond)
		err = theirs.Changed(wait, snapshot)
		stop()
		if err != nil {
			t.Errorf("%s: databases differ (-ovn-nbctl +nwctl):\n%s", file, diff)
			return
		}
	}
}

// wipe empties both databases for the next scenario.
func wipe(ctx context.Context, t *testing.T, s stock, address string, tool *ctl.Tool, ours ctl.DB) {
	t.Helper()
	// Rows that others refer to can go once those have gone.
	for _, tables := range [][]string{
		{"Logical_Switch", "Logical_Router", "Port_Group"},
		{"Address_Set", "Load_Balancer", "DHCP_Options", "DNS", "Meter", "Mirror", "Copp", "HA_Chassis_Group", "Network_Function_Group",
			"NB_Global", "Sampling_App", "Sample", "Chassis_Template_Var", "Static_MAC_Binding", "Load_Balancer_Group", "BFD", "DHCP_Relay"},
		{"Sample_Collector", "Network_Function"},
	} {
		var args []string
		for _, table := range tables {
			args = append(args, "--", "--all", "destroy", table)
		}
		if out, err := s.command("ovn-nbctl", append([]string{"--db=" + address}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("emptying the stock database: %v: %s", err, out)
		}
		if err := nbctl.Run(ctx, tool, ours, args, io.Discard); err != nil {
			t.Fatalf("emptying our database: %v", err)
		}
	}
}
