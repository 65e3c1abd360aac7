package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/urfave/cli/v2"
)

// childEnv marks the process that detach started; its descriptor readyFD is a
// pipe that says to the parent that it is ready.
const (
	childEnv = "NORTHWALLD_DETACHED"
	readyFD  = 3
)

// detach puts the program into the background. A Go process cannot fork, as the
// child would have one thread of many: the program is started again instead.
//
// In the process that is to return to the shell, parent is true: the child has
// called ready, or err says with which status it ended.
func detach() (parent bool, err error) {
	if os.Getenv(childEnv) != "" {
		// Not for the children of this one: the parent would wait for them too.
		syscall.CloseOnExec(readyFD)
		return false, nil
	}
	self, err := os.Executable()
	if err != nil {
		return true, fmt.Errorf("--detach: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return true, fmt.Errorf("--detach: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr // until it is ready
	err = cmd.Start()
	w.Close()
	if err != nil {
		return true, fmt.Errorf("--detach: %w", err)
	}
	if n, _ := r.Read(make([]byte, 1)); n == 1 {
		return true, cmd.Process.Release()
	}
	// It has ended, and said on stderr why.
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return true, cli.Exit("", exit.ExitCode())
	}
	return true, fmt.Errorf("--detach: the daemon ended before it was ready: %w", err)
}

// ready lets go of the terminal, if detach has started this process, and tells the
// parent that the daemon serves.
func ready() error {
	if os.Getenv(childEnv) == "" {
		return nil
	}
	os.Unsetenv(childEnv)
	pipe := os.NewFile(readyFD, "ready")
	defer pipe.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("--detach: %w", err)
	}
	defer null.Close()
	for fd := range 3 {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return fmt.Errorf("--detach: %w", err)
		}
	}
	if _, err := pipe.Write([]byte{1}); err != nil {
		return fmt.Errorf("--detach: telling the parent: %w", err)
	}
	return nil
}
