package acl

import (
	"strconv"
	"strings"

	"northwall/flows"
)

// Flows returns the flows that r is made into on switches of kind sw, samples
// taken for the domains d.
func (r *Rule) Flows(sw Switch, d Domains) []Flow {
	var out []Flow
	attrs := flows.Attrs{Hint: flows.Hint(r.UUID)}
	add := func(stage flows.Stage, priority int, match, actions string) {
		out = append(out, Flow{flows.Flow{Stage: stage, Priority: priority, Match: match, Actions: actions}, attrs})
	}
	stage, priority := eval[r.Stage], r.Priority+priorityOffset
	var tier string
	if sw.Tiered {
		tier = regTier + " == " + strconv.Itoa(r.Tier) + " && "
	}
	match := "(" + r.Match + ")"
	log := r.log()

	// A stateless rule must let its packets past connection tracking where there
	// would be any; the hints below are then never set for them.
	if r.Verb == AllowStateless && sw.Tracked {
		add(preACL[r.Stage], priority, r.Match, bitStateless+" = 1; next;")
	}
	stateless := !sw.Tracked || r.Verb == AllowStateless || r.Verb == Pass
	attrs.CT = r.Translate && !stateless
	switch {
	case r.Verb == Pass:
		// Neither verdict: the action table goes on to the next tier.
		add(stage, priority, tier+match, log+r.observe(false)+"next;")
	case stateless:
		add(stage, priority, tier+match, log+r.verdict()+r.observe(false)+"next;")
	case r.Verb == Allow || r.Verb == AllowRelated:
		// New, or established but marked blocked by a rule that was there before:
		// the hint has asked for a commit.
		add(stage, priority, tier+bitHintNew+" == 1 && "+match,
			log+r.verdict()+r.persist()+r.observe(true)+r.redirect()+"next;")
		// Established, and allowed before: no commit, unless there is a label or a
		// sample that the connection may not carry yet.
		commit := ""
		if r.Label != 0 || r.SampleEst != nil || r.NFGroup != 0 {
			commit = bitCommit + " = 1; "
		}
		add(stage, priority, tier+bitHintAllow+" == 1 && "+match, log+r.verdict()+commit+r.observe(true)+r.redirect()+"next;")
	default:
		add(stage, priority, tier+bitHintDrop+" == 1 && "+match, log+r.verdict()+r.observe(false)+"next;")
		// An established connection is marked blocked, so that its replies are
		// dropped too.
		add(stage, priority, tier+bitHintBlock+" == 1 && "+match,
			log+r.verdict()+r.observe(false)+"ct_commit { ct_mark.blocked = 1; ct_label.obs_point_id = "+
				strconv.FormatUint(uint64(r.SampleEst.point()), 10)+"; }; next;")
	}
	out = append(out, r.relatedFlows(sw)...)
	return append(out, r.sampleFlows(sw, d)...)
}

// relatedFlows log the replies to what r allows, where it asks for that. The
// label is what tells the connection's rule.
func (r *Rule) relatedFlows(sw Switch) []Flow {
	if !sw.Tracked || !r.Log || !r.LogRelated || r.Label == 0 || r.Verb != Allow && r.Verb != AllowRelated {
		return nil
	}
	actions := r.log() + bitNF + " = ct_label.nf; " + bitAllow + " = 1; next;"
	label := " && ct_label.label == " + strconv.FormatUint(uint64(r.Label), 10)
	var out []Flow
	for _, match := range [...]string{matchReply, matchRelated} {
		out = append(out, Flow{
			flows.Flow{Stage: reply[r.Stage], Priority: priorityRelated, Match: match + label, Actions: actions},
			flows.Attrs{Hint: flows.Hint(r.UUID)},
		})
	}
	return out
}

// verdict is the action that records what the rule decided.
func (r *Rule) verdict() string {
	switch r.Verb {
	case Pass:
		return ""
	case Drop:
		return bitDrop + " = 1; "
	case Reject:
		return bitReject + " = 1; "
	}
	return bitAllow + " = 1; "
}

// log is the action that reports the packet to the chassis's log.
func (r *Rule) log() string {
	if !r.Log {
		return ""
	}
	var b strings.Builder
	b.WriteString("log(")
	if r.Name != "" {
		b.WriteString("name=" + flows.Quote(r.Name) + ", ")
	}
	severity := r.Severity
	if severity == "" {
		severity = "info"
	}
	verdict := string(r.Verb)
	if strings.HasPrefix(verdict, "allow") {
		verdict = "allow"
	}
	b.WriteString("severity=" + severity + ", verdict=" + verdict)
	if r.Meter != "" {
		b.WriteString(", meter=" + flows.Quote(r.Meter))
	}
	b.WriteString("); ")
	return b.String()
}

// redirect marks packets for the rule's network function group.
func (r *Rule) redirect() string {
	if r.NFGroup == 0 {
		return ""
	}
	return bitNF + " = 1; " + bitNFRequest + " = 1; " + RegNF + " = " + strconv.Itoa(r.NFGroup) + "; "
}

// persist makes connections outlive changes of the rules.
func (r *Rule) persist() string {
	if !r.Persist {
		return ""
	}
	return regPersistID + " = " + strconv.Itoa(r.ID) + "; " + bitPersist + " = 1; "
}

// observe sets what a label or a sample has to leave with the connection, and
// what the sample table goes by. Only a connection that is allowed is remembered
// for its samples of established packets.
func (r *Rule) observe(connection bool) string {
	var pointNew, pointEst uint32
	var collNew, collEst int
	switch {
	case r.Label != 0:
		pointNew, pointEst = r.Label, r.Label
	case r.SampleNew != nil || connection && r.SampleEst != nil:
		pointNew, collNew = r.SampleNew.point(), r.SampleNew.collector()
		if connection {
			pointEst, collEst = r.SampleEst.point(), r.SampleEst.collector()
		}
	default:
		return ""
	}
	u := func(v uint32) string { return strconv.FormatUint(uint64(v), 10) }
	return bitObserve + " = 1; " +
		regObsNew + " = " + u(pointNew) + "; " + regObsEst + " = " + u(pointEst) + "; " +
		regCollNew + " = " + strconv.Itoa(collNew) + "; " + regCollEst + " = " + strconv.Itoa(collEst) + "; " +
		regObsStage + " = " + strconv.Itoa(int(r.Stage)) + "; "
}
