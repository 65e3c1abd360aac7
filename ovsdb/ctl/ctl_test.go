package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
)

// shop is a database that is nothing like OVN's.
const shop = `{"name": "Shop", "version": "1.0.0", "tables": {
	"Shelf": {"isRoot": true, "columns": {
		"name": {"type": "string"},
		"boxes": {"type": {"key": {"type": "uuid", "refTable": "Box"}, "min": 0, "max": "unlimited"}},
		"labels": {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}},
		"level": {"type": {"key": {"type": "integer", "minInteger": 0, "maxInteger": 9}, "min": 0, "max": 1}}}},
	"Box": {"columns": {
		"name": {"type": "string"},
		"kind": {"type": {"key": {"type": "string", "enum": ["set", ["wood", "card"]]}, "min": 0, "max": 1}},
		"sizes": {"type": {"key": "integer", "min": 0, "max": 3}},
		"weight": {"type": "real"},
		"closed": {"type": "boolean"}}, "indexes": [["name"]]},
	"Shelf_Group": {"isRoot": true, "columns": {
		"shelves": {"type": {"key": {"type": "uuid", "refTable": "Shelf", "refType": "weak"}, "min": 0, "max": "unlimited"}}}}}}`

func shopSchema(t *testing.T) *libovsdb.DatabaseSchema {
	t.Helper()
	var s libovsdb.DatabaseSchema
	if err := json.Unmarshal([]byte(shop), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func shopTool(t *testing.T) *Tool {
	schema := shopSchema(t)
	return &Tool{
		Name: "shopctl", Schema: schema,
		Names:    map[string][]RowName{"Shelf": {{Column: "name"}}, "Box": {{Column: "name"}, {Via: "Shelf", Ref: "boxes", Column: "name"}}},
		Commands: Generic("shelf", "top", "name", "labels"),
	}
}

// fixture is a shop in memory with commands for it.
type fixture struct {
	t    *testing.T
	tool *Tool
	mem  *memdb.DB
	db   DB
}

func newFixture(t *testing.T) *fixture {
	tool := shopTool(t)
	mem := memdb.New(tool.Schema)
	f := &fixture{t: t, tool: tool, mem: mem}
	f.db = f.connect()
	return f
}

func (f *fixture) connect() DB {
	var reads []Read
	for table := range f.tool.Schema.Tables {
		reads = append(reads, Read{Table: table})
	}
	return New(f.mem.Connect(Tables(reads)...), func() *libovsdb.DatabaseSchema { return f.tool.Schema })
}

func (f *fixture) run(line string) (string, error) {
	f.t.Helper()
	return f.runOn(f.db, line, Options{})
}

func (f *fixture) runOn(db DB, line string, o Options) (string, error) {
	f.t.Helper()
	words, err := Words(line)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var out bytes.Buffer
	err = f.tool.Run(ctx, db, words, &out, o)
	return out.String(), err
}

func (f *fixture) must(line string) string {
	f.t.Helper()
	out, err := f.run(line)
	if err != nil {
		f.t.Fatalf("%s: %v", line, err)
	}
	return out
}

func TestChainSeesItself(t *testing.T) {
	f := newFixture(t)
	got := f.must(`--id=@b create box name=nails weight=1.5 -- create shelf name=top boxes=@b level=3 -- ` +
		`get shelf top level -- set shelf top level=4 labels:colour=red -- get shelf top level labels -- ` +
		`get box nails weight closed -- remove shelf top labels colour -- get shelf top labels`)
	lines := strings.Split(got, "\n")[2:] // without the two UUIDs
	want := []string{"3", "4", "{colour=red}", "1.5", "false", "{}", ""}
	if diff := cmp.Diff(lines, want); diff != "" {
		t.Errorf("output (-got +want):\n%s", diff)
	}
	if got := f.must("get shelf top level"); got != "4\n" {
		t.Errorf("after the commit: level %q", got)
	}
}

func TestNamesBeforeAndAfter(t *testing.T) {
	f := newFixture(t)
	f.must("create shelf name=top boxes=@b -- --id=@b create box name=nails")
	f.must("--id=@n get box nails -- create shelf name=low boxes=@n")
	if got, want := f.must("--columns=name find shelf boxes!=[]"), "name                : low\n\nname                : top\n"; !sameLines(got, want) {
		t.Errorf("got %q", got)
	}
	for line, want := range map[string]string{
		"create shelf name=x boxes=@nosuch":                           `row id "@nosuch" is referenced but never created`,
		"--id=@a create box name=p -- --id=@a create box name=q":      `row id "@a" may only be specified on one --id option`,
		"--id=a create box name=p":                                    `neither a UUID nor begins with "@"`,
		"--id=@b --if-exists get box nails":                           "may not be specified together",
		"create shelf name=x boxes=@late -- --id=@late get box nails": "used before the command that defines it",
	} {
		if _, err := f.run(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", line, err, want)
		}
	}
}

func TestRecords(t *testing.T) {
	f := newFixture(t)
	uuid := strings.TrimSpace(f.must("--id=12345678-9abc-4def-8123-456789abcdef create shelf name=top"))
	f.must("create shelf name=twin -- create shelf name=twin")
	f.must("--id=@n create box name=nails -- set shelf top boxes=@n")
	for record, want := range map[string]string{
		"top": "top\n", uuid: "top\n", strings.ToUpper(uuid): "top\n", uuid[:4]: "top\n", uuid[:20]: "top\n",
	} {
		if got := f.must("get shelf " + record + " name"); got != want {
			t.Errorf("get shelf %s: %q, want %q", record, got, want)
		}
	}
	if got := f.must("get box top name"); got != "nails\n" {
		t.Errorf("by the row that refers to it: %q", got)
	}
	for line, want := range map[string]string{
		"get shelf twin name":  "multiple rows in Shelf match",
		"get shelf 123 name":   `no row "123" in table Shelf`,
		"get shelf low name":   `no row "low" in table Shelf`,
		"get shlef top name":   `unknown table "shlef"; did you mean Shelf?`,
		"get shelf top nam":    "",
		"get shelf top laybel": `did you mean labels?`,
		"get she top name":     "multiple table names: Shelf, Shelf_Group",
		"get SHELF-G 1234":     `no row "1234" in table Shelf_Group`,
	} {
		_, err := f.run(line)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got error %v, want %q", line, err, want)
		}
	}
}

// meddler changes the database just before the first commit.
type meddler struct {
	DB
	before func()
}

func (m *meddler) Commit(ctx context.Context, t *ovsdb.Txn) ([]ovsdb.Result, error) {
	if m.before != nil {
		before := m.before
		m.before = nil
		before()
	}
	return m.DB.Commit(ctx, t)
}

func TestOthersAtTheSameTime(t *testing.T) {
	for _, tt := range []struct {
		name, line, meanwhile string
		want                  string // of the get that follows
		err                   string
	}{
		{"both add to a set", "add box nails sizes 1", "add box nails sizes 2", "[1, 2]", ""},
		{"a set that is full", "add box nails sizes 1", "set box nails sizes=2,3,4", "[2, 3, 4]", "would put 4 values"},
		{"both put keys", "set shelf top labels:a=1", "set shelf top labels:b=2", `{a="1", b="2"}`, ""},
		{"the same key", "set shelf top labels:a=1", "set shelf top labels:a=2", `{a="1"}`, ""},
		{"one whole value", "set shelf top labels=a=1", "set shelf top labels:b=2", `{a="1"}`, ""},
		{"the row goes", "set shelf top labels:a=1", "destroy shelf top", "", `no row "top"`},
		{"the name goes", "set shelf top labels:a=1", "set shelf top name=low", "", `no row "top"`},
		{"renamed and back", "set shelf top labels:a=1", "set shelf top name=low -- set shelf low name=top labels:b=2", `{a="1", b="2"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.must("--id=@b create box name=nails -- create shelf name=top boxes=@b")
			other := f.connect()
			m := &meddler{DB: f.db, before: func() {
				if _, err := f.runOn(other, tt.meanwhile, Options{}); err != nil {
					t.Fatalf("%s: %v", tt.meanwhile, err)
				}
			}}
			_, err := f.runOn(m, tt.line, Options{})
			if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) || tt.err == "" && err != nil {
				t.Fatalf("%s: got error %v, want %q", tt.line, err, tt.err)
			}
			if tt.want == "" {
				return
			}
			read := "get shelf top labels"
			if strings.Contains(tt.line, "sizes") {
				read = "get box nails sizes"
			}
			if got := strings.TrimSpace(f.must(read)); got != tt.want {
				t.Errorf("%s: %s, want %s", read, got, tt.want)
			}
		})
	}
}

func TestVerifyAbsent(t *testing.T) {
	f := newFixture(t)
	f.tool.Commands = append(f.tool.Commands, &Command{Name: "shelf-add", Min: 1, Max: 1, Reads: Reading("Shelf name"),
		Run: func(c *Call) error {
			if len(c.Tx.Where("Shelf", "name", c.Args[0])) > 0 {
				return errors.New("it is there")
			}
			c.Tx.VerifyAbsent("Shelf", "name", c.Args[0])
			c.Tx.Insert("Shelf").SetString("name", c.Args[0])
			return nil
		}})
	other := f.connect()
	m := &meddler{DB: f.db, before: func() {
		if _, err := f.runOn(other, "shelf-add top", Options{}); err != nil {
			t.Fatal(err)
		}
	}}
	if _, err := f.runOn(m, "shelf-add top", Options{}); err == nil || err.Error() != "it is there" {
		t.Errorf("the second of two that add the same name: error %v", err)
	}
	if _, err := f.run("shelf-add low"); err != nil {
		t.Errorf("another name: %v", err)
	}
	if _, err := f.run("destroy shelf low -- shelf-add low"); err != nil {
		t.Errorf("a name that the same command line gives away: %v", err)
	}
	if n := f.mem.Len("Shelf"); n != 2 {
		t.Errorf("%d shelves, want 2", n)
	}
}

func TestWaitUntil(t *testing.T) {
	f := newFixture(t)
	other := f.connect()
	done := make(chan error, 1)
	go func() {
		words := []string{"wait-until", "shelf", "top", "level>2", "--", "get", "shelf", "top", "level"}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var out bytes.Buffer
		err := f.tool.Run(ctx, f.db, words, &out, Options{})
		if err == nil && out.String() != "5\n" {
			err = errors.New("output " + out.String())
		}
		done <- err
	}()
	for _, line := range []string{"create shelf name=low level=9", "create shelf name=top level=1", "set shelf top level=5"} {
		if _, err := f.runOn(other, line, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Millisecond, errors.New("enough"))
	defer cancel()
	if err := f.tool.Run(ctx, other, []string{"wait-until", "shelf", "nosuch"}, &bytes.Buffer{}, Options{}); err == nil || err.Error() != "enough" {
		t.Errorf("a wait that ends: %v", err)
	}
}

func TestDryRun(t *testing.T) {
	f := newFixture(t)
	version := f.mem.Version()
	if _, err := f.runOn(f.db, "create shelf name=top", Options{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if f.mem.Version() != version {
		t.Error("a dry run changed the database")
	}
	// Neither does what changes nothing.
	f.must("create shelf name=top level=1")
	version = f.mem.Version()
	f.must("set shelf top level=1 -- add shelf top labels a=b -- remove shelf top labels a")
	if f.mem.Version() != version {
		t.Error("a transaction without changes was committed")
	}
}

func TestRefusedTransaction(t *testing.T) {
	f := newFixture(t)
	f.must("--id=@b create box name=nails -- create shelf name=top boxes=@b")
	out, err := f.run("--id=@b create box name=nails -- create shelf name=low boxes=@b")
	if err == nil || !strings.Contains(err.Error(), "constraint violation") {
		t.Errorf("a duplicate of an index: %v", err)
	}
	if out != "" {
		t.Errorf("a refused transaction printed %q", out)
	}
}

func TestCollectedRowsAreGone(t *testing.T) {
	f := newFixture(t)
	f.tool.Commands = append(f.tool.Commands, &Command{Name: "take", Min: 2, Max: 2, Reads: Reading("Shelf name boxes", "Box name"),
		Run: func(c *Call) error {
			shelf, box := c.Tx.Where("Shelf", "name", c.Args[0])[0], c.Tx.Where("Box", "name", c.Args[1])[0]
			shelf.Remove("boxes", UUID(box.UUID))
			box.Collect()
			return nil
		}})
	f.must("--id=@b create box name=nails -- create shelf name=top boxes=@b")
	f.must("take top nails -- --id=@b create box name=nails weight=7 -- create shelf name=low boxes=@b")
	if got := f.must("get box nails weight -- get shelf top boxes"); got != "7\n[]\n" {
		t.Errorf("got %q", got)
	}
}

func TestUndeclaredRead(t *testing.T) {
	f := newFixture(t)
	f.must("create shelf name=top level=1")
	f.tool.Commands = append(f.tool.Commands, &Command{Name: "level", Reads: Reading("Shelf name"), Run: func(c *Call) error {
		c.Tx.Rows("Shelf")[0].Int("level")
		return nil
	}})
	if _, err := f.run("level"); err == nil || !strings.Contains(err.Error(), "not asked for") {
		t.Errorf("got %v", err)
	}
}

func TestOlderServer(t *testing.T) {
	f := newFixture(t)
	f.must("create shelf name=top")
	old := shopSchema(t)
	delete(old.Tables["Shelf"].Columns, "labels")
	delete(old.Tables, "Shelf_Group")
	mem := memdb.New(old)
	var reads []Read
	for table := range f.tool.Schema.Tables {
		reads = append(reads, Read{Table: table})
	}
	db := New(mem.Connect(Tables(reads)...), func() *libovsdb.DatabaseSchema { return old })
	if _, err := f.runOn(db, "create shelf name=top level=2", Options{}); err != nil {
		t.Error(err)
	}
	for line, want := range map[string]string{
		"set shelf top labels:a=b": "does not contain a column",
		"list shelf_group":         "the server's schema has no table Shelf_Group",
	} {
		if _, err := f.runOn(db, line, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	f.tool.Commands = append(f.tool.Commands, &Command{Name: "label", Reads: Reading("Shelf name labels"), Run: func(c *Call) error {
		c.Tx.Rows("Shelf")[0].Put("labels", "a", "b")
		return nil
	}})
	if _, err := f.runOn(db, "label", Options{}); err == nil || !strings.Contains(err.Error(), "no column labels in table Shelf") {
		t.Errorf("a command that needs the column: %v", err)
	}
}

func TestStyles(t *testing.T) {
	f := newFixture(t)
	f.must(`--id=11111111-1111-4111-8111-111111111111 create box name='"two words"' kind=wood sizes=1,2 weight=0.5 -- ` +
		`--id=22222222-2222-4222-8222-222222222222 create box name=plain -- ` +
		`--id=33333333-3333-4333-8333-333333333333 create shelf name=top labels:a=b boxes=11111111-1111-4111-8111-111111111111,22222222-2222-4222-8222-222222222222`)
	for _, tt := range []struct {
		layout, data string
		headings     bool
		want         string
	}{
		{"list", "", true, "name                : \"two words\"\nsizes               : [1, 2]\nkind                : wood\n\n" +
			"name                : plain\nsizes               : []\nkind                : []\n"},
		{"list", "bare", false, "two words\n1 2\nwood\n\nplain\n\n\n"},
		{"table", "", true, "name        sizes  kind\n----------- ------ ----\n\"two words\" [1, 2] wood\nplain       []     []\n"},
		{"csv", "", true, "name,sizes,kind\n\"\"\"two words\"\"\",\"[1, 2]\",wood\nplain,[],[]\n"},
		{"csv", "json", false, "\"\"\"two words\"\"\",\"[\"\"set\"\",[1,2]]\",\"\"\"wood\"\"\"\n\"\"\"plain\"\"\",\"[\"\"set\"\",[]]\",\"[\"\"set\"\",[]]\"\n"},
		{"json", "", true, `{"data":[["two words",["set",[1,2]],"wood"],["plain",["set",[]],["set",[]]]],"headings":["name","sizes","kind"]}` + "\n"},
		{"html", "", true, "<table border=1>\n  <tr>\n    <th>name</th>\n    <th>sizes</th>\n    <th>kind</th>\n  </tr>\n  <tr>\n    <td>&#34;two words&#34;</td>\n" +
			"    <td>[1, 2]</td>\n    <td>wood</td>\n  </tr>\n  <tr>\n    <td>plain</td>\n    <td>[]</td>\n    <td>[]</td>\n  </tr>\n</table>\n"},
	} {
		style, err := ParseStyle(tt.layout, tt.data)
		if err != nil {
			t.Fatal(err)
		}
		style.NoHeadings = !tt.headings
		got, err := f.runOn(f.db, "--columns=name,sizes,kind list box", Options{Style: style})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, tt.want); diff != "" {
			t.Errorf("%s %s (-got +want):\n%s", tt.layout, tt.data, diff)
		}
	}
	for _, bad := range [][2]string{{"xml", ""}, {"", "xml"}} {
		if _, err := ParseStyle(bad[0], bad[1]); err == nil {
			t.Errorf("style %v was taken", bad)
		}
	}
}

func sameLines(a, b string) bool {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	slices.Sort(la)
	slices.Sort(lb)
	return slices.Equal(la, lb)
}
