package ovsdb_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"northwall/ovsdb"
)

// thingsHeld are the test's tables, of which Thing is held back while there is no Part.
func thingsHeld(t testing.TB) []*ovsdb.Table {
	tables := thingsLast(t)
	tables[0].HoldWithout("Part")
	return tables
}

// readAgain counts the times at which a client reads a database again.
func readAgain(o *ovsdb.Options) (count func() int) {
	core, logs := observer.New(zapcore.InfoLevel)
	o.Log = zap.New(core)
	return func() int { return logs.FilterMessage("reading the database again").Len() }
}

// TestHeld: a table is held back where the one is empty without which it has no rows. What
// the client has inserted meanwhile is known then without being read, but only if others
// have left the table alone.
func TestHeld(t *testing.T) {
	insert := func(t *testing.T, by *ovsdb.Client, n int) (id string) {
		id = ovsdb.NewUUID()
		transact(t, by, func(txn *ovsdb.Txn) {
			part := ovsdb.NewUUID()
			txn.Insert("Part", part).String("name", part)
			thing := txn.Insert("Thing", id)
			thing.Int("n", n)
			thing.UUIDs("parts", []string{part})
			thing.Strings("tags", []string{"b", "a", "\"\n"})
			txn.Update("Part", part).String("name", fmt.Sprint("part ", n))
			txn.Insert("Thing", ovsdb.NewUUID())
		})
		return id
	}
	// Of what happens while the table is held back, one thing.
	for name, meanwhile := range map[string]struct {
		do     func(t *testing.T, c, other *ovsdb.Client, thing string)
		things int
		read   bool // it is read then
	}{
		"nothing": {func(*testing.T, *ovsdb.Client, *ovsdb.Client, string) {}, 6, false},
		"a part is changed": {func(t *testing.T, _, other *ovsdb.Client, _ string) {
			transact(t, other, func(txn *ovsdb.Txn) {
				txn.Raw([]byte(`{"op":"update","table":"Part","where":[["name","==","part 5"]],"row":{"name":"another"}}`))
			})
		}, 6, false},
		"refused": {func(t *testing.T, c, _ *ovsdb.Client, _ string) {
			txn := c.NewTxn()
			txn.Insert("Thing", ovsdb.NewUUID())
			txn.Insert("No such table", ovsdb.NewUUID())
			if _, err := answer(t, c.Send(txn)); err == nil {
				t.Error("got no error")
			}
		}, 6, false},
		"raw": {func(t *testing.T, c, _ *ovsdb.Client, _ string) {
			transact(t, c, func(txn *ovsdb.Txn) { txn.Raw([]byte(`{"row":{"n":1},"op":"insert","table":"Thing"}`)) })
		}, 7, true},
		"of another": {func(t *testing.T, _, other *ovsdb.Client, _ string) { insert(t, other, 7) }, 8, true},
		"one deleted": {func(t *testing.T, _, other *ovsdb.Client, thing string) {
			transact(t, other, func(txn *ovsdb.Txn) { txn.Delete("Thing", thing) })
		}, 5, true},
		"one changed": {func(t *testing.T, _, other *ovsdb.Client, thing string) {
			transact(t, other, func(txn *ovsdb.Txn) { txn.Update("Thing", thing).Int("n", 77) })
		}, 6, true},
		"changed by itself": {func(t *testing.T, c, _ *ovsdb.Client, thing string) {
			transact(t, c, func(txn *ovsdb.Txn) { txn.Update("Thing", thing).Int("n", 77) })
		}, 6, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, testSchemaJSON)
			other := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
			o := ovsdb.Options{Remotes: []string{s.remote()}, Tables: thingsHeld(t)}
			again := readAgain(&o)
			c := connected(t, o)
			if st := c.Status(); !st.Partial || !st.Held {
				t.Errorf("at first: got status %+v, want it held", st)
			}
			k := newCopy(t, c)
			insert(t, c, 5)
			thing := insert(t, c, 15)
			meanwhile.do(t, c, other, thing)
			insert(t, c, 25)
			k.takeAll()
			if len(k.rows["Part"]) < 2 || len(k.rows["Thing"]) > 0 {
				t.Errorf("while held: got %d parts and %d things, want parts and no things", len(k.rows["Part"]), len(k.rows["Thing"]))
			}
			c.ReadRest()
			c.ReadRest()
			if c.Status().Held {
				t.Error("asked for the rest: got Held")
			}
			until(t, "the rest", func() bool { st := c.Status(); return st.Connected && !st.Partial })
			k.takeAll()
			if got := len(k.rows["Thing"]); got != meanwhile.things {
				t.Errorf("got %d things, want %d", got, meanwhile.things)
			}
			k.check(s.remote())
			if got := again() > 0; got != meanwhile.read {
				t.Errorf("read again: %v, want %v", got, meanwhile.read)
			}
			// From now on the table is like any other.
			thing = insert(t, other, 35)
			transact(t, other, func(txn *ovsdb.Txn) { txn.Update("Thing", thing).Int("n", 36) })
			gone := insert(t, c, 45)
			transact(t, other, func(txn *ovsdb.Txn) { txn.Delete("Thing", gone) })
			transact(t, c, func(txn *ovsdb.Txn) { txn.Comment("all before this has come when it is answered") })
			k.takeAll()
			k.check(s.remote())
			if st := c.Status(); st.Epoch != 1 {
				t.Errorf("got connection %d, want the first", st.Epoch)
			}
		})
	}
}

