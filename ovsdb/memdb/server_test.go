package memdb_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
)

//go:embed testdata/test.ovsschema
var testSchemaJSON []byte

func testSchema(t testing.TB) *libovsdb.DatabaseSchema {
	t.Helper()
	var s libovsdb.DatabaseSchema
	if err := json.Unmarshal(testSchemaJSON, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func newDB(t testing.TB) *memdb.DB { return memdb.New(testSchema(t)).LimitRows("Single", 1) }

// A database is what the table of cases runs on: DB, or a real server.
type database interface {
	Transact(*ovsdb.Txn) ([]ovsdb.Result, error)
}

// A server is an ovsdb-server of the test's own.
type server struct {
	t    testing.TB
	conn net.Conn
	enc  *json.Encoder
	dec  *json.Decoder
	id   int
}

// newServer starts one with the test's schema, and skips the test where the
// program is missing.
func newServer(t testing.TB) *server {
	t.Helper()
	program, err := exec.LookPath("ovsdb-server")
	if err != nil {
		t.Skip("no ovsdb-server to compare with")
	}
	dir, err := os.MkdirTemp("", "memdb") // short enough for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("schema"), testSchemaJSON, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ovsdb-tool", "create", path("db"), path("schema")).CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-tool create: %v: %s", err, out)
	}
	cmd := exec.Command(program, "--no-chdir", "--log-file="+path("log"), "-vconsole:off",
		"--unixctl="+path("ctl"), "--remote=punix:"+path("sock"), path("db"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	s := &server{t: t}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if s.conn, err = net.Dial("unix", path("sock")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("ovsdb-server did not come up: %v", err)
		}
	}
	t.Cleanup(func() { s.conn.Close() })
	s.enc, s.dec = json.NewEncoder(s.conn), json.NewDecoder(s.conn)
	return s
}

// call makes a JSON-RPC call.
func (s *server) call(method string, params any) json.RawMessage {
	s.t.Helper()
	s.id++
	s.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if err := s.enc.Encode(map[string]any{"method": method, "params": params, "id": s.id}); err != nil {
		s.t.Fatal(err)
	}
	for {
		var m struct {
			ID     any
			Method string
			Result json.RawMessage
			Error  any
		}
		if err := s.dec.Decode(&m); err != nil {
			s.t.Fatal(err)
		}
		if m.Method != "" {
			continue
		}
		if m.Error != nil {
			s.t.Fatalf("%s: %v", method, m.Error)
		}
		return m.Result
	}
}

func (s *server) Transact(t *ovsdb.Txn) ([]ovsdb.Result, error) {
	s.t.Helper()
	return ovsdb.ParseResults(s.call("transact", json.RawMessage(t.Params("Test"))))
}

// transaction makes a transaction of operations in JSON.
func transaction(ops ...string) *ovsdb.Txn {
	t := ovsdb.NewTxn()
	for _, op := range ops {
		t.Raw([]byte(op))
	}
	return t
}

// outcome is a transaction's result as text that is comparable between
// databases: the wording of errors is left out, as are numbers' Go types.
func outcome(t testing.TB, results []ovsdb.Result, err error) string {
	t.Helper()
	var refused *ovsdb.TxnError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("operation %d: %s", refused.Op, refused.Kind)
	case err != nil:
		t.Fatal(err)
	}
	var out string
	for _, r := range results {
		out += fmt.Sprintf("count %d", r.Count)
		for _, row := range sortedRows(t, r.Rows) {
			out += "\n  " + row
		}
		out += "\n"
	}
	return out
}

// sortedRows prints rows in a canonical form and order.
func sortedRows(t testing.TB, rows []libovsdb.Row) []string {
	t.Helper()
	var out []string
	for _, row := range rows {
		line := ""
		for _, column := range slices.Sorted(maps.Keys(row)) {
			line += column + "=" + canonical(row[column]) + " "
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func canonical(v any) string {
	switch v := v.(type) {
	case int:
		return fmt.Sprint(float64(v))
	case libovsdb.UUID:
		return v.GoUUID
	case libovsdb.OvsSet:
		var elems []string
		for _, e := range v.GoSet {
			elems = append(elems, canonical(e))
		}
		slices.Sort(elems)
		return fmt.Sprint(elems)
	case libovsdb.OvsMap:
		var pairs []string
		for k, e := range v.GoMap {
			pairs = append(pairs, canonical(k)+":"+canonical(e))
		}
		slices.Sort(pairs)
		return fmt.Sprint(pairs)
	}
	return fmt.Sprint(v)
}

// contents reads everything but the rows' versions.
func contents(t testing.TB, db database) string {
	t.Helper()
	txn := ovsdb.NewTxn()
	schema := testSchema(t)
	tables := slices.Sorted(maps.Keys(schema.Tables))
	for _, table := range tables {
		columns := append(slices.Sorted(maps.Keys(schema.Tables[table].Columns)), "_uuid")
		if err := txn.Op(libovsdb.Operation{Op: libovsdb.OperationSelect, Table: table, Columns: columns}); err != nil {
			t.Fatal(err)
		}
	}
	results, err := db.Transact(txn)
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for i, table := range tables {
		for _, row := range sortedRows(t, results[i].Rows) {
			out += table + " " + row + "\n"
		}
	}
	return out
}
