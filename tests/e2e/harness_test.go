package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/standalone"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

func needServer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ovsdb-server"); err != nil {
		t.Skip("ovsdb-server is not installed")
	}
}

// databases starts both databases in a directory of their own.
func databases(t *testing.T) (*standalone.Databases, string) {
	t.Helper()
	needServer(t)
	dir := t.TempDir()
	d, err := standalone.Start(t.Context(), standalone.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	return d, dir
}

func connect(t *testing.T, o ovsdb.Options) *ovsdb.Client {
	t.Helper()
	o.MinBackoff, o.MaxBackoff = 20*time.Millisecond, 200*time.Millisecond
	o.Probe = 5 * time.Second
	c, err := ovsdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// daemon runs a northd between two databases.
func daemon(t *testing.T, nbRemote, sbRemote string) *northd.Daemon {
	t.Helper()
	log := zaptest.NewLogger(t, zaptest.Level(zap.ErrorLevel))
	d := northd.NewDaemon(
		connect(t, ovsdb.Options{Database: "OVN_Northbound", Remotes: []string{nbRemote}, Tables: northd.NorthboundTables()}),
		connect(t, ovsdb.Options{Database: "OVN_Southbound", Remotes: []string{sbRemote}, Tables: northd.SouthboundTables(), Lock: northd.LockName}),
		log, northd.DaemonOptions{CreateGlobal: true, RetryAfter: 100 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return d
}

// until waits for a condition, with a bound.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: not within two minutes", what)
		}
	}
}

// editor is a client that edits the northbound database and waits for progress.
type editor struct {
	*ovsdb.Client
	t      *testing.T
	global *nb.NBGlobal
	cfg    int
}

func newEditor(t *testing.T, remote string) *editor {
	e := &editor{t: t, Client: connect(t, ovsdb.Options{
		Database: "OVN_Northbound", Remotes: []string{remote}, Tables: northd.NorthboundTables(),
	})}
	until(t, "the NB_Global row", func() bool { e.take(); return e.global != nil })
	e.cfg = e.global.NbCfg
	return e
}

func (e *editor) take() {
	if b := e.Take(); b != nil {
		ovsdb.Each(b, "NB_Global", func(_ string, _, g *nb.NBGlobal) { e.global = g })
	}
}

// sure commits what build appends, again if the connection broke before the
// answer came: operations that build appends must bear that.
func (e *editor) sure(build func(*ovsdb.Txn)) {
	e.t.Helper()
	for {
		txn := e.NewTxn()
		build(txn)
		_, err := e.Transact(e.t.Context(), txn)
		if err == nil {
			return
		}
		if strings.Contains(err.Error(), "duplicate uuid") {
			return // it was committed the first time
		}
		if e.t.Context().Err() != nil {
			e.t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// sync waits until the southbound database has everything up to now.
func (e *editor) sync() {
	e.t.Helper()
	e.cfg++
	e.sure(func(txn *ovsdb.Txn) { txn.Update("NB_Global", e.global.UUID).Int("nb_cfg", e.cfg) })
	until(e.t, fmt.Sprintf("sb_cfg %d", e.cfg), func() bool { e.take(); return e.global.SbCfg >= e.cfg })
}

// contents are the rows of a southbound database without UUIDs, sorted.
func contents(t *testing.T, remote string) []string {
	t.Helper()
	c := connect(t, ovsdb.Options{Database: "OVN_Southbound", Remotes: []string{remote}, Tables: northd.SouthboundTables()})
	until(t, "the southbound contents", func() bool { return c.Status().Connected })
	b := c.Take()
	names, ports, groups := map[string]string{}, map[string]string{}, map[string]string{}
	ovsdb.Each(b, "Datapath_Binding", func(u string, _, r *sb.DatapathBinding) { names[u] = r.ExternalIDs["name"] })
	ovsdb.Each(b, "Port_Binding", func(u string, _, r *sb.PortBinding) { ports[u] = r.LogicalPort })
	resolve := func(ids []string, in map[string]string) string {
		out := make([]string, len(ids))
		for i, id := range ids {
			out[i] = in[id]
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	ovsdb.Each(b, "Logical_DP_Group", func(u string, _, r *sb.LogicalDPGroup) { groups[u] = resolve(r.Datapaths, names) })
	var out []string
	add := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	opt := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	ovsdb.Each(b, "Datapath_Binding", func(_ string, _, r *sb.DatapathBinding) { add("datapath %s", r.ExternalIDs["name"]) })
	ovsdb.Each(b, "Port_Binding", func(_ string, _, r *sb.PortBinding) {
		add("port %s on %s: %q %q %v", r.LogicalPort, names[r.Datapath], r.MAC, r.PortSecurity, r.Options)
	})
	ovsdb.Each(b, "Multicast_Group", func(_ string, _, r *sb.MulticastGroup) {
		add("multicast %s %s: %s", names[r.Datapath], r.Name, resolve(r.Ports, ports))
	})
	ovsdb.Each(b, "Address_Set", func(_ string, _, r *sb.AddressSet) {
		slices.Sort(r.Addresses)
		add("addresses %s %q", r.Name, r.Addresses)
	})
	ovsdb.Each(b, "Port_Group", func(_ string, _, r *sb.PortGroup) {
		_, name, _ := strings.Cut(r.Name, "_") // the datapath's key may differ
		p := slices.Clone(r.Ports)
		slices.Sort(p)
		add("group %s %q", name, p)
	})
	ovsdb.Each(b, "Logical_Flow", func(_ string, _, r *northd.LogicalFlow) {
		dps := names[opt(r.LogicalDatapath)] + groups[opt(r.LogicalDPGroup)]
		add("flow %s %d %d %s => %s on %s %v", r.Pipeline, r.TableID, r.Priority, r.Match, r.Actions, dps, r.Tags)
	})
	slices.Sort(out)
	return out
}
