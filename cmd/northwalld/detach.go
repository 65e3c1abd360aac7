package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// childEnv marks the process that detach started; its descriptor 3 is a pipe
// that says to the parent how starting went.
const childEnv = "NORTHWALLD_DETACHED"

const readyFD = 3

// detach puts the program into the background. A Go process cannot fork, as the
// child would have one thread of many: the program is started again instead.
// parent is true in the process that is to return to the shell: the child has
// said that it is ready.
func detach() (parent bool, err error) {
	if os.Getenv(childEnv) != "" {
		return false, nil
	}
	self, err := os.Executable()
	if err != nil {
		return true, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return true, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return true, err
	}
	w.Close()
	b := make([]byte, 1)
	if n, _ := r.Read(b); n == 1 {
		return true, cmd.Process.Release()
	}
	// It has said on stderr why.
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	return true, errors.New("the daemon ended before it was ready")
}

// ready tells the parent that the daemon serves, and lets go of the terminal.
func ready() error {
	if os.Getenv(childEnv) == "" {
		return nil
	}
	os.Unsetenv(childEnv)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	pipe := os.NewFile(readyFD, "ready")
	defer pipe.Close()
	if _, err := pipe.Write([]byte{1}); err != nil {
		return fmt.Errorf("telling the parent: %w", err)
	}
	for fd := range 3 {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// pidfile is a file with this process's id, locked as OVS's daemons lock it.
type pidfile struct {
	path string
	file *os.File
}

// lockPidfile writes and locks a pidfile. One that a running process has locked
// is an error, unless it is to be overwritten.
func lockPidfile(path string, overwrite bool) (*pidfile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("pidfile: %w", err)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock); err != nil {
		if !overwrite {
			held := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0}
			_ = syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &held)
			f.Close()
			return nil, fmt.Errorf("pidfile %s: already running as pid %d", path, held.Pid)
		}
		f.Close()
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("pidfile: %w", err)
		}
		return lockPidfile(path, false)
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, fmt.Errorf("pidfile: %w", err)
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		f.Close()
		return nil, fmt.Errorf("pidfile: %w", err)
	}
	return &pidfile{path, f}, nil
}

// Remove deletes the pidfile, if it is still this process's.
func (p *pidfile) Remove() {
	b, err := os.ReadFile(p.path)
	if err == nil && strings.TrimSpace(string(b)) == fmt.Sprint(os.Getpid()) {
		os.Remove(p.path)
	}
	p.file.Close()
}
