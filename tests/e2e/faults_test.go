package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/schema"
	"northwall/tests/golden"
	"northwall/tests/golden/sbdump"
)

var (
	edits = flag.Int("edits", 1200, "number of edits of TestFaults, over all faults")
	long  = flag.Bool("long", false, "let each fault of TestFaults happen several times, and print the table")
)

// A fault is something that breaks while edits are made.
type fault struct {
	name, what string
	setup      func(t *testing.T) *site // nil for one server of each database and one daemon
	strikes    int                      // with -long; otherwise once, or minimum times
	minimum    int
	// strike makes it happen for the nth time, beside the edits, and returns when it
	// was over: from then on is the time measured until edits flow again.
	strike func(s *site, n int) (over time.Time)
	// finish checks more in the end; it may say which rows are not to be compared.
	finish func(s *site) (ignore func(line string) bool)
}

// A site is the servers and daemons that a fault happens to.
type site struct {
	t                *testing.T
	clock            *clock
	nb, sb           []*server
	nbProxy, sbProxy *proxy
	daemons          []*daemon
	dead             *server // of a cluster
	e                *editor
	r                *rand.Rand
}

// newSite starts daemons on servers that run.
func newSite(t *testing.T, nb, sb []*server, daemons int) *site {
	s := &site{t: t, nb: nb, sb: sb, r: rand.New(rand.NewPCG(1, 1))}
	s.e = newEditor(t, remotes(nb))
	for range daemons {
		s.daemons = append(s.daemons, startDaemon(t, remotes(nb), remotes(sb)))
	}
	return s
}

func single(t *testing.T, name string) []*server { return []*server{newServer(t, name, schemas[name])} }

// southbound executes operations as another client of the southbound database.
func (s *site) southbound(ops ...string) error {
	c := connect(s.t, southbound, remotes(s.sb), nil)
	defer c.Close()
	if err := c.WaitConnected(s.t.Context()); err != nil {
		return err
	}
	txn := ovsdb.NewTxn()
	for _, op := range ops {
		txn.Raw([]byte(op))
	}
	_, err := c.Transact(s.t.Context(), txn)
	return err
}

// read returns the contents of a database.
func (s *site) read(name string, servers []*server) sbdump.Contents {
	s.t.Helper()
	c := connect(s.t, name, remotes(servers), nil)
	defer c.Close()
	if err := c.WaitConnected(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	full := schema.Northbound()
	if name == southbound {
		full = schema.Southbound()
	}
	out, err := sbdump.Read(c, full)
	if err != nil {
		s.t.Fatal(err)
	}
	// A newer schema's columns have no place in a copy.
	for table, rows := range out {
		for _, r := range rows {
			for column := range r.Columns {
				if _, ok := full.Tables[table].Columns[column]; !ok {
					delete(r.Columns, column)
				}
			}
		}
	}
	return out
}

// result is a row of the table.
type result struct {
	*fault
	strikes, edits int
	longest        time.Duration // until edits flowed again
	lost           int
}

// TestFaults makes edits while things break. Each time, edits must flow again;
// in the end the northbound database must have all edits, and the southbound one
// exactly what a northd makes of them from scratch, and the daemon no more
// goroutines than before. It takes most of a minute, as servers that are dead or
// stopped have to be noticed.
func TestFaults(t *testing.T) {
	needServer(t)
	var mu sync.Mutex
	results := map[string]result{}
	t.Run("all", func(t *testing.T) {
		for i := range faults {
			f := &faults[i]
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				r := f.test(t, *edits/len(faults))
				mu.Lock()
				defer mu.Unlock()
				results[f.name] = r
			})
		}
	})
	if *long {
		printTable(results)
	}
}

