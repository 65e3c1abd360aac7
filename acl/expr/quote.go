package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape resolves JSON's escapes in s. Where one is bad it returns its offset
// and what is wrong.
func unescape(s string) (out string, bad int, what string) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '\\')
		if n < 0 {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+n])
		i += n
		if i+1 == len(s) {
			return "", i, "unfinished escape"
		}
		switch c := s[i+1]; c {
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, n, problem := unescapeU(s[i:])
			if problem != "" {
				return "", i, problem
			}
			b.WriteRune(r)
			i += n
			continue
		default:
			return "", i, "unknown escape"
		}
		i += 2
	}
	return b.String(), 0, ""
}

// unescapeU reads the \uXXXX that s begins with, or the pair of them that makes
// one character, and returns its length.
func unescapeU(s string) (r rune, n int, problem string) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return 0, false
		}
		x, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(x), err == nil
	}
	r, ok := unit(s)
	switch {
	case !ok:
		return 0, 0, `\u without four hexadecimal digits`
	case r == 0:
		return 0, 0, "NUL"
	case !utf16.IsSurrogate(r):
		return r, 6, ""
	}
	low, _ := unit(s[6:])
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, 0, "half a surrogate pair"
	}
	return r, 12, ""
}

// quote returns s as a string constant of the language.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
