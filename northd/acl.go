package northd

import (
	"fmt"

	"northwall/acl"
	"northwall/acl/expr"
	"northwall/flows"
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// owner is what lists an ACL: a switch, or a port group.
type owner struct {
	UUID  string
	Group bool
}

// aclTrait is a property that an ACL gives to its owner.
type aclTrait struct {
	Stateful bool
	Stage    acl.Stage
	Tier     uint8
}

// aclSummary is what the ACLs of an owner amount to.
type aclSummary struct {
	Any      bool
	Stateful bool
	Tier     [acl.NumStages]uint8 // the highest of each stage
}

func (a aclSummary) and(b aclSummary) aclSummary {
	a.Any = a.Any || b.Any
	a.Stateful = a.Stateful || b.Stateful
	for i := range a.Tier {
		a.Tier[i] = max(a.Tier[i], b.Tier[i])
	}
	return a
}

// variant tells apart switches on which the same rule has different text, in
// one stage.
type variant uint8

const (
	variantTracked variant = 1 << iota
	variantStateful
	variantTiered
)

func variantOf(t switchTraits, stage acl.Stage) variant {
	var v variant
	if t.tracked() {
		v |= variantTracked
	}
	if t.ACLs.Stateful {
		v |= variantStateful
	}
	if t.ACLs.Tier[stage] > 0 {
		v |= variantTiered
	}
	return v
}

func (v variant) context() acl.Switch {
	return acl.Switch{Tracked: v&variantTracked != 0, StatefulACL: v&variantStateful != 0, Tiered: v&variantTiered != 0}
}

// groupStage is a port group in one of the ACL stages.
type groupStage struct {
	Group string
	Stage acl.Stage
}

type aclFacts struct {
	ownersOfACL   *engine.Relation[string, owner]
	aclTraits     *engine.Relation[owner, aclTrait]
	aclsOf        *engine.Fact[owner, aclSummary]
	aclsOfSwitch  *engine.Fact[string, aclSummary]
	groupVariants *engine.Relation[groupStage, variant] // that the group's switches are of
	aclIDPool     *keyPool
}

// defineACLFacts works out what ACLs make of their switches.
func (n *Northd) defineACLFacts() {
	e := n.e
	n.aclIDPool = newKeyPool()
	n.aclTraits = engine.NewRelation[owner, aclTrait](e, "traits of ACLs")
	n.groupVariants = engine.NewRelation[groupStage, variant](e, "kinds of switches of groups")
	engine.ForEach(e, "ACL traits", n.ownersOfACL.Pairs(), func(s *engine.Scope, at engine.Pair[string, owner]) {
		if a, ok := n.nb.acls.Get(s, at.Key); ok {
			n.aclTraits.Add(s, at.Elem, aclTrait{
				Stateful: a.Action == nb.ACLActionAllowRelated,
				Stage:    stageOf(a),
				Tier:     uint8(a.Tier),
			})
		}
	})
	n.aclsOf = engine.NewFact(e, "ACLs of owner", func(s *engine.Scope, o owner) aclSummary {
		var sum aclSummary
		for t := range n.aclTraits.Of(s, o) {
			sum.Any = true
			sum.Stateful = sum.Stateful || t.Stateful
			sum.Tier[t.Stage] = max(sum.Tier[t.Stage], t.Tier)
		}
		return sum
	})
	n.aclsOfSwitch = engine.NewFact(e, "ACLs of switch", func(s *engine.Scope, ls string) aclSummary {
		sum := n.aclsOf.Get(s, owner{UUID: ls})
		for pg := range n.groupsOfSwitch.Of(s, ls) {
			sum = sum.and(n.aclsOf.Get(s, owner{UUID: pg, Group: true}))
		}
		return sum
	})
}

func stageOf(a *nb.ACL) acl.Stage {
	return acl.StageOf(a.Direction, optBool(a.Options, "apply-after-lb", false))
}

func (n *Northd) defineACLs() {
	engine.ForEach(n.e, "ACL", n.ownersOfACL.Pairs(), n.deriveACL)
	engine.ForEach(n.e, "rows and checks of ACL", n.ownersOfACL.Keys(), func(s *engine.Scope, uuid string) {
		if a, ok := n.nb.acls.Get(s, uuid); ok {
			n.deriveACLID(s, a)
			n.deriveMeterCopy(s, a)
			n.checkACL(s, a)
		}
	})
}

// deriveACL derives the flows of an ACL for one of its owners.
func (n *Northd) deriveACL(s *engine.Scope, at engine.Pair[string, owner]) {
	a, ok := n.nb.acls.Get(s, at.Key)
	if !ok {
		return
	}
	n.deriveNFUse(s, at.Elem, a)
	r := n.rule(s, a)
	if !at.Elem.Group {
		v := variantOf(n.traits.Get(s, at.Elem.UUID), r.Stage)
		n.emitRule(s, r, v, n.flows.Only(n.datapath(s, at.Elem.UUID)))
		return
	}
	for v := range n.groupVariants.Of(s, groupStage{at.Elem.UUID, r.Stage}) {
		n.emitRule(s, r, v, n.flows.Set(groupSet(at.Elem.UUID, r.Stage, v)))
	}
}

func (n *Northd) emitRule(s *engine.Scope, r *acl.Rule, v variant, set *flows.Set) {
	for _, f := range r.Flows(v.context(), n.domains.Get(s, struct{}{})) {
		n.emit(s, f.Flow, set, f.Attrs)
	}
}

// rule looks up what an ACL refers to.
func (n *Northd) rule(s *engine.Scope, a *nb.ACL) *acl.Rule {
	r := &acl.Rule{
		UUID:       a.UUID,
		Verb:       acl.Verb(a.Action),
		Stage:      stageOf(a),
		Priority:   a.Priority,
		Tier:       a.Tier,
		Match:      a.Match,
		Log:        a.Log,
		Name:       deref(a.Name),
		Severity:   deref(a.Severity),
		LogRelated: optBool(a.Options, "log-related", false),
		Label:      uint32(a.Label),
		Persist:    isPersistent(a) && n.options.Get(s, struct{}{}).CTLabelFlush,
	}
	if r.Log {
		r.Meter = n.meterOf(s, a)
	}
	r.SampleNew, r.SampleEst = n.sample(s, a.SampleNew), n.sample(s, a.SampleEst)
	r.Translate = n.options.Get(s, struct{}{}).CTTranslation
	r.NFGroup = n.nfGroupID(s, a)
	if r.Persist {
		r.ID = n.aclID(s, a.UUID)
		r.Persist = r.ID != 0
	}
	return r
}

// isPersistent: options:persist-established asks for connections that outlive
// the rule; it is for allow-related only.
func isPersistent(a *nb.ACL) bool {
	return a.Action == nb.ACLActionAllowRelated && optBool(a.Options, "persist-established", false)
}

// maxACLID is the highest that ACL_ID.id takes (ovn-sb(5)).
const maxACLID = 1<<15 - 1

// aclID is the number by which connections know a persistent ACL.
func (n *Northd) aclID(s *engine.Scope, uuid string) int {
	n.sb.aclIDs.Await(s, uuid) // derive again when the database shows another
	return n.allocate(s, n.aclIDPool, uuid, maxACLID, func(int) bool { return true })
}

// deriveACLID derives the row of a persistent ACL's number, which has the ACL's
// own UUID.
func (n *Northd) deriveACLID(s *engine.Scope, a *nb.ACL) {
	if !isPersistent(a) {
		return
	}
	id := n.aclID(s, a.UUID)
	if id == 0 {
		n.shortage(s, n.aclName(s, a), "options:persist-established: no id is left for it: connections that it allows do not outlive it")
		return
	}
	n.out.aclIDs.use(a.UUID, a.UUID)
	n.out.aclIDs.Want(s, a.UUID, &sb.ACLID{ID: id})
}

func (n *Northd) observeACLID(_ string, old, new *sb.ACLID) {
	if old != nil && new == nil && n.free(n.aclIDPool, old.UUID, old.ID) {
		n.sb.aclIDs.Raise(old.UUID)
	}
	if new != nil && n.aclIDPool.key[new.UUID] != new.ID {
		n.learn(n.aclIDPool, new.UUID, new.ID, n.sb.aclIDs.Raise)
		n.sb.aclIDs.Raise(new.UUID)
	}
}

// checkACL reports an ACL whose match no chassis will take, which filters nothing,
// and one that asks for a network function which its verb does not go with.
func (n *Northd) checkACL(s *engine.Scope, a *nb.ACL) {
	if err := expr.Check(a.Match); err != nil {
		n.problems.Report(s, n.aclName(s, a), fmt.Sprintf("match: %v", err))
	}
	if a.SampleEst != nil && a.SampleNew == nil && a.Action != nb.ACLActionAllowRelated {
		n.problems.Report(s, n.aclName(s, a), fmt.Sprintf("sample_est: without sample_new, established connections of allow-related rules only are sampled, not of %s", a.Action))
	}
	if a.NetworkFunctionGroup != nil && a.Action != nb.ACLActionAllow && a.Action != nb.ACLActionAllowRelated {
		n.problems.Report(s, n.aclName(s, a), fmt.Sprintf("network_function_group: only allow and allow-related send packets to network functions; "+
			"the rule counts as %s without it", a.Action))
	}
}

// aclName names an ACL as people know it.
func (n *Northd) aclName(s *engine.Scope, a *nb.ACL) string {
	where := ""
	for o := range n.ownersOfACL.Of(s, a.UUID) {
		name := ""
		if o.Group {
			if pg, ok := n.nb.groups.Get(s, o.UUID); ok {
				name = "port group " + pg.Name
			}
		} else if ls, ok := n.nb.switches.Get(s, o.UUID); ok {
			name = ls.Name
		}
		if where == "" || name < where {
			where = name
		}
	}
	name := "acl " + a.UUID
	if a.Name != nil {
		name += " " + *a.Name
	}
	return fmt.Sprintf("%s (%s, %s %d)", name, where, a.Direction, a.Priority)
}