func (f *fault) test(t *testing.T, edits int) result {
	r := result{fault: f, strikes: max(1, f.minimum)}
	if *long {
		r.strikes = f.strikes
	}
	var s *site
	if f.setup != nil {
		s = f.setup(t)
	} else {
		s = newSite(t, single(t, northbound), single(t, southbound), 1)
	}
	each := edits / (r.strikes + 1)
	for range each {
		s.e.edit()
	}
	s.e.sync()
	goroutines := active(t, s.daemons).goroutines()
	for n := range r.strikes {
		over := make(chan time.Time, 1)
		go func() {
			defer close(over) // strike may end by FailNow
			over <- f.strike(s, n)
		}()
		measure := func(at time.Time, ok bool) {
			if !ok {
				t.FailNow()
			}
			s.e.sync()
			r.longest = max(r.longest, time.Since(at))
			over = nil
		}
		for range each {
			s.e.edit()
			select {
			case at, ok := <-over:
				measure(at, ok)
			default:
			}
		}
		if over != nil {
			at, ok := <-over
			measure(at, ok)
		}
	}
	s.e.sync()
	r.edits = s.e.edits

	var ignore func(string) bool
	if f.finish != nil {
		ignore = f.finish(s)
	}
	var nb sbdump.Contents
	var lost []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("other than from scratch at last:\n%s", strings.Join(lost, "\n"))
		}
	})
	until(t, "the same contents as from scratch", func() bool {
		nb = s.read(northbound, s.nb)
		lost = s.compare(nb, ignore)
		return len(lost) == 0 || t.Context().Err() != nil
	})
	for _, l := range append(lost, s.e.lost(nb)...) {
		if ignore == nil || !ignore(l) {
			t.Error(l)
			r.lost++
		}
	}
	d := active(t, s.daemons)
	until(t, fmt.Sprintf("the %d goroutines that there were, not %d", goroutines, d.goroutines()), func() bool { return d.goroutines() <= goroutines })
	return r
}

// compare lists what the southbound database has other than what a northd makes
// from scratch of northbound contents, what it has twice among it.
func (s *site) compare(nb sbdump.Contents, ignore func(string) bool) (out []string) {
	scratch, err := golden.FromScratch(nb)
	if err != nil {
		s.t.Fatal(err)
	}
	want, _, _ := scratch.Contents() // fails for servers only
	lines := func(sb sbdump.Contents) (out []string) {
		sbdump.ForgetKeys(sb, nb)
		for _, l := range sbdump.Lines(sb, nb) {
			if ignore == nil || !ignore(l) {
				out = append(out, l)
			}
		}
		return out
	}
	if diff := golden.Diff(lines(want), lines(s.read(southbound, s.sb))); diff != "" {
		out = strings.Split(diff, "\n")
	}
	return out
}

// printTable prints the table of docs/reliability.md.
func printTable(results map[string]result) {
	fmt.Println("| what breaks | how | times | edits | lost | until edits flow again |\n|---|---|--:|--:|--:|--:|")
	total, lost := 0, 0
	for i := range faults {
		r, ok := results[faults[i].name]
		if !ok {
			fmt.Printf("| %s | %s | | | failed | |\n", faults[i].name, faults[i].what)
			continue
		}
		fmt.Printf("| %s | %s | %d | %s | %d | %.1f s |\n", r.name, r.what, r.strikes, thousands(r.edits), r.lost, r.longest.Seconds())
		total += r.edits
		lost += r.lost
	}
	fmt.Printf("| **all** | | | **%s** | **%d** | |\n", thousands(total), lost)
}

func thousands(n int) string {
	if s := strconv.Itoa(n); n < 1000 {
		return s
	} else {
		return s[:len(s)-3] + "," + s[len(s)-3:]
	}
}

