package main

import (
	"context"
	"fmt"
	"runtime"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/unixctl"
)

// commands are those of the control socket, with the names and answers of
// ovn-northd(8).
func commands(d *northd.Daemon, nb, sb *ovsdb.Client, l *logs, exit func()) []unixctl.Command {
	text := func(name string, f func() string) unixctl.Command {
		return unixctl.Command{Name: name, Run: func(context.Context, []string) (string, error) { return f(), nil }}
	}
	do := func(name string, f func()) unixctl.Command {
		return text(name, func() string { f(); return "" })
	}
	return []unixctl.Command{
		text("version", func() string { return "northwalld " + version + "\n" }),
		{Name: "exit", Usage: "[--cleanup]", Max: 1, Run: func(context.Context, []string) (string, error) { exit(); return "", nil }},
		text("status", func() string { return "Status: " + status(d.Status()) + "\n" }),
		text("nb-connection-status", func() string { return connection(nb) }),
		text("sb-connection-status", func() string { return connection(sb) }),
		do("pause", d.Pause),
		do("resume", d.Resume),
		text("is-paused", func() string { return fmt.Sprintf("%t\n", d.Status().Paused) }),
		{Name: "inc-engine/recompute", Run: func(ctx context.Context, _ []string) (string, error) { return "", d.Recompute(ctx) }},
		text("inc-engine/show-stats", d.Stats),
		text("memory/show", func() string {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return fmt.Sprintf("heap-kB:%d goroutines:%d\n", m.HeapAlloc>>10, runtime.NumGoroutine())
		}),
		{Name: "vlog/set", Usage: "[[MODULE:]DESTINATION:]LEVEL...", Max: 99, Run: func(_ context.Context, args []string) (string, error) {
			for _, a := range args {
				if err := l.Set(a); err != nil {
					return "", err
				}
			}
			return "", nil
		}},
		text("vlog/list", l.List),
		{Name: "vlog/reopen", Run: func(context.Context, []string) (string, error) { return "", l.Reopen() }},
	}
}

func status(s northd.DaemonStatus) string {
	switch {
	case s.Paused:
		return "paused"
	case s.Active:
		return "active"
	}
	return "standby"
}

func connection(c *ovsdb.Client) string {
	if c.Status().Connected {
		return "connected\n"
	}
	return "not connected\n"
}
