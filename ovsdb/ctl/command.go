package ctl

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"
)

// A Tool is a set of commands for one kind of database.
type Tool struct {
	Name     string // of the program, for the log record of a commit
	Schema   *libovsdb.DatabaseSchema
	Names    map[string][]RowName // ways to name rows beside their UUID, by table
	Commands []*Command
	Others   []string // commands of the program that are not here, to propose
	// Prepare runs before the commands of each transaction that may change
	// something, with PrepareReads read.
	Prepare      func(*Txn) error
	PrepareReads []Read
}

// A Command is one command that a command line may contain.
type Command struct {
	Name    string
	Args    string // for people: "SWITCH [PORT]..."
	Min     int    // arguments that must be given
	Max     int    // and may be; -1 for any number
	Options []Option
	Group   string // heading in the help
	Help    string // one line
	Example string
	Notes   string // what else to know, in sentences; may be empty
	// Reads says which columns of which tables Run reads; Needs does where that
	// depends on the arguments.
	Reads []Read
	Needs func(*Tool, Invocation) ([]Read, error)
	// ReadOnly commands change nothing, so that Prepare is not wanted.
	ReadOnly bool
	Run      func(*Call) error
}

// An Option of a command, given before its name: "--may-exist".
type Option struct {
	Name     string // without the dashes
	Value    string // what the value is called; empty for an option without one
	Optional bool   // the value may be left out
	Help     string
}

// Flag makes an option without a value.
func Flag(name, help string) Option { return Option{Name: name, Help: help} }

// Valued makes an option that needs a value.
func Valued(name, value, help string) Option { return Option{Name: name, Value: value, Help: help} }

// An Invocation is a command as it was given.
type Invocation struct {
	Command *Command
	Options map[string]string
	Args    []string
}

// Has reports whether the option was given.
func (i Invocation) Has(option string) bool {
	_, ok := i.Options[option]
	return ok
}

// Arg returns an argument, empty where it was not given.
func (i Invocation) Arg(n int) string {
	if n < len(i.Args) {
		return i.Args[n]
	}
	return ""
}

// A Call is an invocation at work.
type Call struct {
	Invocation
	Tx  *Txn
	Out io.Writer // shown when the transaction has been committed

	run *run
}

// Printf writes to the command's output.
func (c *Call) Printf(format string, args ...any) { fmt.Fprintf(c.Out, format, args...) }

// ErrTryAgain is returned by a command that waits for something that the
// database does not hold yet: all commands run again when it has changed.
var ErrTryAgain = errors.New("try again when the database has changed")

// Reading builds a command's Reads: each spec is a table and the columns,
// "Logical_Switch name ports"; a table alone means all its columns.
func Reading(specs ...string) []Read {
	out := make([]Read, len(specs))
	for i, spec := range specs {
		fields := strings.Fields(spec)
		out[i] = Read{Table: fields[0]}
		if len(fields) > 1 {
			out[i].Columns = fields[1:]
		}
	}
	return out
}

// Find returns the command of that name, nil if there is none.
func (t *Tool) Find(name string) *Command {
	if i := slices.IndexFunc(t.Commands, func(c *Command) bool { return c.Name == name }); i >= 0 {
		return t.Commands[i]
	}
	return nil
}

// Usage is the command with its options and arguments on one line.
func (c *Command) Usage() string {
	var b strings.Builder
	for _, o := range c.Options {
		b.WriteString("[--" + o.Name)
		switch {
		case o.Optional:
			b.WriteString("[=" + o.Value + "]")
		case o.Value != "":
			b.WriteString("=" + o.Value)
		}
		b.WriteString("] ")
	}
	b.WriteString(c.Name)
	if c.Args != "" {
		b.WriteString(" " + c.Args)
	}
	return b.String()
}

// A Script is a command line, parsed.
type Script struct {
	tool        *Tool
	invocations []Invocation
	text        string
}

