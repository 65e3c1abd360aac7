package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/urfave/cli/v2"
)

// detachedEnv marks the process that detach started, and those that it starts in
// its own place. The descriptor readyFD of a process that was started by another
// to take its place is a pipe that says to that one that it is ready.
const (
	detachedEnv = "NORTHWALLD_DETACHED"
	readyFD     = 3
)

// isDetached tells whether this process is the one in the background.
func isDetached() bool { return os.Getenv(detachedEnv) != "" }

// isMonitored tells whether this process has a monitor.
func isMonitored() bool { return os.Getenv(monitoredEnv) != "" }

// again returns the command that starts this program again, under its name and with
// its arguments, and the pipe that it is to write to when it is ready. A Go process
// cannot fork, as the child would have one thread of many.
func again() (cmd *exec.Cmd, pipe *os.File, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.Command(self)
	cmd.Args = os.Args
	cmd.Env = os.Environ()
	cmd.ExtraFiles = []*os.File{w}
	return cmd, r, nil
}

// startAgain starts a command of again.
func startAgain(cmd *exec.Cmd) error {
	defer cmd.ExtraFiles[0].Close()
	return cmd.Start()
}

// detach puts the program into the background.
//
// In the process that is to return to the shell, parent is true: the child has
// called ready, or err says with which status it ended.
func detach() (parent bool, err error) {
	if isDetached() {
		return false, nil
	}
	cmd, pipe, err := again()
	if err != nil {
		return true, fmt.Errorf("--detach: %w", err)
	}
	defer pipe.Close()
	cmd.Env = append(cmd.Env, detachedEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr // until it is ready
	if err := startAgain(cmd); err != nil {
		return true, fmt.Errorf("--detach: %w", err)
	}
	if n, _ := pipe.Read(make([]byte, 1)); n == 1 {
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

// keepReadyPipe keeps the pipe of ready from the children of this process, for the
// parent would wait for them too.
func keepReadyPipe() {
	if isDetached() || isMonitored() {
		syscall.CloseOnExec(readyFD)
	}
}

// ready lets go of the terminal, if this process is to be in the background, and
// tells the process that started it that the daemon serves.
func ready() error {
	detached := isDetached()
	if !detached && !isMonitored() {
		return nil
	}
	os.Unsetenv(detachedEnv)
	os.Unsetenv(monitoredEnv)
	pipe := os.NewFile(readyFD, "ready")
	defer pipe.Close()
	if detached {
		if err := leaveTerminal(); err != nil {
			return fmt.Errorf("--detach: %w", err)
		}
	}
	if _, err := pipe.Write([]byte{1}); err != nil {
		return fmt.Errorf("telling the parent: %w", err)
	}
	return nil
}

// leaveTerminal makes the standard files empty.
func leaveTerminal() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}
