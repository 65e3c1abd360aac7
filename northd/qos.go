package northd

import (
	"strconv"

	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

type qosFacts struct {
	qos       *engine.Input[string, *nb.QoS]
	qosAt     *engine.Relation[string, string] // rules to the switches that list them
	queuePool *keyPool
}

func (n *Northd) defineQoSMembership() {
	n.qos = engine.NewInput[string, *nb.QoS](n.e)
	n.qosAt = engine.NewRelation[string, string](n.e, "switches of QoS rules")
	n.queuePool = newKeyPool()
	engine.ForEach(n.e, "QoS rules of switch", n.nb.switches, func(s *engine.Scope, uuid string) {
		ls, _ := n.nb.switches.Get(s, uuid)
		for _, q := range ls.QOSRules {
			n.qosAt.Add(s, q, uuid)
		}
	})
}

func (n *Northd) defineQoS() {
	engine.ForEach(n.e, "QoS rule", n.qosAt.Pairs(), func(s *engine.Scope, at engine.Pair[string, string]) {
		if q, ok := n.qos.Get(s, at.Key); ok {
			n.emit(s, qosFlow(q), n.flows.Only(n.datapath(s, at.Elem)), flows.Attrs{Hint: flows.Hint(q.UUID)})
		}
	})
}

// qosFlow limits, marks and prioritizes the packets of a rule.
func qosFlow(q *nb.QoS) flows.Flow {
	f := flows.Flow{Stage: flows.SwitchOutQoS, Priority: q.Priority, Match: q.Match}
	if q.Direction == nb.QoSDirectionFromLport {
		f.Stage = flows.SwitchInQoS
	}
	if rate := q.Bandwidth["rate"]; rate > 0 {
		f.Actions = "set_meter(" + strconv.Itoa(rate)
		if burst := q.Bandwidth["burst"]; burst > 0 {
			f.Actions += ", " + strconv.Itoa(burst)
		}
		f.Actions += "); "
	}
	if dscp, ok := q.Action["dscp"]; ok {
		f.Actions += "ip.dscp = " + strconv.Itoa(dscp) + "; "
	}
	if mark, ok := q.Action["mark"]; ok {
		f.Actions += "pkt.mark = " + strconv.Itoa(mark) + "; "
	}
	f.Actions += "next;"
	return f
}

// maxQueue is the highest queue that a chassis makes (ovn-nb(5), qos_max_rate).
const maxQueue = 0xf000

// queue is the number of the queue of a port whose rate is limited; 0 for none.
func (n *Northd) queue(s *engine.Scope, p *nb.LogicalSwitchPort) int {
	for _, k := range [...]string{"qos_max_rate", "qos_min_rate", "qos_burst"} {
		if p.Options[k] != "" {
			n.sb.portState.Get(s, p.Name) // derive again when the database shows another
			queue := n.allocate(s, n.queuePool, p.Name, maxQueue, func(int) bool { return true })
			if queue == 0 {
				n.shortage(s, portName(p), "options:"+k+": no queue is left: its rate is not limited")
			}
			return queue
		}
	}
	return 0
}

// observeQueue keeps the pool of queues as the database has them.
func (n *Northd) observeQueue(old, new *sb.PortBinding) {
	had, has := queueOf(old), queueOf(new)
	if had != 0 && (has == 0 || old.LogicalPort != new.LogicalPort) && n.free(n.queuePool, old.LogicalPort, had) {
		n.sb.portState.Raise(old.LogicalPort)
	}
	if has != 0 && has != n.queuePool.key[new.LogicalPort] && n.learn(n.queuePool, new.LogicalPort, has, n.sb.portState.Raise) {
		n.sb.portState.Raise(new.LogicalPort)
	}
}

// queueOf is the queue that a row says; 0 for none, or no row.
func queueOf(r *sb.PortBinding) int {
	if r == nil {
		return 0
	}
	return optInt(r.Options, "qdisc_queue_id", 0)
}

// queued puts the packets of a port with a queue into it, where they come in
// and where they leave to the physical network.
func (f *portFlows) queued() {
	set := f.setQueue()
	if set == "" {
		return
	}
	f.addHere(flows.SwitchInCheckPortSec, 70, f.in, set+"reg0[15] = check_in_port_sec(); next;")
	if f.p.Type == "localnet" {
		f.addHere(flows.SwitchOutApplyPortSec, 100, f.out, set+"output;")
		return
	}
	if ln := f.n.queuedLocalnet(f.s, f.ls); ln != nil {
		f.n.emit(f.s, flows.Flow{
			Stage: flows.SwitchOutApplyPortSec, Priority: 110,
			Match: "outport == " + flows.Quote(ln.Name) + " && " + f.in, Actions: set + "output;",
		}, f.set, flows.Attrs{Hint: flows.Hint(ln.UUID), Port: ln.Name})
	}
}

// setQueue is the action that puts a packet of the port into its queue, "" without
// one.
func (f *portFlows) setQueue() string {
	queue := f.n.queue(f.s, f.p)
	if queue == 0 {
		return ""
	}
	return "set_queue(" + strconv.Itoa(queue) + "); "
}

// addQueue adds the options of the binding of a port with a queue.
func (n *Northd) addQueue(s *engine.Scope, p *nb.LogicalSwitchPort, ls string, more *moreOptions) {
	queue := n.queue(s, p)
	if queue == 0 {
		return
	}
	more.add("qdisc_queue_id", strconv.Itoa(queue))
	if ln := n.queuedLocalnet(s, ls); ln != nil {
		more.add("qos_physical_network", ln.Options["network_name"])
	}
}

// queuedLocalnet is the localnet port of a switch by which packets leave through the
// queues of its ports, nil without one: chassis have those on one network only
// (ovn-sb(5), Port_Binding options:qos_physical_network).
func (n *Northd) queuedLocalnet(s *engine.Scope, ls string) (first *nb.LogicalSwitchPort) {
	for uuid := range n.traitPorts.Of(s, switchTrait{ls, hasLocalnet}) {
		if ln, ok := n.nb.ports.Get(s, uuid); ok && (first == nil || ln.Name < first.Name) {
			first = ln
		}
	}
	return first
}
