package edits

import "fmt"

func (g *gen) aLB() string     { return fmt.Sprintf("l%d", g.IntN(3)) }
func (g *gen) vip() string     { return fmt.Sprintf("10.0.1.%d:80", g.IntN(3)) }
func (g *gen) chassis() string { return g.one("hv0", "hv1") }

func (g *gen) backends() string {
	return g.one(`""`, "10.0.0.1:80", "10.0.0.1:80,10.0.0.2:80", "10.0.0.2:80,10.0.0.3:81", "10.0.0.4:80,10.0.0.2:80,10.0.0.1:80")
}

// balancing are the generators of load balancers, of what checks them and of the
// variables of their templates.
var balancing = []generator{
	{"load balancer", 4, false, func(g *gen) string {
		return fmt.Sprintf("--may-exist lb-add %s %s %s %s", g.aLB(), g.vip(), g.backends(), g.one("tcp", "udp", "sctp"))
	}},
	{"IPv6 load balancer", 1, false, func(g *gen) string {
		return fmt.Sprintf("--may-exist lb-add l6 '[fd01::%d]:80' %s", g.IntN(2), g.one(`""`, "'[fd00::1]:80'", "'[fd00::1]:80,[fd00::2]:80'"))
	}},
	{"load balancer of all ports", 1, false, func(g *gen) string {
		return "--may-exist lb-add l7 10.0.1.9 " + g.one(`""`, "10.0.0.1", "10.0.0.1,10.0.0.2")
	}},
	{"template load balancer", 1, false, func(g *gen) string {
		return "--template --may-exist lb-add l8 " + g.one(`"^vip:80" "^backends"`, `"^vip:^port" "^backends"`, `"^vip:80" "10.0.0.1:80"`) + g.one(" tcp", " udp ipv4", " tcp ipv6")
	}},
	{"load balancer on a switch", 4, false, func(g *gen) string {
		return g.one("--may-exist ls-lb-add ", "--may-exist ls-lb-add ", "ls-lb-del ") + g.name("Logical_Switch") + " " + g.name("Load_Balancer")
	}},
	{"load balancer deletion", 1, false, func(g *gen) string {
		return g.one("lb-del "+g.name("Load_Balancer"), "lb-del "+g.name("Load_Balancer")+" "+g.vip())
	}},
	{"load balancer edited", 3, false, func(g *gen) string {
		lb := "load_balancer " + g.uuid("Load_Balancer")
		return g.one(
			fmt.Sprintf(`set %s 'vips:"%s"="%s"'`, lb, g.vip(), g.one("10.0.0.1:80", "10.0.0.3:80,10.0.0.2:80", "")),
			"clear "+lb+" "+g.one("vips", "options", "ip_port_mappings", "selection_fields", "health_check", "protocol"),
			"set "+lb+" protocol="+g.one("tcp", "udp", "sctp"), "set "+lb+" selection_fields="+g.one("tp_src,ip_src", "eth_src", "ip_dst,tp_dst"),
			"set "+lb+" external_ids:a=b", "set "+lb+" name="+g.aLB())
	}},
	{"load balancer option", 4, false, func(g *gen) string {
		return "set load_balancer " + g.uuid("Load_Balancer") + " options:" + g.one("reject=true", "reject=false", "event=true", "hairpin_snat_ip=10.0.0.99",
			"hairpin_snat_ip='\"10.0.0.99 fd00::99\"'", "skip_snat=true", "add_route=true", "affinity_timeout=10", "affinity_timeout=0", "affinity_timeout=junk",
			"neighbor_responder=all", "neighbor_responder=none", "ct_flush=true", "distributed=true", "use_stateless_nat=true")
	}},
	{"load balancer group", 4, false, func(g *gen) string {
		return g.one("create load_balancer_group name="+g.one("lg0", "lg1"), "destroy load_balancer_group "+g.uuid("Load_Balancer_Group"),
			fmt.Sprintf("add load_balancer_group %s load_balancer %s", g.uuid("Load_Balancer_Group"), g.uuid("Load_Balancer")),
			"clear load_balancer_group "+g.uuid("Load_Balancer_Group")+" load_balancer")
	}},
	{"load balancer group on a switch", 6, false, func(g *gen) string {
		s := g.name("Logical_Switch")
		return g.one("add logical_switch "+s+" load_balancer_group "+g.uuid("Load_Balancer_Group"),
			"add logical_switch "+s+" load_balancer_group "+g.uuid("Load_Balancer_Group"), "clear logical_switch "+s+" load_balancer_group")
	}},
	{"backend's port", 3, false, func(g *gen) string {
		n := g.IntN(4)
		return fmt.Sprintf(`set load_balancer %s 'ip_port_mappings:"10.0.0.%d"="p%d:10.0.0.254"'`, g.uuid("Load_Balancer"), n, n)
	}},
	{"health check", 3, true, func(g *gen) string {
		u := g.newUUID()
		return fmt.Sprintf(`--id=%s create load_balancer_health_check 'vip="%s"' %s -- add load_balancer %s health_check %s`, u, g.vip(),
			g.one("", "options:interval=3", "options:timeout=4 options:success_count=2 options:failure_count=3"), g.uuid("Load_Balancer"), u)
	}},
	{"load balancer that is checked", 2, true, func(g *gen) string {
		u, lb, n := g.newUUID(), g.aLB(), g.IntN(4)
		return fmt.Sprintf(`--may-exist lb-add %s %s 10.0.0.%d:80 -- set load_balancer %[1]s 'ip_port_mappings:"10.0.0.%[3]d"="p%[3]d:10.0.0.254"'`+
			` -- --id=%[4]s create load_balancer_health_check 'vip="%[2]s"' -- add load_balancer %[1]s health_check %[4]s -- --may-exist ls-lb-add %[5]s %[1]s`,
			lb, g.vip(), n, u, g.name("Logical_Switch"))
	}},
	{"health check edited", 1, false, func(g *gen) string {
		h := "load_balancer_health_check " + g.uuid("Load_Balancer_Health_Check")
		return g.one("set "+h+" options:interval=7", fmt.Sprintf(`set %s 'vip="%s"'`, h, g.vip()), "set "+h+" external_ids:a=b")
	}},
	{"service's state", 9, false, func(g *gen) string {
		return Southbound + fmt.Sprintf("set service_monitor p%d status=%s", g.IntN(4), g.one("online", "offline", "error"))
	}},
	{"template variable", 2, false, func(g *gen) string {
		v := g.one("vip=10.0.1.50", "vip=10.0.1.51", "port=81", "backends='\"10.0.0.1:80\"'", "other=x")
		return g.one("create chassis_template_var chassis="+g.chassis()+" variables:"+v,
			"set chassis_template_var "+g.uuid("Chassis_Template_Var")+" variables:"+v,
			"set chassis_template_var "+g.uuid("Chassis_Template_Var")+" external_ids:a=b",
			"destroy chassis_template_var "+g.uuid("Chassis_Template_Var"))
	}},
}
