package ovsdb_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"northwall/ovsdb"
)

//go:embed testdata/live.ovsschema
var testSchemaJSON []byte

type thing struct {
	UUID    string    `ovsdb:"_uuid"`
	Name    string    `ovsdb:"name"`
	N       int       `ovsdb:"n"`
	OK      bool      `ovsdb:"ok"`
	R       float64   `ovsdb:"r"`
	Opt     *string   `ovsdb:"opt"`
	Tags    []string  `ovsdb:"tags"`
	Nums    []int     `ovsdb:"nums"`
	Options ovsdb.Map `ovsdb:"options"`
	Parts   []string  `ovsdb:"parts"`
}

type part struct {
	UUID string `ovsdb:"_uuid"`
	Name string `ovsdb:"name"`
}

func parseSchema(t testing.TB, text []byte) *libovsdb.DatabaseSchema {
	t.Helper()
	var s libovsdb.DatabaseSchema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func testTables(t testing.TB) []*ovsdb.Table {
	s := parseSchema(t, testSchemaJSON)
	return []*ovsdb.Table{ovsdb.TableOf[thing](s, "Thing"), ovsdb.TableOf[part](s, "Part")}
}

// server is an ovsdb-server of a test's own.
type server struct {
	t    testing.TB
	dir  string
	cmd  *exec.Cmd
	more []string // arguments
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *server) remote() string { return "unix:" + s.path("sock") }

// shortDir is a directory whose name leaves room for the names of sockets.
func shortDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "ovsdb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func tool(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func needServer(t testing.TB) {
	if _, err := exec.LookPath("ovsdb-server"); err != nil {
		t.Skip("ovsdb-server is not installed")
	}
}

// newServer starts a server with an empty database of the schema.
func newServer(t testing.TB, schema []byte, more ...string) *server {
	t.Helper()
	needServer(t)
	s := &server{t: t, dir: shortDir(t), more: more}
	if err := os.WriteFile(s.path("schema"), schema, 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "ovsdb-tool", "create", s.path("db"), s.path("schema"))
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *server) start() {
	s.t.Helper()
	os.Remove(s.path("sock"))
	args := append([]string{"--no-chdir", "--log-file=" + s.path("log"), "-vconsole:off",
		"--unixctl=" + s.path("ctl"), "--remote=p" + s.remote()}, s.more...)
	s.cmd = exec.Command("ovsdb-server", append(args, s.path("db"))...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	// The socket's file is there before the server listens.
	until(s.t, "the server", func() bool {
		conn, err := net.Dial("unix", s.path("sock"))
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
}

// kill ends the server as kill -9 does.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// until waits for a condition.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// quick are options with which a test need not wait long for a reconnection.
func quick(o ovsdb.Options) ovsdb.Options {
	if o.Database == "" {
		o.Database = "Test"
	}
	o.MinBackoff, o.MaxBackoff = 5*time.Millisecond, 50*time.Millisecond
	return o
}

// open makes a client and, at the end of the test, makes sure that nothing of
// it is left running.
func open(t testing.TB, o ovsdb.Options) *ovsdb.Client {
	t.Helper()
	c, err := ovsdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if left := leftRunning(); left != "" {
			t.Errorf("running after Close:\n%s", left)
		}
	})
	return c
}

// leftRunning returns the stacks of goroutines that package ovsdb started. Those
// of other clients of a test that are open still do not count, as long as one
// is: openClients says how many.
func leftRunning() string {
	if openClients.Add(-1) > 0 {
		return ""
	}
	var left []string
	// What Close waited for may be about to return.
	for range 200 {
		buf := make([]byte, 1<<20)
		left = left[:0]
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "northwall/ovsdb.(*session)") || strings.Contains(g, "northwall/ovsdb.(*Client)") {
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			return ""
		}
		time.Sleep(5 * time.Millisecond)
	}
	return strings.Join(left, "\n\n")
}

var openClients atomic.Int64

