package northd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"northwall/northd/engine"
)

// Overview describes for people what the daemon has done and holds.
func (d *Daemon) Overview(ctx context.Context) (string, error) {
	var b strings.Builder
	err := d.do(ctx, func() {
		st, levels := d.n.Stats()
		c := d.counters
		fmt.Fprintf(&b, "northbound batches:       %d\nsouthbound batches:       %d\n", c.NB.Batches, c.SB.Batches)
		fmt.Fprintf(&b, "southbound transactions:  %d (%d failed)\n", c.SB.Sent, c.SB.Failures)
		fmt.Fprintf(&b, "northbound transactions:  %d (%d failed)\n", c.NB.Sent, c.NB.Failures)
		fmt.Fprintf(&b, "logical flows:            %d\n", d.n.FlowCount())
		fmt.Fprintf(&b, "configuration problems:   %d\nrows refused, left out:   %d\n", len(d.n.Problems()), d.n.LeftOut())
		fmt.Fprintf(&b, "derivations held:         %d\nderivations run:          %d\nfull recomputes:          %d\n\n", st.Held, st.Derived, st.Recomputes)
		fmt.Fprintf(&b, "%-48s %10s %12s\n", "derivation", "held", "run")
		for _, l := range levels {
			fmt.Fprintf(&b, "%-48s %10d %12d\n", l.Name, l.Held, l.Ran)
		}
	})
	return b.String(), err
}

// nearest are the derivations that answer for a node of the original's engine of
// which scripts ask; those of "" are all.
var nearest = map[string]string{
	"northd": "", "lflow": "", "northd_output": "",
	"acl_id": "rows and checks of ACL", "ls_stateful": "traits of switch", "port_group": "port group on switch",
	"sync_meters": "meter", "sync_to_sb_addr_set": "address set", "sync_to_sb_lb": "load balancer",
	"sync_to_sb_pb": "port", "multicast_igmp": "learned group", "sampling_app": "sampling application",
	"global_config": "options", "datapath_logical_switch": "switch",
}

// EngineStats describes the work of the derivations in the form of ovn-northd's
// inc-engine/show-stats: a node is a family of derivations. It counts the runs of
// the engine in which all of them were run (recompute) or those that depend on a
// change (compute), and those of them that failed (cancel). With a node, a family
// or the original's name of one, it describes that one; with a counter too, only
// the number.
func (d *Daemon) EngineStats(ctx context.Context, node, counter string) (string, error) {
	var levels []engine.LevelStats
	if err := d.do(ctx, func() { _, levels = d.n.Stats() }); err != nil {
		return "", err
	}
	family, known := nearest[node]
	if !known {
		family = node
	}
	var total engine.LevelWork
	var b strings.Builder
	print := func(name string, w engine.LevelWork) {
		fmt.Fprintf(&b, "Node: %s\n", name)
		for _, c := range counters(w) {
			fmt.Fprintf(&b, "- %s:%*d\n", c.name, 22-len(c.name), c.value)
		}
	}
	for _, l := range levels {
		if node == "" {
			print(l.Name, l.Work)
		}
		if l.Name == family || known && family == "" {
			total.Recomputes = max(total.Recomputes, l.Work.Recomputes)
			total.Computes = max(total.Computes, l.Work.Computes)
			total.Failures += l.Work.Failures
			known = true
		}
	}
	switch {
	case node == "":
	case !known:
		return "", fmt.Errorf("no node %q", node)
	case counter == "":
		print(node, total)
	default:
		all := counters(total)
		i := slices.IndexFunc(all, func(c namedCounter) bool { return c.name == strings.Replace(counter, "abort", "cancel", 1) })
		if i < 0 {
			return "", fmt.Errorf("no counter %q; there are recompute, compute and cancel", counter)
		}
		fmt.Fprintln(&b, all[i].value)
	}
	return b.String(), nil
}

type namedCounter struct {
	name  string
	value uint64
}

func counters(w engine.LevelWork) []namedCounter {
	return []namedCounter{{"recompute", w.Recomputes}, {"compute", w.Computes}, {"cancel", w.Failures}}
}

// ClearStats sets the counters of EngineStats to zero.
func (d *Daemon) ClearStats(ctx context.Context) error { return d.do(ctx, d.n.e.ClearWork) }

// Stopwatches describes one stopwatch, or with "" all, in the form of ovn-northd's
// stopwatch/show.
func (d *Daemon) Stopwatches(ctx context.Context, name string) (text string, err error) {
	if stopped := d.do(ctx, func() { text, err = d.watches.show(name) }); stopped != nil {
		return "", stopped
	}
	return text, err
}

// ResetStopwatches sets one stopwatch to zero, or with "" all.
func (d *Daemon) ResetStopwatches(ctx context.Context, name string) error {
	return d.do(ctx, func() { d.watches.reset(name) })
}

// Sizes are how much the daemon holds, by name.
func (d *Daemon) Sizes(ctx context.Context) (flows, derivations int, err error) {
	err = d.do(ctx, func() {
		st, _ := d.n.Stats()
		flows, derivations = d.n.FlowCount(), st.Held
	})
	return flows, derivations, err
}

// Problems lists what is wrong with the northbound configuration, a line each.
func (d *Daemon) Problems(ctx context.Context) (string, error) {
	var b strings.Builder
	err := d.do(ctx, func() {
		for _, p := range d.n.Problems() {
			fmt.Fprintf(&b, "%s: %s\n", p.Object, p.Reason)
		}
	})
	return b.String(), err
}

// ChassisFeatures lists what all chassis must be able to do for it to be used, and
// whether they are.
func (d *Daemon) ChassisFeatures(ctx context.Context) (string, error) {
	labels := true
	err := d.do(ctx, func() {
		for _, c := range d.n.sb.chassis.All() {
			labels = labels && (isRemoteChassis(c) || optBool(c.OtherConfig, "ct-label-flush", false))
		}
	})
	return fmt.Sprintf("ct_label_flush: %t\n", labels), err
}
