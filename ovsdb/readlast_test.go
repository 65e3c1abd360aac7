package ovsdb_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

// thingsLast are the test's tables, of which Thing is read last, in three parts.
func thingsLast(t testing.TB) []*ovsdb.Table {
	tables := testTables(t)
	below := func(n int) libovsdb.Condition {
		return libovsdb.NewCondition("n", libovsdb.ConditionLessThan, n)
	}
	tables[0].ReadLast(below(10), below(20))
	return tables
}

// partsServer has a Part and gives out Things as a client widens its condition.
type partsServer struct {
	*badServer
	asked chan string   // methods of monitors, with what is asked of Things
	next  chan struct{} // lets it answer the next change of a condition
}

// newPartsServer makes a server that answers what a test's own answer does not.
func newPartsServer(t *testing.T, answer func(p *peer, r request) (string, bool)) *partsServer {
	s := &partsServer{asked: make(chan string, 10), next: make(chan struct{}, 10)}
	s.badServer = newBadServer(t, func(p *peer, r request) (string, bool) {
		learn(r)
		if what, ok := askedOfThings(r); ok {
			s.asked <- r.Method + " " + what
		}
		if r.Method == "monitor_cond_change" {
			<-s.next
		}
		return answer(p, r)
	})
	return s
}

// askedOfThings is what a request for a monitor asks of Things, first and but for columns.
func askedOfThings(r request) (what string, ok bool) {
	var params []json.RawMessage
	var requests struct{ Thing []map[string]any }
	if json.Unmarshal(r.Params, &params) != nil || len(params) < 3 || json.Unmarshal(params[2], &requests) != nil || len(requests.Thing) == 0 {
		return "", false
	}
	delete(requests.Thing[0], "columns")
	text, _ := json.Marshal(requests.Thing[0])
	return string(text), true
}

func thingID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

const partRows = `"Part":{"` + rowID + `":{"initial":{"name":"first"}}}`

const known = "11111111-0000-4000-8000-000000000000"

// TestReadLast: the rows of a table that is read last come after the others, which
// can be taken before, and in parts, with what changes in between; and after a lost
// connection the server is asked for what followed, as of any table.
func TestReadLast(t *testing.T) {
	const first, widened, all = `monitor_cond_since {"select":{"initial":false},"where":[false]}`, `monitor_cond_change {"where":[["n","\u003c",%d]]}`, `monitor_cond_change {"where":[true]}`
	changes := 0
	s := newPartsServer(t, func(p *peer, r request) (string, bool) {
		switch {
		case r.Method == "monitor_cond_since" && p.number == 1:
			return result(r, `[false,"`+noTxn+`",{`+partRows+`}]`), true
		case r.Method == "monitor_cond_since":
			return result(r, `[true,"`+known+`",{"Thing":{"`+thingID(1)+`":{"delete":null}}}]`), true
		case r.Method == "monitor_cond_change":
			changes++
			p.send(update(insertThing(thingID(changes), 10*changes-1)))
			if changes == 2 {
				p.send(update(`{"Thing":{"` + thingID(1) + `":{"modify":{"n":3}}}}`))
			}
			if changes == 3 {
				p.send(`{"id":null,"method":"update3","params":[` + monitorName.Load().(string) + `,"` + known + `",` + insertThing(thingID(4), 99) + `]}`)
			}
			return result(r, `{}`), true
		case r.Method == "transact":
			p.Close()
			return "", true
		}
		return "", false
	})
	openClients.Add(1)
	c := open(t, quick(ovsdb.Options{Remotes: []string{s.remote}, Tables: thingsLast(t)}))
	if !c.Status().Partial {
		t.Error("at first: got no Partial")
	}
	k := newCopy(t, c)
	until(t, "the first batch", func() bool { return k.take() != nil })
	if got := len(k.rows["Part"]); got != 1 || len(k.rows["Thing"]) > 0 {
		t.Errorf("the first batch: got %d parts and %d things, want 1 and none", got, len(k.rows["Thing"]))
	}
	thing := func(i, n int) *thing { return &thing{UUID: thingID(i), N: n} }
	for i, want := range []map[string]any{
		{thingID(1): thing(1, 9)},
		{thingID(1): thing(1, 3), thingID(2): thing(2, 19)},
		{thingID(1): thing(1, 3), thingID(2): thing(2, 19), thingID(3): thing(3, 29), thingID(4): thing(4, 99)},
	} {
		if st := c.Status(); st.Connected || !st.Partial {
			t.Errorf("before part %d: got status %+v, want it partial", i, st)
		}
		s.next <- struct{}{}
		until(t, "the rows", func() bool { k.take(); return cmp.Equal(want, k.rows["Thing"]) })
	}
	until(t, "the end of reading", func() bool { st := c.Status(); return st.Connected && !st.Partial })
	txn := c.NewTxn()
	txn.Comment("now")
	c.Send(txn)
	until(t, "the second connection", func() bool { return c.Status().Connected && c.Status().Epoch == 2 })
	k.takeAll()
	if len(k.rows["Thing"]) != 3 {
		t.Errorf("after the second connection: got %v, want three things", k.rows["Thing"])
	}
	if c.Status().Partial {
		t.Error("after the second connection: got Partial")
	}
	for _, want := range []string{first, fmt.Sprintf(widened, 10), fmt.Sprintf(widened, 20), all, "monitor_cond_since {}"} {
		if got := <-s.asked; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
	}
}