func connected(t testing.TB, o ovsdb.Options) *ovsdb.Client {
	t.Helper()
	openClients.Add(1)
	c := open(t, quick(o))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.WaitConnected(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

// copyOf is what a consumer knows of a database from batches alone. Batches
// that contradict what came before are errors.
type copyOf struct {
	t    testing.TB
	c    ovsdb.Conn
	rows map[string]map[string]any
	seen bool
}

func newCopy(t testing.TB, c ovsdb.Conn) *copyOf {
	return &copyOf{t: t, c: c, rows: map[string]map[string]any{}}
}

// take applies what is new and returns it.
func (k *copyOf) take() *ovsdb.Batch {
	k.t.Helper()
	b := k.c.Take()
	if b == nil {
		return nil
	}
	if b.Initial == k.seen {
		k.t.Errorf("got a batch with Initial %v", b.Initial)
	}
	k.seen = true
	for table, changes := range b.Changes {
		if len(changes) == 0 {
			k.t.Errorf("table %s is in the batch without changes", table)
		}
		rows := k.rows[table]
		if rows == nil {
			rows = map[string]any{}
			k.rows[table] = rows
		}
		for _, ch := range changes {
			if diff := cmp.Diff(normal(rows[ch.UUID]), normal(ch.Old)); diff != "" {
				k.t.Errorf("%s %s: Old is not what was delivered before (-before +Old):\n%s", table, ch.UUID, diff)
			}
			if ch.New == nil {
				delete(rows, ch.UUID)
			} else {
				rows[ch.UUID] = ch.New
			}
			if ch.Old == nil && ch.New == nil {
				k.t.Errorf("%s %s: a change of nothing", table, ch.UUID)
			}
			if ch.Old != nil && ch.New != nil && cmp.Equal(normal(ch.Old), normal(ch.New)) {
				k.t.Errorf("%s %s: delivered, but unchanged: %v", table, ch.UUID, ch.New)
			}
		}
	}
	return b
}

// takeAll applies all that is new.
func (k *copyOf) takeAll() {
	k.t.Helper()
	for k.take() != nil {
	}
}

// normal gives sets an order, in which they may differ.
func normal(row any) any {
	switch r := row.(type) {
	case *thing:
		c := *r
		c.Tags, c.Nums, c.Parts = slices.Clone(c.Tags), slices.Clone(c.Nums), slices.Clone(c.Parts)
		slices.Sort(c.Tags)
		slices.Sort(c.Nums)
		slices.Sort(c.Parts)
		return &c
	}
	return row
}

func (k *copyOf) normal() map[string]map[string]any {
	out := map[string]map[string]any{}
	for table, rows := range k.rows {
		for uuid, row := range rows {
			if out[table] == nil {
				out[table] = map[string]any{}
			}
			out[table][uuid] = normal(row)
		}
	}
	return out
}

// check compares the copy with the database, read anew.
func (k *copyOf) check(remote string) {
	k.t.Helper()
	fresh := newCopy(k.t, connected(k.t, ovsdb.Options{Remotes: []string{remote}, Tables: testTables(k.t)}))
	fresh.take()
	if diff := cmp.Diff(fresh.normal(), k.normal()); diff != "" {
		k.t.Errorf("contents (-database +batches):\n%s", diff)
	}
}

// answer waits for the result of a call.
func answer(t testing.TB, call *ovsdb.Call) ([]ovsdb.Result, error) {
	t.Helper()
	select {
	case <-call.Done():
	case <-time.After(20 * time.Second):
		t.Error("a call is never done")
		return nil, errors.New("never done")
	}
	return call.Result()
}

func transact(t testing.TB, c *ovsdb.Client, f func(*ovsdb.Txn)) []ovsdb.Result {
	t.Helper()
	txn := c.NewTxn()
	f(txn)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	results, err := c.Transact(ctx, txn)
	if err != nil {
		t.Fatalf("%v\n%.500s", err, txn)
	}
	return results
}

// randomEdits appends a few operations on what is known to exist, and returns
// the things that exist if they succeed.
func randomEdits(r *rand.Rand, txn *ovsdb.Txn, things []string) []string {
	things = slices.Clone(things)
	pick := func() string { return things[r.IntN(len(things))] }
	word := func() string { return fmt.Sprintf("w%d", r.IntN(6)) }
	for range 1 + r.IntN(4) {
		switch k := r.IntN(10); {
		case len(things) < 5 || k == 0:
			id := ovsdb.NewUUID()
			cols := txn.Insert("Thing", id)
			cols.String("name", word())
			cols.Strings("tags", slices.Compact([]string{"a", word()}))
			things = append(things, id)
		case k == 1:
			i := r.IntN(len(things))
			txn.Delete("Thing", things[i])
			things = slices.Delete(things, i, i+1)
		case k == 2:
			txn.Update("Thing", pick()).Strings("opt", [][]string{nil, {word()}}[r.IntN(2)])
		case k == 3:
			txn.Mutate("Thing", pick()).InsertStrings("tags", []string{word(), word() + "x"})
		case k == 4:
			txn.Mutate("Thing", pick()).DeleteStrings("tags", []string{word(), word() + "x"})
		case k == 5:
			txn.Mutate("Thing", pick()).PutMap("options", map[string]string{word(): word()})
		case k == 6:
			txn.Mutate("Thing", pick()).DeleteKeys("options", []string{word()})
		case k == 7:
			id := ovsdb.NewUUID()
			txn.Insert("Part", id).String("name", id)
			txn.Mutate("Thing", pick()).InsertUUIDs("parts", []string{id})
		case k == 8:
			txn.Update("Thing", pick()).UUIDs("parts", nil)
		case k == 9:
			cols := txn.Update("Thing", pick())
			cols.Int("n", 1<<60+r.IntN(3))
			cols.Bool("ok", r.IntN(2) == 0)
			cols.Real("r", float64(r.IntN(3))/4)
		}
	}
	return things
}

// TestFollow makes random transactions with one client, some merged and some
// not, and follows them with another.
func TestFollow(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	k := newCopy(t, connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)}))
	r := rand.New(rand.NewPCG(1, 2))
	var things []string
	for i := range 400 {
		transact(t, c, func(txn *ovsdb.Txn) { things = randomEdits(r, txn, things) })
		if i%3 == 0 {
			k.takeAll()
		}
	}
	transact(t, c, func(txn *ovsdb.Txn) { txn.Insert("Thing", ovsdb.NewUUID()).String("name", "last") })
	until(t, "the last change", func() bool {
		k.takeAll()
		for _, row := range k.rows["Thing"] {
			if row.(*thing).Name == "last" {
				return true
			}
		}
		return false
	})
	k.check(s.remote())
}

