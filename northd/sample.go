package northd

import (
	"slices"

	"northwall/acl"
	"northwall/northd/engine"
	"northwall/schema/nb"
)

type sampleFacts struct {
	samples    *engine.Input[string, *nb.Sample]
	collectors *engine.Input[string, *nb.SampleCollector]
	apps       *engine.Input[string, *nb.SamplingApp]
	appRows    *engine.Relation[string, string] // by type
	appID      *engine.Fact[string, int]        // by type; 0 for none
	domains    *engine.Fact[struct{}, acl.Domains]
}

// defineSamplingApps comes before the global options.
func (n *Northd) defineSamplingApps() {
	n.apps = engine.NewInput[string, *nb.SamplingApp](n.e)
	n.appRows = engine.NewRelation[string, string](n.e, "sampling applications")
	engine.ForEach(n.e, "sampling application", n.apps, func(s *engine.Scope, uuid string) {
		app, _ := n.apps.Get(s, uuid)
		n.appRows.Add(s, app.Type, uuid)
	})
	n.appID = engine.NewFact(n.e, "id of sampling application", func(s *engine.Scope, kind string) int {
		for uuid := range n.appRows.Of(s, kind) { // at most one
			if app, ok := n.apps.Get(s, uuid); ok {
				return app.ID
			}
		}
		return 0
	})
}

func (n *Northd) defineSamples() {
	n.samples = engine.NewInput[string, *nb.Sample](n.e)
	n.collectors = engine.NewInput[string, *nb.SampleCollector](n.e)
	n.domains = engine.NewFact(n.e, "observation domains", func(s *engine.Scope, _ struct{}) acl.Domains {
		return acl.Domains{
			New:       n.appID.Get(s, nb.SamplingAppTypeACLNew),
			Est:       n.appID.Get(s, nb.SamplingAppTypeACLEst),
			Registers: n.options.Get(s, struct{}{}).SampleRegisters,
		}
	})
}

// sample looks up a sample and its collectors; nil for none.
func (n *Northd) sample(s *engine.Scope, uuid *string) *acl.Sample {
	if uuid == nil {
		return nil
	}
	row, ok := n.samples.Get(s, *uuid)
	if !ok {
		return nil
	}
	out := &acl.Sample{Point: uint32(row.Metadata)}
	for _, id := range slices.Sorted(slices.Values(row.Collectors)) {
		if c, ok := n.collectors.Get(s, id); ok {
			out.Collectors = append(out.Collectors, acl.Collector{ID: c.ID, Probability: c.Probability, SetID: c.SetID})
		}
	}
	return out
}
