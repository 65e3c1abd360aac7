package memdb_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
)

// A generator makes random transactions over few rows, so that references,
// constraints and what follows from them meet often.
type generator struct{ *rand.Rand }

// uuid names one of few rows of a table. No two tables have a UUID in common: a
// server takes a reference from a row to one with the same UUID for one to
// itself, whatever the table.
func (g generator) uuid(table string) string {
	return u(1 + g.IntN(6) + 16*map[string]int{"Root": 0, "Child": 1, "Group": 2, "Need": 3, "Single": 4, "Pair": 5}[table])
}

func (g generator) refs(table string) string {
	var out []string
	seen := map[string]bool{}
	for range g.IntN(4) {
		if r := g.uuid(table); !seen[r] {
			seen[r] = true
			out = append(out, fmt.Sprintf(`["uuid",%q]`, r))
		}
	}
	return `["set",[` + strings.Join(out, ",") + `]]`
}

func (g generator) named(table string) string {
	var out []string
	for i := range g.IntN(3) {
		out = append(out, fmt.Sprintf(`["k%d",["uuid",%q]]`, i, g.uuid(table)))
	}
	return `["map",[` + strings.Join(out, ",") + `]]`
}

func (g generator) pick(options ...string) string { return options[g.IntN(len(options))] }

func (g generator) column(table string) string {
	ref := func(table string) string { return fmt.Sprintf(`["uuid",%q]`, g.uuid(table)) }
	return map[string]func() string{
		"Root": func() string {
			return g.pick(`"children":`+g.refs("Child"), `"child":`+ref("Child"), `"named":`+g.named("Child"), fmt.Sprintf(`"name":"n%d"`, g.IntN(8)),
				fmt.Sprintf(`"num":%d`, g.IntN(110)), `"tags":["set",["a","b"]]`, `"kv":["map",[["a","b"]]]`)
		},
		"Child": func() string { return g.pick(`"next":`+ref("Child"), `"friends":`+g.refs("Child"), `"label":"x"`) },
		"Group": func() string {
			return g.pick(`"members":`+g.refs("Root"), `"kids":`+g.refs("Child"), `"roles":`+g.named("Root"))
		},
		"Need":   func() string { return `"one":` + ref("Root") },
		"Single": func() string { return `"n":1` },
		"Pair":   func() string { return fmt.Sprintf(`"a":"%d","b":%d`, g.IntN(2), g.IntN(2)) },
	}[table]()
}

func (g generator) operation() string {
	table := g.pick("Root", "Root", "Child", "Child", "Child", "Group", "Need", "Single", "Pair")
	switch g.IntN(6) {
	case 0, 1:
		return insert(table, g.uuid(table), g.column(table))
	case 2:
		return remove(table, g.uuid(table))
	case 3:
		switch mutator := g.pick("insert", "delete"); table {
		case "Root":
			return mutate(table, g.uuid(table), fmt.Sprintf(`["children",%q,%s]`, mutator, g.refs("Child")))
		case "Child":
			return mutate(table, g.uuid(table), fmt.Sprintf(`["friends",%q,%s]`, mutator, g.refs("Child")))
		case "Group":
			return mutate(table, g.uuid(table), fmt.Sprintf(`["roles",%q,%s]`, mutator, g.named("Root")))
		}
		fallthrough
	default:
		return update(table, g.uuid(table), g.column(table))
	}
}

func (g generator) transaction() []string {
	var ops []string
	// The unlikely fits best together: a parent with its children.
	if g.IntN(2) == 0 {
		a, b := g.uuid("Child"), g.uuid("Root")
		ops = append(ops, insert("Child", a, g.column("Child")),
			update("Root", b, fmt.Sprintf(`"children":["uuid",%q]`, a)))
	}
	for range 1 + g.IntN(4) {
		ops = append(ops, g.operation())
	}
	return ops
}

// TestServerRandom runs random transactions on DB and on a server, and on a
// connection whose rows must be those of the database.
func TestServerRandom(t *testing.T) {
	s := newServer(t)
	var (
		db   *memdb.DB
		c    *memdb.Conn
		rows mirror
	)
	start := func() {
		s.clear()
		db = newDB(t)
		c = db.Connect(allTables(t)...)
		rows = mirror{}
	}
	start()
	g := generator{rand.New(rand.NewPCG(1, 2))}
	committed, dangled := 0, 0
	for step := range 3000 {
		ops := g.transaction()
		want, wantErr := s.Transact(transaction(ops...))
		got, gotErr := db.Transact(transaction(ops...))
		var a, b *ovsdb.TxnError
		if errors.As(wantErr, &a) && errors.As(gotErr, &b) && a.Op == b.Op && a.Op == len(ops) {
			continue // which of several violations is found first is not fixed
		}
		if diff := cmp.Diff(outcome(t, want, wantErr), outcome(t, got, gotErr)); diff != "" {
			t.Fatalf("step %d: %s\nserver: %v\nmemdb: %v", step, strings.Join(ops, "\n"), wantErr, gotErr)
		}
		if wantErr != nil {
			continue
		}
		committed++
		server, memory := contents(t, s), contents(t, db)
		if diff := cmp.Diff(strings.Split(server, "\n"), strings.Split(memory, "\n")); diff != "" {
			if dangles(server) {
				dangled++
				start()
				continue
			}
			t.Fatalf("step %d: %s\ncontents (-server +memdb):\n%s", step, strings.Join(ops, "\n"), diff)
		}
		rows.apply(t, c.Take())
		if diff := cmp.Diff(snapshot(db), rows.strings()); diff != "" {
			t.Fatalf("step %d: %s\nrows of the connection (-database +connection):\n%s", step, strings.Join(ops, "\n"), diff)
		}
	}
	if committed < 500 || dangled > committed/20 {
		t.Errorf("%d transactions were committed, after %d the server had a dangling reference: this tests too little", committed, dangled)
	}
}

var friendsRE = regexp.MustCompile(`(?m)^Child .*friends=(\S*|\[.*?\]) label`)

// dangles reports a weak reference between children to one that is not there.
// ovsdb-server 3.1 leaves those behind where the row with the reference is
// itself referred to more or less often by the same transaction.
func dangles(contents string) bool {
	for _, m := range friendsRE.FindAllStringSubmatch(contents, -1) {
		for _, uuid := range strings.Fields(strings.Trim(m[1], "[]")) {
			if !strings.Contains(contents, "Child _uuid="+uuid) {
				return true
			}
		}
	}
	return false
}
