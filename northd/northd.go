package northd

import (
	"fmt"
	"slices"

	"go.uber.org/zap"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/ovsdb"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// Northd derives the southbound database. It has no connection: Northbound and
// Southbound take changes, Derive works out what follows, and the Write methods
// append to transactions what the databases lack. What was written counts only
// when the database reports it back through Southbound or Northbound; after a
// transaction that failed, Retry.
//
// It is for one goroutine.
type Northd struct {
	e     *engine.Engine
	log   *zap.Logger
	flows *flows.Table

	nb  northbound
	sb  southbound
	out output
	cfg cfg

	problems *problems
	failures int // of derivations
	refusals refusals
	fdb      forwarding
	standby  *engine.Input[struct{}, struct{}] // has its key while this northd stands by
	writes   *nbWrites

	// Facts and relations, by the file that defines them.
	globalFacts
	switchFacts
	portFacts
	groupFacts
	aclFacts
	meterFacts
	mcastFacts
	sampleFacts
	ipamFacts
	haFacts
	nfFacts
	qosFacts
	coppFacts
	dnsFacts
	dhcpFacts
	mirrorFacts
	fwdGroupFacts
	lbFacts
	monitorFacts
	templateFacts
}

// northbound holds the rows of the northbound tables.
type northbound struct {
	global    *engine.Input[string, *nb.NBGlobal]
	switches  *engine.Input[string, *nb.LogicalSwitch]
	ports     *engine.Input[string, *nb.LogicalSwitchPort]
	acls      *engine.Input[string, *nb.ACL]
	groups    *engine.Input[string, *nb.PortGroup]
	addresses *engine.Input[string, *nb.AddressSet]
	meters    *engine.Input[string, *nb.Meter]
	bands     *engine.Input[string, *nb.MeterBand]
	routers   *engine.Input[string, *nb.LogicalRouter]
}

// southbound holds what others write into the southbound database, and what
// ours needs to know of its own rows.
type southbound struct {
	chassis        *engine.Input[string, *sb.Chassis]
	chassisPrivate *engine.Input[string, *sb.ChassisPrivate]
	encaps         *engine.Input[string, *sb.Encap]
	portState      *engine.Input[string, portState] // by logical_port; raised when the port may have another key or queue
	// What has been allocated is another in the database than derivations know.
	switchKeys *engine.Signal[string]   // by northbound UUID
	aclIDs     *engine.Signal[string]   // by northbound UUID
	freedKeys  *engine.Signal[*keyPool] // some key was given back
	otherRoles otherRoles
	routerDPs  map[string]struct{}           // southbound UUIDs of datapaths of routers
	groups     map[string]*sb.LogicalDPGroup // by UUID
}

// output holds the southbound tables that Northd writes, but for the flows.
type output struct {
	global        *rows[sb.SBGlobal]
	datapaths     *rows[sb.DatapathBinding]
	ports         *rows[sb.PortBinding]
	mcast         *rows[sb.MulticastGroup]
	ipMcast       *rows[sb.IPMulticast]
	addresses     *rows[sb.AddressSet]
	groups        *rows[sb.PortGroup]
	meters        *rows[sb.Meter]
	bands         *rows[sb.MeterBand]
	aclIDs        *rows[sb.ACLID]
	haGroups      *rows[sb.HAChassisGroup]
	haChassis     *rows[sb.HAChassis]
	dns           *rows[sb.DNS]
	mirrors       *rows[sb.Mirror]
	dhcp4Codes    *rows[sb.DHCPOptions]
	dhcp6Codes    *rows[sb.DHCPv6Options]
	loadBalancers *rows[sb.LoadBalancer]
	monitors      *rows[sb.ServiceMonitor]
	templateVars  *rows[sb.ChassisTemplateVar]
	advertised    *rows[sb.AdvertisedMACBinding]
	roles         *rows[sb.RBACRole]
	permission    *rows[sb.RBACPermission]

	all   []table // in the order in which they are written
	large []table // of all, those with rows for each port or switch

	// How far writing has come.
	rest       []table // of all, with what is left
	split      bool    // large tables are written in parts
	flowsBegun bool
}

// New returns a Northd that has seen nothing yet.
func New(log *zap.Logger) *Northd {
	e := engine.New()
	n := &Northd{e: e, log: log, flows: flows.NewTable(ovsdb.NewUUID)}
	n.problems = newProblems(log)
	n.refusals.said = map[string]bool{}
	n.standby = engine.NewInput[struct{}, struct{}](e)
	n.nb = northbound{
		global:    engine.NewInput[string, *nb.NBGlobal](e),
		switches:  engine.NewInput[string, *nb.LogicalSwitch](e),
		ports:     engine.NewInput[string, *nb.LogicalSwitchPort](e),
		acls:      engine.NewInput[string, *nb.ACL](e),
		groups:    engine.NewInput[string, *nb.PortGroup](e),
		addresses: engine.NewInput[string, *nb.AddressSet](e),
		meters:    engine.NewInput[string, *nb.Meter](e),
		bands:     engine.NewInput[string, *nb.MeterBand](e),
		routers:   engine.NewInput[string, *nb.LogicalRouter](e),
	}
	n.writes = newNBWrites()
	n.defineSouthbound()
	n.defineFDB()
	n.defineMulticastInputs()
	// In the order in which they build on each other.
	n.defineSamplingApps()
	n.defineGlobals()
	n.defineMirrorInputs()
	n.defineMembership()
	n.defineMeterNames()
	n.defineCopp()
	n.defineDNSMembership()
	n.dhcpOptions = engine.NewInput[string, *nb.DHCPOptions](e)
	n.defineSamples()
	n.defineIPAM()
	n.defineHAInputs()
	n.defineServiceMonitorInputs()
	n.defineNFInputs()
	n.defineQoSMembership()
	n.defineLBMembership()
	n.defineACLFacts()
	n.defineSwitches()
	n.defineMulticast()
	n.definePorts()
	n.defineMirrors()
	n.defineMulticastGroups()
	n.defineHA()
	n.defineGroups()
	n.defineACLs()
	n.defineQoS()
	n.defineNF()
	n.defineServiceMonitors()
	n.defineLoadBalancers()
	n.defineTemplates()
	n.defineMeters()
	n.defineAddressSets()
	n.defineDNS()
	n.defineForwardingGroups()
	n.defineStatic()
	n.defineControl()
	n.defineDHCPCodes()
	n.defineRBAC()
	return n
}

// setRow puts a changed row into an input.
func setRow[T any](in *engine.Input[string, *T]) func(uuid string, old, new *T) {
	return func(uuid string, _, new *T) {
		if new == nil {
			in.Delete(uuid)
		} else {
			in.Set(uuid, new)
		}
	}
}

// derivedFromPort are the columns of a port that derivations read: all but up, which
// this northd writes of each port soon after it has come.
var derivedFromPort = func() *ovsdb.Table {
	all := nbTable[nb.LogicalSwitchPort]("Logical_Switch_Port").Columns()
	return nbTable[nb.LogicalSwitchPort]("Logical_Switch_Port", slices.DeleteFunc(all, func(c string) bool { return c == "up" })...)
}()

func (n *Northd) setPort(uuid string, old, new *nb.LogicalSwitchPort) {
	if old != nil && new != nil && derivedFromPort.Equal(old, new) {
		n.nb.ports.Replace(uuid, new)
		return
	}
	setRow(n.nb.ports)(uuid, old, new)
}

// Northbound takes changes of the northbound database.
func (n *Northd) Northbound(b *ovsdb.Batch) {
	ovsdb.Each(b, "NB_Global", setRow(n.nb.global))
	ovsdb.Each(b, "NB_Global", n.observeGlobal)
	ovsdb.Each(b, "Logical_Switch", setRow(n.nb.switches))
	ovsdb.Each(b, "Logical_Switch_Port", n.setPort)
	ovsdb.Each(b, "Logical_Switch_Port", n.observeTag)
	ovsdb.Each(b, "Logical_Switch_Port", n.observeMAC)
	ovsdb.Each(b, "Logical_Switch_Port", n.writes.ports.observe)
	ovsdb.Each(b, "Logical_Switch_Port_Health_Check", setRow(n.portChecks))
	ovsdb.Each(b, "Logical_Switch_Port_Health_Check", n.writes.checks.observe)
	ovsdb.Each(b, "ACL", setRow(n.nb.acls))
	ovsdb.Each(b, "Port_Group", setRow(n.nb.groups))
	ovsdb.Each(b, "Address_Set", setRow(n.nb.addresses))
	ovsdb.Each(b, "QoS", setRow(n.qos))
	ovsdb.Each(b, "Network_Function_Group", setRow(n.nfGroups))
	ovsdb.Each(b, "Network_Function_Group", n.writes.nfGroups.observe)
	ovsdb.Each(b, "Network_Function", setRow(n.nfs))
	ovsdb.Each(b, "Network_Function_Health_Check", setRow(n.nfChecks))
	ovsdb.Each(b, "HA_Chassis_Group", setRow(n.haGroups))
	ovsdb.Each(b, "HA_Chassis", setRow(n.haChassis))
	ovsdb.Each(b, "Load_Balancer", setRow(n.loadBalancers))
	ovsdb.Each(b, "Load_Balancer_Group", setRow(n.lbGroups))
	ovsdb.Each(b, "Load_Balancer_Health_Check", setRow(n.healthChecks))
	ovsdb.Each(b, "Chassis_Template_Var", setRow(n.templateVars))
	ovsdb.Each(b, "Sample", setRow(n.samples))
	ovsdb.Each(b, "Sample_Collector", setRow(n.collectors))
	ovsdb.Each(b, "Sampling_App", setRow(n.apps))
	ovsdb.Each(b, "Meter", setRow(n.nb.meters))
	ovsdb.Each(b, "Meter_Band", setRow(n.nb.bands))
	ovsdb.Each(b, "Copp", setRow(n.copps))
	ovsdb.Each(b, "DNS", setRow(n.dns))
	ovsdb.Each(b, "Mirror", setRow(n.mirrors))
	ovsdb.Each(b, "Mirror_Rule", setRow(n.mirrorRules))
	ovsdb.Each(b, "DHCP_Options", setRow(n.dhcpOptions))
	ovsdb.Each(b, "Forwarding_Group", setRow(n.fwdGroups))
	ovsdb.Each(b, "Logical_Router", n.observeRouter)
}

// observeRouter names the routers, which are not compiled yet.
func (n *Northd) observeRouter(uuid string, old, new *nb.LogicalRouter) {
	had := n.nb.routers.Len()
	setRow(n.nb.routers)(uuid, old, new)
	if had > 0 && n.nb.routers.Len() == 0 {
		n.Revisit() // what was left alone for their sake is nobody's now
	}
	if new != nil && old == nil {
		n.log.Warn("logical routers are not supported: not compiled, and what another northd compiled of them is left alone",
			zap.String("router", new.Name), zap.String("uuid", uuid))
	}
}

// Derive works out what follows from the changes. Derivations that fail keep
// their last good result and are logged.
func (n *Northd) Derive() {
	n.report(n.e.Run())
}

// Recompute derives everything again.
func (n *Northd) Recompute() {
	n.report(n.e.Recompute())
}

func (n *Northd) report(failures []engine.Failure) {
	n.failures += len(failures)
	for _, f := range failures {
		n.log.Error("derivation failed, its last good result stays in force",
			zap.String("derivation", f.Family), zap.String("of", f.Key), zap.String("cause", fmt.Sprint(f.Cause)), zap.ByteString("stack", f.Stack))
	}
	n.problems.flush()
}

// WriteSouthbound appends to txn what the southbound database lacks, with as many
// new flows as make limit operations (0 for no limit) of it, but at least one, and
// where rows of large tables only come, as many of these. more reports that this was
// not all: see ContinueSouthbound.
func (n *Northd) WriteSouthbound(txn *ovsdb.Txn, limit int) (more bool) {
	n.flows.Place() // some rows refer to the groups of sets
	for _, t := range n.out.all {
		t.begin()
	}
	n.out.rest, n.out.flowsBegun = n.out.all, false
	n.out.split = limit > 0 && n.out.splits(limit)
	more = n.write(txn, limit)
	n.Advance()
	return more
}

// ContinueSouthbound appends to txn more of what WriteSouthbound found and left, to
// be sent when the database has taken the transaction that is on its way: Advance
// tells so. In between nothing is derived.
func (n *Northd) ContinueSouthbound(txn *ovsdb.Txn, limit int) (more bool) {
	return n.write(txn, limit)
}

// write appends to txn what is next to be written.
func (n *Northd) write(txn *ovsdb.Txn, limit int) (more bool) {
	o := &n.out
	for ; len(o.rest) > 0; o.rest = o.rest[1:] {
		max := 0
		if o.split && slices.Contains(o.large, o.rest[0]) {
			max = limit
		}
		if o.rest[0].flush(txn, max) {
			return true
		}
	}
	if limit > 0 {
		limit = max(limit-txn.Len(), 1)
	}
	if o.flowsBegun {
		return n.flows.Continue(flowWriter{txn}, limit)
	}
	o.flowsBegun = true
	return n.flows.Prepare(flowWriter{txn}, limit)
}

// splits reports whether what there is to write to the large tables is much, and may
// be written in several transactions: rows come only. What goes, and what changes, may
// refer to each other.
func (o *output) splits(limit int) bool {
	all := 0
	for _, t := range o.large {
		n, ok := t.coming()
		if !ok {
			return false
		}
		all += n
	}
	return all > limit
}

// Advance tells that the southbound database has taken the transaction before, and
// is sent what ContinueSouthbound wrote last.
func (n *Northd) Advance() {
	for _, t := range n.out.all {
		t.advance()
	}
	n.flows.Advance()
}

// Revisit makes the next WriteSouthbound compare all rows with what the database
// has.
func (n *Northd) Revisit() {
	n.flows.Revisit()
	for _, t := range n.out.all {
		t.revisit()
	}
}

// Retry makes the next WriteSouthbound write again what the last one wrote, and
// ContinueSouthbound, for a transaction that failed.
func (n *Northd) Retry() {
	for _, t := range n.out.all {
		t.retry()
	}
	n.flows.Retry()
}

// Stats describes the engine's work.
func (n *Northd) Stats() (engine.Stats, []engine.LevelStats) { return n.e.Stats(), n.e.Levels() }

// FlowCount is the number of logical flows.
func (n *Northd) FlowCount() int { return n.flows.Len() }
