package expr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// oracle is OVN's own parser and evaluator, reached through ovn-trace: it reads
// every logical flow of a southbound database and warns of each match that it
// refuses; tracing a packet shows which flows match.
type oracle struct {
	t    *testing.T
	root string // the tree's directory
	dir  string // of the database, as seen inside the tree

	tracers int // started so far
}

const oracleVersion = "26.03"

// newOracle starts a southbound database in the tree that OVN_ROOT names, or skips
// the test.
func newOracle(t *testing.T) *oracle {
	root := os.Getenv("OVN_ROOT")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip("no tree with OVN: OVN_ROOT is not set")
		}
		root = filepath.Join(cache, "northwall", "ovn")
	}
	if os.Getuid() != 0 {
		t.Skip("no oracle: entering the tree with OVN needs root")
	}
	o := &oracle{t: t, root: root}
	version, err := o.command("ovn-trace", "--version").Output()
	if err != nil {
		t.Skipf("no tree with OVN at %s", root)
	}
	if !bytes.Contains(version, []byte(oracleVersion)) {
		t.Skipf("the tree at %s has another OVN than %s: %s", root, oracleVersion, bytes.TrimSpace(version))
	}
	dir, err := os.MkdirTemp(filepath.Join(root, "tmp"), "expr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o.dir = "/tmp/" + filepath.Base(dir)

	if out, err := o.command("ovsdb-tool", "create", o.dir+"/sb.db", "/usr/share/ovn/ovn-sb.ovsschema").CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-tool: %v\n%s", err, out)
	}
	server := o.command("ovsdb-server", "--unixctl="+o.dir+"/ctl", "--remote=punix:"+o.dir+"/sb.sock", o.dir+"/sb.db")
	// A test that times out runs no cleanup.
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	wait := exec.CommandContext(ctx, "chroot", root, "ovsdb-client", "wait", "unix:"+o.dir+"/sb.sock", "OVN_Southbound", "connected")
	for range time.Tick(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "sb.sock")); err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("ovsdb-server opened no socket")
		}
	}
	if out, err := wait.CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-client: %v\n%s", err, out)
	}
	return o
}

func (o *oracle) command(args ...string) *exec.Cmd {
	return exec.CommandContext(o.t.Context(), "chroot", append([]string{o.root}, args...)...)
}

// insertion returns the operation that inserts a row.
func insertion(table, name string, row map[string]any) map[string]any {
	op := map[string]any{"op": "insert", "table": table, "row": row}
	if name != "" {
		op["uuid-name"] = name
	}
	return op
}

func mapOf(kv ...string) any {
	pairs := [][]string{}
	for i := 0; i < len(kv); i += 2 {
		pairs = append(pairs, kv[i:i+2])
	}
	return []any{"map", pairs}
}

func setOf(members []string) any { return []any{"set", append([]string{}, members...)} }

// load replaces the database's content by the tests' environment and flows that
// match one after another: perPath tables in each of as many datapaths, sw0 and
// up, as it takes. A flow's priority is 100, that of its
// table's fallback 0; it has an effect, as a trace leaves out what always matches and
// has none.
func (o *oracle) load(matches []string, perPath int) {
	o.t.Helper()
	ops := []any{"OVN_Southbound"}
	for _, table := range []string{"Logical_Flow", "Address_Set", "Port_Group", "Port_Binding", "Datapath_Binding"} {
		ops = append(ops, map[string]any{"op": "delete", "table": table, "where": []any{}})
	}
	for name, addrs := range testSets {
		ops = append(ops, insertion("Address_Set", "", map[string]any{"name": name, "addresses": setOf(addrs)}))
	}
	for i := 0; i < len(matches); i += perPath {
		n := i / perPath
		dp := []string{"named-uuid", fmt.Sprintf("dp%d", n)}
		ops = append(ops, insertion("Datapath_Binding", dp[1], map[string]any{
			"tunnel_key":   n + 1,
			"external_ids": mapOf("name", fmt.Sprintf("sw%d", n), "logical-switch", fmt.Sprintf("00000000-0000-0000-0000-%012d", n)),
		}))
		// In the southbound database a group is one for each datapath.
		for name, ports := range testGroups {
			ops = append(ops, insertion("Port_Group", "", map[string]any{
				"name": fmt.Sprintf("%d_%s", n+1, name), "ports": setOf(ports)}))
		}
		for j, port := range []string{"p1", "p2", "p3"} {
			ops = append(ops, insertion("Port_Binding", "", map[string]any{
				"logical_port": fmt.Sprintf("%s%s", port, strings.Repeat("'", n)), "tunnel_key": j + 1, "datapath": dp,
			}))
		}
		flow := func(table, priority int, match, actions string) {
			ops = append(ops, insertion("Logical_Flow", "", map[string]any{
				"logical_datapath": dp, "pipeline": "ingress", "table_id": table, "priority": priority, "match": match,
				"actions": actions, "external_ids": mapOf("stage-name", "t", "source", "x"),
			}))
		}
		for j, m := range matches[i:min(i+perPath, len(matches))] {
			flow(j%tables, 100, m, "flags[24] = 0; next;")
			flow(j%tables, 0, "1", "next;")
		}
	}
	request, err := json.Marshal(ops)
	if err != nil {
		o.t.Fatal(err)
	}
	out, err := o.transact(request)
	if err != nil || bytes.Contains(out, []byte(`"error":"`)) {
		at := max(0, bytes.Index(out, []byte(`"error":"`))-300)
		o.t.Fatalf("transact: %v\n%.1000s", err, out[at:])
	}
}

