package northd

import (
	"northwall/flows"
	"northwall/northd/engine"
	"northwall/ovsdb"
	"northwall/schema/sb"
)

// portState is what chassis write about a port; column names of Port_Binding.
type portState struct {
	Chassis string // UUID, "" for none
	Up      bool

	// Options that a northd keeps.
	Activated, LastClaim, Backoff string
}

const (
	optActivated = "additional-chassis-activated"
	optLastClaim = "vport-last-claim"
	optBackoff   = "vport-backoff"
)

// defineSouthbound makes the southbound inputs and tables.
func (n *Northd) defineSouthbound() {
	e := n.e
	n.sb = southbound{
		chassis:        engine.NewInput[string, *sb.Chassis](e),
		chassisPrivate: engine.NewInput[string, *sb.ChassisPrivate](e),
		encaps:         engine.NewInput[string, *sb.Encap](e),
		portState:      engine.NewInput[string, portState](e),
		freedKeys:      engine.NewSignal[*keyPool](e),
		switchKeys:     engine.NewSignal[string](e),
		aclIDs:         engine.NewSignal[string](e),
		routerDPs:      map[string]struct{}{},
		groups:         map[string]*sb.LogicalDPGroup{},
	}
	o := &n.out
	o.global = newRows(e, sbTable[sb.SBGlobal]("SB_Global", "options", "ipsec"),
		func(r *sb.SBGlobal) *string { return &r.UUID },
		func(*sb.SBGlobal) string { return "global" })
	o.datapaths = newRows(e, sbTable[sb.DatapathBinding]("Datapath_Binding", "tunnel_key", "external_ids", "nb_uuid", "type"),
		func(r *sb.DatapathBinding) *string { return &r.UUID }, n.datapathKey)
	ports := []string{"datapath", "logical_port", "tunnel_key", "type", "mac", "port_security", "options", "parent_port", "tag",
		"external_ids", "requested_chassis", "requested_additional_chassis", "nat_addresses", "ha_chassis_group", "mirror_rules",
		"mirror_port"}
	o.ports = newRows(e, sbTable[sb.PortBinding]("Port_Binding", ports...),
		func(r *sb.PortBinding) *string { return &r.UUID }, n.portKey)
	o.ports.first = sbTable[sb.PortBinding]("Port_Binding", append(ports, "up", "chassis")...) // then the chassis's
	o.ports.mend = n.mendPort
	o.mcast = newRows(e, sbTable[sb.MulticastGroup]("Multicast_Group"),
		func(r *sb.MulticastGroup) *string { return &r.UUID },
		func(r *sb.MulticastGroup) string { return n.ofSwitch(r.Datapath, r.Datapath+" "+r.Name) })
	o.ipMcast = newRows(e, sbTable[sb.IPMulticast]("IP_Multicast"),
		func(r *sb.IPMulticast) *string { return &r.UUID },
		func(r *sb.IPMulticast) string { return n.ofSwitch(r.Datapath, r.Datapath) })
	o.addresses = newRows(e, sbTable[sb.AddressSet]("Address_Set"),
		func(r *sb.AddressSet) *string { return &r.UUID },
		func(r *sb.AddressSet) string { return r.Name })
	o.groups = newRows(e, sbTable[sb.PortGroup]("Port_Group"),
		func(r *sb.PortGroup) *string { return &r.UUID },
		func(r *sb.PortGroup) string { return r.Name })
	o.meters = newRows(e, sbTable[sb.Meter]("Meter"),
		func(r *sb.Meter) *string { return &r.UUID },
		func(r *sb.Meter) string { return r.Name })
	o.bands = newRows(e, sbTable[sb.MeterBand]("Meter_Band"),
		func(r *sb.MeterBand) *string { return &r.UUID }, n.knownBandKey)
	o.haGroups = newRows(e, sbTable[sb.HAChassisGroup]("HA_Chassis_Group", "name", "ha_chassis", "external_ids"),
		func(r *sb.HAChassisGroup) *string { return &r.UUID },
		func(r *sb.HAChassisGroup) string { return r.Name })
	o.haChassis = newRows(e, sbTable[sb.HAChassis]("HA_Chassis"),
		func(r *sb.HAChassis) *string { return &r.UUID }, n.knownHAChassis)
	o.aclIDs = newRows(e, sbTable[sb.ACLID]("ACL_ID"),
		func(r *sb.ACLID) *string { return &r.UUID },
		func(r *sb.ACLID) string { return r.UUID })
	o.loadBalancers = newRows(e, sbTable[sb.LoadBalancer]("Load_Balancer", "name", "protocol", "options", "vips", "datapath_group", "ls_datapath_group"),
		func(r *sb.LoadBalancer) *string { return &r.UUID }, orNotOurs(loadBalancerKey))
	o.monitors = newRows(e, sbTable[sb.ServiceMonitor]("Service_Monitor", "type", "ip", "protocol", "port", "logical_port", "logical_input_port",
		"src_mac", "src_ip", "mac", "chassis_name", "options", "remote", "ic_learned"),
		func(r *sb.ServiceMonitor) *string { return &r.UUID },
		func(r *sb.ServiceMonitor) string { return keyOfMonitor(r).String() })
	o.monitors.mend = mendMonitor
	o.advertised = newRows(e, sbTable[sb.AdvertisedMACBinding]("Advertised_MAC_Binding", "datapath", "logical_port", "ip", "mac"),
		func(r *sb.AdvertisedMACBinding) *string { return &r.UUID },
		func(r *sb.AdvertisedMACBinding) string { return n.ofSwitch(r.Datapath, announcementKey(r)) })
	o.templateVars = newRows(e, sbTable[sb.ChassisTemplateVar]("Chassis_Template_Var"),
		func(r *sb.ChassisTemplateVar) *string { return &r.UUID },
		func(r *sb.ChassisTemplateVar) string { return r.Chassis })
	o.dns = newRows(e, sbTable[sb.DNS]("DNS"),
		func(r *sb.DNS) *string { return &r.UUID },
		func(r *sb.DNS) string { return r.UUID })
	o.mirrors = newRows(e, sbTable[sb.Mirror]("Mirror"),
		func(r *sb.Mirror) *string { return &r.UUID },
		func(r *sb.Mirror) string { return r.UUID })
	o.dhcp4Codes = newRows(e, sbTable[sb.DHCPOptions]("DHCP_Options"),
		func(r *sb.DHCPOptions) *string { return &r.UUID },
		func(r *sb.DHCPOptions) string { return r.Name })
	o.dhcp6Codes = newRows(e, sbTable[sb.DHCPv6Options]("DHCPv6_Options"),
		func(r *sb.DHCPv6Options) *string { return &r.UUID },
		func(r *sb.DHCPv6Options) string { return r.Name })
	o.roles = newRows(e, sbTable[sb.RBACRole]("RBAC_Role"),
		func(r *sb.RBACRole) *string { return &r.UUID },
		roleKey)
	o.permission = newRows(e, sbTable[sb.RBACPermission]("RBAC_Permission"),
		func(r *sb.RBACPermission) *string { return &r.UUID },
		n.permissionKey)
	// A row refers to rows of tables before its own only: of those that are large some
	// may be written in a later transaction.
	o.all = []table{o.global, o.permission, o.roles, o.datapaths, o.haChassis, o.haGroups, o.bands, o.meters, o.aclIDs, o.dns, o.mirrors,
		o.dhcp4Codes, o.dhcp6Codes, o.loadBalancers, o.templateVars}
	o.large = []table{o.ports, o.mcast, o.ipMcast, o.addresses, o.groups, o.monitors, o.advertised}
	o.all = append(o.all, o.large...)

	// As long as routers are not compiled, rows that may be theirs stay.
	hasRouters := func() bool { return n.nb.routers.Len() > 0 }
	n.flows.Spare = hasRouters
	for _, t := range []interface{ spareWhile(func() bool) }{o.addresses, o.groups, o.meters, o.bands, o.loadBalancers, o.haGroups, o.haChassis} {
		t.spareWhile(hasRouters)
	}
	o.monitors.spare = func(r *sb.ServiceMonitor) bool { return r.IcLearned || hasRouters() }
}

