package nbctl

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"northwall/ovsdb/ctl"
)

const generalGroup = "General commands"

func generalCommands() []*ctl.Command {
	return []*ctl.Command{
		{Name: "init", Group: generalGroup, Help: "initialize the database", Example: "init",
			Run: func(*ctl.Call) error { return nil }}, // Prepare has done it
		{Name: "show", Group: generalGroup, Args: "[SWITCH|ROUTER]", Max: 1,
			Help: "print an overview of the database, or of one switch or router", Example: "show sw0",
			ReadOnly: true, Run: show,
			Reads: ctl.Reading(
				"Logical_Switch name ports external_ids",
				"Logical_Switch_Port name type parent_name tag addresses peer options external_ids",
				"Logical_Router name ports nat external_ids",
				"Logical_Router_Port name mac networks gateway_chassis",
				"Gateway_Chassis chassis_name priority",
				"NAT external_ip logical_ip type external_port_range")},
		{Name: "sync", Group: generalGroup, Help: "wait even for earlier changes to take effect (with --wait)", Example: "--wait=sb sync",
			Run: func(*ctl.Call) error { return nil }},
	}
}

// global returns the one row of NB_Global, which it makes where there is none.
func global(tx *ctl.Txn) (*ctl.Row, error) {
	switch rows := tx.Rows("NB_Global"); len(rows) {
	case 0:
		return tx.Insert("NB_Global"), nil
	case 1:
		return rows[0], nil
	default:
		return nil, fmt.Errorf("table NB_Global has %d rows instead of one", len(rows))
	}
}

// Wait says how far a change must have got before a run returns.
type Wait int

const (
	WaitNone Wait = iota // it is in the northbound database
	WaitSB               // a northd has brought the southbound database up to date
	WaitHV               // all chassis have as well
)

// ParseWait reads the argument of --wait.
func ParseWait(s string) (Wait, error) {
	switch s {
	case "", "none":
		return WaitNone, nil
	case "sb":
		return WaitSB, nil
	case "hv":
		return WaitHV, nil
	}
	return WaitNone, fmt.Errorf(`argument to --wait must be "none", "sb", or "hv"`)
}

// Reads of a run beside those of its commands.
func (w Wait) Reads() []ctl.Read {
	if w == WaitNone {
		return nil
	}
	return ctl.Reading("NB_Global name nb_cfg sb_cfg hv_cfg")
}

// Run runs one command line, its commands separated by "--", in one transaction.
func Run(ctx context.Context, tool *ctl.Tool, db ctl.DB, args []string, out io.Writer) error {
	s, err := tool.Parse(args)
	if err != nil {
		return err
	}
	return RunScript(ctx, s, db, out, ctl.Options{}, WaitNone)
}

// RunScript runs the script, then waits as told. It waits only for changes that
// the script makes, unless it contains the command sync.
func RunScript(ctx context.Context, s *ctl.Script, db ctl.DB, out io.Writer, o ctl.Options, w Wait) error {
	var counter *ctl.Counter
	o.Reads = append(o.Reads, w.Reads()...)
	o.Finish = func(tx *ctl.Txn) error {
		counter = nil
		if w == WaitNone || !tx.Changes() && !s.Has("sync") {
			return nil
		}
		nb, err := global(tx)
		if err != nil {
			return err
		}
		if n, _ := nb.Int("nb_cfg"); n == math.MaxInt {
			return fmt.Errorf("NB_Global nb_cfg cannot be counted up any further; `nwctl set nb_global . nb_cfg=0` starts over")
		}
		counter = tx.Count(nb, "nb_cfg")
		return nil
	}
	if err := s.Run(ctx, db, out, o); err != nil || counter == nil || o.DryRun {
		return err
	}
	err := ctl.Watch(ctx, db, w.Reads(), func(tx *ctl.Txn) (bool, error) {
		nb, err := global(tx)
		if err != nil {
			return false, err
		}
		reached, _ := nb.Int("sb_cfg")
		if w == WaitHV {
			hv, _ := nb.Int("hv_cfg")
			reached = min(reached, hv)
		}
		return reached >= counter.Value, nil
	})
	if err != nil && ctx.Err() != nil {
		who := "a northd to bring the southbound database up to date"
		if w == WaitHV {
			who = "all chassis to catch up"
		}
		return fmt.Errorf("the change is committed, but waiting for %s (nb_cfg %d) ended: %w", who, counter.Value, err)
	}
	return err
}

