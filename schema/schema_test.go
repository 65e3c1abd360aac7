package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ovn-org/libovsdb/model"
	"github.com/ovn-org/libovsdb/modelgen"
	"github.com/ovn-org/libovsdb/ovsdb"

	"northwall/schema"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// A database is one of the two, with what the tests need of it.
type database struct {
	short  string // "nb": of the files and of the Go package
	schema *ovsdb.DatabaseSchema
	json   []byte
	models func() (model.ClientDBModel, error)
}

func databases() []database {
	return []database{
		{"nb", schema.Northbound(), schema.NorthboundJSON, nb.FullDatabaseModel},
		{"sb", schema.Southbound(), schema.SouthboundJSON, sb.FullDatabaseModel},
	}
}

func (d database) file() string { return d.short + ".ovsschema" }

func TestVersions(t *testing.T) {
	for _, tc := range []struct {
		schema        *ovsdb.DatabaseSchema
		name, version string
	}{
		{schema.Northbound(), "OVN_Northbound", "7.18.0"},
		{schema.Southbound(), "OVN_Southbound", "21.8.0"},
	} {
		if tc.schema.Name != tc.name || tc.schema.Version != tc.version {
			t.Errorf("got %s %s, want %s %s", tc.schema.Name, tc.schema.Version, tc.name, tc.version)
		}
	}
}

// TestModels: every field of a model is a column of the type that the schema
// says, and every column has a field.
func TestModels(t *testing.T) {
	for _, d := range databases() {
		client, err := d.models()
		if err != nil {
			t.Fatalf("%s: %v", d.short, err)
		}
		db, errs := model.NewDatabaseModel(*d.schema, client)
		for _, err := range errs {
			t.Errorf("%s: %v", d.short, err)
		}
		for name, table := range d.schema.Tables {
			typ, ok := db.Types()[name]
			if !ok {
				t.Errorf("%s: table %s has no model", d.short, name)
				continue
			}
			var got []string
			for _, f := range reflect.VisibleFields(typ.Elem()) {
				got = append(got, f.Tag.Get("ovsdb"))
			}
			want := []string{"_uuid"}
			for c := range table.Columns {
				want = append(want, c)
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: columns of %s (-schema +model):\n%s", d.short, name, diff)
			}
		}
	}
}

