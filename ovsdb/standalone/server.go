package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"northwall/ovsdb/unixctl"
)

// server is one running ovsdb-server.
type server struct {
	process *os.Process
	exited  chan error // receives once, why it ended
}

// run starts a server. It dies with this process, however that ends.
func (db *database) run() (*server, error) {
	args := []string{
		"--no-chdir",
		"--pidfile=" + db.path(".pid"),
		"--unixctl=" + db.path(".ctl"),
		"--log-file=" + db.path(".log"),
		"-vconsole:off",
		"--remote=punix:" + db.path(".sock"),
		"--remote=db:" + db.name + "," + db.global + ",connections",
	}
	for _, r := range db.remotes {
		args = append(args, "--remote="+r)
	}
	cmd := exec.Command("ovsdb-server", append(args, db.path(".db"))...)
	// A process group of its own: Ctrl-C is for this process, which then stops it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	started := make(chan error, 1)
	exited := make(chan error, 1)
	// The kernel sends Pdeathsig when the thread that started the child ends, so
	// one thread is kept for as long as the child lives.
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		if msg := strings.TrimSpace(stderr.String()); msg != "" {
			err = fmt.Errorf("%w: %s", err, msg)
		}
		exited <- err
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting ovsdb-server: %w", err)
	}
	return &server{cmd.Process, exited}, nil
}

// waitUp waits until the server answers.
func (db *database) waitUp(ctx context.Context, s *server) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if _, err := unixctl.Call(ctx, db.path(".ctl"), "version"); err == nil {
			if _, err := os.Stat(db.path(".sock")); err == nil {
				return nil
			}
		}
		select {
		case err := <-s.exited:
			s.exited <- err // for stop
			return fmt.Errorf("ovsdb-server ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("ovsdb-server does not answer: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A server that ends is started again at once, and then, if it goes on ending,
// after waits that double up to maxBackoff. One that ran for steadyAfter begins
// anew.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 8 * time.Second
	steadyAfter  = time.Minute
)

// watch starts the server again when it ends, until ctx is done.
func (db *database) watch(ctx context.Context, s *server) {
	backoff := time.Duration(0)
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			s.stop()
			return
		case err := <-s.exited:
			db.log.Error("ovsdb-server ended, starting it again", zap.Error(err))
		}
		if time.Since(began) > steadyAfter {
			backoff = 0
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(backoff):
			}
			backoff = min(max(2*backoff, firstBackoff), maxBackoff)
			var err error
			if s, err = db.run(); err == nil {
				break
			}
			db.log.Error("ovsdb-server cannot be started", zap.Error(err))
		}
	}
}

// stopWait is how long a server may take to end by itself.
const stopWait = 5 * time.Second

func (s *server) stop() {
	_ = s.process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-s.exited:
	case <-time.After(stopWait):
		_ = s.process.Kill()
		<-s.exited
	}
}
