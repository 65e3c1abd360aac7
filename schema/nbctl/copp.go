package nbctl

import (
	"fmt"
	"slices"
	"strings"

	"northwall/ovsdb/ctl"
)

const coppGroup = "Control plane protection policy commands"

// coppProtocols are the kinds of packets to a controller that a policy limits.
var coppProtocols = []string{"arp", "arp-resolve", "dhcpv4-opts", "dhcpv6-opts", "dns", "event-elb", "icmp4-error", "icmp6-error", "igmp",
	"nd-na", "nd-ns", "nd-ns-resolve", "nd-ra-opts", "tcp-reset", "bfd", "reject", "svc-monitor", "dhcpv4-relay"}

func coppCommands() []*ctl.Command {
	reads := ctl.Reading("Copp name meters")
	attach := func(name, what, example string, k kind) *ctl.Command {
		return &ctl.Command{Name: name, Group: coppGroup, Args: "NAME " + what, Min: 2, Max: 2, Help: "put policy NAME on " + what,
			Example: name + " limits " + example, Reads: ctl.Reading("Copp name", k.table+" name copp"), Run: func(c *ctl.Call) error {
				policy, err := copp.find(c.Tx, c.Args[0])
				if err != nil {
					return err
				}
				row, err := k.find(c.Tx, c.Args[1])
				if err == nil {
					row.Set("copp", ctl.UUIDs(policy.UUID))
				}
				return err
			}}
	}
	return []*ctl.Command{
		{Name: "copp-add", Group: coppGroup, Args: "NAME PROTO METER", Min: 3, Max: 3,
			Help: "limit PROTO packets by METER in policy NAME, which is created if need be", Example: "copp-add limits reject acl-log",
			Notes: "PROTO is one of " + strings.Join(coppProtocols, ", ") + ".", Reads: reads, Run: coppAdd},
		{Name: "copp-del", Group: coppGroup, Args: "NAME [PROTO]", Min: 1, Max: 2, Help: "remove PROTO from policy NAME, or the whole policy",
			Example: "copp-del limits reject", Reads: reads, Run: coppDel},
		{Name: "copp-list", Group: coppGroup, Args: "NAME", Min: 1, Max: 1, Help: "print what policy NAME limits by which meter",
			Example: "copp-list limits", Reads: reads, ReadOnly: true, Run: func(c *ctl.Call) error {
				policy, err := copp.lookup(c.Tx, c.Args[0])
				if err != nil || policy == nil {
					return err
				}
				for _, proto := range policy.Strs("meters") {
					m, _ := policy.Key("meters", proto)
					c.Printf("%s: %s\n", proto, m)
				}
				return nil
			}},
		attach("ls-copp-add", "SWITCH", "sw0", logicalSwitch),
		attach("lr-copp-add", "ROUTER", "lr0", logicalRouter),
	}
}

func checkCoppProtocol(proto string) error {
	if slices.Contains(coppProtocols, proto) {
		return nil
	}
	return fmt.Errorf("%s: invalid control protocol; allowed are %s", proto, strings.Join(coppProtocols, ", "))
}

func coppAdd(c *ctl.Call) error {
	if err := checkCoppProtocol(c.Args[1]); err != nil {
		return err
	}
	policy, err := copp.lookup(c.Tx, c.Args[0])
	if err != nil {
		return err
	}
	if policy == nil {
		policy = c.Tx.Insert("Copp")
		policy.SetString("name", c.Args[0])
	}
	policy.Put("meters", c.Args[1], c.Args[2])
	return nil
}

func coppDel(c *ctl.Call) error {
	if len(c.Args) == 2 {
		if err := checkCoppProtocol(c.Args[1]); err != nil {
			return err
		}
	}
	policy, err := copp.lookup(c.Tx, c.Args[0])
	if err != nil || policy == nil {
		return err
	}
	if len(c.Args) == 2 {
		policy.Remove("meters", c.Args[1])
		return nil
	}
	policy.Delete()
	return nil
}
