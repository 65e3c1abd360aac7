package ovsdb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb"
)

func containsAll(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// badServer is a server that does what a test tells it to.
type badServer struct {
	t      testing.TB
	remote string
	conns  atomic.Int64

	// answer says what to send for a request, "" for nothing; without it, or
	// where it returns ok false, the server answers as a good one does, with an
	// empty database of the test's schema.
	answer func(p *peer, r request) (msg string, ok bool)
}

// request is what a client has sent.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// peer is the server's side of one connection.
type peer struct {
	net.Conn
	number int64 // 1 for the first
	mu     sync.Mutex
	slow   bool // write one byte at a time
}

func (p *peer) send(msg string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.slow {
		_, _ = io.WriteString(p, msg)
		return
	}
	for i := range len(msg) {
		if _, err := io.WriteString(p, msg[i:i+1]); err != nil {
			return
		}
	}
}

func newBadServer(t testing.TB, answer func(p *peer, r request) (string, bool)) *badServer {
	t.Helper()
	b := &badServer{t: t, answer: answer}
	path := filepath.Join(shortDir(t), "sock")
	b.remote = "unix:" + path
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []net.Conn
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			all = append(all, conn)
			mu.Unlock()
			p := &peer{Conn: conn, number: b.conns.Add(1)}
			wg.Go(func() { b.serve(p) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range all {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return b
}

func result(r request, value string) string {
	return fmt.Sprintf(`{"id":%s,"result":%s,"error":null}`, r.ID, value)
}

func rpcError(r request, value string) string {
	return fmt.Sprintf(`{"id":%s,"error":%s}`, r.ID, value)
}

const noTxn = "00000000-0000-0000-0000-000000000000"

// good is the answer of a good server.
func good(r request) string {
	switch r.Method {
	case "get_schema":
		if string(r.Params) == `["_Server"]` {
			return rpcError(r, `{"error":"unknown database"}`)
		}
		return result(r, string(testSchemaJSON))
	case "monitor_cond_since":
		return result(r, `[false,"`+noTxn+`",{}]`)
	case "monitor_cond", "monitor", "unlock", "set_db_change_aware":
		return result(r, `{}`)
	case "lock", "steal":
		return result(r, `{"locked":true}`)
	case "echo":
		return result(r, string(r.Params))
	case "transact":
		return result(r, `[{}]`)
	case "":
		return "" // an answer to a request of the server's
	}
	return rpcError(r, `"unknown method"`)
}

func (b *badServer) serve(p *peer) {
	defer p.Close()
	dec := json.NewDecoder(p)
	for {
		var r request
		if dec.Decode(&r) != nil {
			return
		}
		msg, ok := "", false
		if b.answer != nil {
			msg, ok = b.answer(p, r)
		}
		if !ok {
			msg = good(r)
		}
		p.send(msg)
	}
}

// update is an update3 notification.
func update(tables string) string {
	return `{"id":null,"method":"update3","params":[` + monitorName.Load().(string) + `,"` + noTxn + `",` + tables + `]}`
}

// monitorName is the identifier, in JSON, that clients give their monitors.
var monitorName atomic.Value

// learn notes the monitor's identifier from the request.
func learn(r request) {
	var params []json.RawMessage
	if strings.HasPrefix(r.Method, "monitor") && json.Unmarshal(r.Params, &params) == nil && len(params) > 1 {
		monitorName.Store(string(params[1]))
	}
}

// insertThing is <table-updates2> that inserts a row.
func insertThing(uuid string, n int) string {
	return fmt.Sprintf(`{"Thing":{%q:{"insert":{"n":%d}}}}`, uuid, n)
}

const rowID = "00000000-0000-4000-8000-000000000005"

// TestBrokenMessages: whatever comes instead of an update, the connection is
// given up, made again, and the contents are right then. In between, nothing of
// the message has been delivered.
func TestBrokenMessages(t *testing.T) {
	for _, tc := range []struct{ name, msg string }{
		{"cut in an update", `{"id":null,"method":"update3","params":[MONITOR,"` + noTxn + `",{"Thing":{"` + rowID + `":{"insert":{"n":1}},"00000000`},
		{"cut in a string", `{"id":nu`},
		{"garbage", "\x00\xff\x16\x03garbage"},
		{"no object", `[1,2,3]`},
		{"unclosed", `}`},
		{"HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n"},
		{"update of a row that is not there", `{"id":null,"method":"update3","params":[MONITOR,"` + noTxn + `",{"Thing":{"` + rowID + `":{"insert":{"n":1}},"` + noTxn + `":{"modify":{"n":3}}}}]}`},
		{"wrong type", `{"id":null,"method":"update3","params":[MONITOR,"` + noTxn + `",{"Thing":{"` + rowID + `":{"insert":{"n":"x"}}}}]}`},
		{"real for an integer", `{"id":null,"method":"update3","params":[MONITOR,"` + noTxn + `",{"Thing":{"` + rowID + `":{"insert":{"n":1.5}}}}]}`},
		{"integer out of range", `{"id":null,"method":"update3","params":[MONITOR,"` + noTxn + `",{"Thing":{"` + rowID + `":{"insert":{"n":9223372036854775808}}}}]}`},
		{"two values for one", `{"id":null,"method":"update3","params":[MONITOR,"` + noTxn + `",{"Thing":{"` + rowID + `":{"insert":{"n":["set",[1,2]]}}}}]}`},
		{"params of another shape", `{"id":null,"method":"update3","params":{"a":1}}`},
		{"rows of another shape", `{"id":null,"method":"update3","params":[MONITOR,"` + noTxn + `",{"Thing":["` + rowID + `"]}]}`},
		{"end", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var updates atomic.Int64
			b := newBadServer(t, func(p *peer, r request) (string, bool) {
				learn(r)
				switch {
				case r.Method == "monitor_cond_since" && p.number > 1:
					return result(r, `[false,"`+noTxn+`",`+insertThing(rowID, 2)+`]`), true
				case r.Method == "transact":
					updates.Add(1)
					p.send(strings.ReplaceAll(tc.msg, "MONITOR", monitorName.Load().(string)))
					if !strings.HasSuffix(tc.msg, "]}") {
						p.Close()
					}
					return "", true
				}
				return "", false
			})
			c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t)})
			k := newCopy(t, c)
			k.takeAll()
			txn := c.NewTxn()
			txn.Comment("now")
			if _, err := answer(t, c.Send(txn)); !errors.Is(err, ovsdb.ErrUnknown) {
				t.Errorf("the transaction: got error %v, want ErrUnknown", err)
			}
			until(t, "the second connection", func() bool {
				k.takeAll()
				return c.Status().Connected && c.Status().Epoch == 2
			})
			k.takeAll()
			if diff := cmp.Diff(map[string]any{rowID: &thing{UUID: rowID, N: 2}}, k.rows["Thing"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHarmless: what a server may send though no client asked is ignored, and
// requests are answered.
func TestHarmless(t *testing.T) {
	answers := make(chan request, 10)
	b := newBadServer(t, func(p *peer, r request) (string, bool) {
		learn(r)
		switch r.Method {
		case "":
			answers <- r
			return "", true
		case "transact":
			p.send(`{"id":null,"method":"news","params":[{"a":[1,2,{}]}]}`)
			p.send(`{"params":["L"],"method":"stolen","id":null}` + "\n  \n")
			p.send(`{"id":null,"method":"locked","params":[]}`)
			p.send(`{"id":12345,"result":[1],"error":null}`)
			p.send(`{"id":"x","result":{},"error":null,"more":[]}`)
			p.send(`{"id":null,"method":"update3","params":["someone else's","` + noTxn + `",{"Thing":{"` + rowID + `":{"insert":{"n":1}}}}]}`)
			p.send(`{"id":null,"method":"update2","params":[` + monitorName.Load().(string) + `,{"Unknown":{"x":{"insert":{}}}}]}`)
			p.send(`{"id":"ping","method":"echo","params":["are","you",{"there":1}]}`)
			p.send(`{"params":[],"id":77,"method":"echo"}`)
			// In whatever order of members:
			p.send(`{"params":[` + monitorName.Load().(string) + `,"` + noTxn + `",` + insertThing(rowID, 9) + `],"method":"update3","id":null}`)
			return fmt.Sprintf(`{"error":null,"result":[{}],"id":%s}`, r.ID), true
		}
		return "", false
	})
	c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t)})
	transact(t, c, func(txn *ovsdb.Txn) { txn.Comment("now") })
	k := newCopy(t, c)
	k.takeAll()
	if diff := cmp.Diff(map[string]any{rowID: &thing{UUID: rowID, N: 9}}, k.rows["Thing"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, want := range []request{
		{ID: json.RawMessage(`"ping"`), Result: json.RawMessage(`["are","you",{"there":1}]`)},
		{ID: json.RawMessage(`77`), Result: json.RawMessage(`[]`)},
	} {
		select {
		case got := <-answers:
			if string(got.ID) != string(want.ID) || string(got.Result) != string(want.Result) {
				t.Errorf("answer: got id %s result %s, want %s %s", got.ID, got.Result, want.ID, want.Result)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no answer to an echo request")
		}
	}
	if got := c.Status().Epoch; got != 1 {
		t.Errorf("got %d connections, want 1", got)
	}
}

// TestOldServers: whatever is the newest monitor method that a server knows, the
// contents and changes are the same.
func TestOldServers(t *testing.T) {
	const other = "00000000-0000-4000-8000-000000000006"
	for _, newest := range []string{"monitor_cond_since", "monitor_cond", "monitor"} {
		t.Run(newest, func(t *testing.T) {
			b := newBadServer(t, func(p *peer, r request) (string, bool) {
				learn(r)
				id, _ := monitorName.Load().(string)
				switch {
				case r.Method == "set_db_change_aware":
					return rpcError(r, `"unknown method"`), true
				case strings.HasPrefix(r.Method, "monitor") && len(r.Method) > len(newest):
					return rpcError(r, `"unknown method"`), true
				case r.Method == "monitor_cond_since":
					return result(r, `[false,"`+noTxn+`",{"Thing":{"`+rowID+`":{"initial":{"n":1,"tags":["set",["a","b"]]}},"`+other+`":{"initial":{}}}}]`), true
				case r.Method == "monitor_cond":
					return result(r, `{"Thing":{"`+rowID+`":{"initial":{"n":1,"tags":["set",["a","b"]]}},"`+other+`":{"initial":{}}}}`), true
				case r.Method == "monitor":
					row := `"name":"","n":%d,"ok":false,"r":0,"opt":["set",[]],"tags":%s,"nums":["set",[]],"options":["map",[]],"parts":["set",[]]`
					return result(r, `{"Thing":{"`+rowID+`":{"new":{`+fmt.Sprintf(row, 1, `["set",["a","b"]]`)+`}},"`+other+`":{"new":{`+fmt.Sprintf(row, 0, `["set",[]]`)+`}}}}`), true
				case r.Method == "transact" && newest == "monitor":
					p.send(`{"id":null,"method":"update","params":[` + id + `,{"Thing":{"` + rowID + `":{"old":{"tags":["set",["a","b"]]},"new":{"n":1,"tags":["set",["b","c"]]}},"` + other + `":{"old":{"n":0}}}}]}`)
				case r.Method == "transact":
					diff := `{"Thing":{"` + rowID + `":{"modify":{"tags":["set",["a","c"]]}},"` + other + `":{"delete":null}}}`
					if newest == "monitor_cond" {
						p.send(`{"id":null,"method":"update2","params":[` + id + `,` + diff + `]}`)
					} else {
						p.send(update(diff))
					}
				}
				return "", false
			})
			c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t)})
			k := newCopy(t, c)
			k.takeAll()
			want := map[string]any{rowID: &thing{UUID: rowID, N: 1, Tags: []string{"a", "b"}}, other: &thing{UUID: other}}
			if diff := cmp.Diff(want, k.rows["Thing"]); diff != "" {
				t.Errorf("at first (-want +got):\n%s", diff)
			}
			transact(t, c, func(txn *ovsdb.Txn) { txn.Comment("now") })
			k.takeAll()
			want = map[string]any{rowID: &thing{UUID: rowID, N: 1, Tags: []string{"b", "c"}}}
			if diff := cmp.Diff(want, k.rows["Thing"]); diff != "" {
				t.Errorf("after the update (-want +got):\n%s", diff)
			}
		})
	}
}

// TestResume: a server that knows the last transaction is asked for what
// followed it, and one that does not for all; both give the difference.
func TestResume(t *testing.T) {
	const txn1, txn2 = "11111111-0000-4000-8000-000000000000", "22222222-0000-4000-8000-000000000000"
	const other = "00000000-0000-4000-8000-000000000007"
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprint("known ", known), func(t *testing.T) {
			asked := make(chan string, 10)
			b := newBadServer(t, func(p *peer, r request) (string, bool) {
				learn(r)
				switch r.Method {
				case "monitor_cond_since":
					var params []any
					_ = json.Unmarshal(r.Params, &params)
					asked <- params[len(params)-1].(string)
					switch {
					case p.number == 1:
						return result(r, `[false,"`+txn1+`",`+insertThing(rowID, 1)+`]`), true
					case known:
						return result(r, `[true,"`+txn2+`",{"Thing":{"`+rowID+`":{"modify":{"n":2}}}}]`), true
					}
					return result(r, `[false,"`+txn2+`",{"Thing":{"`+other+`":{"initial":{"n":3}}}}]`), true
				case "transact":
					// An update, and then one that is cut off: the state is that after the first.
					p.send(`{"id":null,"method":"update3","params":[` + monitorName.Load().(string) + `,"` + txn2 + `",` + insertThing(other, 3) + `]}`)
					p.send(`{"id":null,"method":"update3","params":[` + monitorName.Load().(string) + `,"33333333-0000-4000-8000-000000000000",{"Thing":{"` + rowID + `":{"delete":null}`)
					p.Close()
					return "", true
				}
				return "", false
			})
			c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t)})
			k := newCopy(t, c)
			k.takeAll()
			txn := c.NewTxn()
			txn.Comment("now")
			c.Send(txn)
			until(t, "the second connection", func() bool { return c.Status().Connected && c.Status().Epoch == 2 })
			k.takeAll()
			if first, second := <-asked, <-asked; first != noTxn || second != txn2 {
				t.Errorf("asked for what followed %s, then %s; want %s, then %s", first, second, noTxn, txn2)
			}
			want := map[string]any{other: &thing{UUID: other, N: 3}}
			if known {
				want[rowID] = &thing{UUID: rowID, N: 2}
			}
			if diff := cmp.Diff(want, k.rows["Thing"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSlow: a server that sends a byte at a time is served as well, and no one
// waits for it who need not.
func TestSlow(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{})
	var first sync.Once
	b := newBadServer(t, func(p *peer, r request) (string, bool) {
		learn(r)
		p.slow = true
		if r.Method == "transact" {
			first.Do(func() {
				msg := update(insertThing(rowID, 4))
				p.send(msg[:len(msg)-10])
				close(held)
				<-hold
				p.send(msg[len(msg)-10:])
			})
		}
		return "", false
	})
	c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t)})
	k := newCopy(t, c)
	k.takeAll()
	txn := c.NewTxn()
	txn.Comment("now")
	call := c.Send(txn)
	<-held
	// In the middle of the message:
	done := make(chan struct{})
	go func() {
		defer close(done)
		if b := c.Take(); b != nil {
			t.Errorf("got a part of a message: %v", b)
		}
		c.Status()
		c.Has("Thing", "name")
		c.Send(c.NewTxn())
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("a slow message blocks the consumer")
	}
	close(hold)
	if _, err := answer(t, call); err != nil {
		t.Fatal(err)
	}
	k.takeAll()
	if diff := cmp.Diff(map[string]any{rowID: &thing{UUID: rowID, N: 4}}, k.rows["Thing"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProbe: silence is noticed wherever it begins, and ends the connection.
func TestProbe(t *testing.T) {
	for _, begins := range []string{"set_db_change_aware", "get_schema", "echo", "in an update"} {
		t.Run(begins, func(t *testing.T) {
			var silent atomic.Bool
			b := newBadServer(t, func(p *peer, r request) (string, bool) {
				learn(r)
				if p.number > 1 || silent.Load() {
					return "", p.number == 1
				}
				if r.Method == "transact" && begins == "in an update" {
					silent.Store(true)
					msg := update(insertThing(rowID, 1))
					return msg[:len(msg)-8], true
				}
				silent.Store(r.Method == begins)
				return "", r.Method == begins
			})
			openClients.Add(1)
			c := open(t, quick(ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t), Probe: 100 * time.Millisecond}))
			if begins == "in an update" {
				until(t, "the connection", func() bool { return c.Status().Connected })
				c.Send(c.NewTxn())
			}
			until(t, "the second connection", func() bool { return b.conns.Load() > 1 && c.Status().Connected })
		})
	}
}

// TestProbeAnswered: a server that answers probes, and one that sends them, is
// kept; without probes, one that is silent is kept, too.
func TestProbeAnswered(t *testing.T) {
	echoes := make(chan struct{}, 100)
	b := newBadServer(t, func(p *peer, r request) (string, bool) {
		if r.Method == "echo" {
			echoes <- struct{}{}
		}
		return "", false
	})
	c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Probe: 40 * time.Millisecond})
	for range 4 {
		select {
		case <-echoes:
		case <-time.After(10 * time.Second):
			t.Fatal("the client does not probe")
		}
	}
	if st := c.Status(); st.Epoch != 1 || !st.Connected {
		t.Errorf("got status %+v, want the first connection", st)
	}
	c.SetProbe(0)
	time.Sleep(50 * time.Millisecond) // let one that is under way pass
	for len(echoes) > 0 {
		<-echoes
	}
	select {
	case <-echoes:
		t.Error("the client probes though it was told not to")
	case <-time.After(200 * time.Millisecond):
	}
}

