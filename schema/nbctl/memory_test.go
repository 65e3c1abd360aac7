package nbctl_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb/ctl"
	"northwall/ovsdb/memdb"
	"northwall/schema"
	"northwall/schema/nbctl"
)

// inMemory is an empty northbound database without a server.
func inMemory() (*memdb.DB, ctl.DB) {
	mem := memdb.New(schema.Northbound())
	return mem, ctl.New(mem.Connect(ctl.Tables(everything())...), func() *libovsdb.DatabaseSchema { return mem.Schema() })
}

// TestInMemory runs the lines of testdata on a database in memory, each line on
// what the lines before it left, and checks which of them fail. What they do is
// compared with ovn-nbctl's doing by TestLikeStock.
func TestInMemory(t *testing.T) {
	tool := nbctl.New(schema.Northbound())
	files, err := filepath.Glob("testdata/*.nbctl")
	if err != nil || len(files) == 0 {
		t.Fatalf("scenarios: %v, error %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, db := inMemory()
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for n, line := range strings.Split(string(text), "\n") {
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				words, err := ctl.Words(strings.TrimLeft(line, "!"))
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				err = nbctl.Run(ctx, tool, db, words, &out)
				if fails := strings.HasPrefix(line, "!"); fails != (err != nil) {
					t.Errorf("%s:%d: %s: error %v", file, n+1, line, err)
				}
				if err != nil && strings.Contains(err.Error(), "internal error") {
					t.Errorf("%s:%d: %s: %v", file, n+1, line, err)
				}
			}
		})
	}
}

// TestCommandsAreExplained holds all commands to having a help.
func TestCommandsAreExplained(t *testing.T) {
	tool := nbctl.New(schema.Northbound())
	seen := map[string]bool{}
	for _, c := range tool.Commands {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		if c.Help == "" || c.Example == "" {
			t.Errorf("%s: help %q, example %q", c.Name, c.Help, c.Example)
		}
		words, err := ctl.Words(c.Example)
		if err != nil {
			t.Errorf("%s: example: %v", c.Name, err)
			continue
		}
		// The example of sync has an option of the program.
		if words[0] == "--wait=sb" {
			words = words[1:]
		}
		if _, err := tool.Parse(words); err != nil {
			t.Errorf("%s: example %q: %v", c.Name, c.Example, err)
		}
		for _, r := range c.Reads {
			table, ok := tool.Schema.Tables[r.Table]
			if !ok {
				t.Errorf("%s reads table %s, which does not exist", c.Name, r.Table)
				continue
			}
			for _, column := range r.Columns {
				if table.Columns[column] == nil {
					t.Errorf("%s reads column %s of table %s, which does not exist", c.Name, column, r.Table)
				}
			}
		}
	}
	for table, names := range tool.Names {
		for _, name := range names {
			from := table
			if name.Via != "" {
				from = name.Via
			}
			if name.Column != "" && tool.Schema.Tables[from].Columns[name.Column] == nil {
				t.Errorf("rows of %s are named by column %s of %s, which does not exist", table, name.Column, from)
			}
		}
	}
}
