package ovsdb_test

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb"
)

// FuzzSession lets a server say anything, at each step of a connection: in place
// of its answer to a request, or unasked once the connection is up. Nothing may
// crash or hang, calls must end, and the connection after that, to a server that
// makes sense, must have its contents and the lock.
func FuzzSession(f *testing.F) {
	for _, msg := range []string{
		`{"id":ID,"result":{},"error":null}`, `{"id":ID,"result":[],"error":null}`, `{"id":ID,"error":{"error":"x"}}`, `{"id":ID,"result":null,"error":null}`,
		`{"result":[true,"x",{}],"id":ID}`, `{"id":ID,"result":[false,"` + noTxn + `",{"Thing":{"` + rowID + `":{"initial":{"n":1,"name":"` + "\xff\xc0" + `"}}}}]}`,
		`{"id":ID,"result":{"locked":true}}{"id":null,"method":"stolen","params":["L"]}{"id":null,"method":"locked","params":["L"]}`,
		`{"id":ID,"result":[{"count":1},null,{"error":"constraint violation","details":"\u0000"}],"error":null}`,
		`{"id":ID,"result":[{"uuid":["uuid",1]}],"error":null}`,
		`{"id":null,"method":"update3","params":[MONITOR,"` + noTxn + `",{"Thing":{"` + rowID + `":{"insert":{"n":1}}}}]}`,
		`{"id":null,"method":"update2","params":[MONITOR,{"Thing":{"` + rowID + `":{"modify":{"n":1}}}}]}`,
		`{"id":null,"method":"update","params":[MONITOR,{"Thing":{"` + rowID + `":{"old":{},"new":{"n":1}}}}]}`,
		`{"id":null,"method":"monitor_canceled","params":[MONITOR]}`,
		`{"id":"e","method":"echo","params":[[[[[[]]]]]]}`, `{"method":"echo"}`, `{"method":1}`, `{"id":ID`, `[[[[[[[[`, "\x00", "", `{"":{"":""}}`,
		`{"name":"Test","version":"1.0.0","tables":{"Thing":{"columns":{"n":{"type":{"key":{"type":"string"},"max":-1}}}}}}`,
		`{"id":ID,"result":{"name":"Test","tables":{"Thing":{"columns":{"n":{"type":{"key":"real","value":"uuid"}}}},"Part":null}}}`,
		`{"id":ID,"result":{"name":"_Server","tables":{"Database":{"columns":{"name":{"type":"string"},"model":{"type":"string"},"connected":{"type":"boolean"},"leader":{"type":"boolean"},"schema":{"type":"string"}}}}}}`,
	} {
		for step := range steps {
			f.Add(uint8(step), msg)
		}
	}
	tables := testTables(f)
	f.Fuzz(func(t *testing.T, step uint8, msg string) {
		at := steps[int(step)%len(steps)]
		var said atomic.Bool
		b := newBadServer(t, func(p *peer, r request) (string, bool) {
			if p.number > 1 || said.Load() {
				if r.Method == "monitor_cond_since" {
					return result(r, `[false,"`+noTxn+`",`+insertThing(rowID, 2)+`]`), true
				}
				return "", false
			}
			learn(r)
			if !strings.HasPrefix(r.Method+string(r.Params), at) {
				return "", false
			}
			said.Store(true)
			name, _ := monitorName.Load().(string)
			p.send(strings.NewReplacer("ID", string(r.ID), "MONITOR", name).Replace(msg))
			p.Close()
			return "", true
		})
		c, err := ovsdb.Open(ovsdb.Options{Database: "Test", Remotes: []string{b.remote}, Tables: tables, Lock: "L",
			MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		k := newCopy(t, c)
		until(t, "something to be said", func() bool {
			txn := c.NewTxn()
			txn.Comment("now")
			_, _ = answer(t, c.Send(txn)) // must come, whatever it is
			return said.Load()
		})
		until(t, "the second connection", func() bool {
			k.takeAll()
			st := c.Status()
			return st.Connected && st.Locked && b.conns.Load() > 1
		})
		k.takeAll()
		if diff := cmp.Diff(map[string]any{rowID: &thing{UUID: rowID, N: 2}}, k.rows["Thing"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		c.Close()
	})
}

// steps are the requests in place of whose answer FuzzSession's server says
// something else.
var steps = []string{"set_db_change_aware", `get_schema["_Server"]`, `get_schema["Test"]`, "monitor_cond_since", "lock", "transact"}

// FuzzResults feeds the answer to a transaction.
func FuzzResults(f *testing.F) {
	for _, s := range []string{`[{}]`, `[{"count":1},{"uuid":["uuid","` + rowID + `"]}]`, `[null]`, `[{"error":"e","details":"d"}]`, `[{},{"rows":[{"a":["set",[1,2.5,"x"]],"b":["map",[["k",true]]]}]}]`, `{`, `[`, `[{"count":"x"}]`, `[{"rows":[{"a":["map",[[1,[]]]]}]}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		results, err := ovsdb.ParseResults(answer)
		if err != nil && results != nil {
			t.Errorf("got results %v beside error %v", results, err)
		}
		if err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
		if err == nil && !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("[")) {
			t.Errorf("%q is taken for results", answer)
		}
	})
}