// faults is the table of all.
var faults = []fault{
	{
		name: "the active daemon", what: "kill -9; another one stands by, and a third takes its place",
		setup:   func(t *testing.T) *site { return newSite(t, single(t, northbound), single(t, southbound), 2) },
		strikes: 8,
		strike: func(s *site, _ int) time.Time {
			d := active(s.t, s.daemons)
			over := time.Now()
			d.kill()
			fresh := startDaemon(s.t, remotes(s.nb), remotes(s.sb))
			for i := range s.daemons {
				if s.daemons[i] == d {
					s.daemons[i] = fresh
				}
			}
			return over
		},
	},
	{
		name: "a database server", what: "kill -9 of one after the other, started again", strikes: 10, minimum: 2,
		strike: func(s *site, n int) time.Time {
			db := []*server{s.nb[0], s.sb[0]}[n%2]
			db.kill()
			over := time.Now()
			db.start()
			return over
		},
	},
	{
		name: "the leader of a southbound cluster of three", what: "kill -9, again once another leads",
		setup:   func(t *testing.T) *site { return newSite(t, single(t, northbound), newCluster(t, southbound), 1) },
		strikes: 4, strike: func(s *site, _ int) time.Time { return s.killLeader(s.sb) },
	},
	{
		name: "the leader of a northbound cluster of three", what: "kill -9, again once another leads",
		setup:   func(t *testing.T) *site { return newSite(t, newCluster(t, northbound), single(t, southbound), 1) },
		strikes: 4, strike: func(s *site, _ int) time.Time { return s.killLeader(s.nb) },
	},
	{
		name: "a connection", what: "cut after 1 to 4,000 more bytes from the server, in the middle of replies and updates",
		setup: func(t *testing.T) *site {
			s := newSite(t, single(t, northbound), single(t, southbound), 0)
			s.nbProxy, s.sbProxy = newProxy(t, s.nb[0].remote()), newProxy(t, s.sb[0].remote())
			s.daemons = []*daemon{startDaemon(t, []string{s.nbProxy.remote}, []string{s.sbProxy.remote})}
			return s
		},
		strikes: 40, minimum: 6,
		strike: func(s *site, n int) time.Time {
			[]*proxy{s.nbProxy, s.sbProxy}[n%2].cut(1 + s.r.IntN(4000))
			return time.Now()
		},
	},
	{
		name: "a database server that stops answering", what: "SIGSTOP for 12 s, longer than the daemon waits, then SIGCONT; one after the other", strikes: 4,
		strike: func(s *site, n int) time.Time {
			db := []*server{s.sb[0], s.nb[0]}[n%2]
			db.signal(syscall.SIGSTOP)
			time.Sleep(12 * time.Second) // this is the fault
			db.signal(syscall.SIGCONT)
			return time.Now()
		},
	},
	{
		name: "the disk of the southbound server", what: "full: it cannot write its file, and refuses transactions", strikes: 6,
		strike: func(s *site, _ int) time.Time {
			file, err := os.Stat(s.sb[0].path("db"))
			if err != nil {
				s.t.Error(err)
				return time.Now()
			}
			s.sb[0].limitFiles(strconv.FormatInt(file.Size(), 10))
			until(s.t, "a full disk", func() bool {
				return s.southbound(`{"op":"mutate","table":"SB_Global","where":[],"mutations":[["external_ids","insert",["map",[["x","`+ovsdb.NewUUID()+`"]]]]]}`) != nil
			})
			s.sb[0].limitFiles("unlimited")
			return time.Now()
		},
		finish: func(s *site) func(string) bool {
			if err := s.southbound(`{"op":"update","table":"SB_Global","where":[],"row":{"external_ids":["map",[]]}}`); err != nil {
				s.t.Error(err)
			}
			return nil
		},
	},
	{
		name: "southbound rows that are refused", what: "an address set whose name the schema does not allow, and template variables that must not be equal: they are left out, each named once",
		setup: func(t *testing.T) *site {
			strict := editSchema(t, schema.SouthboundJSON, func(tables map[string]any) {
				set := tables["Address_Set"].(map[string]any)["columns"].(map[string]any)
				set["name"] = map[string]any{"type": map[string]any{"key": map[string]any{"type": "string", "maxLength": 20}}}
				tables["Chassis_Template_Var"].(map[string]any)["indexes"] = []any{[]any{"chassis"}, []any{"variables"}}
			})
			return newSite(t, single(t, northbound), []*server{newServer(t, southbound, strict)}, 1)
		},
		strikes: 4,
		strike: func(s *site, n int) time.Time {
			c := connect(s.t, northbound, remotes(s.nb), northd.NorthboundTables())
			defer c.Close()
			if err := c.WaitConnected(s.t.Context()); err != nil {
				s.t.Error(err)
			}
			txn := c.NewTxn()
			txn.Insert("Address_Set", ovsdb.NewUUID()).String("name", longName+strconv.Itoa(n))
			for _, chassis := range []string{"a", "b"} {
				v := txn.Insert("Chassis_Template_Var", ovsdb.NewUUID())
				v.String("chassis", "twin "+chassis+strconv.Itoa(n))
				v.Map("variables", ovsdb.NewMap("n", strconv.Itoa(n)))
			}
			if _, err := c.Transact(s.t.Context(), txn); err != nil {
				s.t.Error(err)
			}
			return time.Now()
		},
		finish: func(s *site) func(string) bool {
			log, err := os.ReadFile(s.daemons[0].log())
			if err != nil {
				s.t.Error(err)
			}
			named := map[string]int{}
			for _, line := range strings.Split(string(log), "\n") {
				if _, row, ok := strings.Cut(line, `"row": "`); ok {
					row, _, _ = strings.Cut(row, `"`)
					named[row]++
				}
			}
			sets, twins := 0, 0
			for row, times := range named {
				if times != 1 {
					s.t.Errorf("%s is named %d times, want once", row, times)
				}
				if strings.HasPrefix(row, "Address_Set "+longName) {
					sets++
				} else if strings.HasPrefix(row, "Chassis_Template_Var twin ") {
					twins++
				} else {
					s.t.Errorf("%s is left out", row)
				}
			}
			if sets == 0 || twins != sets {
				s.t.Errorf("%d address sets and %d template variables are named: %v", sets, twins, named)
			}
			return func(line string) bool { return strings.Contains(line, longName) || strings.Contains(line, "twin ") }
		},
	},
	{
		name: "southbound rows in the hands of others", what: "flows, ports, groups and sets deleted, changed and added by another client", strikes: 20, minimum: 3,
		strike: func(s *site, n int) time.Time {
			all := []string{
				fmt.Sprintf(`{"op":"delete","table":"Logical_Flow","where":[["table_id","==",%d]]}`, s.r.IntN(30)),
				fmt.Sprintf(`{"op":"update","table":"Logical_Flow","where":[["table_id","==",%d]],"row":{"actions":"drop;"}}`, s.r.IntN(30)),
				`{"op":"insert","table":"Logical_Flow","row":{"pipeline":"ingress","table_id":8,"priority":65535,"match":"1","actions":"next;"}}`,
				`{"op":"update","table":"Logical_DP_Group","where":[],"row":{"datapaths":["set",[]]}}`,
				`{"op":"delete","table":"Port_Binding","where":[["tunnel_key","<",4]]}`,
				`{"op":"update","table":"Port_Binding","where":[["tunnel_key",">",4]],"row":{"mac":"junk","type":"vtep"}}`,
				`{"op":"delete","table":"Multicast_Group","where":[]}`,
				`{"op":"update","table":"Address_Set","where":[],"row":{"addresses":"junk"}}`,
				`{"op":"insert","table":"Address_Set","row":{"name":"junk"}}`,
				`{"op":"delete","table":"Port_Group","where":[]}`,
				`{"op":"update","table":"Datapath_Binding","where":[],"row":{"external_ids":["map",[]]}}`,
				`{"op":"update","table":"SB_Global","where":[],"row":{"options":["map",[]]}}`,
			}
			for range 4 {
				if err := s.southbound(all[s.r.IntN(len(all))]); err != nil {
					s.t.Error(err)
				}
			}
			return time.Now()
		},
	},
	{
		name: "the southbound contents", what: "all rows deleted; the database file deleted and the server started on an empty one", strikes: 6, minimum: 2,
		strike: func(s *site, n int) time.Time {
			if n%2 == 1 {
				s.sb[0].kill()
				s.sb[0].create(schemas[southbound])
				over := time.Now()
				s.sb[0].start()
				return over
			}
			var ops []string
			for table := range schema.Southbound().Tables {
				ops = append(ops, fmt.Sprintf(`{"op":"delete","table":%q,"where":[]}`, table))
			}
			if err := s.southbound(ops...); err != nil {
				s.t.Error(err)
			}
			return time.Now()
		},
	},
	{
		name: "the southbound schema", what: "lacks tables and columns, is converted to the known one while running, then to one that has more",
		setup: func(t *testing.T) *site {
			old := olderSchema(t, schema.SouthboundJSON, []string{"ACL_ID", "DNS"}, map[string][]string{
				"Logical_Flow": {"flow_desc"}, "Datapath_Binding": {"nb_uuid"}, "Load_Balancer": {"ls_datapath_group"},
			})
			return newSite(t, single(t, northbound), []*server{newServer(t, southbound, old)}, 1)
		},
		strikes: 2, minimum: 2,
		strike: func(s *site, n int) time.Time {
			return s.convert(s.sb[0], schema.SouthboundJSON, "Logical_Flow", n)
		},
	},
	{
		name: "the northbound schema", what: "lacks tables and columns, is converted to the known one while running, then to one that has more",
		setup: func(t *testing.T) *site {
			old := olderSchema(t, schema.NorthboundJSON, []string{"Sampling_App", "Chassis_Template_Var"}, map[string][]string{
				"ACL": {"sample_new", "sample_est", "network_function_group"}, "Logical_Switch": {"copp"}, "NB_Global": {"hv_cfg_timestamp"},
			})
			return newSite(t, []*server{newServer(t, northbound, old)}, single(t, southbound), 1)
		},
		strikes: 2, minimum: 2,
		strike: func(s *site, n int) time.Time {
			return s.convert(s.nb[0], schema.NorthboundJSON, "ACL", n)
		},
		finish: func(s *site) func(string) bool {
			// What it lacked before is in use now.
			c := connect(s.t, northbound, remotes(s.nb), northd.NorthboundTables())
			if err := c.WaitConnected(s.t.Context()); err != nil {
				s.t.Error(err)
			}
			txn := c.NewTxn()
			v := txn.Insert("Chassis_Template_Var", ovsdb.NewUUID())
			v.String("chassis", "late")
			if _, err := c.Transact(s.t.Context(), txn); err != nil {
				s.t.Error(err)
			}
			s.e.sync()
			if rows := s.read(southbound, s.sb)["Chassis_Template_Var"]; len(rows) != 1 {
				s.t.Errorf("%d template variables, want that of the table that was missing", len(rows))
			}
			return nil
		},
	},
	{
		name: "the clock of the daemon's machine", what: "jumps by an hour and by ten years, forth and back; no connection is lost for it",
		setup: func(t *testing.T) *site {
			if !*long {
				t.Skip("skipped: the clock, for which parts of the Go runtime are built; see make faults")
			}
			s := newSite(t, single(t, northbound), single(t, southbound), 0)
			s.clock = &clock{t, filepath.Join(tempDir(t), "clock")}
			s.clock.set(0)
			s.daemons = []*daemon{startProgram(t, jumpingClock(t), remotes(s.nb), remotes(s.sb), "CLOCK="+s.clock.file)}
			return s
		},
		strikes: 12,
		strike: func(s *site, n int) time.Time {
			s.clock.set([]time.Duration{time.Hour, -time.Hour, -tenYears, tenYears}[n%4])
			return time.Now()
		},
		finish: func(s *site) func(string) bool {
			if at := time.UnixMilli(int64(s.e.global.SbCfgTimestamp)); time.Until(at) < tenYears/2 {
				s.t.Errorf("sb_cfg_timestamp is %v: the clock did not jump", at)
			}
			if log, err := os.ReadFile(s.daemons[0].log()); err != nil || bytes.Contains(log, []byte("connection lost")) {
				s.t.Errorf("the daemon has lost a connection, or has no log: %v", err)
			}
			return nil
		},
	},
}

