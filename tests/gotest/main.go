// Gotest runs "go test" with the arguments given, prints what it prints, and
// then which tests were skipped and why: go test itself keeps quiet about those
// of a package that passes, so that a suite without what it needs looks whole.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "gotest: %v\n", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// run returns the exit status of go test.
func run(args []string) (int, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if err := report(events, os.Stdout); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 0, err
	}
	err = cmd.Wait()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// event is what go test says at a moment (go doc test2json), or go build
// (go help buildjson).
type event struct {
	Action, Package, Test, Output string
}

// test names a test of a package; "" is the package itself.
type test struct{ pkg, name string }

// report prints the output of packages, and of those tests that failed or did not
// end, in the order in which they end; then the skipped tests.
func report(events io.Reader, out io.Writer) error {
	w := bufio.NewWriter(out)
	pending := map[test][]string{} // output of tests that have not ended
	var skipped []string
	scanner := bufio.NewScanner(events)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var e event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			fmt.Fprintf(w, "%s\n", scanner.Bytes()) // no event, but somebody's words
			continue
		}
		t := test{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "output":
			switch {
			case e.Test != "":
				pending[t] = append(pending[t], e.Output)
			case e.Output != "PASS\n" && !strings.HasSuffix(e.Output, "[no test files]\n"):
				fmt.Fprint(w, e.Output)
			}
		case "skip":
			if e.Test != "" {
				skipped = append(skipped, fmt.Sprintf("%s %s: %s", e.Package, e.Test, reason(pending[t])))
			}
			delete(pending, t)
		case "pass":
			delete(pending, t)
		case "fail":
			for u, lines := range pending { // of a package: what its end cut off
				if u == t || e.Test == "" && u.pkg == e.Package {
					fmt.Fprint(w, strings.Join(lines, ""))
					delete(pending, u)
				}
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, s := range skipped {
		fmt.Fprintf(w, "skipped: %s\n", s)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return scanner.Err()
}

// reason is what a test said when it was skipped, on one line.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		// Without the file and line that Skip puts first.
		if place, text, ok := strings.Cut(line, ": "); ok && strings.Contains(place, "_test.go:") {
			line = text
		}
		said = append(said, line)
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