// TestVisible: a call is done only after what it changed can be taken.
func TestVisible(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	if b := c.Take(); b == nil || !b.Initial || len(b.Changes) != 0 {
		t.Fatalf("of an empty database: got %v, want an empty initial batch", b)
	}
	if b := c.Take(); b != nil {
		t.Fatalf("got a second batch %v", b)
	}
	for i := range 200 {
		id := ovsdb.NewUUID()
		transact(t, c, func(txn *ovsdb.Txn) { txn.Insert("Thing", id).Int("n", i) })
		b := c.Take()
		if b == nil || len(b.Changes["Thing"]) != 1 || b.Changes["Thing"][0].UUID != id {
			t.Fatalf("after transaction %d: got %v, want its row", i, b)
		}
	}
}

// TestMerge: what happens to a row is merged into one change a batch, but what undoes
// a change begins another batch.
func TestMerge(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	const id = "00000000-0000-4000-8000-000000000001"
	insert := func(n int) func(*ovsdb.Txn) {
		return func(txn *ovsdb.Txn) { txn.Insert("Thing", id).Int("n", n) }
	}
	update := func(n int) func(*ovsdb.Txn) {
		return func(txn *ovsdb.Txn) { txn.Update("Thing", id).Int("n", n) }
	}
	remove := func(txn *ovsdb.Txn) { txn.Delete("Thing", id) }
	row := func(n int) any { return &thing{UUID: id, N: n} }
	c.Take()
	for _, tc := range []struct {
		name  string
		steps []func(*ovsdb.Txn)
		want  [][2]any // Old and New of each batch
	}{
		{"insert and delete", []func(*ovsdb.Txn){insert(1), remove}, [][2]any{{nil, row(1)}, {row(1), nil}}},
		{"insert and modify", []func(*ovsdb.Txn){insert(1), update(2)}, [][2]any{{nil, row(2)}}},
		{"modify twice", []func(*ovsdb.Txn){update(3), update(4)}, [][2]any{{row(2), row(4)}}},
		{"modify and back", []func(*ovsdb.Txn){update(5), update(4)}, [][2]any{{row(4), row(5)}, {row(5), row(4)}}},
		{"delete and insert", []func(*ovsdb.Txn){remove, insert(6)}, [][2]any{{row(4), row(6)}}},
		{"delete and insert the same", []func(*ovsdb.Txn){remove, insert(6)}, [][2]any{{row(6), nil}, {nil, row(6)}}},
		{"modify and delete", []func(*ovsdb.Txn){update(7), remove}, [][2]any{{row(6), nil}}},
		{"insert and delete, twice", []func(*ovsdb.Txn){insert(8), remove, insert(9), remove}, [][2]any{{nil, row(8)}, {row(8), nil}}},
		{"insert and delete the same, twice", []func(*ovsdb.Txn){insert(8), remove, insert(8), remove}, [][2]any{{nil, row(8)}, {row(8), nil}, {nil, row(8)}, {row(8), nil}}},
	} {
		for _, step := range tc.steps {
			transact(t, c, step)
		}
		var got [][2]any
		for b := range ovsdb.Batches(c) {
			changes := b.Changes["Thing"]
			if len(changes) != 1 || changes[0].UUID != id {
				t.Fatalf("%s: got the changes %v, want one of %s", tc.name, changes, id)
			}
			got = append(got, [2]any{changes[0].Old, changes[0].New})
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestKill kills the server again and again while edits are made. Whatever the
// fate of each, the batches add up to what the database has.
func TestKill(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	k := newCopy(t, connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)}))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	fates := map[string]int{}
	wg.Go(func() {
		r := rand.New(rand.NewPCG(3, 4))
		var things []string
		var calls []*ovsdb.Call
		for {
			select {
			case <-stop:
				return
			default:
			}
			if !c.Status().Connected {
				time.Sleep(time.Millisecond)
				continue
			}
			txn := c.NewTxn()
			things = randomEdits(r, txn, things)
			if len(things) > 60 {
				txn.Delete("Thing", things[0])
				things = things[1:]
			}
			calls = append(calls, c.Send(txn))
			if len(calls) < 20 {
				continue
			}
			for _, call := range calls {
				switch _, err := answer(t, call); {
				case err == nil:
					fates["done"]++
				case errors.Is(err, ovsdb.ErrUnknown):
					fates["unknown"]++
				case errors.Is(err, ovsdb.ErrNotSent):
					fates["not sent"]++
				default:
					// A part of what things says may not have been committed.
					fates["refused"]++
				}
			}
			calls = calls[:0]
		}
	})
	const kills = 12
	for i := range kills {
		for until := time.Now().Add(time.Duration(20+30*(i%3)) * time.Millisecond); time.Now().Before(until); {
			select {
			case <-c.Ready():
			case <-time.After(time.Millisecond):
			}
			k.takeAll()
		}
		s.kill()
		s.start()
		before := k.c.Status().Epoch
		until(t, "the client to be back", func() bool { k.take(); return k.c.Status().Epoch > before || k.c.Status().Connected })
	}
	close(stop)
	wg.Wait()
	t.Logf("%d kills, fates of transactions: %v", kills, fates)
	if fates["done"] == 0 || fates["unknown"]+fates["not sent"] == 0 {
		t.Errorf("got fates %v, want some done and some cut off", fates)
	}
	const id = "00000000-0000-4000-8000-000000000002"
	until(t, "an edit to succeed", func() bool {
		txn := c.NewTxn()
		txn.Insert("Thing", id).String("name", "last")
		_, err := answer(t, c.Send(txn))
		var refused *ovsdb.TxnError
		return err == nil || errors.As(err, &refused)
	})
	until(t, "the last edit", func() bool { k.take(); return k.rows["Thing"][id] != nil })
	k.check(s.remote())
}