const tenYears = 10 * 365 * 24 * time.Hour

// longName is that of address sets that are refused.
const longName = "a name that is too long "

// killLeader kills the leader of a cluster. The one that was killed before is
// started again first: two of three must live.
func (s *site) killLeader(members []*server) time.Time {
	if s.dead != nil {
		s.dead.start()
		s.dead.waitMember()
	}
	s.dead = leader(s.t, members)
	s.dead.kill()
	return time.Now()
}

// convert is the nth strike on a server with an older schema: to the known one, and
// then to one that has more.
func (s *site) convert(to *server, known []byte, table string, n int) time.Time {
	if n == 1 {
		known = newerSchema(s.t, known, table)
	}
	to.convert(known)
	return time.Now()
}

// olderSchema takes tables out of a schema, and columns of others.
func olderSchema(t *testing.T, text []byte, without []string, columns map[string][]string) []byte {
	return editSchema(t, text, func(tables map[string]any) {
		for _, table := range without {
			delete(tables, table)
		}
		for table, list := range columns {
			for _, c := range list {
				delete(tables[table].(map[string]any)["columns"].(map[string]any), c)
			}
		}
	})
}

// newerSchema adds a table to a schema, and a column to one that there is.
func newerSchema(t *testing.T, text []byte, table string) []byte {
	return editSchema(t, text, func(tables map[string]any) {
		column := map[string]any{"type": "string"}
		tables["Newer"] = map[string]any{"isRoot": true, "columns": map[string]any{"name": column}}
		tables[table].(map[string]any)["columns"].(map[string]any)["newer"] = column
	})
}

// editSchema changes the tables of a schema.
func editSchema(t *testing.T, text []byte, edit func(tables map[string]any)) []byte {
	t.Helper()
	var s map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	edit(s["tables"].(map[string]any))
	s["version"] = "99.0.0"
	delete(s, "cksum")
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
