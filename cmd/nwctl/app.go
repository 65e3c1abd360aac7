package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"northwall/ovsdb/ctl"
	"northwall/schema"
	"northwall/schema/nbctl"
)

// globalFlags are the options of the program, as ovn-nbctl has them.
func globalFlags() []cli.Flag {
	const connection, output, security = "Connection", "Output", "TLS"
	return []cli.Flag{
		&cli.StringFlag{Name: "db", Category: connection, Usage: "connect to `DATABASE`, addresses separated by commas", EnvVars: []string{"OVN_NB_DB"}, Value: defaultNorthbound},
		&cli.StringFlag{Name: "sb-db", Category: connection, Usage: "southbound `DATABASE`, for flows", EnvVars: []string{"OVN_SB_DB"}, Value: defaultSouthbound},
		&cli.StringFlag{Name: "wait", Category: connection, Usage: "wait for the change to reach `none|sb|hv`", Value: "none"},
		&cli.BoolFlag{Name: "no-wait", Category: connection, Usage: "same as --wait=none"},
		&cli.StringFlag{Name: "timeout", Aliases: []string{"t"}, Category: connection, Usage: "wait at most `SECS` seconds for anything"},
		&cli.BoolFlag{Name: "dry-run", Category: connection, Usage: "do not commit changes"},
		&cli.BoolFlag{Name: "leader-only", Category: connection, Usage: "accept the leader of a cluster only (default)"},
		&cli.BoolFlag{Name: "no-leader-only", Category: connection, Usage: "accept any member of a cluster"},
		&cli.BoolFlag{Name: "shuffle-remotes", Category: connection, Usage: "try the addresses in random order (default)"},
		&cli.BoolFlag{Name: "no-shuffle-remotes", Category: connection, Usage: "try the addresses in their order"},
		&cli.StringFlag{Name: "format", Aliases: []string{"f"}, Category: output, Usage: "`FORMAT` of list and find: list, table, csv, json or html", Value: "list"},
		&cli.StringFlag{Name: "data", Aliases: []string{"d"}, Category: output, Usage: "`FORMAT` of values: string, bare or json", Value: "string"},
		&cli.BoolFlag{Name: "no-headings", Category: output, Usage: "leave out headings"},
		&cli.BoolFlag{Name: "pretty", Category: output, Usage: "indent JSON"},
		&cli.BoolFlag{Name: "bare", Category: output, Usage: "same as --format=list --data=bare --no-headings"},
		&cli.StringFlag{Name: "private-key", Aliases: []string{"p"}, Category: security, Usage: "`FILE` with the private key"},
		&cli.StringFlag{Name: "certificate", Aliases: []string{"c"}, Category: security, Usage: "`FILE` with the certificate"},
		&cli.StringFlag{Name: "ca-cert", Aliases: []string{"C"}, Category: security, Usage: "`FILE` with the CA certificate of the server, or none"},
		&cli.BoolFlag{Name: "no-syslog", Usage: "accepted for compatibility: nothing is logged to syslog"},
		&cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "print the version"},
		&cli.StringFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "log the connection to stderr; `SPEC` is a level such as info or dbg"},
	}
}

// ownCommands are the commands that are not of the tool: they cannot be chained.
var ownCommands = []string{"flows", "lflow-list", "dump-flows", "help", "completion", "complete-words"}

// newApp builds the program.
func newApp(stdout, stderr io.Writer) *cli.App {
	tool := nbctl.New(schema.Northbound())
	tool.Others = ownCommands
	app := &cli.App{
		Name:            "nwctl",
		Usage:           "edit and show an OVN northbound database",
		UsageText:       "nwctl [OPTIONS] COMMAND [ARG...] [-- [OPTIONS] COMMAND [ARG...]]...",
		Description:     "Commands separated by -- are one transaction. `nwctl help COMMAND` explains one with an example.",
		HideVersion:     true, // cli's has -v for short, which is --verbose here
		Flags:           globalFlags(),
		Writer:          stdout,
		ErrWriter:       stderr,
		HideHelpCommand: true,
		ExitErrHandler:  func(*cli.Context, error) {}, // run has the exit status
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return err },
		Action: func(c *cli.Context) error {
			if c.Bool("version") {
				_, err := fmt.Fprintf(c.App.Writer, "nwctl %s\n", version())
				return err
			}
			return runScript(c, tool, c.Args().Slice())
		},
	}
	for _, command := range tool.Commands {
		app.Commands = append(app.Commands, front(tool, command))
	}
	app.Commands = append(app.Commands, flowsCommand(), helpCommand(tool), completionCommand(), completeCommand(tool))
	return app
}

