package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"northwall/ovsdb/unixctl"
)

// northwalld is the path of the program, built once.
var northwalld = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "northwalld")
	if out, err := exec.Command("go", "build", "-o", path, "northwall/cmd/northwalld").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building northwalld: %w: %s", err, out)
	}
	return path, nil
})

// buildDir is where northwalld is built.
var buildDir string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		buildDir = dir
		return m.Run()
	}())
}

// A daemon is a running northwalld.
type daemon struct {
	t   testing.TB
	cmd *exec.Cmd
	dir string
}

func startDaemon(t testing.TB, nb, sb []string) *daemon {
	t.Helper()
	program, err := northwalld()
	if err != nil {
		t.Fatal(err)
	}
	return startProgram(t, program, nb, sb)
}

func startProgram(t testing.TB, program string, nb, sb []string, environment ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: tempDir(t)}
	d.cmd = exec.Command(program, "--ovnnb-db="+strings.Join(nb, ","), "--ovnsb-db="+strings.Join(sb, ","),
		"--unixctl="+d.ctl(), "--log-file="+d.log(), "-vconsole:off")
	d.cmd.Env = append(os.Environ(), environment...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.kill()
		if log, err := os.ReadFile(d.log()); t.Failed() && err == nil {
			t.Logf("the daemon's log ends with:\n%s", log[max(0, len(log)-4000):])
		}
	})
	until(t, "the daemon's control socket", func() bool { _, err := d.call("version"); return err == nil })
	return d
}

func (d *daemon) ctl() string { return filepath.Join(d.dir, "ctl") }
func (d *daemon) log() string { return filepath.Join(d.dir, "log") }

func (d *daemon) call(command string) (string, error) {
	return unixctl.Call(d.t.Context(), d.ctl(), command)
}

// kill ends the daemon as kill -9 does.
func (d *daemon) kill() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

func (d *daemon) active() bool {
	if d.cmd == nil {
		return false
	}
	out, err := d.call("status")
	return err == nil && strings.Contains(out, "active")
}

// goroutines is the number of them in the daemon.
func (d *daemon) goroutines() int {
	out, err := d.call("memory/show")
	if err != nil {
		d.t.Fatal(err)
	}
	_, text, ok := strings.Cut(out, "goroutines:")
	n := 0
	if _, err := fmt.Sscan(text, &n); err != nil || !ok {
		d.t.Fatalf("memory/show says %q: %v", out, errors.Join(err))
	}
	return n
}

// active is the daemon that writes, once one does.
func active(t testing.TB, daemons []*daemon) (found *daemon) {
	t.Helper()
	until(t, "an active daemon", func() bool {
		for _, d := range daemons {
			if d.active() {
				found = d
			}
		}
		return found != nil
	})
	return found
}
