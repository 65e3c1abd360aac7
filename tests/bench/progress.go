package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress tells people how far the program is: on a terminal in a line that
// changes, elsewhere in a line for each phase and one from time to time.
type progress struct {
	w        io.Writer
	terminal bool
	began    time.Time
	last     time.Time
}

func newProgress(f *os.File) *progress {
	fi, err := f.Stat()
	return &progress{w: f, terminal: err == nil && fi.Mode()&os.ModeCharDevice != 0, began: time.Now()}
}

// phase tells that something else begins.
func (p *progress) phase(format string, args ...any) {
	p.last = time.Now()
	line := fmt.Sprintf("%4.0f s  %s", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.w, line)
	}
}

// step tells how far a phase is, now and then.
func (p *progress) step(format string, args ...any) {
	every := 10 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(p.last) >= every {
		p.phase(format, args...)
	}
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