// datapathKey is the northbound UUID of a datapath's switch. Until 26.03 it was
// in external_ids. Datapaths of routers are not ours.
func (n *Northd) datapathKey(r *sb.DatapathBinding) string {
	if _, router := n.sb.routerDPs[r.UUID]; router {
		return notOurs
	}
	if r.NbUUID != nil {
		return *r.NbUUID
	}
	if u := r.ExternalIDs["logical-switch"]; u != "" {
		return u
	}
	return r.UUID // nobody's: it goes
}

func isRouterDatapath(r *sb.DatapathBinding) bool {
	if r.Type != nil {
		return *r.Type == sb.DatapathBindingTypeLogicalRouter
	}
	return r.ExternalIDs["logical-router"] != ""
}

// HasDatapaths reports whether the southbound database has any.
func (n *Northd) HasDatapaths() bool { return len(n.out.datapaths.have)+len(n.sb.routerDPs) > 0 }

func (n *Northd) portKey(r *sb.PortBinding) string { return n.ofSwitch(r.Datapath, r.LogicalPort) }

// ofSwitch is key, but notOurs where the datapath is a router's.
func (n *Northd) ofSwitch(datapath, key string) string {
	if _, router := n.sb.routerDPs[datapath]; router {
		return notOurs
	}
	return key
}

