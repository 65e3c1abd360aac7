package oracle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"northwall/ovsdb/standalone"
	"northwall/schema"
	"northwall/tests/edits"
	"northwall/tests/stock"
)

var (
	steps  = flag.Int("steps", 0, "number of steps of TestOracle for each seed; 0 skips it")
	seed   = flag.Uint64("seed", 1, "first seed of TestOracle")
	seeds  = flag.Int("seeds", 1, "number of seeds of TestOracle")
	budget = flag.Int("shrink", 60, "number of runs to make a failing sequence shorter with")
	script = flag.String("script", "", "file with command lines to run in place of random steps, all of them")
)

// stockTree finds the tree with the stock programs, or skips the test.
func stockTree(t *testing.T) stock.Tree {
	if *steps == 0 && *script == "" {
		t.Skip("skipped: it is for `make oracle`, beside a stock northd on random edits")
	}
	tree, err := stock.Find()
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	return tree
}

// start begins a run.
func start(t *testing.T, tree stock.Tree) *match {
	dir, err := os.MkdirTemp("", "oracle")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m, err := newMatch(t.Context(), tree, dir)
	if errors.Is(err, standalone.ErrMissing) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestOracle makes the same random edits on both sides and compares what they
// have written after every step.
func TestOracle(t *testing.T) {
	tree := stockTree(t)
	total := &match{hits: map[string]int{}, touched: coverage{}}
	made := map[string]int{} // edits by their generator
	var passed []uint64
	for s := *seed; s < *seed+uint64(*seeds); s++ {
		if t.Run(fmt.Sprint("seed", s), func(t *testing.T) { oneSeed(t, tree, s, total, made) }) {
			passed = append(passed, s)
		}
	}
	t.Log(report(total, passed, made))
	if *steps**seeds < 1000 || *script != "" {
		return
	}
	for _, name := range edits.Names() {
		if made[name] == 0 {
			t.Errorf("generator %q never changed anything: this tests too little", name)
		}
	}
}

func oneSeed(t *testing.T, tree stock.Tree, seed uint64, total *match, made map[string]int) {
	m := start(t, tree)
	defer m.close()
	maker := edits.New(seed)
	next := func() edits.Step { return maker.Next(m.master.rows) }
	if *script != "" {
		next = scripted(t, *script)
	}
	var done []edits.Step
	last := "" // difference of a script, which goes on
	for attempts := 0; m.applied < *steps; attempts++ {
		if attempts > 20**steps {
			t.Fatalf("seed %d: %d attempts made %d steps", seed, attempts, m.applied)
		}
		s := next()
		if len(s.Lines) == 0 {
			break
		}
		before := m.applied
		d, err := m.apply(t.Context(), s)
		if err != nil || m.applied > before {
			done = append(done, s)
		}
		if err != nil {
			t.Fatalf("step %d, seed %d: %v\nafter:\n%s", len(done), seed, err, scenario(done))
		}
		if m.applied > before {
			for _, name := range s.Generators {
				made[name]++
			}
		}
		if *script != "" {
			text := d.String()
			switch {
			case text == last:
			case text == "":
				t.Logf("after %s: no difference any more", s)
			default:
				t.Errorf("after %s: stock has (-), Northwall has (+):\n%s", s, text)
			}
			last = text
			continue
		}
		if !d.empty() {
			m.close()
			less := edits.Shrink(done, *budget, func(s []edits.Step) bool { return fails(t, tree, s, d) })
			t.Fatalf("step %d, seed %d: stock has (-), Northwall has (+):\n%s\nafter (made shorter):\n%s", len(done), seed, d, scenario(less))
		}
	}
	total.applied += m.applied
	total.restarts += m.restarts
	for name, n := range m.hits {
		total.hits[name] += n
	}
	for table, columns := range m.touched {
		if total.touched[table] == nil {
			total.touched[table] = map[string]int{}
		}
		for column, n := range columns {
			total.touched[table][column] += n
		}
	}
}

// scripted returns the steps of a file, a line each.
func scripted(t *testing.T, file string) func() edits.Step {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(string(b), "\n"), func(l string) bool { return l == "" || l[0] == '#' })
	return func() edits.Step {
		if len(lines) == 0 {
			return edits.Step{}
		}
		s := edits.Step{Lines: lines[:1]}
		lines = lines[1:]
		return s
	}
}

// fails runs a sequence anew and says whether the two sides differ at its end as
// they did before.
func fails(t *testing.T, tree stock.Tree, steps []edits.Step, before *difference) bool {
	m := start(t, tree)
	defer m.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	changed := false
	for i, s := range steps {
		if i < len(steps)-1 {
			one, err := m.edit(ctx, s)
			if err != nil {
				return false
			}
			changed = changed || one
			// Chassis claim ports that the northds have made.
			if _, chassis := steps[i+1].OnSouthbound(); one && chassis {
				if _, err := m.compare(ctx); err != nil {
					return false
				}
			}
			continue
		}
		d, err := m.apply(ctx, s)
		if err == nil && d.like(before) {
			return true
		}
	}
	return false
}

// scenario prints steps as a scenario of tests/golden.
func scenario(steps []edits.Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// notCompiled are northbound tables that are not for a northd, or of routers.
var notCompiled = map[string]bool{
	"Connection": true, "SSL": true, "BFD": true, "DHCP_Relay": true, "Gateway_Chassis": true, "Logical_Router": true,
	"Logical_Router_Policy": true, "Logical_Router_Port": true, "Logical_Router_Static_Route": true, "NAT": true, "Static_MAC_Binding": true,
}

func report(m *match, passed []uint64, made map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d steps that changed something over %d seeds (%v) without an unlisted difference\n", m.applied, len(passed), passed)
	fmt.Fprintf(&b, "the stock northd was stuck and started again %d times\n", m.restarts)
	for _, k := range knownDifferences {
		fmt.Fprintf(&b, "known difference, %d rows: %s\n", m.hits[k.name], k.name)
	}
	tables, columns, allTables, allColumns := 0, 0, 0, 0
	var missing []string
	for _, table := range slices.Sorted(maps.Keys(schema.Northbound().Tables)) {
		if notCompiled[table] {
			continue
		}
		allTables++
		if len(m.touched[table]) > 0 {
			tables++
		} else {
			missing = append(missing, table)
		}
		for column := range schema.Northbound().Tables[table].Columns {
			allColumns++
			if m.touched[table][column] > 0 {
				columns++
			} else if len(m.touched[table]) > 0 {
				missing = append(missing, table+"."+column)
			}
		}
	}
	slices.Sort(missing)
	fmt.Fprintf(&b, "touched %d of %d tables and %d of %d columns of switches; not: %s\n", tables, allTables, columns, allColumns, strings.Join(missing, " "))
	fmt.Fprintf(&b, "edits by generator: %v", made)
	return b.String()
}
