package acl

import (
	"strconv"
	"strings"

	"northwall/flows"
)

// Sample is what is sampled of a rule's packets, and whereto: rows of the
// northbound tables Sample and Sample_Collector.
type Sample struct {
	Point      uint32      // metadata
	Collectors []Collector // in the order of their rows' UUIDs, which is the original's
}

// Collector is a row of Sample_Collector.
type Collector struct {
	ID, Probability, SetID int
}

// Domains are the observation domains of the sampling applications, rows of
// Sampling_App; 0 where there is none.
type Domains struct {
	New, Est int
	// Registers: chassis can take a sample's point from a register. Else each
	// rule has flows of its own.
	Registers bool
}

func (s *Sample) point() uint32 {
	if s == nil {
		return 0
	}
	return s.Point
}

// single is the only collector of a sample that has one: such samples share
// flows by collector, which the register and the connection remember.
func (s *Sample) single() *Collector {
	if s == nil || len(s.Collectors) != 1 {
		return nil
	}
	return &s.Collectors[0]
}

// collector is the id by which the connection remembers its collector. Only a
// sample of exactly one collector can be found by it.
func (s *Sample) collector() int {
	if c := s.single(); c != nil {
		return c.ID
	}
	return 0
}

// sample is the stage of the samples of each Stage; sampleReply that of the
// replies to what the stage allows.
var (
	sample      = [NumStages]flows.Stage{flows.SwitchInACLSample, flows.SwitchInACLAfterLBSample, flows.SwitchOutACLSample}
	sampleReply = [NumStages]flows.Stage{flows.SwitchOutACLSample, flows.SwitchOutACLSample, flows.SwitchInACLSample}
)

// Matches of what is sampled.
const (
	matchEstablished = "flags.pkt_sampled == 0 && ip && ct.trk && (ct.est || ct.rel)"
	matchUnused      = "ct_label.obs_unused == 0"
)

// sampleFlows are the flows that take the rule's samples. Those of a single
// collector are the same for all rules with it, where chassis can do that: the
// collector's id in a register or in the connection says which to take. Without a
// domain there is nothing that samples of several collectors could be sent as.
func (r *Rule) sampleFlows(sw Switch, d Domains) []Flow {
	var out []Flow
	add := func(stage flows.Stage, priority int, match, actions string) {
		out = append(out, Flow{Flow: flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions}})
	}
	// Stateless rules are for packets that no connection is known of.
	tracked := sw.StatefulACL && r.Verb != AllowStateless
	if s := r.SampleNew; s != nil {
		if c := s.single(); c != nil && d.Registers {
			priority, state := prioritySampleUntracked, ""
			if tracked {
				priority, state = prioritySampleCollector, r.newState()
			}
			add(sample[r.Stage], priority,
				"ip && "+state+regCollNew+" == "+strconv.Itoa(c.ID)+" && "+regObsStage+" == "+strconv.Itoa(int(r.Stage)),
				"flags.pkt_sampled = 1; "+s.actions(d.New, regObsNew)+" next;")
		} else if d.New != 0 && r.Label == 0 {
			state := ""
			if tracked {
				state = r.newState()
			}
			point := strconv.FormatUint(uint64(s.Point), 10)
			add(sample[r.Stage], prioritySampleNew, "ip && "+state+regObsNew+" == "+point, s.mark()+s.actions(d.New, point)+" next;")
		}
	}
	// Of rules that sample established packets only, the original heeds those that
	// allow related ones, and only once there is an application.
	if s := r.SampleEst; s != nil && tracked && (r.SampleNew != nil || r.Verb == AllowRelated && (d.New != 0 || d.Est != 0)) {
		if c := s.single(); c != nil && d.Registers {
			id := " && ct_mark.obs_collector_id == " + strconv.Itoa(c.ID)
			actions := "flags.pkt_sampled = 1; " + s.actions(d.Est, "ct_label.obs_point_id") + " next;"
			add(sample[r.Stage], prioritySampleCollector,
				matchEstablished+" && "+matchUnused+" && !ct.rpl"+id+" && ct_mark.obs_stage == "+strconv.Itoa(int(r.Stage)), actions)
			add(sampleReply[r.Stage], prioritySampleCollector, matchEstablished+" && "+matchUnused+" && ct.rpl"+id, actions)
		} else if d.Est != 0 && r.Label == 0 {
			point := strconv.FormatUint(uint64(s.Point), 10)
			actions := s.mark() + s.actions(d.Est, point) + " next;"
			add(sample[r.Stage], prioritySampleEst, matchEstablished+" && !ct.rpl && ct_label.obs_point_id == "+point+" && "+matchUnused, actions)
			add(sampleReply[r.Stage], prioritySampleEst, matchEstablished+" && ct.rpl && ct_label.obs_point_id == "+point+" && "+matchUnused, actions)
		}
	}
	return out
}

// newState matches packets that begin a connection. To a port there may also be
// packets that were never tracked: those of the switch itself.
func (r *Rule) newState() string {
	if r.Stage == Egress {
		return "(ct.new || !ct.trk) && "
	}
	return "ct.new && "
}

// mark notes that the packet has been sampled, if it is.
func (s *Sample) mark() string {
	if len(s.Collectors) == 0 {
		return ""
	}
	return "flags.pkt_sampled = 1; "
}

// actions sends a sample to each collector.
func (s *Sample) actions(domain int, point string) string {
	var b strings.Builder
	for _, c := range s.Collectors {
		b.WriteString("sample(probability=" + strconv.Itoa(c.Probability) + ",collector_set=" + strconv.Itoa(c.SetID) +
			",obs_domain=" + strconv.Itoa(domain) + ",obs_point=" + point + ");")
	}
	return b.String()
}