func show(c *ctl.Call) error {
	id := c.Arg(0)
	switches, routers := c.Tx.Rows("Logical_Switch"), c.Tx.Rows("Logical_Router")
	if id != "" {
		ls, err := logicalSwitch.lookup(c.Tx, id)
		if err != nil {
			return err
		}
		lr, err := logicalRouter.lookup(c.Tx, id)
		if err != nil {
			return err
		}
		switches, routers = only(ls), only(lr)
	}
	for _, ls := range byName(switches) {
		showSwitch(c, ls)
	}
	for _, lr := range byName(routers) {
		showRouter(c, lr)
	}
	return nil
}

func only(row *ctl.Row) []*ctl.Row {
	if row == nil {
		return nil
	}
	return []*ctl.Row{row}
}

// alias is what a cloud calls a row that it gave a UUID for a name.
func alias(row *ctl.Row, key string) string {
	if name, ok := row.Key("external_ids", key); ok && name != "" {
		return " (aka " + name + ")"
	}
	return ""
}

func quotedList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = `"` + v + `"`
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func showSwitch(c *ctl.Call, ls *ctl.Row) {
	c.Printf("switch %s (%s)%s\n", ls.UUID, ls.Str("name"), alias(ls, "neutron:network_name"))
	for _, p := range byName(ls.Refs("ports")) {
		c.Printf("    port %s%s\n", p.Str("name"), alias(p, "neutron:port_name"))
		if t := p.Str("type"); t != "" {
			c.Printf("        type: %s\n", t)
		}
		if parent := p.Str("parent_name"); parent != "" {
			c.Printf("        parent: %s\n", parent)
		}
		if tag, ok := p.Int("tag"); ok {
			c.Printf("        tag: %d\n", tag)
		}
		// Those of a router port are the word "router".
		if a := p.Strs("addresses"); len(a) > 0 && p.Str("type") != "router" {
			c.Printf("        addresses: %s\n", quotedList(a))
		}
		if peer := p.Str("peer"); peer != "" {
			c.Printf("        peer: %s\n", peer)
		}
		if peer, ok := p.Key("options", "router-port"); ok {
			c.Printf("        router-port: %s\n", peer)
		}
	}
}

func showRouter(c *ctl.Call, lr *ctl.Row) {
	c.Printf("router %s (%s)%s\n", lr.UUID, lr.Str("name"), alias(lr, "neutron:router_name"))
	for _, p := range byName(lr.Refs("ports")) {
		c.Printf("    port %s\n", p.Str("name"))
		if mac := p.Str("mac"); mac != "" {
			c.Printf("        mac: \"%s\"\n", mac)
			if lla, ok := linkLocal(mac); ok {
				c.Printf("        ipv6-lla: \"%s\"\n", lla)
			}
		}
		if n := p.Strs("networks"); len(n) > 0 {
			c.Printf("        networks: %s\n", quotedList(n))
		}
		if chassis := gatewayChassis(p); len(chassis) > 0 {
			names := make([]string, len(chassis))
			for i, gc := range chassis {
				names[i] = gc.Str("chassis_name")
			}
			c.Printf("        gateway chassis: [%s]\n", strings.Join(names, " "))
		}
	}
	for _, nat := range lr.Refs("nat") {
		c.Printf("    nat %s\n", nat.UUID)
		c.Printf("        external ip: \"%s\"\n", nat.Str("external_ip"))
		if ports := nat.Str("external_port_range"); ports != "" {
			c.Printf("        external port(s): \"%s\"\n", ports)
		}
		c.Printf("        logical ip: \"%s\"\n", nat.Str("logical_ip"))
		c.Printf("        type: \"%s\"\n", nat.Str("type"))
	}
}