// Parse reads a command line: commands separated by "--", each with its options
// before its name.
func (t *Tool) Parse(args []string) (*Script, error) {
	s := &Script{tool: t, text: strings.Join(args, " ")}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if n := len(args); n > 1 && args[n-1] == "--" {
		args = args[:n-1]
	}
	for {
		end := slices.Index(args, "--")
		part := args
		if end >= 0 {
			part = args[:end]
		}
		i, err := t.parseCommand(part)
		if err != nil {
			return nil, err
		}
		s.invocations = append(s.invocations, i)
		if end < 0 {
			return s, nil
		}
		args = args[end+1:]
	}
}

func (t *Tool) parseCommand(args []string) (Invocation, error) {
	i := Invocation{Options: map[string]string{}}
	type given struct {
		name, value string
		valued      bool
	}
	var options []given
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if !strings.HasPrefix(args[0], "--") {
			return i, fmt.Errorf("unrecognized option %q before a command", args[0])
		}
		name, value, valued := strings.Cut(args[0][2:], "=")
		args = args[1:]
		// As with getopt, a value may follow as an argument of its own. Which
		// options have one is known before the command is.
		if !valued && t.TakesValue(name) && len(args) > 0 {
			value, valued, args = args[0], true, args[1:]
		}
		options = append(options, given{name, value, valued})
	}
	if len(args) == 0 {
		return i, fmt.Errorf("missing command name (use --help for help)")
	}
	i.Command = t.Find(args[0])
	if i.Command == nil {
		names := slices.Clone(t.Others)
		for _, c := range t.Commands {
			names = append(names, c.Name)
		}
		return i, fmt.Errorf("unknown command '%s'%s (use --help for help)", args[0], didYouMean(args[0], names))
	}
	i.Args = args[1:]
	for _, o := range options {
		n := slices.IndexFunc(i.Command.Options, func(k Option) bool { return k.Name == o.name })
		if n < 0 {
			var names []string
			for _, k := range i.Command.Options {
				names = append(names, "--"+k.Name)
			}
			return i, fmt.Errorf("'%s' command has no '--%s' option%s", i.Command.Name, o.name, didYouMean("--"+o.name, names))
		}
		option := i.Command.Options[n]
		if _, twice := i.Options[o.name]; twice {
			return i, fmt.Errorf("'--%s' option specified multiple times", o.name)
		}
		if o.valued && option.Value == "" {
			return i, fmt.Errorf("option '--%s' of '%s' takes no value", o.name, i.Command.Name)
		}
		if !o.valued && option.Value != "" && !option.Optional {
			return i, fmt.Errorf("option '--%s' of '%s' needs a value: --%s=%s", o.name, i.Command.Name, o.name, option.Value)
		}
		i.Options[o.name] = o.value
	}
	switch c := i.Command; {
	case len(i.Args) < c.Min:
		return i, fmt.Errorf("'%s' command requires at least %d arguments (usage: %s)", c.Name, c.Min, c.Usage())
	case c.Max >= 0 && len(i.Args) > c.Max:
		return i, fmt.Errorf("'%s' command takes at most %d arguments (usage: %s)", c.Name, c.Max, c.Usage())
	}
	return i, nil
}

// TakesValue reports whether every command that has the option wants a value.
func (t *Tool) TakesValue(option string) bool {
	found := false
	for _, c := range t.Commands {
		for _, o := range c.Options {
			if o.Name == option {
				if o.Value == "" || o.Optional {
					return false
				}
				found = true
			}
		}
	}
	return found
}

// Reads says what the script reads, for Tables.
func (s *Script) Reads() ([]Read, error) {
	reads := []Read(nil)
	for _, i := range s.invocations {
		reads = append(reads, i.Command.Reads...)
		if i.Command.Needs != nil {
			needs, err := i.Command.Needs(s.tool, i)
			if err != nil {
				return nil, err
			}
			reads = append(reads, needs...)
		}
	}
	if s.writes() {
		reads = append(reads, s.tool.PrepareReads...)
	}
	return reads, nil
}

func (s *Script) writes() bool {
	return slices.ContainsFunc(s.invocations, func(i Invocation) bool { return !i.Command.ReadOnly })
}

// Has reports whether the script contains the command.
func (s *Script) Has(command string) bool {
	return slices.ContainsFunc(s.invocations, func(i Invocation) bool { return i.Command.Name == command })
}