// TestProbeWorking: a server that is silent while it executes a large transaction
// is kept.
func TestProbeWorking(t *testing.T) {
	b := newBadServer(t, func(_ *peer, r request) (string, bool) {
		if r.Method == "transact" {
			time.Sleep(400 * time.Millisecond) // five times what an idle one is given
		}
		return "", false
	})
	c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Probe: 40 * time.Millisecond})
	transact(t, c, func(txn *ovsdb.Txn) { txn.Comment(strings.Repeat("x", 1<<20)) })
	if st := c.Status(); st.Epoch != 1 || !st.Connected {
		t.Errorf("got status %+v, want the first connection", st)
	}
}

// TestUnread: a server that does not read keeps no one waiting but those whose
// transactions it has not read, and Close ends all.
func TestUnread(t *testing.T) {
	release := make(chan struct{})
	b := newBadServer(t, func(p *peer, r request) (string, bool) {
		learn(r)
		if r.Method == "transact" {
			p.send(update(insertThing(rowID, 1)))
			<-release // no more reading
			return "", true
		}
		return "", false
	})
	defer close(release)
	c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t)})
	k := newCopy(t, c)
	k.takeAll()
	var calls []*ovsdb.Call
	for range 5 {
		txn := c.NewTxn()
		txn.Insert("Thing", ovsdb.NewUUID()).String("name", strings.Repeat("x", 4<<20))
		calls = append(calls, c.Send(txn)) // must not block
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Transact(ctx, c.NewTxn()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Transact: got %v, want that the deadline has passed", err)
	}
	until(t, "the update", func() bool { k.take(); return k.rows["Thing"][rowID] != nil })
	c.Close()
	var unknown, notSent int
	for _, call := range calls {
		switch _, err := answer(t, call); {
		case errors.Is(err, ovsdb.ErrUnknown):
			unknown++
		case errors.Is(err, ovsdb.ErrNotSent):
			notSent++
		default:
			t.Errorf("got error %v", err)
		}
	}
	if unknown == 0 || notSent == 0 {
		t.Errorf("got %d ErrUnknown and %d ErrNotSent, want some of both", unknown, notSent)
	}
}

