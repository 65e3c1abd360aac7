// Package golden runs scenarios, lists of commands for the two databases of OVN,
// through a northd and gives its result as text to compare with what the
// reference writes.
//
// A scenario runs in memory, where each command is followed by exactly what a
// northd makes of it (Memory), or through a pair of ovsdb-servers with a daemon
// between them (Servers). Read World first.
package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// A Scenario is a list of commands and their result.
type Scenario struct {
	Name string
	// Lines are command lines of ovn-nbctl, or of ovn-sbctl after "sb: "; empty
	// lines and those that start with "#" are comments.
	Lines []string
	Want  []string // as sbdump prints it
	path  string   // of a txtar file
	text  string   // its comment
}

// Files of a scenario in a txtar archive.
const (
	commandsFile = "nbctl"
	resultFile   = "sb"
)

// LoadPairs loads the scenarios of a directory that has them as pairs of files,
// NAME.nbctl and NAME.sb, in the order of their names.
func LoadPairs(dir string) ([]*Scenario, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.nbctl"))
	if err != nil {
		return nil, err
	}
	var out []*Scenario
	for _, path := range paths {
		base := strings.TrimSuffix(path, ".nbctl")
		commands, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		result, err := os.ReadFile(base + ".sb")
		if err != nil {
			return nil, err
		}
		out = append(out, &Scenario{Name: filepath.Base(base), Lines: lines(commands), Want: lines(result)})
	}
	return out, nil
}

// LoadArchives loads the scenarios of a directory that has them as txtar
// archives of two files, "nbctl" and "sb".
func LoadArchives(dir string) ([]*Scenario, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var out []*Scenario
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return nil, err
		}
		s := &Scenario{Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, text: string(archive.Comment)}
		for _, f := range archive.Files {
			switch f.Name {
			case commandsFile:
				s.Lines = lines(f.Data)
			case resultFile:
				s.Want = lines(f.Data)
			default:
				return nil, fmt.Errorf("%s: unknown file %s in the archive", path, f.Name)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// LoadAll loads the reference's scenarios of the kinds named, where SharedDir
// finds them, and our own, those of dir. It reports whether the former are there.
func LoadAll(dir string, kinds ...string) (all []*Scenario, shared bool, err error) {
	from, err := SharedDir()
	switch {
	case err == nil:
		shared = true
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	for _, kind := range kinds {
		if !shared {
			break
		}
		pairs, err := LoadPairs(filepath.Join(from, kind))
		if err != nil {
			return nil, shared, err
		}
		all = append(all, pairs...)
	}
	own, err := LoadArchives(dir)
	return append(all, own...), shared, err
}

func lines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(b, []byte("\n"))), "\n")
}

// Update writes another result into the scenario's archive.
func (s *Scenario) Update(result []string) error {
	if s.path == "" {
		return errors.New("only scenarios in archives can be updated")
	}
	text := func(l []string) []byte { return []byte(strings.Join(l, "\n") + "\n") }
	return os.WriteFile(s.path, txtar.Format(&txtar.Archive{
		Comment: []byte(s.text),
		Files:   []txtar.File{{Name: commandsFile, Data: text(s.Lines)}, {Name: resultFile, Data: text(result)}},
	}), 0o644)
}

// SharedDir finds the directory with the reference's scenarios: golden in
// $NORTHWALL_SHARED, or in ../shared from the root of the module. It returns
// fs.ErrNotExist where there is none.
func SharedDir() (string, error) {
	dir := os.Getenv("NORTHWALL_SHARED")
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return "", err
		}
		for ; ; wd = filepath.Dir(wd) {
			if _, err := os.Stat(filepath.Join(wd, "go.mod")); err == nil {
				break
			}
			if wd == filepath.Dir(wd) {
				return "", fs.ErrNotExist
			}
		}
		dir = filepath.Join(filepath.Dir(wd), "shared")
	}
	dir = filepath.Join(dir, "golden")
	_, err := os.Stat(dir)
	return dir, err
}
