// Bench measures what an edit of the northbound database costs until the
// southbound one has what follows from it, in networks of several sizes, with
// this project's daemon, the original one, and the floor: a northd that computes
// nothing, so that what is left is the time of the two databases and of the
// clock. All three make the same edits in turn in one run.
//
// Every edit raises NB_Global.nb_cfg in the same transaction; the clock stops
// when sb_cfg, which a northd writes after its southbound transaction, has come
// as far.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if len(os.Args) == 4 && os.Args[1] == floorCommand {
		if err := runFloor(ctx, os.Args[2], os.Args[3]); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "floor: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	chosen := flag.String("sizes", "2k,25k,100k", "sizes to measure, by `NAMES`: 2k, 25k, 100k (their ports)")
	stockAt := flag.String("stock", "2k,25k", "sizes at which the original is measured, too; at 100k it takes very long")
	rounds := flag.Int("rounds", 20, "how often each edit is made")
	program := flag.String("northwalld", "bin/northwalld", "the daemon's `PATH`")
	root := flag.String("ovn-root", os.Getenv("OVN_ROOT"), "`DIR` of a tree with the original (see docs/architecture.md)")
	out := flag.String("out", "", "write the tables to `PREFIX`.md and the picture to PREFIX.svg")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q (see -help)", flag.Arg(0))
	}
	if *rounds < 1 {
		return errors.New("-rounds: at least 1")
	}
	list, err := parseSizes(*chosen)
	if err != nil {
		return fmt.Errorf("-sizes: %w", err)
	}
	if len(list) == 0 {
		return errors.New("-sizes: none is given")
	}
	withStock, err := parseSizes(*stockAt)
	if err != nil {
		return fmt.Errorf("-stock: %w", err)
	}
	if *program, err = filepath.Abs(*program); err != nil {
		return err
	}
	if _, err := os.Stat(*program); err != nil {
		return fmt.Errorf("-northwalld: %w", err)
	}

	r := &runner{rounds: *rounds, progress: newProgress(os.Stderr), northds: []northd{floorNorthd(), northwall(*program)}}
	parent := ""
	title := "northwalld beside the floor"
	if version, err := stockVersion(ctx, *root); err != nil {
		fmt.Fprintf(os.Stderr, "without the original: %v\n", err)
	} else {
		r.northds = append(r.northds, stock(*root))
		for _, s := range withStock {
			r.stockAt = append(r.stockAt, s.Name)
		}
		parent = filepath.Join(*root, "tmp") // where its daemon finds the sockets
		title = "northwalld beside the floor and " + version
	}
	if r.dir, err = os.MkdirTemp(parent, "bench"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)

	var all []measurement
	for _, s := range list {
		of, err := r.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		all = append(all, measurement{s, of})
	}
	r.progress.end()
	text := newReport(all).String()
	fmt.Print(text)
	if *out == "" {
		return nil
	}
	var picture bytes.Buffer
	if err := writePlot(&picture, title+": p50 of an edit by the network's ports", all); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(*out+".md", []byte(strings.TrimSpace(text)+"\n"), 0o644),
		os.WriteFile(*out+".svg", picture.Bytes(), 0o644))
}