// TestEchoDuringHandshake: the answer to a probe is not taken for that of the
// monitor request.
func TestEchoDuringHandshake(t *testing.T) {
	b := newBadServer(t, func(p *peer, r request) (string, bool) {
		if r.Method == "monitor_cond_since" {
			p.send(`{"id":9999,"result":[],"error":null}`)
			p.send(`{"error":null,"result":[true,"x"],"id":9998}`)
		}
		return "", false
	})
	c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t)})
	if got := c.Status().Epoch; got != 1 {
		t.Errorf("got %d connections, want 1", got)
	}
	if n := b.conns.Load(); n != 1 {
		t.Errorf("got %d connections, want 1", n)
	}
}

// TestRefusedRequests: an error in answer to a request that everything depends
// on is the reason that is given.
func TestRefusedRequests(t *testing.T) {
	for _, method := range []string{"get_schema", "monitor"} {
		t.Run(method, func(t *testing.T) {
			b := newBadServer(t, func(p *peer, r request) (string, bool) {
				if strings.HasPrefix(r.Method, method) {
					return rpcError(r, `{"error":"not today","details":"come back tomorrow"}`), true
				}
				return "", false
			})
			openClients.Add(1)
			c := open(t, quick(ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t)}))
			until(t, "an attempt", func() bool { return c.Status().Err != nil })
			if got := c.Status().Err.Error(); !containsAll(got, "not today", "come back tomorrow") {
				t.Errorf("got error %q, want the server's", got)
			}
		})
	}
	b := newBadServer(t, func(p *peer, r request) (string, bool) {
		if r.Method == "transact" || r.Method == "lock" {
			return rpcError(r, `{"error":"not today","details":"come back tomorrow"}`), true
		}
		return "", false
	})
	c := connected(t, ovsdb.Options{Remotes: []string{b.remote}, Lock: "L"})
	if _, err := answer(t, c.Send(c.NewTxn())); err == nil || !containsAll(err.Error(), "not today") || errors.Is(err, ovsdb.ErrUnknown) {
		t.Errorf("got error %v, want the server's", err)
	}
	if st := c.Status(); !st.Connected || st.Locked || st.Epoch != 1 {
		t.Errorf("got status %+v, want the first connection, without the lock", st)
	}
}