// transact sends one transaction over the server's socket, as JSON-RPC: it is too
// long for ovsdb-client's arguments.
func (o *oracle) transact(params []byte) ([]byte, error) {
	c, err := net.Dial("unix", filepath.Join(o.root, o.dir, "sb.sock"))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := fmt.Fprintf(c, `{"method":"transact","id":0,"params":%s}`, params); err != nil {
		return nil, err
	}
	var reply json.RawMessage
	err = json.NewDecoder(c).Decode(&reply)
	return reply, err
}

// tracer is an ovn-trace that has read the database.
type tracer struct {
	o   *oracle
	ctl string
	log string
}

// start runs an ovn-trace on the database as it is. It is let at the database only
// once its log is no longer limited in rate: of many warnings it would show few.
func (o *oracle) start() *tracer {
	o.t.Helper()
	o.tracers++
	name := fmt.Sprintf("%s/trace%d", o.dir, o.tracers)
	tr := &tracer{o: o, ctl: name + ".ctl", log: filepath.Join(o.root, name+".log")}
	l, err := net.Listen("unix", filepath.Join(o.root, name+".sock"))
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { l.Close() })
	pidfile := filepath.Join(o.root, name+".pid")
	var out bytes.Buffer
	daemon := o.command("ovn-trace", "--detach", "--pidfile="+name+".pid", "--unixctl="+tr.ctl, "--log-file="+name+".log",
		"-vconsole:off", "-vPATTERN:file:%p %m", "--db=unix:"+name+".sock")
	daemon.Stdout, daemon.Stderr = &out, &out
	// It returns once the detached process has read the database.
	if err := daemon.Start(); err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() {
		if text, err := os.ReadFile(pidfile); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	deadline := time.Now().Add(20 * time.Second)
	for {
		text, err := tr.try("vlog/disable-rate-limit")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			daemon.Process.Kill()
			o.t.Fatalf("ovn-trace does not answer: %v\n%s", err, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			db, err := net.Dial("unix", filepath.Join(o.root, o.dir, "sb.sock"))
			if err != nil {
				c.Close()
				return
			}
			go func() { io.Copy(db, c); db.Close() }()
			go func() { io.Copy(c, db); c.Close() }()
		}
	}()
	timeout := time.AfterFunc(time.Until(deadline), func() { daemon.Process.Kill() })
	defer timeout.Stop()
	if err := daemon.Wait(); err != nil {
		o.t.Fatalf("ovn-trace: %v\n%s", err, &out)
	}
	return tr
}

func (tr *tracer) try(args ...string) (string, error) {
	out, err := tr.o.command(append([]string{"ovn-appctl", "-t", tr.ctl}, args...)...).CombinedOutput()
	return string(out), err
}

func (tr *tracer) call(args ...string) string {
	tr.o.t.Helper()
	out, err := tr.try(args...)
	if err != nil {
		tr.o.t.Fatalf("ovn-trace: %q: %v\n%s", args, err, out)
	}
	return out
}