// Southbound takes changes of the southbound database.
func (n *Northd) Southbound(b *ovsdb.Batch) {
	// Which datapaths are routers' decides whose the other rows are.
	ovsdb.Each(b, "Datapath_Binding", func(uuid string, old, new *sb.DatapathBinding) {
		if new != nil && isRouterDatapath(new) {
			n.sb.routerDPs[uuid] = struct{}{}
		}
		n.observeSwitchKey(old, new)
		n.out.datapaths.observe(old, new)
	})
	ovsdb.Each(b, "SB_Global", observing(n.out.global))
	ovsdb.Each(b, "SB_Global", n.observeSBGlobal)
	ovsdb.Each(b, "Port_Binding", func(_ string, old, new *sb.PortBinding) {
		n.observePort(old, new)
		n.out.ports.observe(old, new)
	})
	ovsdb.Each(b, "Multicast_Group", n.observeMulticastGroup)
	ovsdb.Each(b, "Multicast_Group", observing(n.out.mcast))
	if len(b.Changes["IGMP_Group"]) > 0 {
		n.namePorts()
	}
	ovsdb.Each(b, "IGMP_Group", setRow(n.igmp))
	ovsdb.Each(b, "IP_Multicast", observing(n.out.ipMcast))
	ovsdb.Each(b, "Address_Set", observing(n.out.addresses))
	ovsdb.Each(b, "Port_Group", observing(n.out.groups))
	ovsdb.Each(b, "Meter", n.observeMeter)
	ovsdb.Each(b, "Meter", observing(n.out.meters))
	ovsdb.Each(b, "Meter_Band", observing(n.out.bands))
	ovsdb.Each(b, "Meter_Band", func(uuid string, _, new *sb.MeterBand) {
		if new == nil {
			delete(n.bandMeter, uuid)
		}
	})
	ovsdb.Each(b, "HA_Chassis_Group", n.observeHAGroup)
	ovsdb.Each(b, "HA_Chassis_Group", observing(n.out.haGroups))
	ovsdb.Each(b, "HA_Chassis", observing(n.out.haChassis))
	ovsdb.Each(b, "HA_Chassis", func(uuid string, _, new *sb.HAChassis) {
		if new == nil {
			delete(n.haGroupOf, uuid)
		}
	})
	ovsdb.Each(b, "ACL_ID", observing(n.out.aclIDs))
	ovsdb.Each(b, "ACL_ID", n.observeACLID)
	ovsdb.Each(b, "Load_Balancer", observing(n.out.loadBalancers))
	ovsdb.Each(b, "Service_Monitor", observing(n.out.monitors))
	ovsdb.Each(b, "Service_Monitor", n.observeMonitor)
	ovsdb.Each(b, "Chassis_Template_Var", observing(n.out.templateVars))
	ovsdb.Each(b, "Advertised_MAC_Binding", observing(n.out.advertised))
	ovsdb.Each(b, "DNS", observing(n.out.dns))
	ovsdb.Each(b, "Mirror", observing(n.out.mirrors))
	ovsdb.Each(b, "DHCP_Options", observing(n.out.dhcp4Codes))
	ovsdb.Each(b, "DHCPv6_Options", observing(n.out.dhcp6Codes))
	ovsdb.Each(b, "RBAC_Role", observing(n.out.roles))
	ovsdb.Each(b, "RBAC_Role", n.observeRole)
	ovsdb.Each(b, "RBAC_Permission", n.observePermission)
	ovsdb.Each(b, "Chassis", setRow(n.sb.chassis))
	ovsdb.Each(b, "Chassis", n.observeChassis)
	ovsdb.Each(b, "Chassis_Private", setRow(n.sb.chassisPrivate))
	ovsdb.Each(b, "Encap", setRow(n.sb.encaps))
	ovsdb.Each(b, "Chassis_Private", n.observeChassisPrivate)
	ovsdb.Each(b, "FDB", n.observeFDB)
	ovsdb.Each(b, "FDB", observing(n.fdb.rows))
	n.observeFlows(b)
	ovsdb.Each(b, "Datapath_Binding", func(uuid string, _, new *sb.DatapathBinding) {
		if new == nil {
			delete(n.sb.routerDPs, uuid)
		}
	})
}

