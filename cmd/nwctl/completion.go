package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"northwall/ovsdb/ctl"
)

// The shells' scripts ask the program for candidates, so that they need not be
// renewed with it.
const (
	bashCompletion = `_nwctl() {
    local IFS=$'\n'
    COMPREPLY=($(nwctl complete-words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
# Words break at spaces only: option=value and column:key are one word each.
complete -F _nwctl nwctl
COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]/}
`
	zshCompletion = `#compdef nwctl
_nwctl() {
    local -a candidates
    candidates=("${(@f)$(nwctl complete-words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -Q -S '' -- ${(M)candidates:#*=}
    compadd -Q -- ${candidates:#*=}
}
compdef _nwctl nwctl
`
	fishCompletion = `function __nwctl_complete
    set -l words (commandline -opc) (commandline -ct)
    nwctl complete-words $words[2..-1] 2>/dev/null
end
complete -c nwctl -f -a '(__nwctl_complete)'
`
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a script that completes commands in a shell", ArgsUsage: "bash|zsh|fish", Category: "General commands",
		Description:     "Example:\n  source <(nwctl completion bash)",
		SkipFlagParsing: true, HideHelp: true,
		Action: func(c *cli.Context) error {
			scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
			shell := c.Args().First()
			script, ok := scripts[shell]
			if !ok {
				return fmt.Errorf("no completion for shell '%s'; there is bash, zsh and fish", shell)
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}

// completeCommand prints candidates for the last of its arguments.
func completeCommand(tool *ctl.Tool) *cli.Command {
	return &cli.Command{
		Name: "complete-words", Hidden: true, SkipFlagParsing: true, HideHelp: true,
		Action: func(c *cli.Context) error {
			for _, candidate := range candidates(c.App, tool, c.Args().Slice()) {
				fmt.Fprintln(c.App.Writer, candidate)
			}
			return nil
		},
	}
}

// candidates are what the last of words can become: an option, a command, a
// table of a generic command, or a column of it.
func candidates(app *cli.App, tool *ctl.Tool, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	first := true
	for i := len(before) - 1; i >= 0; i-- {
		if before[i] == "--" {
			before, first = before[i+1:], false
			break
		}
	}
	var command *ctl.Command
	var args []string
	for i, w := range before {
		if command = tool.Find(w); command != nil {
			args = before[i+1:]
			break
		}
	}
	var out []string
	switch {
	case command != nil:
		out = argumentCandidates(tool, command, args)
	case strings.HasPrefix(last, "-"):
		out = optionCandidates(app, tool, first)
	default:
		for _, c := range tool.Commands {
			out = append(out, c.Name)
		}
		if first {
			out = append(out, "completion", "flows", "help")
		}
	}
	if len(before) > 0 && before[0] == "help" {
		out = slices.DeleteFunc(out, func(s string) bool { return s == "help" })
	}
	out = slices.DeleteFunc(out, func(s string) bool { return !strings.HasPrefix(s, last) })
	slices.Sort(out)
	return slices.Compact(out)
}

func optionCandidates(app *cli.App, tool *ctl.Tool, global bool) []string {
	var out []string
	for _, c := range tool.Commands {
		for _, o := range c.Options {
			text := "--" + o.Name
			if o.Value != "" {
				text += "="
			}
			out = append(out, text)
		}
	}
	if global {
		for name, f := range globalNames() {
			if len(name) == 1 {
				continue
			}
			if f.value {
				name += "="
			}
			out = append(out, "--"+name)
		}
		for _, f := range flowsFlags() {
			out = append(out, "--"+f.Names()[0])
		}
	}
	return out
}

func argumentCandidates(tool *ctl.Tool, command *ctl.Command, args []string) []string {
	if !strings.HasPrefix(command.Args, "TABLE") {
		return nil
	}
	if len(args) == 0 {
		var out []string
		for name := range tool.Schema.Tables {
			out = append(out, strings.ToLower(name))
		}
		return out
	}
	table, err := ctl.FindTable(tool.Schema, args[0])
	if err != nil || len(args) < 2 && command.Name != "find" && command.Name != "create" {
		return nil
	}
	suffix := "="
	if command.Name == "get" || command.Name == "clear" || command.Name == "add" || command.Name == "remove" {
		suffix = ""
	}
	var out []string
	for column := range maps.Keys(tool.Schema.Tables[table].Columns) {
		out = append(out, column+suffix)
	}
	return out
}
