package standalone

import (
	"fmt"
	"net"
	"strings"
)

// checkRemote refuses an address that cannot be listened on. ovsdb-server itself
// only logs that, and goes on without.
func checkRemote(remote string) error {
	kind, rest, _ := strings.Cut(remote, ":")
	if kind != "ptcp" {
		return fmt.Errorf("remote %q: want ptcp:PORT[:ADDRESS]", remote)
	}
	port, host, _ := strings.Cut(rest, ":")
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "" {
		host = "0.0.0.0" // what ovsdb-server takes it for
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return fmt.Errorf("remote %q: %w", remote, err)
	}
	return l.Close()
}
