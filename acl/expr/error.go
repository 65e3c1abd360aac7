package expr

import (
	"fmt"
	"unicode/utf8"
)

// Kind says what sort of mistake an Error is.
type Kind uint8

const (
	Lexical         Kind = iota + 1 // no token of the language
	Syntax                          // tokens in an order that means nothing
	Ambiguous                       // parentheses are required
	UnknownField                    // a name that is no field or predicate
	Mismatch                        // constant and field, or bit range and field, do not fit
	Level                           // a comparison that the field's level of measurement forbids
	Limit                           // too long or too deeply nested
	UnknownSet                      // no such address set or port group (yet)
	UnknownTemplate                 // no such template variable (yet)
)

var kindNames = [...]string{
	Lexical: "lexical error", Syntax: "syntax error", Ambiguous: "ambiguous",
	UnknownField: "unknown field", Mismatch: "type mismatch", Level: "comparison not supported",
	Limit: "limit exceeded", UnknownSet: "unknown set", UnknownTemplate: "unknown template variable",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Error says why a match is refused. Every error of this package about a text is
// one.
//
// Two kinds are no fault of the text: with UnknownSet and UnknownTemplate the
// match is well-formed, and ovn-controller leaves its flow out until the set or
// variable that Name names exists.
type Error struct {
	Kind   Kind
	Offset int    // of the offending token, in bytes from the start of the match
	Column int    // the same in characters, from 1
	Msg    string // what is wrong
	Hint   string // what to write instead, or ""
	Name   string // the field, "$set", "@group" or "^variable" at fault, or ""
}

func (e *Error) Error() string {
	s := fmt.Sprintf("column %d: %s", e.Column, e.Msg)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Transient reports whether the match is good and waits only for something that
// it refers to to be created.
func (e *Error) Transient() bool { return e.Kind == UnknownSet || e.Kind == UnknownTemplate }

// newError places a mistake at byte offset off of src.
func newError(k Kind, src string, off int, format string, args ...any) *Error {
	off = min(off, len(src))
	return &Error{
		Kind: k, Offset: off, Column: utf8.RuneCountInString(src[:off]) + 1,
		Msg: fmt.Sprintf(format, args...),
	}
}

// hint adds what to do about the mistake.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// named adds what the mistake is about.
func (e *Error) named(name string) *Error {
	e.Name = name
	return e
}

// clip returns s as it can be shown in a message, whatever it holds.
func clip(s string) string {
	const most = 48
	if len(s) > most {
		n := most
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return s
}
