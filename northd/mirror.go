package northd

import (
	"slices"
	"strconv"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// mirrored is a port with a mirror, on its switch.
type mirrored struct {
	Switch, Port string
}

// mirrorPort is where a switch hands copies of packets to a sink, a port that
// may be on another switch.
type mirrorPort struct {
	Switch string
	Sink   string // the port's name
}

type mirrorFacts struct {
	mirrors      *engine.Input[string, *nb.Mirror]
	mirrorRules  *engine.Input[string, *nb.MirrorRule]
	mirroredBy   *engine.Relation[string, mirrored]   // mirrors to the ports that they are attached to
	mirrorPorts  *engine.Relation[string, mirrorPort] // by the names of their bindings
	mirrorSource *engine.Relation[mirrorPort, string] // to the ports whose packets go there
	mirrorPortOf *engine.Fact[string, mirrorPort]     // which of them has the name; zero for none
}

// defineMirrorInputs is called before the ports' traits, which tell what mirrors
// a port has.
func (n *Northd) defineMirrorInputs() {
	n.mirrors = engine.NewInput[string, *nb.Mirror](n.e)
	n.mirrorRules = engine.NewInput[string, *nb.MirrorRule](n.e)
	n.mirroredBy = engine.NewRelation[string, mirrored](n.e, "ports with mirrors")
}

// defineMirrors is called after the ports and before the multicast groups.
func (n *Northd) defineMirrors() {
	e := n.e
	n.mirrorPorts = engine.NewRelation[string, mirrorPort](e, "mirror ports")
	n.mirrorSource = engine.NewRelation[mirrorPort, string](e, "sources of mirror ports")
	engine.ForEach(e, "sinks of mirrors", n.mirroredBy.Pairs(), func(s *engine.Scope, at engine.Pair[string, mirrored]) {
		m, ok := n.mirrors.Get(s, at.Key)
		if !ok || m.Type != nb.MirrorTypeLport {
			return
		}
		if _, _, ok := n.portNamed(s, m.Sink); !ok {
			n.problems.Report(s, "mirror "+m.Name, "its sink "+m.Sink+" is no port of a logical switch")
			return
		}
		mp := mirrorPort{at.Elem.Switch, m.Sink}
		n.mirrorPorts.Add(s, n.mirrorPortName(s, mp.Switch, mp.Sink), mp)
		n.mirrorSource.Add(s, mp, at.Elem.Port)
	})
	n.mirrorPortOf = engine.NewFact(e, "mirror port", func(s *engine.Scope, name string) mirrorPort {
		var least mirrorPort
		if _, _, taken := n.portNamed(s, name); taken {
			return least
		}
		for mp := range n.mirrorPorts.Of(s, name) {
			if least.Switch == "" || mp.Switch < least.Switch || mp.Switch == least.Switch && mp.Sink < least.Sink {
				least = mp
			}
		}
		return least
	})
	engine.ForEach(e, "mirror port", n.mirrorPorts.Pairs(), n.deriveMirrorPort)
	engine.ForEach(e, "mirror on port", n.mirroredBy.Pairs(), n.deriveMirrored)
	engine.ForEach(e, "mirror", n.mirrors, n.deriveMirror)
}

// mirrorPortName is the name of the binding of a switch's mirror port.
func (n *Northd) mirrorPortName(s *engine.Scope, ls, sink string) string {
	name := ""
	if row, ok := n.nb.switches.Get(s, ls); ok {
		name = row.Name
	}
	return "mp-" + name + "-" + sink
}

// deriveMirror derives the southbound row of a mirror, which has the same UUID.
// Chassis make mirrors of all types but lport.
func (n *Northd) deriveMirror(s *engine.Scope, uuid string) {
	m, _ := n.mirrors.Get(s, uuid)
	n.out.mirrors.use(uuid, uuid)
	n.out.mirrors.Want(s, uuid, &sb.Mirror{Name: m.Name, Filter: m.Filter, Index: m.Index, Sink: m.Sink, Type: m.Type})
}

// mirrorsOf are the southbound rows of a port's mirrors, whose UUIDs are those of
// the northbound ones.
func (n *Northd) mirrorsOf(s *engine.Scope, p *nb.LogicalSwitchPort) []string {
	var out []string
	for _, m := range p.MirrorRules {
		if _, ok := n.mirrors.Get(s, m); ok {
			out = append(out, m)
		}
	}
	return out
}

// deriveMirrorPort derives the binding by which a switch reaches a sink.
func (n *Northd) deriveMirrorPort(s *engine.Scope, at engine.Pair[string, mirrorPort]) {
	name, mp := at.Key, at.Elem
	if n.mirrorPortOf.Get(s, name) != mp {
		n.problems.Report(s, "mirror port "+name, "another port has this name: nothing is mirrored to it")
		return
	}
	datapath := n.datapath(s, mp.Switch)
	key := n.portKeyOf(s, name, datapath)
	if key == 0 {
		n.problems.Report(s, "mirror port "+name, "no tunnel key is left for it: nothing is mirrored to it")
		return
	}
	n.out.ports.Want(s, name, &sb.PortBinding{
		LogicalPort: name,
		Datapath:    datapath,
		TunnelKey:   key,
		Type:        "mirror",
		MirrorPort:  &mp.Sink,
		Up:          ptr(false),
	})
	for _, g := range n.mirrorGroups(s, mp) {
		n.mcastPorts.Add(s, mcastGroup{datapath, g}, name)
	}
	// A copy passes no table that might change or drop it.
	n.emit(s, flows.Flow{
		Stage: flows.SwitchOutPreACL, Priority: 65535,
		Match:   "outport == " + flows.Quote(name),
		Actions: "next(pipeline=egress, table=" + strconv.Itoa(flows.SwitchOutApplyPortSec.Table()) + ");",
	}, n.flows.Only(datapath), flows.Attrs{})
}

// mirrorGroups are the multicast groups of a mirror port: as the reference has
// it, those of the first port that it mirrors, but for the one of unknown
// addresses.
func (n *Northd) mirrorGroups(s *engine.Scope, mp mirrorPort) []string {
	p, ok := n.nb.ports.Get(s, engine.Least(s, n.mirrorSource, mp))
	if !ok {
		return nil
	}
	return slices.DeleteFunc(multicastGroups(new([maxGroups]string), p), func(g string) bool { return g == mcUnknown })
}

// deriveMirrored derives the flows that copy the packets of a port.
func (n *Northd) deriveMirrored(s *engine.Scope, at engine.Pair[string, mirrored]) {
	m, ok := n.mirrors.Get(s, at.Key)
	if !ok || m.Type != nb.MirrorTypeLport {
		return
	}
	p, ok := n.nb.ports.Get(s, at.Elem.Port)
	if !ok {
		return
	}
	to := n.mirrorPortName(s, at.Elem.Switch, m.Sink)
	if n.mirrorPortOf.Get(s, to) != (mirrorPort{at.Elem.Switch, m.Sink}) {
		return
	}
	var rules []*nb.MirrorRule
	for _, uuid := range m.MirrorRules {
		if r, ok := n.mirrorRules.Get(s, uuid); ok {
			rules = append(rules, r)
		}
	}
	for _, f := range mirrorFlows(m.Filter, rules, p.Name, to) {
		n.emit(s, f, n.flows.Only(n.datapath(s, at.Elem.Switch)), flows.Attrs{})
	}
}

// mirrorPriority is that of the flow which copies what no rule is about; the
// priorities of rules are above it.
const mirrorPriority = 100

// mirrorFlows copy the packets of a port to another: all of them, but for those
// of which a rule says something else.
func mirrorFlows(filter nb.MirrorFilter, rules []*nb.MirrorRule, from, to string) []flows.Flow {
	var out []flows.Flow
	direction := func(stage flows.Stage, port string) {
		match := port + " == " + flows.Quote(from)
		mirror := "mirror(" + flows.Quote(to) + "); next;"
		out = append(out, flows.Flow{Stage: stage, Priority: mirrorPriority, Match: match, Actions: mirror})
		for _, r := range rules {
			f := flows.Flow{Stage: stage, Priority: mirrorPriority + r.Priority, Match: match + " && (" + r.Match + ")", Actions: mirror}
			if r.Action == nb.MirrorRuleActionSkip {
				f.Actions = "next;"
			}
			out = append(out, f)
		}
	}
	if filter != nb.MirrorFilterToLport {
		direction(flows.SwitchInMirror, "inport")
	}
	if filter != nb.MirrorFilterFromLport {
		direction(flows.SwitchOutMirror, "outport")
	}
	return out
}
