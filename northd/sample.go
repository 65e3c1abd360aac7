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
	appRows    *engine.Relation[struct{}, string]
	domains    *engine.Fact[struct{}, acl.Domains]
}

func (n *Northd) defineSamples() {
	n.samples = engine.NewInput[string, *nb.Sample](n.e)
	n.collectors = engine.NewInput[string, *nb.SampleCollector](n.e)
	n.apps = engine.NewInput[string, *nb.SamplingApp](n.e)
	n.appRows = engine.NewRelation[struct{}, string](n.e, "sampling applications")
	engine.ForEach(n.e, "sampling application", n.apps, func(s *engine.Scope, uuid string) {
		n.appRows.Add(s, struct{}{}, uuid)
	})
	n.domains = engine.NewFact(n.e, "observation domains", func(s *engine.Scope, _ struct{}) acl.Domains {
		var d acl.Domains
		for uuid := range n.appRows.Of(s, struct{}{}) {
			app, ok := n.apps.Get(s, uuid)
			switch {
			case !ok:
			case app.Type == nb.SamplingAppTypeACLNew:
				d.New = app.ID
			case app.Type == nb.SamplingAppTypeACLEst:
				d.Est = app.ID
			}
		}
		return d
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