// TestResults: whatever a server answers a transaction, the call has it, with results
// or with the error only, and the connection goes on.
func TestResults(t *testing.T) {
	const id = "00000000-0000-0000-0000-000000000001"
	refused := `[{"uuid":["uuid","` + id + `"]},{"count":1},{"error":"constraint violation","details":"no","more":[1,{"a":[]}]},null]`
	for _, tt := range []struct {
		name, answer string // with %s for the request's id
		want         []ovsdb.Result
		err          string
	}{
		{"results", `{"id":%s,"result":[{"uuid":["uuid","` + id + `"]},{"count":1},{}],"error":null}`, []ovsdb.Result{{UUID: id}, {Count: 1}, {}}, ""},
		{"id behind", `{"result":[{"count":2}],"error":null,"id":%s}`, []ovsdb.Result{{Count: 2}}, ""},
		{"refused", `{"id":%s,"result":` + refused + `,"error":null}`, nil, "operation 2: constraint violation: no"},
		{"refused, id behind", `{"result":` + refused + `,"id":%s}`, nil, "operation 2: constraint violation: no"},
		{"no array", `{"id":%s,"result":{"a":[{}]},"error":null}`, nil, "transaction result"},
		{"no object in it", `{"id":%s,"result":[{},7,[]],"error":null}`, nil, "transaction result"},
		{"neither", `{"id":%s,"error":null}`, nil, "neither a result nor an error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBadServer(t, func(p *peer, r request) (string, bool) {
				return fmt.Sprintf(tt.answer, r.ID), r.Method == "transact"
			})
			c := connected(t, ovsdb.Options{Remotes: []string{b.remote}})
			for _, txn := range []*ovsdb.Txn{c.NewTxn(), c.NewTxn().ErrorOnly()} {
				got, err := answer(t, c.Send(txn))
				if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("got error %v, want %q", err, tt.err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				tt.want = nil
			}
			if st := c.Status(); !st.Connected || st.Epoch != 1 {
				t.Errorf("got status %+v, want the first connection", st)
			}
		})
	}
}

