package northd

import (
	"northwall/northd/engine"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

type templateFacts struct {
	templateVars *engine.Input[string, *nb.ChassisTemplateVar]
}

// defineTemplates hands the values of template variables to the chassis that
// they are for; the rows have the northbound rows' UUIDs.
func (n *Northd) defineTemplates() {
	n.templateVars = engine.NewInput[string, *nb.ChassisTemplateVar](n.e)
	engine.ForEach(n.e, "template variables", n.templateVars, func(s *engine.Scope, uuid string) {
		v, _ := n.templateVars.Get(s, uuid)
		n.out.templateVars.use(v.Chassis, uuid)
		n.out.templateVars.Want(s, v.Chassis, &sb.ChassisTemplateVar{Chassis: v.Chassis, Variables: v.Variables})
	})
}
