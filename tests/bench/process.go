package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that ends with this one.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{}
	err    error // once it has ended
}

// startProcess starts a program; root is "" or what becomes its root directory.
func startProcess(root, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Chroot: root}
	if root != "" {
		p.cmd.Dir = "/"
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the process and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	<-p.ended
}

// failure says why the process has ended; nil while it runs.
func (p *process) failure() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: %v: %s", p.cmd.Path, p.err, strings.TrimSpace(p.stderr.String()))
	default:
		return nil
	}
}

// ticksPerSecond is the unit of times in /proc/PID/stat, fixed on Linux.
const ticksPerSecond = 100

// cpu is the time that the process has computed, user and system.
func (p *process) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, with any byte in it.
	_, rest, ok := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat: %q", b)
	}
	var ticks int64
	for _, f := range fields[11:13] { // fields 14 and 15 of proc(5)
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/PID/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// peak is the most memory that the process has had in RAM, in bytes.
func (p *process) peak() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			return kB << 10, err
		}
	}
	return 0, errors.New("/proc/PID/status has no VmHWM")
}

// eventually calls f until it succeeds, the process has ended, or ctx is done.
func (p *process) eventually(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", p.cmd.Path, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
