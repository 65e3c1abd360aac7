package ctl

import (
	"fmt"
	"maps"
	"slices"

	"northwall/ovsdb"
)

// Symbols are the "@name"s of a command line: names for rows that one command
// creates and others refer to, before or after.
type Symbols struct {
	uuids   map[string]string
	defined map[string]bool
}

func newSymbols() *Symbols {
	return &Symbols{uuids: map[string]string{}, defined: map[string]bool{}}
}

// refer returns the UUID that the name stands for.
func (s *Symbols) refer(name string) string {
	if _, ok := s.uuids[name]; !ok {
		s.uuids[name] = ovsdb.NewUUID()
	}
	return s.uuids[name]
}

// define says that a command makes or finds the row of that name. uuid is empty
// for a new row.
func (s *Symbols) define(name, uuid string) (string, error) {
	if s.defined[name] {
		return "", fmt.Errorf("row id %q may only be specified on one --id option", name)
	}
	if uuid != "" {
		if _, used := s.uuids[name]; used {
			return "", fmt.Errorf("row id %q is used before the command that defines it", name)
		}
		s.uuids[name] = uuid
	}
	s.defined[name] = true
	return s.refer(name), nil
}

// check reports a name that was used but never defined.
func (s *Symbols) check() error {
	for _, name := range slices.Sorted(maps.Keys(s.uuids)) {
		if !s.defined[name] {
			return fmt.Errorf("row id %q is referenced but never created (e.g. with \"-- --id=%s create ...\")", name, name)
		}
	}
	return nil
}
