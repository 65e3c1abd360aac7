package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// off is above every level.
const off = zapcore.FatalLevel + 1

// levels are OVS's names (ovs-appctl(8)) for zap's levels.
var levels = map[string]zapcore.Level{
	"off": off, "emer": zapcore.FatalLevel, "err": zapcore.ErrorLevel,
	"warn": zapcore.WarnLevel, "info": zapcore.InfoLevel, "dbg": zapcore.DebugLevel,
}

func levelName(l zapcore.Level) string {
	for n, v := range levels {
		if v == l {
			return n
		}
	}
	return l.String()
}

// destinations are where log lines go. OVS has "syslog" too, which is taken and
// ignored: what reads standard error, systemd for one, passes lines on.
const (
	console = "console"
	file    = "file"
	syslog  = "syslog"
)

// modules are the parts of the program that have a level of their own, the
// names of its loggers.
func modules() []string { return []string{"monitor", "nb", "northd", "northwalld", "sb", "standalone"} }

// logs are the program's log, and the levels that control it. The levels are
// those of "vlog/set".
type logs struct {
	mu    sync.Mutex
	path  string
	out   *os.File // of path
	level map[string]map[string]zapcore.Level
	// ignored are the specifications of the command line that have no effect.
	ignored []string
}

func newLogs(path string, specs []string) (*logs, error) {
	l := &logs{path: path, level: map[string]map[string]zapcore.Level{}}
	for _, d := range []string{console, file} {
		l.level[d] = map[string]zapcore.Level{}
		for _, m := range modules() {
			l.level[d][m] = zapcore.InfoLevel
		}
	}
	for _, s := range specs {
		if isForm(s) {
			l.ignored = append(l.ignored, "--verbose="+s)
		} else if err := l.Set(s); err != nil {
			return nil, fmt.Errorf("--verbose: %w", err)
		}
	}
	if path != "" {
		if err := l.Reopen(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// isForm tells whether a specification is for the form of lines (PATTERN:...) or for
// syslog (FACILITY:...). On the command line they are let pass: there is no reason
// not to run.
func isForm(spec string) bool {
	word, _, _ := strings.Cut(strings.ToLower(spec), ":")
	return word == "pattern" || word == "facility"
}

// Set applies a specification: words separated by colons, spaces or commas, at
// most one each naming a module, a destination and a level.
func (l *logs) Set(spec string) error {
	if isForm(spec) {
		return fmt.Errorf("%s: the form of lines is fixed, and none go to syslog", spec)
	}
	module, dest := "", ""
	level := zapcore.DebugLevel // what is meant where none is said
	for _, w := range strings.FieldsFunc(spec, func(r rune) bool { return r == ':' || r == ' ' || r == ',' }) {
		if v, ok := levels[strings.ToLower(w)]; ok {
			level = v
			continue
		}
		switch w = strings.ToLower(w); w {
		case "any":
		case console, file, syslog:
			dest = w
		default:
			known := false
			for _, m := range modules() {
				known = known || m == w
			}
			if !known {
				return fmt.Errorf("no destination, level, or module %q; modules are %s", w, strings.Join(modules(), ", "))
			}
			module = w
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for d, of := range l.level {
		if dest != "" && d != dest {
			continue
		}
		for m := range of {
			if module == "" || m == module {
				of[m] = level
			}
		}
	}
	return nil
}

// List shows the levels, as vlog/list does.
func (l *logs) List() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %7s %7s\n%-18s %7s %7s\n", "", "console", "file", "", "-------", "------")
	for _, m := range modules() {
		fmt.Fprintf(&b, "%-18s %7s %7s\n", m, strings.ToUpper(levelName(l.level[console][m])), strings.ToUpper(levelName(l.level[file][m])))
	}
	return b.String()
}

// Reopen opens the log file anew, for when it has been rotated.
func (l *logs) Reopen() error {
	if l.path == "" {
		return fmt.Errorf("logging to no file")
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	l.mu.Lock()
	old := l.out
	l.out = f
	l.mu.Unlock()
	if old != nil {
		old.Close()
	}
	// A daemon in the background has nowhere else to say why it crashed.
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	return nil
}

// Close closes the log file; Reopen opens it again.
func (l *logs) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out != nil {
		l.out.Close()
		l.out = nil
	}
}

// Write writes to the log file, whichever is open; zap's WriteSyncer.
func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil {
		return len(b), nil
	}
	return l.out.Write(b)
}

// Sync does nothing: lines are written as they come.
func (l *logs) Sync() error { return nil }

// Logger returns a logger that writes to destinations, console and file.
func (l *logs) Logger(destinations ...string) *zap.Logger {
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	cfg.EncodeLevel = zapcore.CapitalLevelEncoder
	var cores []zapcore.Core
	for _, d := range destinations {
		out := zapcore.WriteSyncer(l)
		if d == console {
			out = zapcore.Lock(os.Stderr)
		}
		cores = append(cores, &destination{l, d, zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), out, zapcore.DebugLevel)})
	}
	return zap.New(zapcore.NewTee(cores...))
}

// destination is a zap core that asks logs for the level of each entry's module.
type destination struct {
	l    *logs
	name string
	zapcore.Core
}

func (d *destination) With(f []zapcore.Field) zapcore.Core {
	return &destination{d.l, d.name, d.Core.With(f)}
}

func (d *destination) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	module, _, _ := strings.Cut(e.LoggerName, ".")
	if module == "" {
		module = "northwalld"
	}
	d.l.mu.Lock()
	level := d.l.level[d.name][module]
	d.l.mu.Unlock()
	if e.Level < level {
		return ce
	}
	return ce.AddCore(e, d.Core)
}
