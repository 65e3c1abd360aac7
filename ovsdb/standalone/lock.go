package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// lockDir makes sure that one process only uses dir. The lock goes with the
// process, so that a crash leaves nothing to clean up.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		pid := make([]byte, 20)
		n, _ := f.Read(pid)
		f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		return nil, fmt.Errorf("%s is in use by another northwalld (process %s)", dir, strings.TrimSpace(string(pid[:n])))
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// holder returns the process that has locked a file in the way of OVS, as its
// programs lock their pidfiles and databases; 0 if none has.
func holder(file string) (int, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	l := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	if l.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(l.Pid), nil
}

// leftoverWait is how long a server may take to end, before and after it is
// killed.
const leftoverWait = 5 * time.Second

// endLeftover ends the server of a process that crashed: the kernel has told it
// to end, but it may take its time, or hang. This process has the directory's
// lock, so whoever holds the server's pidfile is nobody's child any more.
func (db *database) endLeftover(ctx context.Context) error {
	pid, err := holder(db.path(".pid"))
	if err != nil {
		return err
	}
	if pid != 0 {
		db.log.Warn("ending the ovsdb-server of an earlier run", zap.Int("pid", pid))
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			_ = syscall.Kill(pid, sig) // it may have ended just now
			if err = waitFree(ctx, db.path(".pid")); err == nil {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	// ovsdb-server removes its pidfile a moment before it lets go of the database.
	// Anything else that holds that is for its owner to end.
	return waitFree(ctx, db.lockFile())
}

// lockFile is the file that ovsdb-server and ovsdb-tool lock to write a
// database.
func (db *database) lockFile() string { return filepath.Join(db.dir, "."+db.short+".db.~lock~") }

// waitFree waits until nobody has locked a file.
func waitFree(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, leftoverWait)
	defer cancel()
	for {
		pid, err := holder(file)
		if err != nil || pid == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is held by process %d: %w", file, pid, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