func observing[R any](t *rows[R]) func(string, *R, *R) {
	return func(_ string, old, new *R) { t.observe(old, new) }
}

// observePort takes what chassis wrote of a port, and its key.
func (n *Northd) observePort(old, new *sb.PortBinding) {
	n.observeQueue(old, new)
	n.observePortName(old, new)
	renamed := old != nil && (new == nil || new.LogicalPort != old.LogicalPort)
	if renamed {
		n.sb.portState.Delete(old.LogicalPort)
	}
	if renamed || old != nil && new.Datapath != old.Datapath {
		n.sb.portState.Raise(old.LogicalPort)
		n.free(n.portKeyPool.of(old.Datapath), old.LogicalPort, old.TunnelKey)
	}
	if new == nil {
		return
	}
	if old != nil && old.TunnelKey != new.TunnelKey {
		n.sb.freedKeys.Raise(n.portKeyPool.of(new.Datapath))
	}
	// What derivations assume of a port that has no row yet is no news.
	st := portState{Chassis: deref(new.Chassis), Up: new.Up != nil && *new.Up,
		Activated: new.Options[optActivated], LastClaim: new.Options[optLastClaim], Backoff: new.Options[optBackoff]}
	if was, _ := n.sb.portState.Peek(new.LogicalPort); was != st {
		n.sb.portState.Set(new.LogicalPort, st)
	}
	pool := n.portKeyPool.of(new.Datapath)
	pool.note(new.TunnelKey)
	if pool.key[new.LogicalPort] != new.TunnelKey && n.learn(pool, new.LogicalPort, new.TunnelKey, n.sb.portState.Raise) {
		n.sb.portState.Raise(new.LogicalPort)
	}
}

// observeFlows takes changes of logical flows and their groups.
func (n *Northd) observeFlows(b *ovsdb.Batch) {
	ovsdb.Each(b, "Logical_DP_Group", func(uuid string, _, new *sb.LogicalDPGroup) {
		if new == nil {
			delete(n.sb.groups, uuid)
			n.flows.ObserveGroup(uuid, nil)
			return
		}
		n.sb.groups[uuid] = new
		if new.Datapaths == nil {
			n.flows.ObserveGroup(uuid, []string{})
		} else {
			n.flows.ObserveGroup(uuid, new.Datapaths)
		}
	})
	ovsdb.Each(b, "Logical_Flow", func(uuid string, old, new *LogicalFlow) {
		var f flows.Flow
		ours := false
		if new != nil {
			f, ours = n.flowOf(new)
		}
		if old != nil {
			if was, ok := n.flowOf(old); ok && (!ours || was != f) {
				n.flows.Forget(was, uuid)
			}
		}
		if ours {
			n.flows.Observe(f, new)
		}
	})
}

// flowOf returns the flow of a row. Rows on datapaths of routers are not ours.
func (n *Northd) flowOf(r *LogicalFlow) (flows.Flow, bool) {
	if name, ok := r.ExternalIDs.Get("stage-name"); ok && len(name) > 3 && name[:3] == "lr_" {
		return flows.Flow{}, false
	}
	dp := deref(r.LogicalDatapath)
	if g := n.sb.groups[deref(r.LogicalDPGroup)]; g != nil && len(g.Datapaths) > 0 {
		dp = g.Datapaths[0]
	}
	if _, router := n.sb.routerDPs[dp]; router {
		return flows.Flow{}, false
	}
	pipeline := flows.Ingress
	if r.Pipeline == "egress" {
		pipeline = flows.Egress
	}
	f := flows.Flow{Priority: r.Priority, Match: r.Match, Actions: r.Actions, Meter: deref(r.ControllerMeter)}
	stage, ok := flows.SwitchStage(pipeline, r.TableID)
	if !ok {
		// A table that does not exist: a flow that nobody can want.
		stage, f.Priority = 0, -1-r.TableID
	}
	f.Stage = stage
	return f, true
}

