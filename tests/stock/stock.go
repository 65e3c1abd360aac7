// Package stock runs the programs of a tree with stock OVN, the original, for
// tests that compare with it. Find the tree with Find; docs/architecture.md says
// how to make one.
package stock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"northwall/ovsdb/unixctl"
)

// Version is the release whose output is compared with.
const Version = "26.03"

// A Tree is the root directory of an installation with OVN's programs.
type Tree string

// Find returns the tree in $OVN_ROOT, by default northwall/ovn in the user's cache
// directory. An error says why there is none that can be used: tests are skipped
// with it.
func Find() (Tree, error) {
	root := os.Getenv("OVN_ROOT")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no OVN_ROOT and no cache directory: %w", err)
		}
		root = filepath.Join(cache, "northwall", "ovn")
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/ovn-northd")); err != nil {
		return "", fmt.Errorf("no OVN in OVN_ROOT=%s", root)
	}
	if os.Geteuid() != 0 {
		return "", errors.New("chroot into the tree with OVN needs root")
	}
	out, err := exec.Command("chroot", root, "ovn-northd", "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "ovn-northd "+Version+".") {
		return "", fmt.Errorf("ovn-northd of OVN_ROOT=%s is not of %s: %q, %v", root, Version, out, err)
	}
	return Tree(root), nil
}

// Dir makes a directory in the tree, with a path short enough for Unix sockets,
// that programs inside and outside of it share. The caller removes it.
func (t Tree) Dir(prefix string) (string, error) {
	return os.MkdirTemp(filepath.Join(string(t), "tmp"), prefix)
}

// Inside is a path as programs of the tree see it.
func (t Tree) Inside(path string) string { return strings.TrimPrefix(path, string(t)) }

// Command is a program of the tree that runs to its end.
func (t Tree) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "chroot", append([]string{string(t), program}, args...)...)
}

// Start starts a program of the tree, which is ended by stop or with this process.
func (t Tree) Start(program string, args ...string) (stop func(), err error) {
	p, err := t.start(program, args...)
	if err != nil {
		return nil, err
	}
	return func() { p.terminate(); <-p.ended }, nil
}

// A process is a running program. Ended is closed when it has ended.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

func (t Tree) start(program string, args ...string) (*process, error) {
	cmd := exec.Command("chroot", append([]string{string(t), program, "-vconsole:err", "-vsyslog:off"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	p := &process{cmd, make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.ended) }()
	return p, nil
}

func (p *process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// A Northd is an ovn-northd that is started again when it crashes, as its
// --monitor does.
type Northd struct {
	control string // its control socket
	stop    chan struct{}
	ended   chan struct{}
}

// StartNorthd starts an ovn-northd between the databases that listen at nb.sock
// and sb.sock in a directory of the tree.
func (t Tree) StartNorthd(dir string) (*Northd, error) {
	in := t.Inside(dir)
	start := func() (*process, error) {
		return t.start("ovn-northd", "--unixctl="+filepath.Join(in, "northd.ctl"),
			"--ovnnb-db=unix:"+filepath.Join(in, "nb.sock"), "--ovnsb-db=unix:"+filepath.Join(in, "sb.sock"))
	}
	p, err := start()
	if err != nil {
		return nil, err
	}
	n := &Northd{filepath.Join(dir, "northd.ctl"), make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(n.ended)
		for {
			select {
			case <-n.stop:
				p.terminate()
				<-p.ended
				return
			case <-p.ended:
				if p, err = start(); err != nil {
					return
				}
			}
		}
	}()
	return n, nil
}

// Stop ends it.
func (n *Northd) Stop() {
	close(n.stop)
	<-n.ended
}

// Recompute has everything computed again: what the original makes of an edit
// incrementally is not always what it makes of the result.
func (n *Northd) Recompute(ctx context.Context) error {
	_, err := unixctl.Call(ctx, n.control, "inc-engine/recompute")
	return err
}
