package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// jumpingClock builds a northwalld whose clock of the day a test sets: nobody may
// set the machine's, and a Go program takes the time from where no library can be
// put in between. So parts of the Go runtime are replaced in the build.
func jumpingClock(t *testing.T) (program string) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("skipped: the clock can be made to jump on linux/amd64 only")
	}
	dir := tempDir(t)
	root := run(t, "go", "env", "GOROOT")
	daemon := run(t, "go", "list", "-f", "{{.Dir}}", "northwall/cmd/northwalld")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(root, "src/runtime/time_linux_amd64.s"): "",
		filepath.Join(root, "src/runtime/timeasm.go"):         filepath.Join(here, "testdata/clock_runtime.txt"),
		filepath.Join(daemon, "clock.go"):                     filepath.Join(here, "testdata/clock_main.txt"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "northwalld")
	out, err := exec.Command("go", "build", "-overlay", list, "-ldflags", "-checklinkname=0", "-o", program, "northwall/cmd/northwalld").CombinedOutput()
	if err != nil {
		t.Skipf("skipped: this version of Go gives no way to make the clock jump: %s", out)
	}
	return program
}

// A clock is that of a daemon that was built by jumpingClock and has it in $CLOCK.
type clock struct {
	t    *testing.T
	file string
}

// set makes the clock wrong by a time.
func (c *clock) set(by time.Duration) {
	var uptime float64 // what the monotonic clock counts
	text, err := os.ReadFile("/proc/uptime")
	if err == nil {
		_, err = fmt.Sscan(string(text), &uptime)
	}
	if err == nil {
		offset := time.Now().Add(by).UnixNano() - int64(uptime*1e9)
		err = os.WriteFile(c.file, []byte(strconv.FormatInt(offset, 10)), 0o600)
	}
	if err != nil {
		c.t.Error(err)
	}
}
