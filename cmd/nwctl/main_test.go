package main

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"northwall/ovsdb/standalone"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"nwctl": main}) }

// TestScripts runs testdata, each script with two databases of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			// The path of a socket may have 107 bytes; a work directory is too deep.
			dir, err := os.MkdirTemp("", "nwctl")
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(dir) })
			databases, err := standalone.Start(context.Background(), standalone.Options{Dir: dir})
			if errors.Is(err, standalone.ErrMissing) {
				t.Skip(err)
			}
			if err != nil {
				return err
			}
			env.Defer(databases.Stop)
			env.Setenv("OVN_NB_DB", databases.NB())
			env.Setenv("OVN_SB_DB", databases.SB())
			return nil
		},
	})
}
