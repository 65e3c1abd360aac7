// Package unixctl serves the control socket that ovs-appctl(8) and
// ovn-appctl(8) talk to: JSON-RPC over a Unix socket, a command being a method
// whose parameters and result are strings.
package unixctl

import (
	"context"
	"encoding/json"
	"fmt"
)

// Command is one that can be given through the socket.
type Command struct {
	Name     string
	Usage    string // of the arguments, for list-commands
	Min, Max int    // number of arguments
	// Run answers the command. An error becomes the command's error message.
	Run func(ctx context.Context, args []string) (string, error)
}

// maxPath is what the kernel takes for the name of a Unix socket, with its
// terminating NUL.
const maxPath = 108

// CheckPath reports a name that is too long for a Unix socket.
func CheckPath(path string) error {
	if len(path) >= maxPath {
		return fmt.Errorf("%s: %d characters are too many for the name of a Unix socket, of which there may be %d", path, len(path), maxPath-1)
	}
	return nil
}

// request is a JSON-RPC request (JSON-RPC 1.0, as RFC 7047 section 4 uses it).
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params []any           `json:"params"`
}

type response struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result"`
	Error  any             `json:"error"`
}
