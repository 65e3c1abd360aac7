package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"

	"northwall/northd"
	"northwall/ovsdb"
	"northwall/ovsdb/unixctl"
)

// commands are those of the control socket: of ovn-northd(8), ovs-appctl(8) and
// what the original has besides, with its names and forms of answers, and of our
// own those that begin with "northwall/".
func commands(d *northd.Daemon, nb, sb *ovsdb.Client, l *logs, exit func()) []unixctl.Command {
	text := func(name string, f func() string) unixctl.Command {
		return unixctl.Command{Name: name, Run: func(context.Context, []string) (string, error) { return f(), nil }}
	}
	do := func(name string, f func()) unixctl.Command {
		return text(name, func() string { f(); return "" })
	}
	ask := func(name string, f func(context.Context) (string, error)) unixctl.Command {
		return unixctl.Command{Name: name, Run: func(ctx context.Context, _ []string) (string, error) { return f(ctx) }}
	}
	list := []unixctl.Command{
		text("version", func() string { return "northwalld " + version + "\n" }),
		{Name: "exit", Usage: "[--cleanup]", Max: 1, Run: func(context.Context, []string) (string, error) { exit(); return "", nil }},
		text("status", func() string { return "Status: " + status(d.Status()) + "\n" }),
		text("nb-connection-status", func() string { return connection(nb) }),
		text("sb-connection-status", func() string { return connection(sb) }),
		do("nb-cluster-state-reset", nb.ResetClusterState),
		do("sb-cluster-state-reset", sb.ResetClusterState),
		do("pause", d.Pause),
		do("resume", d.Resume),
		text("is-paused", func() string { return fmt.Sprintf("%t\n", d.Status().Paused) }),
		ask("inc-engine/recompute", func(ctx context.Context) (string, error) { return "", d.Recompute(ctx) }),
		{Name: "inc-engine/show-stats", Usage: "[NODE [COUNTER]]", Max: 2, Run: func(ctx context.Context, args []string) (string, error) {
			return d.EngineStats(ctx, argument(args, 0), argument(args, 1))
		}},
		ask("inc-engine/clear-stats", func(ctx context.Context) (string, error) { return "", d.ClearStats(ctx) }),
		{Name: "stopwatch/show", Usage: "[NAME]", Max: 1, Run: func(ctx context.Context, args []string) (string, error) {
			return d.Stopwatches(ctx, argument(args, 0))
		}},
		{Name: "stopwatch/reset", Usage: "[NAME]", Max: 1, Run: func(ctx context.Context, args []string) (string, error) {
			return "", d.ResetStopwatches(ctx, argument(args, 0))
		}},
		text("parallel-build/get-n-threads", func() string { return "1\n" }),
		{Name: "parallel-build/set-n-threads", Usage: "N_THREADS", Min: 1, Max: 1, Run: setThreads},
		ask("debug/chassis-features-list", d.ChassisFeatures),
		ask("memory/show", func(ctx context.Context) (string, error) { return memory(ctx, d) }),
		ask("northwall/show", d.Overview),
		ask("northwall/problems", d.Problems),
	}
	return append(list, logCommands(l)...)
}

// logCommands are those of ovs-appctl(8), "Logging Commands".
func logCommands(l *logs) []unixctl.Command {
	nothing := func(context.Context, []string) (string, error) { return "", nil }
	return []unixctl.Command{
		{Name: "vlog/set", Usage: "{SPEC | [MODULE:][DESTINATION:]LEVEL}...", Max: 99, Run: func(_ context.Context, args []string) (string, error) {
			if len(args) == 0 {
				args = []string{"dbg"}
			}
			for _, a := range args {
				if err := l.Set(a); err != nil {
					return "", err
				}
			}
			return "", nil
		}},
		{Name: "vlog/list", Run: func(context.Context, []string) (string, error) { return l.List(), nil }},
		{Name: "vlog/reopen", Run: func(context.Context, []string) (string, error) { return "", l.Reopen() }},
		{Name: "vlog/close", Run: func(context.Context, []string) (string, error) { l.Close(); return "", nil }},
		// No lines are left out for their rate: what is wrong is said once anyhow.
		{Name: "vlog/enable-rate-limit", Usage: "[MODULE]...", Max: 99, Run: nothing},
		{Name: "vlog/disable-rate-limit", Usage: "[MODULE]...", Max: 99, Run: nothing},
	}
}

// argument is the one of a number, "" where there is none.
func argument(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

// setThreads takes what the original takes, and changes nothing: there is one
// thread that derives, as what a change costs does not depend on the size of the
// network.
func setThreads(_ context.Context, args []string) (string, error) {
	if n, err := strconv.Atoi(args[0]); err != nil || n < 1 || n > 256 {
		return "", fmt.Errorf("invalid n_threads: %s", args[0])
	}
	return "", nil
}

func memory(ctx context.Context, d *northd.Daemon) (string, error) {
	flows, derivations, err := d.Sizes(ctx)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("derivations:%d goroutines:%d heap-kB:%d lflows:%d\n", derivations, runtime.NumGoroutine(), m.HeapAlloc>>10, flows), err
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
