package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestLevels(t *testing.T) {
	for _, tc := range []struct {
		specs []string
		want  string // of the modules whose level is not info: module/destination=level
	}{
		{nil, ""},
		{[]string{"console:off"}, "monitor/console=off nb/console=off northd/console=off northwalld/console=off sb/console=off standalone/console=off"},
		{[]string{"nb:file:dbg"}, "nb/file=dbg"},
		{[]string{"file,nb warn"}, "nb/file=warn"},
		{[]string{"sb:err"}, "sb/console=err sb/file=err"},
		{[]string{"northd:file"}, "northd/file=dbg"},
		{[]string{"dbg", "console:INFO", "any:file:info"}, ""},
		{[]string{"syslog:off"}, ""},
	} {
		l, err := newLogs("", tc.specs)
		if err != nil {
			t.Errorf("%q: %v", tc.specs, err)
			continue
		}
		var got []string
		for _, m := range modules() {
			for _, d := range []string{console, file} {
				if v := l.level[d][m]; v != zapcore.InfoLevel {
					got = append(got, m+"/"+d+"="+levelName(v))
				}
			}
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%q: got %s, want %s", tc.specs, s, tc.want)
		}
	}
	if _, err := newLogs("", []string{"bogus:dbg"}); err == nil || !strings.Contains(err.Error(), `no destination, level, or module "bogus"`) {
		t.Errorf("a module that is none: got error %v", err)
	}
}

// TestLogFile: a line goes where its module's level lets it, and to the new file
// after Reopen.
func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := newLogs(path, []string{"console:off", "nb:file:warn"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log := l.Logger(console, file).With(zap.Int("n", 1))
	log.Info("one")
	log.Named("nb").Info("not said")
	log.Named("nb").Warn("two")
	log.Named("sb").Named("part").Info("three")
	log.Debug("not said")
	if err := l.Set("nb:dbg"); err != nil {
		t.Fatal(err)
	}
	log.Named("nb").Debug("four")
	if got, want := messages(t, path), "one two three four"; got != want {
		t.Errorf("got lines %q, want %q", got, want)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	log.Info("five")
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	log.Info("six")
	if got, want := messages(t, path+".1")+"; "+messages(t, path), "one two three four five; six"; got != want {
		t.Errorf("after reopening: got lines %q, want %q", got, want)
	}
}

// messages returns the messages of a log file, and checks that its lines are in
// zap's console encoding.
func messages(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(words) < 4 || words[len(words)-1] != `{"n": 1}` {
			t.Errorf("%q: want time, level, message and fields", line)
			continue
		}
		out = append(out, words[len(words)-2])
	}
	return strings.Join(out, " ")
}
