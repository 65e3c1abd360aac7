package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"northwall/ovsdb/unixctl"
)

// A northd is a program that carries the northbound database to the southbound
// one.
type northd struct {
	name string
	// start starts the program on the databases in dir; sb is the socket of the
	// southbound one. Its control socket is dir/northd.ctl, if it has one.
	start func(dir, sb string) (*process, error)
}

// Names of the northds, as they are in the tables.
const (
	nameFloor     = "floor"
	nameNorthwall = "northwall"
	nameStock     = "stock"
)

// floorNorthd computes nothing: see floor.go.
func floorNorthd() northd {
	return northd{nameFloor, func(dir, sb string) (*process, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return startProcess("", self, floorCommand, filepath.Join(dir, "nb.sock"), sb)
	}}
}

// northwall is the daemon of this project.
func northwall(program string) northd {
	return northd{nameNorthwall, func(dir, sb string) (*process, error) {
		return startProcess("", program, "--ovnnb-db=unix:"+filepath.Join(dir, "nb.sock"), "--ovnsb-db=unix:"+sb,
			"--unixctl="+filepath.Join(dir, "northd.ctl"), "-vconsole:off", "--log-file="+filepath.Join(dir, "northd.log"))
	}}
}

// stock is the original, in a tree that has dir in it.
func stock(root string) northd {
	return northd{nameStock, func(dir, sb string) (*process, error) {
		inside := func(path string) string { return strings.TrimPrefix(path, root) }
		return startProcess(root, stockProgram, "--ovnnb-db=unix:"+inside(filepath.Join(dir, "nb.sock")), "--ovnsb-db=unix:"+inside(sb),
			"--unixctl="+inside(filepath.Join(dir, "northd.ctl")), "-vconsole:off", "-vsyslog:off")
	}}
}

const stockProgram = "/usr/bin/ovn-northd"

// stockVersion is what the original in the tree calls itself.
func stockVersion(ctx context.Context, root string) (string, error) {
	if _, err := os.Stat(filepath.Join(root, stockProgram)); err != nil {
		return "", err
	}
	if os.Getuid() != 0 {
		return "", fmt.Errorf("using %s takes root", root)
	}
	out, err := exec.CommandContext(ctx, "chroot", root, stockProgram, "--version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return first, err
}

// spent is what an edit is spent on in northwall, as its stopwatches have it.
type spent struct {
	Server time.Duration // the southbound transaction, from sending it to its answer
	Ours   time.Duration // deriving what is to be written, and comparing it
}

// takeSpent reads northwall's stopwatches, and makes them begin anew.
func takeSpent(ctx context.Context, dir string) (s spent, err error) {
	socket := filepath.Join(dir, "northd.ctl")
	text, err := unixctl.Call(ctx, socket, "stopwatch/show")
	if err != nil {
		return s, err
	}
	if _, err := unixctl.Call(ctx, socket, "stopwatch/reset"); err != nil {
		return s, err
	}
	var watch string
	var samples int
	for line := range strings.Lines(text) {
		var average float64
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Statistics for "); ok {
			watch = strings.Trim(name, "'")
		}
		_, _ = fmt.Sscanf(line, " Total samples: %d", &samples)
		if n, _ := fmt.Sscanf(line, " Long term average: %f msec", &average); n == 0 {
			continue
		}
		sum := time.Duration(average * float64(samples) * float64(time.Millisecond))
		switch watch {
		case "southbound_commit":
			s.Server += sum
		case "northd", "lflows_to_sb":
			s.Ours += sum
		}
	}
	return s, nil
}

// recompute has the northd with the control socket of dir compute everything
// again.
func recompute(ctx context.Context, dir string) error {
	_, err := unixctl.Call(ctx, filepath.Join(dir, "northd.ctl"), "inc-engine/recompute")
	return err
}