// TestDifference: rows that go, come and change while there is no connection are
// delivered as that, and the rest not at all.
func TestDifference(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	ids := make([]string, 4)
	transact(t, c, func(txn *ovsdb.Txn) {
		for i := range ids {
			ids[i] = ovsdb.NewUUID()
			cols := txn.Insert("Thing", ids[i])
			cols.String("name", fmt.Sprint(i))
			cols.Strings("tags", []string{"x", "y", "z"})
		}
	})
	k := newCopy(t, c)
	k.takeAll()
	s.kill()
	until(t, "the loss", func() bool { return !c.Status().Connected })
	if st := c.Status(); st.Err == nil || st.Remote != s.remote() {
		t.Errorf("got status %+v of a lost connection", st)
	}
	tool(t, "ovsdb-tool", "transact", s.path("db"), fmt.Sprintf(`["Test",
		{"op":"delete","table":"Thing","where":[["_uuid","==",["uuid",%q]]]},
		{"op":"update","table":"Thing","where":[["_uuid","==",["uuid",%q]]],"row":{"n":7}},
		{"op":"insert","table":"Thing","row":{"name":"new"}}]`, ids[0], ids[1]))
	s.start()
	until(t, "the connection", func() bool { return c.Status().Connected })
	b := k.take()
	if b == nil {
		t.Fatal("got no batch")
	}
	var got []string
	ovsdb.Each(b, "Thing", func(uuid string, old, new *thing) {
		switch {
		case old == nil:
			got = append(got, "came "+new.Name)
		case new == nil:
			got = append(got, "went "+old.Name)
		default:
			got = append(got, fmt.Sprintf("changed %s %d", new.Name, new.N))
		}
	})
	slices.Sort(got)
	if diff := cmp.Diff([]string{"came new", "changed 1 7", "went 0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	k.check(s.remote())
}

// TestLock: one client has the lock, the next waits for it, steals it, and gives
// it back.
func TestLock(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	a := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Lock: "L"})
	locked := func(c *ovsdb.Client, want bool) {
		t.Helper()
		until(t, fmt.Sprintf("Locked to become %v", want), func() bool { return c.Status().Locked == want })
	}
	locked(a, true)
	for range cap(a.Ready()) {
		select {
		case <-a.Ready():
		default:
		}
	}
	b := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Lock: "L"})
	roundTrip := func(c *ovsdb.Client) {
		t.Helper()
		transact(t, c, func(txn *ovsdb.Txn) { txn.Comment("what was sent before has been answered") })
	}
	roundTrip(b)
	if b.Status().Locked {
		t.Fatal("both clients have the lock")
	}
	assert := func(c *ovsdb.Client) error {
		txn := c.NewTxn()
		txn.Assert("L")
		_, err := c.Transact(t.Context(), txn)
		return err
	}
	var refused *ovsdb.TxnError
	if err := assert(b); !errors.As(err, &refused) || refused.Kind != "not owner" {
		t.Errorf("assert without the lock: got %v, want not owner", err)
	}
	if err := assert(a); err != nil {
		t.Errorf("assert with the lock: %v", err)
	}
	b.Steal()
	locked(b, true)
	locked(a, false)
	select {
	case <-a.Ready():
	case <-time.After(10 * time.Second):
		t.Error("Ready says nothing of the stolen lock")
	}
	b.Unlock()
	locked(b, false)
	locked(a, true)
	b.SetLock("L")
	b.SetLock("L")
	roundTrip(b)
	if b.Status().Locked {
		t.Error("both clients have the lock")
	}
	a.Close()
	locked(b, true)
	b.SetLock("M")
	roundTrip(b)
	locked(b, true)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Lock: "L"})
	locked(c, true)

	// A connection that is made again asks again.
	s.kill()
	locked(c, false)
	s.start()
	locked(c, true)
	locked(b, true)
}