// TestBackoff: a server that ends every connection is not run over, and the
// first attempt after a loss is made at once.
func TestBackoff(t *testing.T) {
	var mu sync.Mutex
	var at []time.Time
	b := newBadServer(t, func(p *peer, r request) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == "set_db_change_aware" {
			at = append(at, time.Now())
		}
		if r.Method == "transact" || p.number > 1 {
			p.Close()
		}
		return "", false
	})
	openClients.Add(1)
	c := open(t, ovsdb.Options{Database: "Test", Remotes: []string{b.remote}, MinBackoff: 100 * time.Millisecond, MaxBackoff: 200 * time.Millisecond})
	until(t, "the connection", func() bool { return c.Status().Connected })
	lost := time.Now()
	c.Send(c.NewTxn())
	until(t, "five attempts", func() bool { mu.Lock(); defer mu.Unlock(); return len(at) >= 6 })
	c.Close()
	if d := at[1].Sub(lost); d > 80*time.Millisecond {
		t.Errorf("the first attempt came after %v, want at once", d)
	}
	for i, want := range []time.Duration{100, 200, 200} {
		if d := at[i+2].Sub(at[i+1]); d < want*time.Millisecond*9/10 {
			t.Errorf("attempt %d came %v after the one before, want %v", i+2, d, want*time.Millisecond)
		}
	}
}

