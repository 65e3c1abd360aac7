package unixctl

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ctl")
	s, err := Listen(path,
		Command{Name: "echo", Usage: "[WORD]...", Max: 9, Run: func(_ context.Context, a []string) (string, error) { return strings.Join(a, " "), nil }},
		Command{Name: "fail", Run: func(context.Context, []string) (string, error) { return "", errors.New("no luck") }},
		Command{Name: "two", Min: 2, Max: 2, Run: func(context.Context, []string) (string, error) { return "", nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tc := range []struct {
		cmd     string
		args    []string
		want    string
		wantErr string
	}{
		{cmd: "echo", args: []string{"a", `b "c"`}, want: `a b "c"`},
		{cmd: "fail", wantErr: "no luck\n"},
		{cmd: "two", args: []string{"1"}, wantErr: "\"two\" command requires at least 2 arguments\n"},
		{cmd: "two", args: []string{"1", "2", "3"}, wantErr: "\"two\" command takes at most 2 arguments\n"},
		{cmd: "nosuch", wantErr: "\"nosuch\" is not a valid command (use \"list-commands\" to see a list of valid commands)\n"},
	} {
		got, err := Call(t.Context(), path, tc.cmd, tc.args...)
		if got != tc.want {
			t.Errorf("%s %q: got %q, want %q", tc.cmd, tc.args, got, tc.want)
		}
		if msg := errText(err); msg != tc.wantErr {
			t.Errorf("%s %q: got error %q, want %q", tc.cmd, tc.args, msg, tc.wantErr)
		}
	}
	list, err := Call(t.Context(), path, "list-commands")
	if err != nil || !strings.Contains(list, "echo                    [WORD]...") {
		t.Errorf("list-commands: got %q, %v", list, err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ctl")
	s, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("listening twice: got error %v", err)
	}
	s.Close()
	// A socket that a dead process left behind.
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	s, err = Listen(path)
	if err != nil {
		t.Fatalf("after a crash: %v", err)
	}
	s.Close()
	if _, err := Listen("/" + strings.Repeat("x", 120)); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("a long name: got error %v", err)
	}
}

// TestGarbage: what is no JSON-RPC ends its own connection, and no other.
func TestGarbage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ctl")
	s, err := Listen(path, Command{Name: "hi", Run: func(context.Context, []string) (string, error) { return "hi", nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, in := range []string{"garbage", "{}", `{"id":1,"method":"hi","params":[1]}`, "\x00\xff", "[[[[[", strings.Repeat("9", 2<<20)} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte(in)) // may fail, once the server has had enough
		c.Close()
	}
	if got, err := Call(t.Context(), path, "hi"); got != "hi" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
