package ctl

import (
	"fmt"
	"strings"
)

// Words splits a line into arguments as a shell does: quotes, and backslashes
// outside single quotes, keep what they protect. Nothing is expanded.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	started := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if started {
				words, started = append(words, word.String()), false
				word.Reset()
			}
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("%s: missing closing quote", line)
			}
			word.WriteString(line[i+1 : i+1+end])
			i += 1 + end
			started = true
		case '"':
			started = true
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
			if i == len(line) {
				return nil, fmt.Errorf("%s: missing closing quote", line)
			}
		case '\\':
			if i++; i < len(line) {
				word.WriteByte(line[i])
			}
			started = true
		default:
			word.WriteByte(c)
			started = true
		}
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}
