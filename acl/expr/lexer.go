package expr

import (
	"strings"
	"unicode/utf8"
)

// lexer cuts a text into tokens. Each byte is looked at a bounded number of times.
type lexer struct {
	src string
	pos int // where the next token begins, or the space before it
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func isID1(c byte) bool   { return isAlpha(c) || c == '_' || c == '.' }
func isIDN(c byte) bool   { return isID1(c) || isDigit(c) }

// at returns the byte at i, or 0 past the end.
func (l *lexer) at(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// fail makes t the error token for a mistake at off.
func (l *lexer) fail(t *token, off int, format string, args ...any) *Error {
	t.kind = tokError
	t.err = newError(Lexical, l.src, off, format, args...)
	return t.err
}

// skip passes over space and comments. It returns false where a comment does
// not end, with the token that says so in t.
func (l *lexer) skip(t *token) bool {
	for {
		switch l.at(l.pos) {
		case ' ', '\t', '\n', '\r', '\v', '\f':
			l.pos++
			continue
		case '/':
		default:
			return true
		}
		rest := l.src[l.pos:]
		switch {
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.pos += n
		case strings.HasPrefix(rest, "/*"):
			i := l.pos + 2
			for i < len(l.src) && l.src[i] != '\n' && (l.src[i] != '*' || l.at(i+1) != '/') {
				i++
			}
			if l.at(i) != '*' {
				l.fail(t, l.pos, "comment does not end on its line").hint("close it with */")
				l.pos = i
				return false
			}
			l.pos = i + 2
		default:
			l.fail(t, l.pos, "stray /").hint("a mask follows its value without a space, as in 10.0.0.0/8")
			l.pos++
			return false
		}
	}
}

// next reads the next token into t.
func (l *lexer) next(t *token) {
	t.kind, t.text, t.err = tokEnd, "", nil
	t.start = l.pos
	if l.skip(t) {
		t.start = l.pos
		if l.pos < len(l.src) {
			l.scan(t)
		}
	}
	t.end = l.pos
}

// single holds the tokens of one byte that begin no longer one.
var single = [256]tokenKind{
	'(': tokLParen, ')': tokRParen, '{': tokLCurly, '}': tokRCurly,
	'[': tokLSquare, ']': tokRSquare, ',': tokComma, ';': tokOther, '-': tokOther,
}

// scan reads the token that begins at pos, which is inside the text.
func (l *lexer) scan(t *token) {
	c := l.src[l.pos]
	if k := single[c]; k != tokEnd {
		t.kind = k
		l.pos++
		return
	}
	switch {
	case isDigit(c), c == ':' && l.at(l.pos+1) == ':':
		l.number(t)
	case isHex(c) && l.colonAfterHex():
		l.number(t)
	case c == '.':
		if l.pair(t, '.', tokEllipsis, tokError); t.kind == tokError {
			l.fail(t, l.pos-1, "stray .").hint("a name or number cannot begin with a dot")
		}
	case isID1(c):
		t.kind = tokID
		l.name(t)
	case c == '=':
		l.pair(t, '=', tokEq, tokAssign)
	case c == '!':
		l.pair(t, '=', tokNe, tokNot)
	case c == '<':
		l.pair(t, '=', tokLe, tokLt)
		if t.kind == tokLt && l.at(l.pos) == '-' && l.at(l.pos+1) == '>' {
			t.kind = tokOther // <-> exchanges fields in actions
			l.pos += 2
		}
	case c == '>':
		l.pair(t, '=', tokGe, tokGt)
	case c == '&':
		if l.pair(t, '&', tokAnd, tokError); t.kind == tokError {
			l.fail(t, l.pos-1, "stray &").hint("the logical and is &&; a mask is written value/mask")
		}
	case c == '|':
		if l.pair(t, '|', tokOr, tokError); t.kind == tokError {
			l.fail(t, l.pos-1, "stray |").hint("the logical or is ||")
		}
	case c == ':':
		t.kind = tokOther
		l.pos++
	case c == '$':
		l.sigil(t, tokSet, "an address set")
	case c == '@':
		l.sigil(t, tokGroup, "a port group")
	case c == '^':
		l.sigil(t, tokTemplate, "a template variable")
	case c == '"':
		l.str(t)
	default:
		l.stray(t)
	}
}

// pair reads a token of one byte, or of two where second follows.
func (l *lexer) pair(t *token, second byte, both, one tokenKind) {
	l.pos++
	t.kind = one
	if l.at(l.pos) == second {
		l.pos++
		t.kind = both
	}
}

// name reads the rest of a name into t.text.
func (l *lexer) name(t *token) {
	start := l.pos
	for l.pos++; isIDN(l.at(l.pos)); l.pos++ {
	}
	t.text = l.src[start:l.pos]
}

// sigil reads a name behind one of $, @ and ^.
func (l *lexer) sigil(t *token, k tokenKind, what string) {
	l.pos++
	if !isID1(l.at(l.pos)) {
		l.fail(t, l.pos-1, "%c must be followed by the name of %s", l.src[l.pos-1], what)
		return
	}
	t.kind = k
	l.name(t)
}

// colonAfterHex reports whether the hexadecimal digits here run up to a colon,
// as in an Ethernet or IPv6 address and never in a name.
func (l *lexer) colonAfterHex() bool {
	i := l.pos
	for isHex(l.at(i)) {
		i++
	}
	return l.at(i) == ':'
}

// stray refuses a character that begins no token.
func (l *lexer) stray(t *token) {
	r, n := utf8.DecodeRuneInString(l.src[l.pos:])
	switch {
	case r == utf8.RuneError && n <= 1:
		l.fail(t, l.pos, "byte 0x%02x is not UTF-8", l.src[l.pos])
	case r == '\'', r == '“', r == '”':
		l.fail(t, l.pos, "unexpected character %q", r).hint(`strings are quoted with "`)
	default:
		l.fail(t, l.pos, "unexpected character %q", r)
	}
	l.pos += n
}

// str reads a quoted string, with JSON's escapes.
func (l *lexer) str(t *token) {
	start := l.pos
	escaped := false
	i := start + 1
	for {
		n := strings.IndexAny(l.src[i:], "\"\\")
		if n < 0 {
			l.fail(t, start, "string does not end").hint(`close it with "`)
			l.pos = len(l.src)
			return
		}
		i += n
		if l.src[i] == '"' {
			break
		}
		escaped = true
		i = min(i+2, len(l.src))
	}
	raw := l.src[start+1 : i]
	l.pos = i + 1
	t.kind, t.text = tokString, raw
	switch {
	case badByte(raw) >= 0:
		l.fail(t, start, "string is no text")
	case escaped:
		s, bad, what := unescape(raw)
		if what != "" {
			l.fail(t, start+1+bad, "%s in string", what)
			return
		}
		t.text = s
	}
}

// badByte returns where s is not UTF-8 or has a NUL, or -1. Columns of a database
// hold neither.
func badByte(s string) int {
	nul := strings.IndexByte(s, 0)
	if utf8.ValidString(s) {
		return nul
	}
	for i, r := range s {
		if r == 0 {
			return i
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return nul
}
