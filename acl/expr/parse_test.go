package expr

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestValid(t *testing.T) {
	env := testEnv()
	for _, c := range valid {
		t.Run(c.match, func(t *testing.T) {
			e, err := Parse(c.match, env)
			if err != nil {
				t.Fatal(err)
			}
			want := c.canonical
			if want == "" {
				want = c.match
			}
			if got := e.String(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			again, err := Parse(e.String(), env)
			if err != nil {
				t.Fatalf("canonical form %s: %v", e, err)
			}
			if diff := cmp.Diff(again.root, e.root, cmpNodes); diff != "" {
				t.Errorf("%s parses to something else (-got +want):\n%s", e, diff)
			}
			// Check takes sets not to be empty; only empty ones fit here.
			if err := Check(c.match); err != nil && !strings.Contains(c.match, "empty @pg") && !strings.Contains(c.match, "@pg.0, $") {
				t.Errorf("Check: %v", err)
			}
		})
	}
}

// cmpNodes compares expressions; symbols and sets by identity.
var cmpNodes = cmp.Options{
	cmp.Comparer(func(a, b *Symbol) bool { return a == b }),
	cmp.Comparer(func(a, b *Set) bool { return a == b }),
}

func TestInvalid(t *testing.T) {
	env := testEnv()
	for _, c := range invalid {
		t.Run(c.match, func(t *testing.T) {
			e, err := Parse(c.match, env)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, %v, want an Error", e, err)
			}
			if got.Kind != c.kind || got.Column != c.column {
				t.Errorf("got %v in column %d, want %v in column %d: %v", got.Kind, got.Column, c.kind, c.column, got)
			}
			if !strings.Contains(got.Error(), c.says) {
				t.Errorf("got %q, want it to say %q", got, c.says)
			}
		})
	}
}

func TestStricter(t *testing.T) {
	for _, c := range stricter {
		_, err := Parse(c.match, testEnv())
		var got *Error
		if !errors.As(err, &got) || got.Kind != c.kind || !strings.Contains(got.Error(), c.says) {
			t.Errorf("%s: got %v, want %v: %s", c.match, err, c.kind, c.says)
		}
	}
}

// TestMissing is about names that the environment does not have: an error of its
// own kind, and only where nothing else is wrong.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		match string
		kind  Kind
		name  string
	}{
		{"ip4.src == $nope", UnknownSet, "$nope"},
		{"ip4 && inport == @nope", UnknownSet, "@nope"},
		{"ip4.src == {$as4, $nope} && ip4.dst == $other", UnknownSet, "$nope"},
		{"ip4.src == ^nope", UnknownTemplate, "^nope"},
		{"^nope || tcp", UnknownTemplate, "^nope"},
		{"ip4.src == $nope && tcp.dts == 1", UnknownField, "tcp.dts"},
		{"inport == $nope", Mismatch, "inport"},
		{"ip4.src == $nope && eth.type != 1", Level, "eth.type"},
	} {
		_, err := Parse(c.match, testEnv())
		var got *Error
		if !errors.As(err, &got) || got.Kind != c.kind || got.Name != c.name {
			t.Errorf("%s: got %+v, want %v of %s", c.match, err, c.kind, c.name)
			continue
		}
		if want := c.kind >= UnknownSet; got.Transient() != want {
			t.Errorf("%s: Transient is %v", c.match, !want)
		}
	}
	if err := Check("ip4.src == $nope && inport == @nope && tcp.dst == ^nope"); err != nil {
		t.Errorf("Check of unknown names: %v", err)
	}
	if _, err := Parse("ip4.src == $nope", nil); err == nil {
		t.Error("a nil Env knows a set")
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ match, want string }{
		{"ip4.src == ^vip", "ip4.src == 10.0.0.1"},
		{"ip4.src == {^vip, 1.2.3.4}", "ip4.src == {10.0.0.1, 1.2.3.4}"},
		{"tcp.dst == ^ports && ip4", "tcp.dst == {80, 443} && ip4"},
		{"^term", "tcp && ip4"},
		{"^none ip4 ^none", "ip4"},
		{"^none", "column 1: match is empty (1 matches every packet)"},
		{"tcp.dst == ^vip", "column 12: tcp.dst has 16 bits, 10.0.0.1 needs 32"},
		{"tcp && tcp.dst == ^vip && ip4", "column 19: tcp.dst has 16 bits, 10.0.0.1 needs 32"},
		{"ip4.src == ^bad", "column 12: end of match expected, found 10.0.0.2, in the value of ^bad (terms are joined by && or ||)"},
		{"ip4.src == {^bad", "column 13: unexpected character '+', in the value of ^bad"},
		{"ip4.src == ^nested", "column 12: ^vip is within another template variable, in the value of ^nested"},
	} {
		e, err := Parse(c.match, testEnv())
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = e.String()
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.match, got, c.want)
		}
	}
	// Without values they stand for whatever fits.
	for _, m := range []string{"ip4.src == ^v", "^t && !^u", "tcp.dst == {^a, ^b}", "^a < tcp.dst", "inport == ^p", "ip4 == ^x"} {
		e, err := Parse(m, Unresolved)
		if err != nil {
			t.Errorf("%s: %v", m, err)
			continue
		}
		again, err := Parse(e.String(), Unresolved)
		if err != nil {
			t.Errorf("%s: %v", e, err)
			continue
		}
		if diff := cmp.Diff(again.root, e.root, cmpNodes); diff != "" {
			t.Errorf("%s (-got +want):\n%s", e, diff)
		}
	}
}