// TestRemotes: dead addresses are passed over, and the connection moves on when
// its server goes.
func TestRemotes(t *testing.T) {
	t.Parallel()
	one, two := newServer(t, testSchemaJSON), newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{"unix:/nonexistent/sock", one.remote(), "tcp:127.0.0.1:1", two.remote()}, Tables: testTables(t)})
	if got := c.Status().Remote; got != one.remote() {
		t.Errorf("got remote %s, want %s", got, one.remote())
	}
	one.kill()
	until(t, "the other server", func() bool { st := c.Status(); return st.Connected && st.Remote == two.remote() })
	two.kill()
	until(t, "the loss", func() bool { return !c.Status().Connected })
	one.start()
	until(t, "the first server", func() bool { st := c.Status(); return st.Connected && st.Remote == one.remote() })
	before := c.Status().Epoch
	c.Reconnect()
	until(t, "a new connection", func() bool { return c.Status().Epoch > before })
}

// TestUnreachable: the error says what was tried and why it failed.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	openClients.Add(1)
	c := open(t, quick(ovsdb.Options{Remotes: []string{"unix:/nonexistent/sock"}, Tables: testTables(t)}))
	if !c.Has("Thing", "opt") || c.Has("Thing", "nothing") {
		t.Error("Has does not report what the declaring schema has")
	}
	until(t, "an attempt", func() bool { return c.Status().Err != nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := c.WaitConnected(ctx)
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/sock") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got error %v, want the address and why", err)
	}
	if _, err := answer(t, c.Send(c.NewTxn())); !errors.Is(err, ovsdb.ErrNotSent) {
		t.Errorf("sent without a connection: got %v, want ErrNotSent", err)
	}
	c.Close()
	done := make(chan error, 1)
	go func() { done <- c.WaitConnected(context.Background()) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a closed client says that it is connected")
		}
	case <-time.After(10 * time.Second):
		t.Error("WaitConnected does not return though the client is closed")
	}
}