// flowWriter writes flows as operations of a transaction.
type flowWriter struct{ txn *ovsdb.Txn }

func (w flowWriter) Len() int { return w.txn.Len() }

func (w flowWriter) InsertGroup(uuid string, datapaths []string) {
	w.txn.Insert("Logical_DP_Group", uuid).UUIDs("datapaths", datapaths)
}

func (w flowWriter) ChangeGroup(uuid string, add, remove []string) {
	m := w.txn.Mutate("Logical_DP_Group", uuid)
	if len(remove) > 0 {
		m.DeleteUUIDs("datapaths", remove)
	}
	if len(add) > 0 {
		m.InsertUUIDs("datapaths", add)
	}
}

func (w flowWriter) InsertFlow(uuid string, f *flows.Flow, at flows.Placement, a flows.Attrs) {
	c := w.txn.Insert("Logical_Flow", uuid)
	c.String("pipeline", f.Stage.Pipeline().String())
	c.Int("table_id", f.Stage.Table())
	c.Int("priority", f.Priority)
	c.String("match", f.Match)
	c.String("actions", f.Actions)
	if f.Meter != "" {
		c.String("controller_meter", f.Meter)
	}
	w.place(c, at, flows.Placement{})
	w.attrs(c, f, flows.Known{}, a)
}

func (w flowWriter) UpdateFlow(f *flows.Flow, old flows.Known, at flows.Placement, a flows.Attrs) {
	if !w.hasDesc() {
		a.Desc = old.Attrs.Desc
	}
	if at == old.Placement && a == old.Attrs && old.Clean {
		return // only what the server has no column for
	}
	c := w.txn.Update("Logical_Flow", old.UUID)
	if at != old.Placement {
		w.place(c, at, old.Placement)
	}
	if a != old.Attrs || !old.Clean {
		w.attrs(c, f, old, a)
	}
}

// hasDesc reports whether the server has the one column of flows that OVN 23.03
// lacks.
func (w flowWriter) hasDesc() bool { return w.txn.Knows("Logical_Flow", "flow_desc") }

func (w flowWriter) DeleteFlow(uuid string) { w.txn.Delete("Logical_Flow", uuid) }

// place writes the columns of a placement that differ from those of old. Where many
// flows move from one group to another, a column is much of what the server reads.
func (w flowWriter) place(c *ovsdb.Columns, at, old flows.Placement) {
	one := func(col, uuid, old string) {
		switch {
		case uuid == old:
		case uuid != "":
			c.UUID(col, uuid)
		default:
			c.UUIDs(col, nil)
		}
	}
	one("logical_datapath", at.Datapath, old.Datapath)
	one("logical_dp_group", at.Group, old.Group)
}

func (w flowWriter) attrs(c *ovsdb.Columns, f *flows.Flow, old flows.Known, a flows.Attrs) {
	ids := ovsdb.Map{{Key: "stage-hint", Value: a.Hint}, {Key: "stage-name", Value: f.Stage.Name()}} // sorted
	if a.Hint == "" {
		ids = ids[1:]
	}
	if old.UUID == "" || a.Hint != old.Attrs.Hint || !old.Clean {
		c.Map("external_ids", ids)
	}
	var tags []string
	if a.Port != "" {
		tags = append(tags, "in_out_port", a.Port)
	}
	if a.CT {
		tags = append(tags, "acl_ct_translation", "true")
	}
	if len(tags) > 0 || old.Attrs.Port != "" || old.Attrs.CT || old.UUID != "" && !old.Clean {
		c.Map("tags", ovsdb.NewMap(tags...))
	}
	if a.Desc != old.Attrs.Desc && w.hasDesc() {
		if a.Desc == "" {
			c.Strings("flow_desc", nil)
		} else {
			c.String("flow_desc", a.Desc)
		}
	}
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
