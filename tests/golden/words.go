package golden

import (
	"errors"
	"fmt"
	"strings"
)

// words splits a line as a shell would: at white space, with quotes and
// backslashes. Anything else that a shell would expand is an error.
func words(line string) ([]string, error) {
	var (
		out  []string
		word strings.Builder
		in   bool // a word has begun, perhaps an empty one
	)
	end := func() {
		if in {
			out = append(out, word.String())
			word.Reset()
			in = false
		}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			end()
		case '\'':
			n := strings.IndexByte(line[i+1:], '\'')
			if n < 0 {
				return nil, errors.New("unterminated single quote")
			}
			word.WriteString(line[i+1 : i+1+n])
			in = true
			i += n + 1
		case '"':
			in = true
			for i++; ; i++ {
				if i >= len(line) {
					return nil, errors.New("unterminated double quote")
				}
				if line[i] == '"' {
					break
				}
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("$`\"\\", line[i+1]) >= 0 {
					i++
				} else if line[i] == '$' || line[i] == '`' {
					return nil, fmt.Errorf("unsupported %q in double quotes", line[i])
				}
				word.WriteByte(line[i])
			}
		case '\\':
			if i++; i >= len(line) {
				return nil, errors.New("backslash at the end")
			}
			word.WriteByte(line[i])
			in = true
		case '$', '`', '|', '&', ';', '<', '>', '(', ')', '*', '?':
			return nil, fmt.Errorf("unsupported %q outside of quotes", c)
		default:
			word.WriteByte(c)
			in = true
		}
	}
	end()
	return out, nil
}
