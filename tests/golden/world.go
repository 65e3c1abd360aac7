package golden

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"northwall/ovsdb/ctl"
	"northwall/schema"
	"northwall/schema/nbctl"
	"northwall/tests/golden/sbdump"
)

// A World is two databases with a northd between them.
type World interface {
	// Northbound and Southbound run a command line on a database and return when
	// the northd has done what follows from it.
	Northbound(ctx context.Context, args []string) error
	Southbound(ctx context.Context, args []string) error
	// Contents are those of the two databases.
	Contents() (sb, nb sbdump.Contents, err error)
}

// initLine is what the reference's runs begin with: values that are random
// otherwise.
const initLine = "init -- set nb_global . options:mac_prefix=0a:00:00 options:svc_monitor_mac=0a:00:00:00:00:fe options:svc_monitor_mac_dst=0a:00:00:00:00:fd"

// Run runs a scenario and returns what the northd has written. A command that
// fails is an error.
func Run(ctx context.Context, w World, s *Scenario) ([]string, error) {
	for i, line := range append([]string{initLine}, s.Lines...) {
		if err := runLine(ctx, w, line); err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", i, line, err)
		}
	}
	sb, nb, err := w.Contents()
	if err != nil {
		return nil, err
	}
	return sbdump.Lines(sb, nb), nil
}

func runLine(ctx context.Context, w World, line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	southbound, isSouthbound := strings.CutPrefix(line, "sb: ")
	if isSouthbound {
		line = southbound
	}
	args, err := ctl.Words(line)
	if err != nil {
		return err
	}
	if isSouthbound {
		return w.Southbound(ctx, args)
	}
	return w.Northbound(ctx, args)
}

// editors run command lines on the two databases.
type editors struct {
	nb, sb         ctl.DB
	nbTool, sbTool *ctl.Tool
}

func newEditors(nb, sb ctl.DB) editors {
	return editors{nb: nb, sb: sb, nbTool: nbctl.New(schema.Northbound()), sbTool: ChassisTool(schema.Southbound())}
}

func (e *editors) northbound(ctx context.Context, args []string, wait nbctl.Wait) error {
	script, err := e.nbTool.Parse(args)
	if err != nil {
		return err
	}
	return nbctl.RunScript(ctx, script, e.nb, io.Discard, ctl.Options{}, wait)
}

func (e *editors) northboundNoWait(ctx context.Context, args []string) error {
	return e.northbound(ctx, args, nbctl.WaitNone)
}

func (e *editors) southbound(ctx context.Context, args []string) error {
	return e.sbTool.Run(ctx, e.sb, args, &bytes.Buffer{}, ctl.Options{})
}
