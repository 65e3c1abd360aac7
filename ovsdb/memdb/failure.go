package memdb

import (
	"errors"
	"fmt"
)

// A failure is the error of an operation or a commit, in RFC 7047's words.
type failure struct{ kind, details string }

// Kinds of failures, as ovsdb-server names them.
const (
	syntaxError          = "syntax error" // which unknown tables and operations are, too
	duplicateElement     = "ovsdb error"
	constraintViolation  = "constraint violation"
	referentialIntegrity = "referential integrity violation"
)

func failf(kind, format string, args ...any) *failure {
	return &failure{kind, fmt.Sprintf(format, args...)}
}

// error is the failure as an ordinary error.
func (f *failure) error() error { return errors.New(f.details) }
