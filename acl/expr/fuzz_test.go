package expr

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// seed gives a fuzzer the tables of cases.
func seed(f *testing.F) {
	for _, c := range valid {
		f.Add(c.match)
	}
	for _, c := range invalid {
		f.Add(c.match)
	}
	for _, c := range stricter {
		f.Add(c.match)
	}
	for _, m := range []string{"\x00", "\xff", "inport == \"\xff\"", "^vip ^none ^nested", "/*", "0x", "ip4.src == 1.2.3.4/"} {
		f.Add(m)
	}
}

// FuzzParse requires that every text is either refused, with an error that makes
// sense, or has a canonical form that means the same.
func FuzzParse(f *testing.F) {
	seed(f)
	env := testEnv()
	packet, err := NewHeader("ip4.src == 10.0.0.1 && tcp.dst == 80 && ct.new")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, match string) {
		for _, env := range []Env{env, Unresolved} {
			e, err := Parse(match, env)
			if err != nil {
				checkError(t, match, err)
				continue
			}
			canonical := e.String()
			again, err := Parse(canonical, env)
			if err != nil {
				t.Fatalf("%q is canonically %q: %v", match, canonical, err)
			}
			if diff := cmp.Diff(again.root, e.root, cmpNodes); diff != "" {
				t.Fatalf("%q is canonically %q (-got +want):\n%s", match, canonical, diff)
			}
			if e.Eval(packet) != again.Eval(packet) {
				t.Fatalf("%q and %q differ", match, canonical)
			}
			e.Refs()
		}
	})
}

func checkError(t *testing.T, match string, err error) {
	var e *Error
	if !errors.As(err, &e) || e.Msg == "" || e.Kind == 0 {
		t.Fatalf("%q: no proper error: %#v", match, err)
	}
	if e.Offset < 0 || e.Offset > len(match) || e.Column < 1 || e.Column > e.Offset+1 {
		t.Fatalf("%q: error is nowhere: %#v", match, e)
	}
	if utf8.ValidString(match) && !utf8.ValidString(e.Error()) {
		t.Fatalf("%q: error is no text: %q", match, e.Error())
	}
}

// FuzzLexer requires that tokens lie one behind the other and reach the end.
func FuzzLexer(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		l := lexer{src: text}
		var tok token
		for at := 0; ; at = tok.end {
			l.next(&tok)
			if tok.start < at || tok.end < tok.start || tok.end > len(text) {
				t.Fatalf("%q: token %+v behind %d", text, tok, at)
			}
			if (tok.kind == tokError) != (tok.err != nil) {
				t.Fatalf("%q: token %+v", text, tok)
			}
			if tok.kind == tokEnd {
				if tok.end != len(text) {
					t.Fatalf("%q ends at %d", text, tok.end)
				}
				return
			}
			if tok.end == at {
				t.Fatalf("%q: no progress at %d", text, at)
			}
		}
	})
}

// FuzzAddressSet requires that a set, whatever it was made of, can be compared
// with.
func FuzzAddressSet(f *testing.F) {
	for _, addrs := range testSets {
		for _, a := range addrs {
			f.Add(a, "ip4.src == $s")
		}
	}
	f.Fuzz(func(t *testing.T, addr, match string) {
		s, _ := NewAddressSet([]string{addr})
		e, err := Parse(match, &Sets{Addresses: map[string]*Set{"s": s}})
		if err != nil {
			checkError(t, match, err)
			return
		}
		e.Eval(&Header{})
	})
}
