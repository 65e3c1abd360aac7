package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// pidfile is a file with this process's id, locked for as long as the process
// runs in the way of OVS's daemons, whose tools so know a process that runs from
// one that crashed.
//
// Such a lock belongs to the process, and ends when the process closes the file,
// however often it has it open: nothing else here may open it.
type pidfile struct {
	path string
	file *os.File
}

// lockPidfile writes and locks a pidfile. One that a running process has locked
// is an error that names that process, unless it is to be overwritten.
func lockPidfile(path string, overwrite bool) (*pidfile, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, fmt.Errorf("pidfile: %w", err)
		}
		p := &pidfile{path, f}
		holder, err := p.lock()
		switch {
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("pidfile %s: %w", path, err)
		case holder != 0 && !overwrite:
			f.Close()
			return nil, fmt.Errorf("pidfile %s: already running as process %d", path, holder)
		case holder != 0:
			f.Close()
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("pidfile: %w", err)
			}
			continue
		case !p.isCurrent(): // its owner removed it meanwhile
			f.Close()
			continue
		}
		if err = f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
		}
		if err != nil {
			p.Remove()
			return nil, fmt.Errorf("pidfile: %w", err)
		}
		return p, nil
	}
}

// lock locks the file, or returns the process that has.
func (p *pidfile) lock() (holder int, err error) {
	l := syscall.Flock_t{Type: syscall.F_WRLCK}
	err = syscall.FcntlFlock(p.file.Fd(), syscall.F_SETLK, &l)
	if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
		return 0, err
	}
	if err := syscall.FcntlFlock(p.file.Fd(), syscall.F_GETLK, &l); err != nil {
		return 0, err
	}
	if l.Type == syscall.F_UNLCK { // it has ended since
		return p.lock()
	}
	return int(l.Pid), nil
}

// isCurrent tells whether the file is the one of that name still.
func (p *pidfile) isCurrent() bool {
	mine, err := p.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(p.path)
	return err == nil && os.SameFile(mine, named)
}

// Remove deletes the pidfile, unless another process has overwritten it.
func (p *pidfile) Remove() {
	if p.isCurrent() {
		os.Remove(p.path)
	}
	p.file.Close()
}