// TestNotHeld: a table is not held back where the other has rows.
func TestNotHeld(t *testing.T) {
	s := newServer(t, testSchemaJSON)
	transact(t, connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)}), func(txn *ovsdb.Txn) {
		part := ovsdb.NewUUID()
		txn.Insert("Part", part).String("name", part)
		txn.Insert("Thing", ovsdb.NewUUID()).UUIDs("parts", []string{part})
	})
	c := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: thingsHeld(t)})
	if c.Status().Partial {
		t.Error("of a database with parts: got Partial")
	}
	k := newCopy(t, c)
	k.takeAll()
	k.check(s.remote())
}

// TestHeldCut: where the connection breaks while a table is held back, or when it is asked
// for then, or the server does not know how to do that, all of it is read anew.
func TestHeldCut(t *testing.T) {
	const scratch, inOnePiece = `{"select":{"initial":false},"where":[false]}`, `{}`
	cut := func(p *peer, _ request) string { p.Close(); return "" }
	refuse := func(_ *peer, r request) string { return rpcError(r, `"unknown method"`) }
	for _, tc := range []struct {
		name    string
		request int // for a monitor that is answered so: 2 holds, 3 asks for the rest
		end     func(p *peer, r request) string
		again   string // what is asked of Things then
		conns   int64
	}{
		{"before it is held", 2, cut, scratch, 2},
		{"cannot be held", 2, refuse, inOnePiece, 1},
		{"held", 0, nil, scratch, 2},
		{"at the end", 3, cut, scratch, 2},
		{"refused at the end", 3, refuse, scratch, 1},
		{"cancelled at the end", 3, func(*peer, request) string {
			return `{"id":null,"method":"monitor_canceled","params":[` + monitorName.Load().(string) + `]}`
		}, scratch, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var monitors, changes atomic.Int64
			asked := make(chan string, 20)
			s := newBadServer(t, func(p *peer, r request) (string, bool) {
				switch r.Method {
				case "monitor_cond_since":
					what, _ := askedOfThings(r)
					asked <- what
					n := int(monitors.Add(1))
					if n == tc.request {
						return tc.end(p, r), true
					}
					learn(r)
					rows := `{}`
					if n > max(tc.request, 2) {
						rows = `{` + partRows + `}`
						if tc.again == inOnePiece {
							rows = `{` + partRows + `,"Thing":{"` + thingID(1) + `":{"initial":{"n":9}}}}`
						}
					}
					return result(r, `[false,"`+known+`",`+rows+`]`), true
				case "monitor_cond_change":
					if changes.Add(1) == 1 {
						p.send(`{"id":null,"method":"update3","params":[` + monitorName.Load().(string) + `,"` + known + `",` + insertThing(thingID(1), 9) + `]}`)
					}
					return result(r, `{}`), true
				case "transact":
					p.Close()
					return "", true
				case "monitor_cancel":
					return result(r, `{}`), true
				}
				return "", false
			})
			c := connected(t, ovsdb.Options{Remotes: []string{s.remote}, Tables: thingsHeld(t)})
			k := newCopy(t, c)
			if tc.request == 0 {
				txn := c.NewTxn()
				txn.Comment("now")
				c.Send(txn)
				until(t, "the second connection", func() bool { return c.Status().Epoch == 2 })
			}
			c.ReadRest()
			until(t, "the rest", func() bool { st := c.Status(); return st.Connected && !st.Partial })
			k.takeAll()
			if want := map[string]any{thingID(1): &thing{UUID: thingID(1), N: 9}}; !cmp.Equal(want, k.rows["Thing"]) {
				t.Errorf("got %v, want what was read last", k.rows["Thing"])
			}
			if got := s.conns.Load(); got != tc.conns {
				t.Errorf("got %d connections, want %d", got, tc.conns)
			}
			var got string
			for range monitors.Load() {
				got = <-asked
			}
			if got != tc.again {
				t.Errorf("asked %s at last, want %s", got, tc.again)
			}
		})
	}
}