// TestHostile holds what takes time or stack in a careless parser to a bound
// that is an order above what it needs here, under -race too. The texts are as
// long as texts may be, so it takes a second or two.
func TestHostile(t *testing.T) {
	const n = MaxSize
	rep := func(s string) string { return strings.Repeat(s, n/len(s)) }
	big := make([]string, 100000)
	for i := range big {
		big[i] = Value{Lo: uint64(i)}.format(IPv4)
	}
	env := testEnv()
	env.Addresses["big"], _ = NewAddressSet(big)
	env.Templates["big"] = rep("{")[:n/2]
	env.Templates["e"] = ""
	for name, c := range map[string]struct {
		match string
		kind  Kind // 0: no error
	}{
		"too long":         {rep("1") + "11111111", Limit},
		"parentheses":      {rep("("), Limit},
		"not parentheses":  {rep("!("), Limit},
		"nots":             {rep("!"), Syntax},
		"braces":           {rep("{"), Syntax},
		"comments":         {rep("/**/"), Syntax},
		"open comments":    {rep("/*"), Lexical},
		"spaces":           {rep(" "), Syntax},
		"digits":           {rep("1"), Lexical},
		"hex digits":       {"0x" + rep("f")[2:], Lexical},
		"colons":           {rep("a:"), Lexical},
		"dots":             {rep("1."), Lexical},
		"name":             {rep("a"), UnknownField},
		"names":            {rep("a "), UnknownField},
		"call":             {rep("ip4/**/"), Syntax},
		"string":           {`inport == "` + rep("a")[12:] + `"`, 0},
		"open string":      {`inport == "` + rep("a")[12:], Lexical},
		"backslashes":      {`inport == "` + rep(`\`)[12:], Lexical},
		"escapes":          {`inport == "` + rep(`\u0041`)[12:], Lexical},
		"terms":            {rep("1||") + "1", 0},
		"negated terms":    {strings.Repeat("!(", 100) + rep("1||")[999:] + "1" + strings.Repeat(")", 100), 0},
		"constants":        {"tcp.dst == {" + rep("1 ")[14:] + "}", 0},
		"sets":             {"ip4.src == {" + rep("$big ")[20:] + "}", 0},
		"sets of the one":  {"ip4.src == {" + rep("$as4 ")[20:] + "}", 0},
		"big variables":    {rep("^big"), Limit},
		"empty variables":  {rep("^e"), Syntax},
		"NULs":             {rep("\x00"), Lexical},
		"not UTF-8":        {rep("\xff"), Lexical},
		"NUL in a string":  {"inport == \"a\x00b\"", Lexical},
		"cut off UTF-8":    {"inport == \"é"[:12], Lexical},
		"NUL in a comment": {"1 // \x00", Lexical},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.match) > n && c.kind != Limit {
				c.match = c.match[:n]
			}
			start := time.Now()
			e, err := Parse(c.match, env)
			// What takes time in proportion to the length is done in seconds on the
			// slowest machine, a square takes hours.
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
			var got Kind
			if bad := (*Error)(nil); errors.As(err, &bad) {
				got = bad.Kind
				if len(bad.Error()) > 400 {
					t.Errorf("error of %d bytes", len(bad.Error()))
				}
			}
			if got != c.kind {
				t.Fatalf("got %v, want %v: %.300v", got, c.kind, err)
			}
			if err == nil {
				_ = e.String()
				e.Eval(&Header{})
			}
		})
	}
}

func TestDepth(t *testing.T) {
	for _, c := range []struct {
		depth int
		ok    bool
	}{{MaxDepth, true}, {MaxDepth + 1, false}} {
		m := strings.Repeat("(", c.depth) + "ip4" + strings.Repeat(")", c.depth)
		if err := Check(m); (err == nil) != c.ok {
			t.Errorf("depth %d: %v", c.depth, err)
		}
	}
}

func TestErrorColumn(t *testing.T) {
	_, err := Parse(`inport == "ä😀" && foo`, nil)
	var e *Error
	if !errors.As(err, &e) || e.Offset != 22 || e.Column != 19 {
		t.Errorf("got %+v, want offset 22, column 19", e)
	}
}
