// Command nwctl edits and shows OVN's northbound database as ovn-nbctl does,
// and prints the logical flows that became of it. docs/nwctl.md describes it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errTimeout ends a run that --timeout has cut off.
var errTimeout = errors.New("timed out (--timeout)")

// exitTimeout is what a shell sees of ovn-nbctl after a timeout, which kills it
// by SIGALRM.
const exitTimeout = 128 + int(syscall.SIGALRM)

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := newApp(stdout, stderr).RunContext(ctx, arrange(environmentOptions(), args))
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "nwctl: %v\n", err)
	if errors.Is(err, errTimeout) {
		return exitTimeout
	}
	return 1
}
