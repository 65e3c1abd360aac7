package main

import (
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"northwall/schema"
	"northwall/schema/nbctl"
)

// environmentOptions are global options from the environment.
func environmentOptions() []string {
	return strings.Fields(os.Getenv("OVN_NBCTL_OPTIONS"))
}

// arrange brings arguments into the order in which cli takes them: the program,
// global options, the name of the first command, and then the whole script with
// that command in it, its options included. ovn-nbctl lets global options and
// those of the first command mix: "--if-exists --wait=sb ls-del sw0".
func arrange(options, args []string) []string {
	var global, local []string
	flags := globalNames()
	tool := nbctl.New(schema.Northbound())
	takesValue := tool.TakesValue
	args = append(options, args...)
	i, help := 0, false
walk:
	for ; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			i++
			break walk
		case arg == "--help" || arg == "-h":
			help = true
		case strings.HasPrefix(arg, "--"):
			name, _, valued := strings.Cut(arg[2:], "=")
			flag, known := flags[name]
			wants := known && flag.value || !known && (takesValue(name) || flowOptionTakesValue(name))
			words := []string{arg}
			if !valued && wants && i+1 < len(args) {
				i++
				words = []string{arg + "=" + args[i]}
			}
			if known {
				global = append(global, words...)
			} else {
				local = append(local, words...)
			}
		case len(arg) > 1 && arg[0] == '-':
			short, rest := arg[1:2], arg[2:]
			flag, known := flags[short]
			switch {
			case short == "v": // its value, if any, is attached
				global = append(global, "--verbose="+rest)
			case known && flag.value && rest == "" && i+1 < len(args):
				i++
				global = append(global, "--"+flag.name+"="+args[i])
			case known && flag.value:
				global = append(global, "--"+flag.name+"="+strings.TrimPrefix(rest, "="))
			default:
				global = append(global, arg)
			}
		default:
			break walk
		}
	}
	script := append(local, args[i:]...)
	out := append([]string{"nwctl"}, global...)
	name, at := commandName(args[i:], takesValue)
	if help {
		out = []string{"nwctl", "help"}
		if at >= 0 {
			out = append(out, name)
		}
		return out
	}
	switch {
	case at >= 0 && tool.Find(name) != nil:
		return append(append(out, name), script...)
	case slices.Contains(ownCommands, name):
		rest := args[i:]
		local = append(local, rest[:at]...)
		return append(append(append(out, name), local...), rest[at+1:]...)
	}
	return append(append(out, "--"), script...) // the parser says what is wrong
}

// commandName finds the first command of a script, and where it is: -1 for none.
func commandName(script []string, takesValue func(string) bool) (string, int) {
	for i := 0; i < len(script); i++ {
		arg := script[i]
		if arg == "--" {
			continue
		}
		if !strings.HasPrefix(arg, "-") {
			return arg, i
		}
		if name, _, valued := strings.Cut(strings.TrimLeft(arg, "-"), "="); !valued && (takesValue(name) || flowOptionTakesValue(name)) {
			i++
		}
	}
	return "", -1
}

type globalFlag struct {
	name  string
	value bool
}

// globalNames gives the global options by each of their names.
func globalNames() map[string]globalFlag {
	out := map[string]globalFlag{}
	for _, f := range globalFlags() {
		_, isBool := f.(*cli.BoolFlag)
		for _, name := range f.Names() {
			out[name] = globalFlag{f.Names()[0], !isBool && f.Names()[0] != "verbose"}
		}
	}
	out["help"] = globalFlag{"help", false}
	return out
}