// refused returns, of the matches, those that OVN refuses, with its reasons.
func (o *oracle) refused(matches []string) map[string]string {
	o.t.Helper()
	// In one datapath, whatever the table: they are read, not traced.
	o.load(matches, len(matches))
	tr := o.start()
	log, err := os.ReadFile(tr.log)
	if err != nil {
		o.t.Fatal(err)
	}
	bad := map[string]string{}
	for _, line := range strings.Split(string(log), "\n") {
		line, ok := strings.CutPrefix(line, "WARN ")
		if !ok {
			continue
		}
		for _, sep := range []string{": parsing expression failed", ": match expression annotation failed"} {
			if i := strings.LastIndex(line, sep); i >= 0 {
				bad[line[:i]] = strings.Trim(line[i+len(sep):], " ()")
			}
		}
	}
	return bad
}

// TestOracleCases asks OVN about the tables of cases.
func TestOracleCases(t *testing.T) {
	o := newOracle(t)
	var matches []string
	want := map[string]bool{}
	add := func(m string, ok bool) {
		if !strings.ContainsAny(m, "\n\x00") && m != "" { // what would upset the log
			matches = append(matches, m)
			want[m] = ok
		}
	}
	for _, c := range valid {
		add(c.match, true)
		if c.canonical != "" {
			add(c.canonical, true)
		}
	}
	for _, c := range invalid {
		add(c.match, false)
	}
	for _, m := range []string{"ip4.src == $nope", "inport == @nope", "ip4.src == ^nope", "^nope"} {
		add(m, false)
	}
	for name, s := range symbols {
		if s.action {
			continue // OVN's tools crash on these
		}
		add(name, s.Width == 1)
		add("!"+name, s.Width > 0 && (s.Width > 1 || s.Measure != Nominal))
		add(name+" == 1", s.Width > 0)
		add(name+" < 1", s.Measure == Ordinal)
		add(name+"[0]", s.Measure == Ordinal || s.Width == 1)
		if s.Width > 0 {
			add(fmt.Sprintf("%s == 0x1%0*d", name, (s.Width+3)/4, 0), false)
			add(fmt.Sprintf("%s == 0/0x%x", name, uint64(1)<<min(s.Width-1, 63)), s.Measure != Nominal || s.Width > 1)
			add(fmt.Sprintf("%s[%d]", name, s.Width), false)
		}
	}
	slices.Sort(matches)
	matches = slices.Compact(matches)
	bad := o.refused(matches)
	env := testEnv()
	for _, m := range matches {
		why, refused := bad[m]
		if refused == want[m] {
			t.Errorf("%s: OVN refuses it: %v (%s); the tables say otherwise", m, refused, why)
		}
		if _, err := Parse(m, env); (err != nil) != refused {
			t.Errorf("%s: OVN refuses it: %v (%s); Parse: %v", m, refused, why, err)
		}
	}
	t.Logf("%d matches, of which OVN refuses %d", len(matches), len(bad))
}

// TestOracleGenerated asks OVN about matches made at random: well-formed ones, and
// ones that a change of a few characters has spoilt, or not.
func TestOracleGenerated(t *testing.T) {
	o := newOracle(t)
	g := newGenerator(1)
	var matches []string
	for range 3000 {
		matches = append(matches, g.spoil(g.expression(3)))
	}
	for range 1000 {
		matches = append(matches, g.expression(3), g.tokens())
	}
	matches = slices.DeleteFunc(matches, func(m string) bool {
		return strings.ContainsAny(m, "\n\x00") || deadly.MatchString(m) || strings.TrimSpace(m) != m || m == ""
	})
	slices.Sort(matches)
	matches = slices.Compact(matches)
	bad := o.refused(matches)
	env := testEnv()
	for _, m := range matches {
		why, refused := bad[m]
		if _, err := Parse(m, env); (err != nil) != refused {
			t.Errorf("%s\nOVN refuses it: %v (%s); Parse: %v", m, refused, why, err)
		}
	}
	t.Logf("%d matches, of which OVN refuses %d", len(matches), len(bad))
	if n := len(bad); n < len(matches)/10 || n > len(matches)*9/10 {
		t.Error("the corpus is one-sided")
	}
}

// deadly are matches that kill OVN's tools; see the cases "stricter".
var deadly = regexp.MustCompile(`frag_mtu|[<>]=? *\$(as4|as6|mac)|\$(as4|as6|mac) *[<>]`)

// tables is how many tables of a pipeline are used; OVN has a few more.
const tables = 25