// front is the cli command for a command of the tool. cli has it for the help;
// the arguments are the whole script.
func front(tool *ctl.Tool, command *ctl.Command) *cli.Command {
	return &cli.Command{
		Name:            command.Name,
		Usage:           command.Help,
		Category:        group(command),
		SkipFlagParsing: true,
		HideHelp:        true,
		Action: func(c *cli.Context) error {
			args := c.Args().Slice()
			if at := slices.Index(args, command.Name); at+1 < len(args) && (args[at+1] == "--help" || args[at+1] == "-h") {
				return explain(c.App.Writer, command)
			}
			return runScript(c, tool, args)
		},
	}
}

func group(command *ctl.Command) string {
	if command.Group == "" {
		return "Database commands"
	}
	return command.Group
}

// runScript runs the commands on the northbound database.
func runScript(c *cli.Context, tool *ctl.Tool, args []string) error {
	script, err := tool.Parse(args)
	if err != nil {
		return err
	}
	wait, err := nbctl.ParseWait(c.String("wait"))
	if err != nil {
		return err
	}
	if c.Bool("no-wait") {
		wait = nbctl.WaitNone
	}
	style, err := ctl.ParseStyle(c.String("format"), c.String("data"))
	if err != nil {
		return err
	}
	style.NoHeadings, style.Pretty = c.Bool("no-headings"), c.Bool("pretty")
	if c.Bool("bare") {
		style.Layout, style.Cells, style.NoHeadings = "list", ctl.FormatBare, true
	}
	reads, err := script.Reads()
	if err != nil {
		return err
	}
	ctx, cancel, err := deadline(c)
	if err != nil {
		return err
	}
	defer cancel()
	client, err := connect(ctx, c, "OVN_Northbound", c.String("db"), ctl.Tables(append(reads, wait.Reads()...)))
	if err != nil {
		return err
	}
	defer client.Close()
	options := ctl.Options{Style: style, DryRun: c.Bool("dry-run")}
	return nbctl.RunScript(ctx, script, ctl.New(client, client.Schema), c.App.Writer, options, wait)
}

func helpCommand(tool *ctl.Tool) *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "explain a command with an example", ArgsUsage: "COMMAND", Category: "General commands", SkipFlagParsing: true, HideHelp: true,
		Action: func(c *cli.Context) error {
			args := c.Args().Slice()
			if len(args) == 0 {
				return cli.ShowAppHelp(c)
			}
			if command := tool.Find(args[0]); command != nil {
				return explain(c.App.Writer, command)
			}
			if command := c.App.Command(args[0]); command != nil {
				return cli.ShowCommandHelp(c, args[0])
			}
			_, err := tool.Parse(args[:1])
			return err
		},
	}
}

// explain prints the help of one command.
func explain(out io.Writer, command *ctl.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nUsage:\n  nwctl %s\n", command.Name, command.Help, command.Usage())
	if len(command.Options) > 0 {
		b.WriteString("\nOptions, before the name of the command:\n")
		for _, o := range command.Options {
			text := "--" + o.Name
			if o.Value != "" {
				text += "=" + o.Value
			}
			fmt.Fprintf(&b, "  %-34s %s\n", text, o.Help)
		}
	}
	if command.Notes != "" {
		fmt.Fprintf(&b, "\n%s\n", command.Notes)
	}
	fmt.Fprintf(&b, "\nExample:\n  nwctl %s\n", command.Example)
	_, err := io.WriteString(out, b.String())
	return err
}
