// Package stock runs the programs of a tree with stock OVN, the original, for
// tests that compare with it. Find the tree with Find; docs/architecture.md says
// how to make one.
package stock

import (
	"bytes"
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
	cmd := exec.Command("chroot", append([]string{string(t), program, "-vconsole:err", "-vsyslog:off"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}, nil
}

// A Northd is a running ovn-northd.
type Northd struct {
	control string // its control socket
	// Stop ends it.
	Stop func()
}

// StartNorthd starts an ovn-northd between the databases that listen at nb.sock
// and sb.sock in a directory of the tree.
func (t Tree) StartNorthd(dir string) (*Northd, error) {
	in := t.Inside(dir)
	stop, err := t.Start("ovn-northd", "--unixctl="+filepath.Join(in, "northd.ctl"),
		"--ovnnb-db=unix:"+filepath.Join(in, "nb.sock"), "--ovnsb-db=unix:"+filepath.Join(in, "sb.sock"))
	return &Northd{control: filepath.Join(dir, "northd.ctl"), Stop: stop}, err
}

// Recompute has everything computed again: what the original makes of an edit
// incrementally is not always what it makes of the result.
func (n *Northd) Recompute(ctx context.Context) error {
	_, err := unixctl.Call(ctx, n.control, "inc-engine/recompute")
	return err
}
