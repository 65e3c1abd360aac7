package flows_test

import (
	"encoding/json"
	"strings"
	"testing"

	"northwall/acl/expr"
	"northwall/flows"
)

// TestQuote: as ovn-northd writes names, where one that only JSON needs is
// escaped.
func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":                 `""`,
		"vm1":              `"vm1"`,
		`a"b\c`:            `"a\"b\\c"`,
		"\b\f\n\r\t\x01":   `"\b\f\n\r\t\u0001"`,
		"<&>/'\x7f\u2028é": "\"<&>/'\x7f\u2028é\"",
		"\U0001F600":       "\"\U0001F600\"",
		"broken \xff\xc0":  "\"broken \uFFFD\"", // no database has it
	} {
		if got := flows.Quote(in); got != want {
			t.Errorf("Quote(%q): got %s, want %s", in, got, want)
		}
	}
}

// FuzzQuote requires that a quoted name is a string constant of JSON and of the
// match language which stands for the name, and cannot end early in a flow.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "vm1", `a"b`, `a\`, `\"`, "\n", "\x00", "\x7f", "é", "\xff", "\xe2\x80", "\u2028", `" || 1 || inport == "`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		quoted := flows.Quote(name)
		valid := strings.ToValidUTF8(name, "\uFFFD")
		var back string
		if err := json.Unmarshal([]byte(quoted), &back); err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if name == valid && back != name {
			t.Errorf("%q becomes %q", name, back)
		}
		e, err := expr.Parse("inport == "+quoted, expr.Unresolved)
		if strings.ContainsRune(name, 0) {
			return // which the match language cannot say: no database has it
		}
		if err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if refs := e.Refs(); len(refs.Ports) != 1 || refs.Ports[0] != back {
			t.Errorf("%q refers to ports %q, want %q", quoted, refs.Ports, back)
		}
	})
}
