package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// parentOf returns the parent of a process.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	parent, err := strconv.Atoi(strings.Fields(rest)[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

func signalTo(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// TestMonitor: a daemon that crashes is started again by its monitor; when it ends
// otherwise, the monitor ends, too.
func TestMonitor(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(t *testing.T, p place, monitor, daemon int)
	}{
		{"killed", func(t *testing.T, _ place, _, daemon int) { signalTo(t, daemon, syscall.SIGKILL) }},
		{"told to exit", func(_ *testing.T, p place, _, _ int) { p.appctl("exit") }},
		{"the monitor told to end", func(t *testing.T, _ place, monitor, _ int) { signalTo(t, monitor, syscall.SIGTERM) }},
		{"the monitor told to end after a second crash", func(t *testing.T, _ place, monitor, daemon int) {
			signalTo(t, daemon, syscall.SIGABRT)
			waitGone(t, "the daemon", daemon)
			signalTo(t, monitor, syscall.SIGTERM)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlace(t)
			first := p.background(p.standalone("--monitor")...)
			monitor := parentOf(t, first)
			t.Cleanup(func() {
				if !gone(monitor) {
					_ = syscall.Kill(monitor, syscall.SIGKILL)
				}
			})
			if args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", monitor)); err != nil || !strings.Contains(string(args), "--monitor") {
				t.Fatalf("the parent is %q, %v", args, err)
			}
			signalTo(t, first, syscall.SIGSEGV)
			waitGone(t, "the daemon", first)
			eventually(t, "another daemon", "true", func() string {
				pid := pidIn(p.path("pid"))
				return strconv.FormatBool(pid != 0 && pid != first)
			})
			second := p.pid("pid")
			t.Cleanup(func() {
				if !gone(second) {
					_ = syscall.Kill(second, syscall.SIGKILL)
				}
			})
			if got := parentOf(t, second); got != monitor {
				t.Errorf("its parent is %d, want the monitor, %d", got, monitor)
			}
			eventually(t, "its control socket", "northwalld.ctl", func() string { return p.has("northwalld.ctl") })
			eventually(t, "status", "Status: active\n", func() string { return p.tryAppctl("status") })
			log, err := os.ReadFile(p.path("log"))
			if err != nil || !strings.Contains(string(log), "\tmonitor\tthe daemon crashed: starting it again\t") {
				t.Errorf("the log says nothing of it: %v\n%s", err, log)
			}
			if !strings.Contains(string(log), "SIGSEGV: segmentation violation") || !strings.Contains(string(log), "goroutine ") {
				t.Errorf("the log does not say where it crashed:\n%s", log)
			}
			tc.end(t, p, monitor, second)
			waitGone(t, "the monitor", monitor)
			waitGone(t, "the daemon", second)
		})
	}
}

// TestMonitorInForeground: the monitor needs no --detach, and ends as the daemon does.
func TestMonitorInForeground(t *testing.T) {
	p := newPlace(t)
	cmd := daemon(t, p.standalone("--monitor")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "control socket", "northwalld.ctl", func() string { return p.has("northwalld.ctl") })
	if got := parentOf(t, p.pid("pid")); got != cmd.Process.Pid {
		t.Errorf("the daemon's parent is %d, want %d", got, cmd.Process.Pid)
	}
	signalTo(t, cmd.Process.Pid, syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := p.has("pid", "northwalld.ctl", "nb.sock"); got != "" {
		t.Errorf("left %s", got)
	}
	for _, args := range [][]string{{"--monitor"}, {"--monitor", "--detach"}} {
		out, status := invoke(t, p.standalone(append(args, "--unixctl="+p.path("no/such/dir"))...)...)
		if status != 1 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "no such file or directory") {
			t.Errorf("%q of a daemon that cannot start: got %q, status %d", args, out, status)
		}
	}
}
