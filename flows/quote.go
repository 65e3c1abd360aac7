package flows

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Quote writes s as a string constant of the match and action languages, which
// is a JSON string (ovn-sb(5), "Lexical structure"). Only what JSON requires is
// escaped, as ovn-northd does. What is no UTF-8 becomes U+FFFD.
func Quote(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return `"` + s + `"`
	}
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD")) // fails for broken UTF-8 only
	return string(b)
}