// TestGenerated: the models are what "go generate" makes of the schemas.
func TestGenerated(t *testing.T) {
	gen, err := modelgen.NewGenerator()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range databases() {
		want := map[string][]byte{}
		if want["model.go"], err = gen.Format(modelgen.NewDBTemplate(), modelgen.GetDBTemplateData(d.short, *d.schema)); err != nil {
			t.Fatal(err)
		}
		for name, table := range d.schema.Tables {
			file := modelgen.FileName(name)
			if want[file], err = gen.Format(modelgen.NewTableTemplate(), modelgen.GetTableTemplateData(d.short, name, &table)); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadDir(d.short)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range have {
			if _, ok := want[f.Name()]; !ok {
				t.Errorf("%s/%s belongs to no table: remove it", d.short, f.Name())
			}
		}
		for file, text := range want {
			got, err := os.ReadFile(filepath.Join(d.short, file))
			if err != nil {
				t.Error(err)
			} else if string(got) != string(text) {
				t.Errorf("%s/%s is out of date: run go generate", d.short, file)
			}
		}
	}
}

// TestLayout: tables and columns are sorted, a column on one line, so that the
// difference between two versions reads as what they differ in.
func TestLayout(t *testing.T) {
	tableLine := regexp.MustCompile(`^"(\w+)": \{`)
	columnLine := regexp.MustCompile(`^  "(\w+)": \{.*\},?$`)
	for _, d := range databases() {
		var tables, columns []string
		sorted := func(what string, names []string) {
			if !slices.IsSorted(names) {
				t.Errorf("%s: %s are not sorted: %s", d.file(), what, names)
			}
		}
		total := 0
		for line := range strings.Lines(string(d.json)) {
			line = strings.TrimSuffix(line, "\n")
			if m := columnLine.FindStringSubmatch(line); m != nil {
				columns = append(columns, m[1])
				total++
			} else if m := tableLine.FindStringSubmatch(line); m != nil && m[1] != "tables" {
				sorted("columns", columns)
				columns = nil
				tables = append(tables, m[1])
			}
		}
		sorted("columns", columns)
		sorted("tables", tables)
		want := 0
		for _, table := range d.schema.Tables {
			want += len(table.Columns)
		}
		if total != want || len(tables) != len(d.schema.Tables) {
			t.Errorf("%s: %d tables and %d columns have lines of their own, of %d and %d", d.file(), len(tables), total, len(d.schema.Tables), want)
		}
	}
}

// TestServer: ovsdb-server takes the schemas and understands all that they say.
func TestServer(t *testing.T) {
	for _, d := range databases() {
		got := served(t, d.file())
		if diff := cmp.Diff(facts(t, d.json), facts(t, got)); diff != "" {
			t.Errorf("%s (-file +served):\n%s", d.file(), diff)
		}
	}
}

// TestOriginal: the schemas say what those of OVN 26.03 say.
func TestOriginal(t *testing.T) {
	root := os.Getenv("OVN_ROOT")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("no OVN_ROOT with OVN 26.03: %v", err)
		}
		root = filepath.Join(cache, "northwall", "ovn")
	}
	for _, d := range databases() {
		file := filepath.Join(root, "usr", "share", "ovn", "ovn-"+d.file())
		if _, err := os.Stat(file); err != nil {
			t.Skipf("no OVN 26.03 in OVN_ROOT=%s: nothing to compare with", root)
		}
		want, got := facts(t, served(t, file)), facts(t, d.json)
		if got["version"] != want["version"] {
			t.Skipf("OVN_ROOT=%s has version %s of the schema, not %s", root, want["version"], got["version"])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-OVN +own):\n%s", d.file(), diff)
		}
	}
}

// served returns the schema that an ovsdb-server reports which was started on a
// database made from a schema file.
func served(t *testing.T, schemaFile string) []byte {
	t.Helper()
	for _, program := range []string{"ovsdb-tool", "ovsdb-server", "ovsdb-client"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	dir, err := os.MkdirTemp("", "schema") // short enough for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	db, sock := filepath.Join(dir, "db"), filepath.Join(dir, "sock")
	if out, err := exec.CommandContext(t.Context(), "ovsdb-tool", "create", db, schemaFile).CombinedOutput(); err != nil {
		t.Fatalf("ovsdb-tool create %s: %v: %s", schemaFile, err, out)
	}
	cmd := exec.CommandContext(t.Context(), "ovsdb-server", "--no-chdir", "-vconsole:off",
		"--unixctl="+filepath.Join(dir, "ctl"), "--remote=punix:"+sock,
		"--run=ovsdb-client get-schema unix:"+sock, db)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ovsdb-server on %s: %v: %s", schemaFile, err, stderr.String())
	}
	return out
}

// facts parses a schema and leaves out what it may say in more than one way:
// the checksum of a file's text, the order of sets, "isRoot": false.
func facts(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	delete(s, "cksum")
	normalize(s)
	return s
}

func normalize(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for k, v := range m {
		normalize(v)
		switch k {
		case "enum":
			if set, ok := v.([]any); ok {
				m[k] = ordered(set[1].([]any))
			} else {
				m[k] = []any{v} // a set of one
			}
		case "indexes":
			indexes := v.([]any)
			for _, columns := range indexes {
				ordered(columns.([]any))
			}
			ordered(indexes)
		case "isRoot", "ephemeral":
			if v == false {
				delete(m, k)
			}
		}
	}
}

// ordered sorts set in place.
func ordered(set []any) []any {
	slices.SortFunc(set, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return set
}