func TestBadOptions(t *testing.T) {
	for _, remote := range []string{"", "unix:", "unix", "tcp:host", "ssl:127.0.0.1:6641", "http:127.0.0.1:80"} {
		if c, err := ovsdb.Open(ovsdb.Options{Database: "Test", Remotes: []string{remote}}); err == nil {
			c.Close()
			t.Errorf("remote %q: got no error", remote)
		}
	}
	if c, err := ovsdb.Open(ovsdb.Options{Database: "Test"}); err == nil {
		c.Close()
		t.Error("without remotes: got no error")
	}
}

// TestOtherSchema: tables and columns that the server lacks are done without,
// and each named once.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	old := strings.ReplaceAll(string(testSchemaJSON), `"opt": {"type": {"key": "string", "min": 0, "max": 1}},`, "")
	old = strings.Replace(old, `"Part": {`, `"Other": {`, 1)
	old = strings.Replace(old, `"refTable": "Part"`, `"refTable": "Other"`, 1)
	s := newServer(t, []byte(old))
	core, logs := observer.New(zapcore.WarnLevel)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t), Log: zap.New(core)})
	for _, tc := range []struct {
		table, column string
		want          bool
	}{
		{"Thing", "", true}, {"Thing", "name", true}, {"Thing", "opt", false}, {"Part", "", false}, {"Part", "name", false}, {"Other", "name", true},
	} {
		if got := c.Has(tc.table, tc.column); got != tc.want {
			t.Errorf("Has(%q, %q): got %v, want %v", tc.table, tc.column, got, tc.want)
		}
	}
	before := c.Status().Epoch
	c.Reconnect()
	until(t, "a new connection", func() bool { return c.Status().Epoch > before })
	var named []string
	for _, e := range logs.All() {
		if f := e.ContextMap(); f["table"] != nil {
			named = append(named, fmt.Sprintf("%v.%v", f["table"], f["column"]))
		}
	}
	slices.Sort(named)
	if diff := cmp.Diff([]string{"Part.", "Thing.opt"}, named); diff != "" {
		t.Errorf("named in the log (-want +got):\n%s", diff)
	}
	value := "x"
	id := ovsdb.NewUUID()
	transact(t, c, func(txn *ovsdb.Txn) {
		testTables(t)[0].Insert(txn, &thing{UUID: id, Name: "n", Opt: &value})
		testTables(t)[0].Update(txn, &thing{UUID: id, Name: "n"}, &thing{UUID: id, Name: "m", Opt: &value})
	})
	k := newCopy(t, c)
	k.takeAll()
	if diff := cmp.Diff(map[string]any{id: &thing{UUID: id, Name: "m"}}, k.rows["Thing"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConversion: a server whose schema is replaced while it runs is monitored
// anew, with the columns that it has then.
func TestConversion(t *testing.T) {
	t.Parallel()
	old := strings.ReplaceAll(string(testSchemaJSON), `"n": {"type": "integer"},`, "")
	s := newServer(t, []byte(old))
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	k := newCopy(t, c)
	id := ovsdb.NewUUID()
	transact(t, c, func(txn *ovsdb.Txn) { txn.Insert("Thing", id).String("name", "x") })
	k.takeAll()
	if c.Has("Thing", "n") {
		t.Fatal("the column n should be missing")
	}
	newer := s.path("newer")
	if err := os.WriteFile(newer, []byte(strings.Replace(string(testSchemaJSON), "1.0.0", "1.1.0", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "ovsdb-client", "convert", s.remote(), newer)
	until(t, "the column", func() bool { return c.Status().Connected && c.Has("Thing", "n") })
	transact(t, c, func(txn *ovsdb.Txn) { txn.Update("Thing", id).Int("n", 5) })
	k.takeAll()
	if got := k.rows["Thing"][id].(*thing).N; got != 5 {
		t.Errorf("got n = %d, want 5", got)
	}
	if got := c.Schema().Version; got != "1.1.0" {
		t.Errorf("got schema version %s, want 1.1.0", got)
	}
	k.check(s.remote())
}

// TestPipeline sends many transactions without waiting: they are executed in
// that order, and each is answered.
func TestPipeline(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	const id, n = "00000000-0000-4000-8000-000000000003", 2000
	transact(t, c, func(txn *ovsdb.Txn) { txn.Insert("Thing", id) })
	var calls []*ovsdb.Call
	for i := range n {
		txn := c.NewTxn()
		// Each fails unless the one before has been executed.
		txn.Raw([]byte(fmt.Sprintf(`{"op":"wait","timeout":0,"table":"Thing","where":[["_uuid","==",["uuid",%q]]],"columns":["n"],"until":"==","rows":[{"n":%d}]}`, id, i)))
		txn.Mutate("Thing", id).Add("n", 1)
		calls = append(calls, c.Send(txn))
	}
	for i, call := range calls {
		if _, err := answer(t, call); err != nil {
			t.Fatalf("transaction %d: %v", i, err)
		}
	}
	k := newCopy(t, c)
	k.takeAll()
	if got := k.rows["Thing"][id].(*thing).N; got != n {
		t.Errorf("got n = %d, want %d", got, n)
	}
}

// TestLarge sends and receives messages of 4 MB.
func TestLarge(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	value := strings.Repeat("0123456789abcde\n", 1<<18)
	id := ovsdb.NewUUID()
	transact(t, c, func(txn *ovsdb.Txn) { txn.Insert("Thing", id).String("name", value) })
	k := newCopy(t, c)
	k.takeAll()
	if k.rows["Thing"][id] == nil || k.rows["Thing"][id].(*thing).Name != value {
		t.Error("the value has come back otherwise")
	}
	k.check(s.remote())
}

// TestRefused: the error names the operation that failed, and nothing changes.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	for _, tc := range []struct {
		name string
		txn  func(*ovsdb.Txn)
		op   int
		kind string
	}{
		{"unknown column", func(txn *ovsdb.Txn) {
			txn.Comment("first")
			txn.Insert("Thing", ovsdb.NewUUID()).String("nothing", "")
		}, 1, "unknown column"},
		{"index", func(txn *ovsdb.Txn) {
			for range 2 {
				id := ovsdb.NewUUID()
				txn.Insert("Part", id).String("name", "same")
				txn.Insert("Thing", ovsdb.NewUUID()).UUIDs("parts", []string{id})
			}
		}, 4, "constraint violation"},
		{"reference", func(txn *ovsdb.Txn) {
			txn.Insert("Thing", ovsdb.NewUUID()).UUIDs("parts", []string{ovsdb.NewUUID()})
		}, 1, "referential integrity violation"},
	} {
		txn := c.NewTxn()
		tc.txn(txn)
		_, err := c.Transact(t.Context(), txn)
		var refused *ovsdb.TxnError
		if !errors.As(err, &refused) || refused.Op != tc.op || refused.Kind != tc.kind {
			t.Errorf("%s: got %#v, want %s at operation %d", tc.name, err, tc.kind, tc.op)
		}
	}
	c.Take()
	transact(t, c, func(txn *ovsdb.Txn) { txn.Comment("for order") })
	if b := c.Take(); b != nil {
		t.Errorf("got changes %v", b)
	}
}

// TestNoDatabase: a server without the database is no reason to hang.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	openClients.Add(1)
	c := open(t, quick(ovsdb.Options{Database: "Nothing", Remotes: []string{s.remote()}}))
	until(t, "an attempt", func() bool { return c.Status().Err != nil })
	if err := c.Status().Err; !strings.Contains(err.Error(), "Nothing") {
		t.Errorf("got error %q, want the database's name in it", err)
	}
}

// TestStandaloneLeader: a server that is no member of a cluster is as good as a
// leader.
func TestStandaloneLeader(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	connected(t, ovsdb.Options{Remotes: []string{s.remote()}, LeaderOnly: true})
}

// TestDynamic: rows of dynamic tables have every column, whatever the server
// leaves out.
func TestDynamic(t *testing.T) {
	t.Parallel()
	s := newServer(t, testSchemaJSON)
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: []*ovsdb.Table{ovsdb.DynamicTable("Thing"), ovsdb.DynamicTable("Part", "name")}})
	id, p := ovsdb.NewUUID(), ovsdb.NewUUID()
	transact(t, c, func(txn *ovsdb.Txn) {
		txn.Insert("Part", p).String("name", "p")
		cols := txn.Insert("Thing", id)
		cols.UUIDs("parts", []string{p})
		cols.Int("n", 1<<60+1)
	})
	transact(t, c, func(txn *ovsdb.Txn) {
		m := txn.Mutate("Thing", id)
		m.InsertStrings("tags", []string{"a", "b"})
		m.PutMap("options", map[string]string{"k": "v"})
	})
	k := newCopy(t, c)
	k.takeAll()
	row := k.rows["Thing"][id].(*ovsdb.Row)
	want := map[string]any{
		"name": "", "n": 1<<60 + 1, "ok": false, "r": 0.0,
		"opt":     libovsdb.OvsSet{},
		"tags":    libovsdb.OvsSet{GoSet: []any{"a", "b"}},
		"nums":    libovsdb.OvsSet{},
		"options": libovsdb.OvsMap{GoMap: map[any]any{"k": "v"}},
		"parts":   libovsdb.OvsSet{GoSet: []any{libovsdb.UUID{GoUUID: p}}},
	}
	empty := cmp.Transformer("empty", func(s libovsdb.OvsSet) []any { return append([]any{}, s.GoSet...) })
	if diff := cmp.Diff(want, row.Columns, empty); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Columns that have come back to their default are as in a row read anew.
	transact(t, c, func(txn *ovsdb.Txn) {
		cols := txn.Update("Thing", id)
		cols.Strings("tags", nil)
		cols.Map("options", nil)
		cols.Int("n", 0)
	})
	k.takeAll()
	before := c.Status().Epoch
	s.kill()
	s.start()
	until(t, "a new connection", func() bool { return c.Status().Epoch > before && c.Status().Connected })
	if b := c.Take(); b != nil {
		t.Errorf("nothing has changed, but got %v", b)
	}
}

