package edits

import "fmt"

// functions are the generators of network functions and of the chassis that
// things are bound to.
var functions = []generator{
	{"network function", 2, false, func(g *gen) string {
		n := g.IntN(3)
		return fmt.Sprintf("--may-exist nf-add nf%d %d %s %s", n, n+1, g.port(), g.port())
	}},
	{"network function group", 2, false, func(g *gen) string {
		n := g.IntN(2)
		return fmt.Sprintf("--may-exist nfg-add nfg%d %d inline %s", n, n+1, g.one("", g.name("Network_Function"), g.name("Network_Function")+" "+g.name("Network_Function")))
	}},
	{"network function edited", 2, false, func(g *gen) string {
		nf, nfg := g.uuid("Network_Function"), g.uuid("Network_Function_Group")
		return g.one("nf-del "+g.name("Network_Function"), "nfg-del "+g.name("Network_Function_Group"),
			"--may-exist nfg-add-nf "+g.name("Network_Function_Group")+" "+g.name("Network_Function"),
			"nfg-del-nf "+g.name("Network_Function_Group")+" "+g.name("Network_Function"),
			"set network_function_group "+nfg+" fallback="+g.one("fail-open", "fail-close"), "set network_function "+nf+" external_ids:a=b",
			"set network_function_group "+nfg+" external_ids:a=b")
	}},
	{"network function of an ACL", 3, false, func(g *gen) string {
		return g.one("set acl "+g.uuid("ACL")+" network_function_group="+g.uuid("Network_Function_Group"),
			"set acl "+g.uuid("ACL")+" network_function_group="+g.uuid("Network_Function_Group")+" action=allow-related", "clear acl "+g.uuid("ACL")+" network_function_group")
	}},
	{"HA chassis group", 2, false, func(g *gen) string {
		hg := g.one("hg0", "hg1")
		return g.one("ha-chassis-group-add "+hg, "ha-chassis-group-del "+g.name("HA_Chassis_Group"), "set ha_chassis_group "+g.uuid("HA_Chassis_Group")+" external_ids:a=b",
			"set ha_chassis "+g.uuid("HA_Chassis")+" external_ids:a=b")
	}},
	{"HA chassis", 3, false, func(g *gen) string {
		return g.one(fmt.Sprintf("ha-chassis-group-add-chassis %s %s %d", g.name("HA_Chassis_Group"), g.chassis(), g.IntN(20)),
			"ha-chassis-group-remove-chassis "+g.name("HA_Chassis_Group")+" "+g.chassis())
	}},
	{"HA chassis group of a port", 3, false, func(g *gen) string {
		p := g.port()
		return g.one("set logical_switch_port "+p+" ha_chassis_group="+g.uuid("HA_Chassis_Group"),
			"lsp-set-type "+p+" external -- set logical_switch_port "+p+" ha_chassis_group="+g.uuid("HA_Chassis_Group"),
			"clear logical_switch_port "+p+" ha_chassis_group")
	}},
	{"names and notes", 1, false, func(g *gen) string {
		table := g.one("logical_switch", "port_group", "address_set", "meter", "meter_band", "sampling_app", "sample_collector", "qos")
		return "set " + table + " " + g.uuid(tableNames[table]) + " external_ids:" + g.one("a=b", "c=d")
	}},
}

var tableNames = map[string]string{
	"logical_switch": "Logical_Switch", "port_group": "Port_Group", "address_set": "Address_Set", "meter": "Meter", "meter_band": "Meter_Band",
	"sampling_app": "Sampling_App", "sample_collector": "Sample_Collector", "qos": "QoS",
}
