package ctl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tool := shopTool(t)
	type call struct {
		Name    string
		Options map[string]string
		Args    []string
	}
	for _, tt := range []struct {
		line string
		want []call
		err  string
	}{
		{"list box", []call{{"list", map[string]string{}, []string{"box"}}}, ""},
		{"-- list box", []call{{"list", map[string]string{}, []string{"box"}}}, ""},
		{"list box --", []call{{"list", map[string]string{}, []string{"box"}}}, ""},
		{"--if-exists --columns=a list box x -- --id=@x create box name=y", []call{
			{"list", map[string]string{"if-exists": "", "columns": "a"}, []string{"box", "x"}},
			{"create", map[string]string{"id": "@x"}, []string{"box", "name=y"}}}, ""},
		{"--columns a list box", []call{{"list", map[string]string{"columns": "a"}, []string{"box"}}}, ""},
		{"list box -x --all", []call{{"list", map[string]string{}, []string{"box", "-x", "--all"}}}, ""},
		{"", nil, "missing command name"},
		{"--", nil, "missing command name"},
		{"list box -- -- list box", nil, "missing command name"},
		{"lsit box", nil, "unknown command 'lsit'; did you mean list?"},
		{"frobnicate", nil, "unknown command 'frobnicate' (use --help"},
		{"list", nil, "requires at least 1 arguments (usage: [--if-exists]"},
		{"--all list box", nil, "'list' command has no '--all' option"},
		{"--if-exist list box", nil, "no '--if-exist' option; did you mean --if-exists?"},
		{"--if-exists=1 list box", nil, "takes no value"},
		{"--if-exists --if-exists list box", nil, "specified multiple times"},
		{"-x list box", nil, "unrecognized option"},
	} {
		words, err := Words(tt.line)
		if err != nil {
			t.Fatal(err)
		}
		s, err := tool.Parse(words)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got error %v, want %q", tt.line, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		var got []call
		for _, i := range s.invocations {
			got = append(got, call{i.Command.Name, i.Options, i.Args})
		}
		if diff := cmp.Diff(got, tt.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", tt.line, diff)
		}
	}
}

func TestReads(t *testing.T) {
	tool := shopTool(t)
	for line, want := range map[string]map[string][]string{
		"list box":                          {"Shelf": {"boxes", "name"}, "Box": nil},
		"--columns=kind list shelf":         nil,
		"--columns=level list shelf":        {"Shelf": {"name", "level"}},
		"--columns=name find shelf lab:a=b": {"Shelf": {"name", "labels"}},
		"set shelf top labels:a=b level=2":  {"Shelf": {"name", "labels", "level"}},
		"add shelf top labels name=b":       {"Shelf": {"name", "labels"}},
		"destroy shelf name":                {"Shelf": {"name"}},
		"--all destroy shelf_g":             {"Shelf_Group": {"shelves"}},
		"comment hello":                     {},
	} {
		words, _ := Words(line)
		s, err := tool.Parse(words)
		if err != nil {
			t.Fatal(err)
		}
		reads, err := s.Reads()
		if (err != nil) != (want == nil) {
			t.Errorf("%s: error %v", line, err)
		}
		if err != nil {
			continue
		}
		if diff := cmp.Diff(mergeReads(reads), want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", line, diff)
		}
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		``:                    nil,
		`  a  b `:             {"a", "b"},
		`a "b c" 'd "e"'`:     {"a", "b c", `d "e"`},
		`a""b ''`:             {"ab", ""},
		`"a\"b\\c\d" e\ f`:    {`a"b\c\d`, "e f"},
		`options:x='"50:54"'`: {`options:x="50:54"`},
		`x="10.0.0.10\:80"`:   {`x=10.0.0.10\:80`},
	} {
		got, err := Words(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", line, diff)
		}
	}
	for _, line := range []string{`a "b`, `a 'b`} {
		if _, err := Words(line); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
}
