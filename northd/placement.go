package northd

import (
	"northwall/northd/engine"
	"northwall/ovsdb"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// optNBBound marks a binding whose chassis is the northd's choice.
const optNBBound = "is-remote-nb-bound"

// isRemoteChassis: the chassis is of another availability zone. It claims no
// ports itself.
func isRemoteChassis(c *sb.Chassis) bool {
	return c != nil && optBool(c.OtherConfig, "is-remote", false)
}

// place puts a port on the chassis of another zone that it asks for, and adds the
// options of its binding that follow from that, or that chassis have written and a
// northd keeps.
func (n *Northd) place(s *engine.Scope, p *nb.LogicalSwitchPort, r *sb.PortBinding, state portState, more *moreOptions) {
	if len(r.RequestedAdditionalChassis) > 0 {
		more.add(optActivated, state.Activated)
	}
	if p.Type == "virtual" {
		more.add(optLastClaim, state.LastClaim)
		more.add(optBackoff, state.Backoff)
	}
	n.remoteChassis.Get(s, state.Chassis) // what mendPort goes by
	if isShared(r) && r.RequestedChassis != nil && n.remoteChassis.Get(s, *r.RequestedChassis) {
		r.Chassis = r.RequestedChassis
		more.add(optNBBound, "true")
	}
}

// isShared: the port may be on a chassis of another zone.
func isShared(r *sb.PortBinding) bool {
	return r.Type == "remote" || len(r.RequestedAdditionalChassis) > 0
}

// mendPort writes the columns of a binding that are a chassis's, where they must
// not stay as they are.
func (n *Northd) mendPort(txn *ovsdb.Txn, have, want *sb.PortBinding) {
	contained := func(r *sb.PortBinding) bool { return deref(r.ParentPort) != "" }
	virtual := func(r *sb.PortBinding) bool { return r.Type == "virtual" }
	chassis, _ := n.sb.chassis.Peek(deref(have.Chassis))
	switch {
	case contained(have) != contained(want), virtual(have) != virtual(want), have.Datapath != want.Datapath:
		// Another chassis is to claim it, or the same in another way or place.
		c := txn.Update("Port_Binding", have.UUID)
		c.Bool("up", false)
		for _, column := range [...]string{"chassis", "encap", "additional_chassis", "additional_encap"} {
			c.UUIDs(column, nil)
		}
		c.Strings("virtual_parent", nil)
		return
	case want.Chassis != nil:
		if deref(have.Chassis) != *want.Chassis {
			txn.Update("Port_Binding", have.UUID).UUID("chassis", *want.Chassis)
		}
	case have.Chassis != nil && (have.Options[optNBBound] == "true" || isRemoteChassis(chassis) && !isShared(want)):
		txn.Update("Port_Binding", have.UUID).UUIDs("chassis", nil)
	}
	if have.Up == nil {
		// Not in place of what the chassis says by the time that this arrives.
		txn.UpdateEmpty("Port_Binding", have.UUID, "up").Bool("up", false)
	}
}
