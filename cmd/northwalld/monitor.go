package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"
)

// monitoredEnv marks the process that a monitor started.
const monitoredEnv = "NORTHWALLD_MONITORED"

// restartInterval is how often a daemon that crashes is started again at most.
const restartInterval = 10 * time.Second

// crashSignals are those that only a programming error sends, as ovn-northd(8) has
// them. Other signals come from somebody who wants the daemon to end.
var crashSignals = []syscall.Signal{
	syscall.SIGABRT, syscall.SIGALRM, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL,
	syscall.SIGPIPE, syscall.SIGSEGV, syscall.SIGXCPU, syscall.SIGXFSZ,
}

// panicStatus is what the Go runtime ends a program with that has panicked. The
// daemon itself uses 0 and 1.
const panicStatus = 2

// monitor runs the daemon in a child, for as long as it is needed, and starts it
// again when it has crashed. It returns what the daemon ended with. The daemon's
// command line is read in dir.
func monitor(o *options, dir string) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	wasReady, told := false, false // told to end
	var next time.Time             // not before then
	for {
		child, err := startMonitored(o, dir)
		if err != nil {
			return fmt.Errorf("--monitor: %w", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.cmd.Wait() }()
		for running := true; running; {
			select {
			case s := <-signals:
				told = told || s != syscall.SIGHUP
				_ = child.cmd.Process.Signal(s)
			case <-child.ready:
				child.ready = nil
				if !wasReady {
					wasReady = true
					if err := ready(); err != nil {
						_ = child.cmd.Process.Signal(syscall.SIGTERM)
						<-ended
						return err
					}
				}
			case err = <-ended:
				running = false
			}
		}
		how, crashed := wayOf(child.cmd.ProcessState)
		if !crashed || !wasReady || told {
			return endOf(err)
		}
		wait := max(time.Until(next), 0)
		o.say("the daemon crashed: starting it again", zap.String("ended", how), zap.Int("pid", child.cmd.Process.Pid), zap.Duration("in", wait))
		select {
		case <-time.After(wait):
		case s := <-signals:
			if s != syscall.SIGHUP {
				return nil
			}
		}
		next = time.Now().Add(restartInterval)
	}
}

// monitored is a daemon that has been started by its monitor.
type monitored struct {
	cmd   *exec.Cmd
	ready <-chan struct{} // one value when it serves
}

func startMonitored(o *options, dir string) (*monitored, error) {
	cmd, pipe, err := again()
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, monitoredEnv+"=1")
	if o.detach {
		cmd.Env = append(cmd.Env, detachedEnv+"=1")
	}
	if _, err := os.Stat(dir); err == nil { // else there is nothing left to be found there
		cmd.Dir = dir
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := startAgain(cmd); err != nil {
		pipe.Close()
		return nil, err
	}
	ready := make(chan struct{}, 1)
	go func() {
		defer pipe.Close()
		if n, _ := pipe.Read(make([]byte, 1)); n == 1 {
			ready <- struct{}{}
		}
	}()
	return &monitored{cmd, ready}, nil
}

// wayOf tells how a process ended, and whether it crashed.
func wayOf(s *os.ProcessState) (how string, crashed bool) {
	w, ok := s.Sys().(syscall.WaitStatus)
	if !ok {
		return s.String(), false
	}
	return s.String(), w.Signaled() && slices.Contains(crashSignals, w.Signal()) || w.Exited() && w.ExitStatus() == panicStatus
}

// endOf makes the end of a child the end of this process. What there is to say the
// child has said.
func endOf(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return cli.Exit(fmt.Sprintf("the daemon ended: %v", err), 128+int(w.Signal()))
	}
	return cli.Exit("", exit.ExitCode())
}

// say logs what the monitor does, to where the daemon logs. The file is opened for
// each line, as the daemon may have been told that it was rotated.
func (o *options) say(message string, fields ...zap.Field) {
	l, err := newLogs(o.logFile, o.verbose)
	if err != nil {
		return
	}
	defer l.Close()
	l.Logger(console, file).Named("monitor").Error(message, fields...)
}
