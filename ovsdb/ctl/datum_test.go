package ctl

import (
	"strings"
	"testing"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

func TestParseDatum(t *testing.T) {
	kinds := map[string]columnType{
		"strings": {key: &libovsdb.BaseType{Type: libovsdb.TypeString}, min: 0, max: libovsdb.Unlimited},
		"string":  {key: &libovsdb.BaseType{Type: libovsdb.TypeString}, min: 1, max: 1},
		"ints":    {key: &libovsdb.BaseType{Type: libovsdb.TypeInteger}, min: 0, max: libovsdb.Unlimited},
		"real":    {key: &libovsdb.BaseType{Type: libovsdb.TypeReal}, min: 1, max: 1},
		"bool":    {key: &libovsdb.BaseType{Type: libovsdb.TypeBoolean}, min: 1, max: 1},
		"uuids":   {key: &libovsdb.BaseType{Type: libovsdb.TypeUUID}, min: 0, max: libovsdb.Unlimited},
		"map": {key: &libovsdb.BaseType{Type: libovsdb.TypeString}, value: &libovsdb.BaseType{Type: libovsdb.TypeString},
			min: 0, max: libovsdb.Unlimited},
	}
	const uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
	for _, tt := range []struct{ kind, in, want, err string }{
		{"strings", "", "[]", ""},
		{"strings", "[]", "[]", ""},
		{"strings", "b a,c", "[a, b, c]", ""},
		{"strings", `"a b", "c\"d" `, `["a b", "c\"d"]`, ""},
		{"strings", `10.0.0.10\:80`, `["10.0.0.10:80"]`, ""},
		{"strings", `a,`, "[a]", ""},
		{"strings", `a,,b`, "", "syntax error"},
		{"strings", `a"b"`, `["a\"b\""]`, ""},
		{"strings", `[a`, "", `missing "]"`},
		{"strings", `[a] b`, "", "trailing garbage"},
		{"strings", `a a`, "", "duplicate value"},
		{"strings", `"a`, "", "missing quote"},
		{"strings", `a:b`, "", "syntax error"},
		{"string", "true", `"true"`, ""},
		{"string", uuid, `"` + uuid + `"`, ""},
		{"string", "1a", `"1a"`, ""},
		{"string", "a1-_.", "a1-_.", ""},
		{"string", `""`, `""`, ""},
		{"string", "a b", "", "maximum number is 1"},
		{"string", "[]", "", "minimum number is 1"},
		{"string", `"é\u00e9\t` + "\t" + `"`, `"éé\t\t"`, ""},
		{"ints", "3,-1 2", "[-1, 2, 3]", ""},
		{"ints", "9223372036854775807", "[9223372036854775807]", ""},
		{"ints", "9223372036854775808", "", "not a valid integer"},
		{"ints", "x", "", "not a valid integer"},
		{"real", "1.50", "1.5", ""},
		{"real", "1e400", "", "not a valid real"},
		{"bool", "on", "true", ""},
		{"bool", "no", "false", ""},
		{"bool", "maybe", "", "not a valid boolean"},
		{"uuids", strings.ToUpper(uuid), "[" + uuid + "]", ""},
		{"uuids", "f81d", "", "not a valid UUID"},
		{"map", "{}", "{}", ""},
		{"map", "b=2 a=1,c=x", `{a="1", b="2", c=x}`, ""},
		{"map", `{"a b"="c d"}`, `{"a b"="c d"}`, ""},
		{"map", "a", "", `expected "="`},
		{"map", "a=", "", "unexpected end"},
		{"map", "a=1,a=2", "", "duplicate key"},
	} {
		d, err := parseDatum(tt.in, kinds[tt.kind], nil, true)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s %q: got error %v, want %q", tt.kind, tt.in, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", tt.kind, tt.in, err)
			continue
		}
		if got := d.format(kinds[tt.kind], FormatString); got != tt.want {
			t.Errorf("%s %q: got %s, want %s", tt.kind, tt.in, got, tt.want)
		}
		// What is printed reads back as the same, and passes the native form.
		again, err := parseDatum(d.format(kinds[tt.kind], FormatString), kinds[tt.kind], nil, true)
		if err != nil || !again.Equal(d) {
			t.Errorf("%s %q: printed as %s, which reads as %v, %v", tt.kind, tt.in, d.format(kinds[tt.kind], FormatString), again, err)
		}
		if native := fromNative(d.native(kinds[tt.kind])); !native.Equal(d) {
			t.Errorf("%s %q: native form became %v", tt.kind, tt.in, native)
		}
	}
}

func TestConditions(t *testing.T) {
	f := newFixture(t)
	f.must("create shelf name=a level=1 labels=k=1,l=2 -- create shelf name=b level=2 labels=k=2 -- create shelf name=c")
	for _, tt := range []struct{ condition, want string }{
		{"level=1", "a"}, {"level!=1", "b c"}, {"level>1", "b"}, {"level<2", "a c"}, {"level<=1", "a c"}, {"level>=1", "a b"},
		{"level=[]", "c"}, {"level{=}1", "a"}, {"level{in}1,2", "a b c"}, {"level{not-in}1", "b c"},
		{"labels:k=1", "a"}, {"labels:k!=1", "b"}, {"labels:k{!=}1", "b c"}, {"labels:k{in}1,2", "a b c"}, {"labels:k>1", "b"},
		{"labels:k{=}[]", "c"}, {"labels{>=}k=2", "b"}, {"labels{>}k=1", "a"}, {"labels{<=}k=2", "b c"}, {"labels{<}k=2", "c"},
		{"labels={}", "c"}, {"labels{=}k=1,l=2", "a"}, {"name>a", "b c"}, {"name{in}a", "a"}, {"NAME=a", "a"}, {"lab:l=2", "a"},
	} {
		out, err := f.run("--columns=name find shelf " + quoteWord(tt.condition))
		if err != nil {
			t.Errorf("%s: %v", tt.condition, err)
			continue
		}
		var got []string
		for _, want := range []string{"a", "b", "c"} {
			if strings.Contains(out, ": "+want+"\n") {
				got = append(got, want)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %v, want %s", tt.condition, got, tt.want)
		}
	}
	for condition, want := range map[string]string{
		"level": "does not end in an operator", "level=": "followed by a value", "level:x=1": "non-map column", "labels:=1": "missing key",
		"=1": "missing column name", "level=x": "not a valid integer", "level=11": "valid range 0 to 9", "l=1": "more than one column",
	} {
		if _, err := f.run("find shelf " + quoteWord(condition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", condition, err, want)
		}
	}
	if _, err := f.run("create box kind=iron"); err == nil || !strings.Contains(err.Error(), "iron is not one of the allowed values ([wood, card])") {
		t.Errorf("an enum: %v", err)
	}
}

func quoteWord(s string) string { return "'" + s + "'" }
