package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/standalone"
	"northwall/ovsdb/unixctl"
	"northwall/schema"
	"northwall/tests/stock"
)

// The network that is there when the active northd is killed. Edits go to a switch
// of their own, so that every other row is to stay as it is.
const (
	standingSwitches = 40
	portsEach        = 10
	editsEach        = 100 // before and after the kill
)

// TestKilledActive kills the active one of two northds with SIGKILL during a stream
// of edits, for each pair of makes, and prints how long it takes until edits flow
// again and how many southbound rows were rewritten needlessly.
func TestKilledActive(t *testing.T) {
	if testing.Short() {
		t.Skip("each pair takes some seconds")
	}
	tree, err := stock.Find()
	for _, pair := range []struct{ active, standby string }{
		{"Northwall", "Northwall"}, {"stock", "Northwall"}, {"Northwall", "stock"},
	} {
		t.Run(pair.active+" to "+pair.standby, func(t *testing.T) {
			if err != nil && pair.active+pair.standby != "NorthwallNorthwall" {
				t.Skipf("skipped: %v", err)
			}
			killActive(t, tree, pair.active, pair.standby)
		})
	}
}

// northdAt is a northd of either make, by its control socket.
type northdAt struct {
	t       *testing.T
	process *os.Process
	control string
}

// startNorthd starts a northd on the databases in a place.
func startNorthd(t *testing.T, p place, tree stock.Tree, kind, name string) northdAt {
	t.Helper()
	n := northdAt{t: t, control: p.path(name + ".ctl")}
	var cmd *exec.Cmd
	if kind == "stock" {
		in := tree.Inside(p.dir)
		cmd = tree.Command(t.Context(), "ovn-northd", "-vconsole:off", "-vsyslog:off", "--unixctl="+in+"/"+name+".ctl",
			"--ovnnb-db=unix:"+in+"/nb.sock", "--ovnsb-db=unix:"+in+"/sb.sock")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	} else {
		cmd = daemon(t, "-vconsole:off", "--unixctl="+n.control,
			"--ovnnb-db=unix:"+p.path("nb.sock"), "--ovnsb-db=unix:"+p.path("sb.sock"))
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.process = cmd.Process
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return n
}

// ask gives a command, and returns the answer in one line; "" while the socket is
// not there yet.
func (n northdAt) ask(command string) string {
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	out, err := unixctl.Call(ctx, n.control, command)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// southboundWatch sees every row of a southbound database.
type southboundWatch struct {
	t        *testing.T
	client   *ovsdb.Client
	edits    map[string]bool      // datapaths of the switch that is edited
	bound    map[string]time.Time // ports, by when they were seen
	rows     int
	rewrites []string // of rows that have nothing to do with the edits
	counting bool
}

func watchSouthbound(t *testing.T, remote string) *southboundWatch {
	t.Helper()
	var tables []*ovsdb.Table
	for name := range schema.Southbound().Tables {
		tables = append(tables, ovsdb.DynamicTable(name))
	}
	c, err := ovsdb.Open(ovsdb.Options{Database: "OVN_Southbound", Remotes: []string{remote}, Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &southboundWatch{t: t, client: c, edits: map[string]bool{}, bound: map[string]time.Time{}}
}

// take takes what has changed, after waiting for something to change until the
// deadline.
func (w *southboundWatch) take(deadline <-chan time.Time) {
	select {
	case <-w.client.Ready():
	case <-deadline:
	}
	b := w.client.Take()
	if b == nil {
		return
	}
	now := time.Now()
	ovsdb.Each(b, "Datapath_Binding", func(uuid string, _, r *ovsdb.Row) {
		if r != nil && strings.Contains(fmt.Sprint(r.Columns["external_ids"]), "name:edits") {
			w.edits[uuid] = true
		}
	})
	for table := range schema.Southbound().Tables {
		ovsdb.Each(b, table, func(uuid string, old, r *ovsdb.Row) {
			switch {
			case old == nil:
				w.rows++
				if table == "Port_Binding" {
					w.bound[fmt.Sprint(r.Columns["logical_port"])] = now
				}
			case r == nil:
				w.rows--
				fallthrough
			case !w.isOfEdits(table, old):
				if w.counting {
					w.rewrites = append(w.rewrites, fmt.Sprintf("%s %s: %v -> %v", table, uuid, old, r))
				}
			}
		})
	}
}

// isOfEdits: a row is one that edits change: a multicast group of their switch, or
// the number of the configuration.
func (w *southboundWatch) isOfEdits(table string, r *ovsdb.Row) bool {
	if table == "SB_Global" {
		return true
	}
	dp := strings.Trim(fmt.Sprint(r.Columns["datapath"]), "{}")
	return table == "Multicast_Group" && w.edits[dp]
}

func (w *southboundWatch) until(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-deadline:
			w.t.Fatalf("waiting for %s: not within %v", what, patience)
		default:
		}
		w.take(time.After(20 * time.Millisecond))
	}
}

func killActive(t *testing.T, tree stock.Tree, active, standby string) {
	p := newPlace(t)
	if active+standby != "NorthwallNorthwall" {
		dir, err := tree.Dir("takeover")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		p.dir = dir
	}
	dbs, err := standalone.Start(t.Context(), standalone.Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer dbs.Stop()
	nb, err := ovsdb.Open(ovsdb.Options{Database: "OVN_Northbound", Remotes: []string{dbs.NB()}, Tables: northd.NorthboundTables()})
	if err != nil {
		t.Fatal(err)
	}
	defer nb.Close()
	if err := nb.WaitConnected(t.Context()); err != nil {
		t.Fatal(err)
	}
	edits := standingNetwork(t, nb)
	w := watchSouthbound(t, dbs.SB())

	if standby == "stock" {
		// The original notes in every flow which line of it made it, once for each
		// version: after an upgrade of its own, or where it never was active. Here it
		// was, as in a deployment that Northwall has come to.
		before := startNorthd(t, p, tree, "stock", "before")
		w.until("the network", func() bool { return len(w.bound) == standingSwitches*portsEach })
		before.ask("exit")
		w.until("its end", func() bool { return before.ask("status") == "" })
	}
	a := startNorthd(t, p, tree, active, "a")
	w.until("the active one", func() bool { return a.ask("status") == "Status: active" })
	w.until("the network", func() bool { return len(w.bound) == standingSwitches*portsEach })
	b := startNorthd(t, p, tree, standby, "b")
	w.until("the standby", func() bool {
		return b.ask("status") == "Status: standby" && b.ask("sb-connection-status") == "connected"
	})
	if standby == "Northwall" {
		w.until("what the standby derives", func() bool { return !strings.Contains(b.ask("northwall/show"), "derivations run:          0\n") })
	}

	// The stream: one edit every few milliseconds, on and on.
	committed := make(chan map[string]time.Time, 1)
	stop, killed := make(chan struct{}), make(chan struct{})
	go func() {
		at := map[string]time.Time{}
		defer func() { committed <- at }()
		dead := false
		for i, after := 0, 0; after < editsEach; i++ {
			select {
			case <-killed:
				dead = true
			case <-stop:
				return
			default:
			}
			name := fmt.Sprintf("edit%d", i)
			if err := addPort(t.Context(), nb, edits, name, i); err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if at[name] = time.Now(); dead {
				after++
			}
			time.Sleep(3 * time.Millisecond) // the pace of the stream
		}
	}()
	defer close(stop)
	w.until("edits before the kill", func() bool { return !w.bound[fmt.Sprintf("edit%d", editsEach)].IsZero() })
	w.counting = true
	kill := time.Now()
	if err := a.process.Kill(); err != nil {
		t.Fatal(err)
	}
	close(killed)
	var at map[string]time.Time
	w.until("the last edit's commit", func() bool {
		select {
		case at = <-committed:
			return true
		default:
			return false
		}
	})
	w.until("all edits", func() bool {
		for name := range at {
			if w.bound[name].IsZero() {
				return false
			}
		}
		return true
	})
	w.until("the standby's status", func() bool { return b.ask("status") == "Status: active" })

	// Edits flow again when the first one that was made after the kill arrives.
	first := time.Time{}
	for name, when := range at {
		if when.After(kill) && (first.IsZero() || w.bound[name].Before(first)) {
			first = w.bound[name]
		}
	}
	t.Logf("%s active, %s standby: edits flow again %d ms after the kill; %d of %d edits arrived; %d of %d rows rewritten needlessly",
		active, standby, first.Sub(kill).Milliseconds(), len(at), len(at), len(w.rewrites), w.rows)
	for i, r := range w.rewrites {
		if i == 10 {
			t.Errorf("and %d more", len(w.rewrites)-i)
			break
		}
		t.Errorf("rewritten needlessly: %s", r)
	}
}

// standingNetwork makes switches with ports, ACLs and a port group, and returns the
// UUID of one more switch, for edits.
func standingNetwork(t *testing.T, nb *ovsdb.Client) (edits string) {
	t.Helper()
	txn := nb.NewTxn()
	edits = ovsdb.NewUUID()
	txn.Insert("Logical_Switch", edits).String("name", "edits")
	var grouped []string
	for i := range standingSwitches {
		var ports []string
		for j := range portsEach {
			id := ovsdb.NewUUID()
			row := txn.Insert("Logical_Switch_Port", id)
			row.String("name", fmt.Sprintf("p%d-%d", i, j))
			row.String("addresses", fmt.Sprintf("0a:00:01:00:%02x:%02x 10.0.%d.%d", i, j, i, j+1))
			ports = append(ports, id)
		}
		grouped = append(grouped, ports[0])
		acl := ovsdb.NewUUID()
		addACL(txn, acl, fmt.Sprintf("tcp.dst == %d", i+1), "allow-related")
		sw := txn.Insert("Logical_Switch", ovsdb.NewUUID())
		sw.String("name", fmt.Sprintf("sw%d", i))
		sw.UUIDs("ports", ports)
		if i%2 == 0 {
			sw.UUIDs("acls", []string{acl})
		}
	}
	acl := ovsdb.NewUUID()
	addACL(txn, acl, "outport == @pg && ip4", "drop")
	pg := txn.Insert("Port_Group", ovsdb.NewUUID())
	pg.String("name", "pg")
	pg.UUIDs("ports", grouped)
	pg.UUIDs("acls", []string{acl})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := nb.Transact(ctx, txn); err != nil {
		t.Fatal(err)
	}
	return edits
}

func addACL(txn *ovsdb.Txn, id, match, action string) {
	row := txn.Insert("ACL", id)
	row.String("direction", "to-lport")
	row.Int("priority", 1000)
	row.String("match", match)
	row.String("action", action)
}

func addPort(ctx context.Context, nb *ovsdb.Client, sw, name string, i int) error {
	txn := nb.NewTxn()
	id := ovsdb.NewUUID()
	row := txn.Insert("Logical_Switch_Port", id)
	row.String("name", name)
	row.String("addresses", fmt.Sprintf("0a:00:02:%02x:%02x:%02x 10.%d.%d.%d", i>>16, i>>8&255, i&255, 100+i>>16, i>>8&255, i&255))
	txn.Mutate("Logical_Switch", sw).InsertUUIDs("ports", []string{id})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := nb.Transact(ctx, txn)
	return err
}
