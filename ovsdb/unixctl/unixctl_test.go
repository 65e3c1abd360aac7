package unixctl

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
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
		{cmd: "echo", args: []string{"a", `b "c"`}, want: "a b \"c\"\n"},
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
	if got, err := Call(t.Context(), path, "hi"); got != "hi\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestExit: the command that ends the server is answered, and a client that only
// keeps a connection open does not hold it up.
func TestExit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ctl")
	for range 50 {
		exit := make(chan struct{})
		s, err := Listen(path, Command{Name: "exit", Run: func(context.Context, []string) (string, error) { close(exit); return "bye", nil }})
		if err != nil {
			t.Fatal(err)
		}
		idle, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{})
		go func() { <-exit; s.Close(); close(closed) }()
		if got, err := Call(t.Context(), path, "exit"); got != "bye\n" || err != nil {
			t.Errorf("exit: got %q, %v, want %q", got, err, "bye\n")
		}
		<-closed
		idle.Close()
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	}
}

// TestAppctl: the tool that the socket is for understands it.
func TestAppctl(t *testing.T) {
	if _, err := exec.LookPath("ovs-appctl"); err != nil {
		t.Skip("ovs-appctl is not installed")
	}
	path := filepath.Join(t.TempDir(), "ctl")
	s, err := Listen(path,
		Command{Name: "echo", Usage: "[WORD]...", Max: 9, Run: func(_ context.Context, a []string) (string, error) { return strings.Join(a, "|"), nil }},
		Command{Name: "fail", Run: func(context.Context, []string) (string, error) { return "", errors.New("no luck") }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tc := range []struct {
		args           []string
		stdout, stderr string
		status         int
	}{
		{args: []string{"list-commands"}, stdout: "The available commands are:\n  echo                    [WORD]...\n  fail                    \n  list-commands           \n"},
		{args: []string{"echo", "a b", `"`, "ü"}, stdout: "a b|\"|ü\n"},
		{args: []string{"fail"}, stderr: "no luck\novs-appctl: " + path + ": server returned an error\n", status: 2},
		{args: []string{"nosuch"}, stderr: "\"nosuch\" is not a valid command (use \"list-commands\" to see a list of valid commands)\novs-appctl: " + path + ": server returned an error\n", status: 2},
	} {
		cmd := exec.CommandContext(t.Context(), "ovs-appctl", append([]string{"-t", path}, tc.args...)...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if stdout.String() != tc.stdout || stderr.String() != tc.stderr || cmd.ProcessState.ExitCode() != tc.status {
			t.Errorf("%s: got %q, %q, status %d; want %q, %q, %d", strings.Join(tc.args, " "),
				stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), tc.stdout, tc.stderr, tc.status)
		}
	}
}
