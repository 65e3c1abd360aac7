package golden

import (
	"errors"
	"os"
	"testing"

	"northwall/ovsdb/standalone"
)

// newServers starts servers for a test, which is skipped where there are none.
func newServers(t *testing.T) *Servers {
	t.Helper()
	dir, err := os.MkdirTemp("", "golden") // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w, err := StartServers(t.Context(), dir)
	if errors.Is(err, standalone.ErrMissing) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}
