package unixctl

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzServer sends anything to the control socket. The server must end that
// connection, or answer, once nothing more comes, and serve the next.
func FuzzServer(f *testing.F) {
	for _, in := range []string{
		`{"id":1,"method":"echo","params":["a"]}`, `{"id":1,"method":"echo","params":["a"]}{"id":2,"method":"list-commands","params":[]}`,
		`{"id":null,"method":"echo","params":[1,{},[]]}`, `{"id":[{"a":1}],"method":"","params":null}`, `{"method":"echo"}`, `{"id":1e999,"method":"nosuch"}`,
		`{"id":"` + "\xff" + `","method":"echo","params":["` + "\xff" + `\u0000\ud800"]}`, `{"id":1,"result":"x","error":null}`, "\x00\xff", "[[[[", `{"id":`, "{}{}", "\n\n",
	} {
		f.Add([]byte(in))
	}
	path := filepath.Join(f.TempDir(), "ctl")
	s, err := Listen(path, Command{Name: "echo", Max: 9, Run: func(_ context.Context, a []string) (string, error) { return strings.Join(a, " "), nil }})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			_, _ = c.Write(in) // fails once the server has had enough
			_ = c.(*net.UnixConn).CloseWrite()
		}()
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
		if got, err := Call(t.Context(), path, "echo", "still", "there"); got != "still there\n" || err != nil {
			t.Errorf("the next connection: got %q, %v", got, err)
		}
	})
}