// serverDatabases is _Server's only row, of a member of a cluster.
func serverDatabases(what, cid string, index int, leader bool) string {
	return fmt.Sprintf(`{"Database":{"00000000-0000-4000-8000-00000000000a":{%q:{"name":"Test","model":"clustered","connected":true,`+
		`"leader":%v,"schema":"x","cid":["uuid",%q],"index":%d}}}}`, what, leader, cid, index)
}

const serverSchema = `{"name":"_Server","version":"1.2.0","tables":{"Database":{"columns":{"name":{"type":"string"},
	"model":{"type":"string"},"connected":{"type":"boolean"},"leader":{"type":"boolean"},
	"schema":{"type":{"key":"string","min":0}},"cid":{"type":{"key":"uuid","min":0}},"index":{"type":{"key":"integer","min":0}}}}}}`

// TestMembers: a member of a cluster that lags behind what was seen before is
// passed over, as is one that stops leading; a new cluster starts from nothing.
func TestMembers(t *testing.T) {
	const cid, newCID = "11111111-0000-4000-8000-00000000000a", "22222222-0000-4000-8000-00000000000a"
	// What the connections, one after the other, see: all that matters of them.
	members := []struct {
		cid    string
		index  int
		leader bool
		used   bool
	}{
		{cid, 10, true, true},
		{cid, 19, true, false}, // the first has come to 20
		{cid, 21, false, false},
		{cid, 20, true, true},
		{newCID, 3, true, true},
	}
	b := newBadServer(t, func(p *peer, r request) (string, bool) {
		m := members[min(int(p.number), len(members))-1]
		switch {
		case r.Method == "get_schema" && string(r.Params) == `["_Server"]`:
			return result(r, serverSchema), true
		case r.Method == "monitor_cond" && strings.Contains(string(r.Params), "_Server"):
			monitorName.Store(string(r.Params[strings.IndexByte(string(r.Params), ',')+1 : strings.IndexByte(string(r.Params), '{')-1]))
			return result(r, serverDatabases("initial", m.cid, m.index, m.leader)), true
		case r.Method == "transact":
			name := monitorName.Load().(string)
			p.send(`{"id":null,"method":"update2","params":[` + name + `,{"Database":{"00000000-0000-4000-8000-00000000000a":{"modify":{"index":` + fmt.Sprint(m.index+10) + `}}}}]}`)
			p.send(`{"id":null,"method":"update2","params":[` + name + `,{"Database":{"00000000-0000-4000-8000-00000000000a":{"modify":{"leader":false}}}}]}`)
			return "", true
		}
		return "", false
	})
	openClients.Add(1)
	c := open(t, quick(ovsdb.Options{Remotes: []string{b.remote}, Tables: testTables(t), LeaderOnly: true}))
	epoch := uint64(0)
	for i, m := range members {
		if !m.used {
			continue
		}
		epoch++
		until(t, fmt.Sprintf("member %d", i), func() bool { return c.Status().Connected && c.Status().Epoch == epoch })
		if got := b.conns.Load(); got != int64(i+1) {
			t.Fatalf("got member %d, want %d", got-1, i)
		}
		if i < len(members)-1 {
			c.Send(c.NewTxn())
			until(t, "the end of its lead", func() bool { return c.Status().Epoch > epoch || !c.Status().Connected })
		}
	}
}
