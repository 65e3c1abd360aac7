package ctl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// An Atom is one value of a basic type in libovsdb's native form: an int,
// float64, bool, string or libovsdb.UUID.
type Atom = any

// UUID makes an atom that refers to a row.
func UUID(uuid string) libovsdb.UUID { return libovsdb.UUID{GoUUID: uuid} }

var (
	fullUUID    = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
	partialUUID = regexp.MustCompile(`^[0-9a-fA-F]{4}[0-9a-fA-F-]*$`)
	plainString = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
)

// IsUUID reports whether s is a complete UUID.
func IsUUID(s string) bool { return fullUUID.MatchString(s) }

// compareAtoms orders two atoms of the same type.
func compareAtoms(a, b Atom) int {
	switch a := a.(type) {
	case int:
		if b, ok := b.(int); ok {
			return cmp.Compare(a, b)
		}
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b)
		}
	case bool:
		if b, ok := b.(bool); ok && a != b {
			if b {
				return -1
			}
			return 1
		} else if ok {
			return 0
		}
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b)
		}
	case libovsdb.UUID:
		if b, ok := b.(libovsdb.UUID); ok {
			return strings.Compare(a.GoUUID, b.GoUUID)
		}
	}
	// Atoms of different types meet only where a server breaks its schema.
	return strings.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b))
}

// parseAtom reads s as an atom of type base, the whole of it. symbols resolves
// "@name" where a UUID is expected and may be nil.
func parseAtom(s string, base *libovsdb.BaseType, symbols *Symbols) (Atom, error) {
	atom, err := parseAtomType(s, base, symbols)
	if err != nil {
		return nil, err
	}
	return atom, checkAtom(atom, base)
}

func parseAtomType(s string, base *libovsdb.BaseType, symbols *Symbols) (Atom, error) {
	switch base.Type {
	case libovsdb.TypeInteger:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a valid integer", s)
		}
		return int(n), nil
	case libovsdb.TypeReal:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%q is not a valid real number", s)
		}
		return f, nil
	case libovsdb.TypeBoolean:
		switch s {
		case "true", "yes", "on", "1":
			return true, nil
		case "false", "no", "off", "0":
			return false, nil
		}
		return nil, fmt.Errorf("%q is not a valid boolean (use \"true\" or \"false\")", s)
	case libovsdb.TypeUUID:
		if strings.HasPrefix(s, "@") && symbols != nil {
			return UUID(symbols.refer(s)), nil
		}
		if !IsUUID(s) {
			return nil, fmt.Errorf("%q is not a valid UUID", s)
		}
		return UUID(strings.ToLower(s)), nil
	case libovsdb.TypeString:
		return unquote(s)
	}
	return nil, fmt.Errorf("type %q is not supported", base.Type)
}

// unquote returns the string that s stands for: s itself, or what a JSON string
// says where s starts with a double quote.
func unquote(s string) (string, error) {
	switch {
	case s == "":
		return "", fmt.Errorf(`an empty string is not valid as input; use "" to represent the empty string`)
	case s[0] != '"':
		return s, nil
	case len(s) < 2 || s[len(s)-1] != '"':
		return "", fmt.Errorf("%s: missing quote at end of quoted string", s)
	}
	// Control characters need no escape here, unlike in JSON.
	var b strings.Builder
	for _, r := range s {
		if r < ' ' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	var out string
	if err := json.Unmarshal([]byte(b.String()), &out); err != nil {
		return "", fmt.Errorf("%s: not a valid quoted string", s)
	}
	return out, nil
}

// checkAtom reports how atom breaks the constraints of its type.
func checkAtom(atom Atom, base *libovsdb.BaseType) error {
	if len(base.Enum) > 0 {
		var allowed []string
		for _, e := range base.Enum {
			// Schemas come from JSON, where integers are floats.
			if f, ok := e.(float64); ok && base.Type == libovsdb.TypeInteger {
				e = int(f)
			}
			if e == atom {
				return nil
			}
			allowed = append(allowed, FormatAtom(e))
		}
		return fmt.Errorf("constraint violation: %s is not one of the allowed values ([%s])",
			FormatAtom(atom), strings.Join(allowed, ", "))
	}
	switch v := atom.(type) {
	case int:
		// The accessors fail only for other types; their limits for "none" are
		// computed in floating point, so the largest integer overflows.
		low, _ := base.MinInteger()
		high, _ := base.MaxInteger()
		if high < low {
			high = math.MaxInt
		}
		if v < low || v > high {
			return fmt.Errorf("constraint violation: %d is not in the valid range %d to %d (inclusive)", v, low, high)
		}
	case float64:
		high, _ := base.MaxReal()
		low, _ := base.MinReal()
		if low == math.SmallestNonzeroFloat64 { // the library's stand-in for "none"
			low = -math.MaxFloat64
		}
		if v < low || v > high {
			return fmt.Errorf("constraint violation: %g is not in the valid range %g to %g (inclusive)", v, low, high)
		}
	}
	return nil
}

// FormatAtom writes atom as the command line reads it, strings quoted where
// they could be taken for something else.
func FormatAtom(atom Atom) string {
	if s, ok := atom.(string); ok && needsQuotes(s) {
		return quoteJSON(s)
	}
	return bareAtom(atom)
}

func needsQuotes(s string) bool {
	return !plainString.MatchString(s) || s == "true" || s == "false" || IsUUID(s)
}

// bareAtom writes atom without any quotes.
func bareAtom(atom Atom) string {
	switch v := atom.(type) {
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'g', 15, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	case libovsdb.UUID:
		return v.GoUUID
	}
	return fmt.Sprint(atom)
}

func jsonAtom(atom Atom) string {
	switch v := atom.(type) {
	case string:
		return quoteJSON(v)
	case libovsdb.UUID:
		return `["uuid",` + quoteJSON(v.GoUUID) + `]`
	}
	return bareAtom(atom)
}

// quoteJSON writes s as OVSDB programs do: only what JSON requires is escaped.
// Package json would escape HTML's characters besides. What is no UTF-8 becomes
// U+FFFD.
func quoteJSON(s string) string {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD")) // fails for broken UTF-8 only
	return string(b)
}