// TestReadLastCut: where the connection breaks between parts, or the server has the
// contents read again, all is read anew, and in one piece if some of it is known.
func TestReadLastCut(t *testing.T) {
	for _, tc := range []struct {
		name  string
		parts int // that come before
		end   func(p *peer, r request) string
		again string // what the second request asks of Things
		conns int64
	}{
		{"at once", 0, func(p *peer, _ request) string { p.Close(); return "" }, `{"select":{"initial":false},"where":[false]}`, 2},
		{"between parts", 1, func(p *peer, _ request) string { p.Close(); return "" }, `{}`, 2},
		{"refused", 0, func(_ *peer, r request) string { return rpcError(r, `"unknown method"`) }, `{}`, 1},
		{"refused between parts", 1, func(_ *peer, r request) string { return rpcError(r, `"unknown method"`) }, `{}`, 1},
		{"cancelled", 1, func(_ *peer, r request) string {
			return `{"id":null,"method":"monitor_canceled","params":[` + monitorName.Load().(string) + `]}`
		}, `{}`, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var monitors, changes atomic.Int64
			s := newPartsServer(t, func(p *peer, r request) (string, bool) {
				switch r.Method {
				case "monitor_cond_since":
					if monitors.Add(1) > 1 {
						return result(r, `[false,"`+known+`",{`+partRows+`,"Thing":{"`+thingID(2)+`":{"initial":{"n":19}}}}]`), true
					}
					return result(r, `[false,"`+noTxn+`",{`+partRows+`}]`), true
				case "monitor_cond_change":
					if monitors.Load() > 1 {
						return result(r, `{}`), true
					}
					if changes.Add(1) > int64(tc.parts) {
						return tc.end(p, r), true
					}
					p.send(`{"id":null,"method":"update3","params":[` + monitorName.Load().(string) + `,"` + known + `",` + insertThing(thingID(1), 9) + `]}`)
					return result(r, `{}`), true
				}
				return "", false
			})
			for range 10 {
				s.next <- struct{}{}
			}
			c := connected(t, ovsdb.Options{Remotes: []string{s.remote}, Tables: thingsLast(t)})
			k := newCopy(t, c)
			k.takeAll()
			if want := map[string]any{thingID(2): &thing{UUID: thingID(2), N: 19}}; !cmp.Equal(want, k.rows["Thing"]) {
				t.Errorf("got %v, want what was read last", k.rows["Thing"])
			}
			if got := s.conns.Load(); got != tc.conns {
				t.Errorf("got %d connections, want %d", got, tc.conns)
			}
			var got string
			for seen := int64(0); seen < monitors.Load(); {
				if asked := <-s.asked; strings.HasPrefix(asked, "monitor_cond_since") {
					got, seen = asked, seen+1
				}
			}
			if want := "monitor_cond_since " + tc.again; got != want {
				t.Errorf("asked %s, want %s", got, want)
			}
		})
	}
}

// TestReadLastWhileChanging reads a database in parts that others change meanwhile.
func TestReadLastWhileChanging(t *testing.T) {
	s := newServer(t, testSchemaJSON)
	writer := connected(t, ovsdb.Options{Remotes: []string{s.remote()}, Tables: testTables(t)})
	r := rand.New(rand.NewPCG(1, 2))
	var things []string
	for range 5 {
		transact(t, writer, func(txn *ovsdb.Txn) {
			for range 400 {
				id := ovsdb.NewUUID()
				txn.Insert("Thing", id).Int("n", r.IntN(30))
				things = append(things, id)
			}
		})
		openClients.Add(1)
		c := open(t, quick(ovsdb.Options{Remotes: []string{s.remote()}, Tables: thingsLast(t)}))
		k := newCopy(t, c)
		for n := 0; !c.Status().Connected || n < 20; n++ {
			transact(t, writer, func(txn *ovsdb.Txn) {
				for range 10 {
					txn.Update("Thing", things[r.IntN(len(things))]).Int("n", r.IntN(30))
				}
				if n%3 == 0 && len(things) > 1 {
					j := r.IntN(len(things))
					txn.Delete("Thing", things[j])
					things = slices.Delete(things, j, j+1)
				}
			})
			k.takeAll()
		}
		transact(t, c, func(txn *ovsdb.Txn) { txn.Comment("all before this has come when it is answered") })
		k.takeAll()
		k.check(s.remote())
	}
}