var matchedTable = regexp.MustCompile(`(?m)^ *(\d+)\. t.*priority 100`)

// TestOracleEval compares which matches hold for packets.
func TestOracleEval(t *testing.T) {
	o := newOracle(t)
	env := testEnv()
	var matches []string
	for _, c := range valid {
		// The trace knows neither chassis nor, for this, odd port names.
		if !strings.ContainsAny(c.match, "\n\\") && !strings.Contains(c.match, "resident") {
			matches = append(matches, c.match)
		}
	}
	for name, s := range symbols {
		if s.Width == 1 && !s.action {
			matches = append(matches, name)
			if s.Measure != Nominal {
				matches = append(matches, "!"+name)
			}
		}
	}
	g := newGenerator(2)
	for len(matches) < 400 {
		if m := g.expression(2); !strings.Contains(m, "resident") {
			if _, err := Parse(m, env); err == nil {
				matches = append(matches, m)
			}
		}
	}
	slices.Sort(matches)
	matches = slices.Compact(matches)
	o.load(matches, tables)
	tr := o.start()
	held := 0
	for dp := 0; dp*tables < len(matches); dp++ {
		of := matches[dp*tables : min((dp+1)*tables, len(matches))]
		for _, packet := range packets {
			// Every datapath has ports of its own.
			in := "p1" + strings.Repeat("'", dp)
			out := tr.call("trace", fmt.Sprintf("sw%d", dp), fmt.Sprintf("inport == %q && %s", in, packet))
			h, err := NewHeader(packet)
			if err != nil {
				t.Fatal(err)
			}
			h.SetStr(Inport, in)
			traced := map[string]bool{}
			for _, m := range matchedTable.FindAllStringSubmatch(out, -1) {
				traced[m[1]] = true
			}
			for i, m := range of {
				e, err := Parse(m, env)
				if err != nil {
					t.Fatalf("%s: %v", m, err)
				}
				got, want := e.Eval(h), traced[fmt.Sprint(i)]
				if got != want {
					t.Errorf("%s on %s: got %v, want %v", m, packet, got, want)
				}
				if want {
					held++
				}
			}
			if !strings.Contains(out, fmt.Sprintf("%2d. no match", min(len(of), tables))) {
				t.Fatalf("the trace of %s ends early:\n%s", packet, out)
			}
		}
	}
	t.Logf("%d matches on %d packets, %d hold", len(matches), len(packets), held)
}

// packets are what matches are evaluated on.
var packets = []string{
	"eth.src == 00:00:00:00:00:01 && ip4.src == 10.0.0.1 && ip4.dst == 10.0.1.9 && ip.ttl == 64 && tcp.src == 1000 && tcp.dst == 80",
	"eth.dst == 01:00:5e:00:00:01 && ip4.src == 10.0.1.5 && ip4.dst == 224.0.0.1 && ip.proto == 2",
	"eth.dst == ff:ff:ff:ff:ff:ff && ip4.src == 192.168.7.255 && udp.dst == 5 && udp.src == 443 && ip.frag == 1",
	"ip4 && ip.frag == 3 && ip.proto == 17",
	"eth.dst == 33:33:ff:00:00:01 && ip6.src == fd00::1 && ip6.dst == ff02::1:ff00:1 && nd_ns && nd.target == fd00::2 && nd.sll == 00:00:00:00:00:05",
	"eth.dst == 33:33:00:00:00:16 && ip6.src == fe80::1 && ip6.dst == ff02::16 && icmp6.type == 143",
	"ip6.src == fd01::7 && ip6.dst == fd00::1 && sctp.dst == 1 && sctp.src == 2",
	"arp.op == 1 && arp.spa == 10.0.0.1 && arp.tpa == 10.0.0.2 && eth.src == 02:00:00:00:00:09",
	"vlan.vid == 5 && vlan.present && eth.type == 0x88cc && reg0 == 0x1234 && reg9 == 0x80000000",
	"ip4.src == 1.2.3.4 && icmp4.type == 8 && ct.trk && ct.new && ct_mark == 0x1 && ct_label == 0x80",
	"ip4.src == 0.0.0.4 && tcp.dst == 5 && tcp.flags == 0x12 && ct.est && ct.rpl && reg3 == 0x1 && xreg0 == 0xffffffffffffffff",
	"eth.type == 0",
}