// TestFilledSets: a set that must not be empty has one element where it was given
// none, which the server leaves out, but counts on in what it says of changes.
func TestFilledSets(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"name":"Test","version":"1.0.0","tables":{"Filled":{"isRoot":true,"columns":{
		"names":{"type":{"key":"string","min":1,"max":"unlimited"}},"numbers":{"type":{"key":"integer","min":1,"max":"unlimited"}}}}}}`)
	type filled struct {
		UUID    string   `ovsdb:"_uuid"`
		Names   []string `ovsdb:"names"`
		Numbers []int    `ovsdb:"numbers"`
	}
	s := newServer(t, schema)
	for name, table := range map[string]*ovsdb.Table{"typed": ovsdb.TableOf[filled](parseSchema(t, schema), "Filled"), "dynamic": ovsdb.DynamicTable("Filled")} {
		t.Run(name, func(t *testing.T) {
			c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: []*ovsdb.Table{table}})
			k := newCopy(t, c)
			id := ovsdb.NewUUID()
			transact(t, c, func(txn *ovsdb.Txn) { txn.Insert("Filled", id) })
			k.takeAll()
			transact(t, c, func(txn *ovsdb.Txn) {
				txn.Update("Filled", id).Strings("names", []string{"a", "b"})
				txn.Raw([]byte(`{"op":"update","table":"Filled","where":[],"row":{"numbers":["set",[3,4]]}}`))
			})
			k.takeAll()
			var got any = k.rows["Filled"][id]
			if r, ok := got.(*ovsdb.Row); ok {
				got = r.Columns
			}
			if text := fmt.Sprint(got); strings.Count(text, "a b") != 1 || strings.Count(text, "[3 4]") != 1 {
				t.Errorf("got %v, want names a and b, numbers 3 and 4", text)
			}
		})
	}
}
