package acl

import "northwall/flows"

// Verb is what a rule does with the packets that it matches; column "action".
type Verb string

const (
	Allow          Verb = "allow"
	AllowRelated   Verb = "allow-related"
	AllowStateless Verb = "allow-stateless"
	Drop           Verb = "drop"
	Reject         Verb = "reject"
	Pass           Verb = "pass"
)

// Stage is one of the three places where rules are evaluated.
type Stage uint8

const (
	Ingress Stage = iota // from-lport, before load balancing
	AfterLB              // from-lport with options:apply-after-lb
	Egress               // to-lport
	NumStages
)

// StageOf returns where a rule with the given direction column is evaluated.
func StageOf(direction string, applyAfterLB bool) Stage {
	switch {
	case direction != "from-lport":
		return Egress
	case applyAfterLB:
		return AfterLB
	}
	return Ingress
}

// eval, sample and action are the logical stages of each Stage; preACL is where
// stateless rules let packets past connection tracking.
var (
	eval   = [NumStages]flows.Stage{flows.SwitchInACLEval, flows.SwitchInACLAfterLBEval, flows.SwitchOutACLEval}
	action = [NumStages]flows.Stage{flows.SwitchInACLAction, flows.SwitchInACLAfterLBAction, flows.SwitchOutACLAction}
	preACL = [NumStages]flows.Stage{flows.SwitchInPreACL, flows.SwitchInPreACL, flows.SwitchOutPreACL}
	// reply is where the replies to what the stage allows are evaluated.
	reply = [NumStages]flows.Stage{flows.SwitchOutACLEval, flows.SwitchOutACLEval, flows.SwitchInACLEval}
)

// Rule is one row of the northbound ACL table, ovn-nb(5).
type Rule struct {
	UUID     string
	Verb     Verb
	Stage    Stage
	Priority int // 0 to 32,767
	Tier     int // 0 to 3
	Match    string

	Log        bool
	Name       string
	Severity   string // "" means info
	Meter      string // the southbound meter's name, "" for none
	LogRelated bool   // options:log-related
	Label      uint32 // 0 for none

	// Persist is options:persist-established, ID the id of the ACL_ID row that
	// such a rule has, 1 to 65,535.
	Persist bool
	ID      int

	// Translate is NB_Global options:acl_ct_translation: the rule is to match the
	// connection's addresses, which chassis do where a flow is tagged so.
	Translate bool

	// NFGroup is the id of the network function group that the packets that the
	// rule allows are sent to, 1 to 255; 0 for none.
	NFGroup int

	// SampleNew and SampleEst are the samples taken of new and of established
	// connections; nil for none.
	SampleNew, SampleEst *Sample
}

// Stateful reports whether the rule makes its switches track connections.
func (r *Rule) Stateful() bool { return r.Verb == AllowRelated }

// Switch is what the text of a rule's flows depends on, of the switches that
// it is on.
type Switch struct {
	// Tracked: packets pass connection tracking here, as the switch has an
	// allow-related rule or a load balancer's virtual address.
	Tracked bool
	// StatefulACL: it has an allow-related rule.
	StatefulACL bool
	// Tiered: a rule of the same stage here is in a tier above 0.
	Tiered bool
}

// A Flow is a logical flow with the attributes that belong to it.
type Flow struct {
	flows.Flow
	Attrs flows.Attrs
}
