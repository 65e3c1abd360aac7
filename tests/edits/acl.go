package edits

import (
	"fmt"
	"strings"
)

// newACL makes an ACL with random properties and puts it into a switch or a port
// group.
func newACL(g *gen) string {
	u := g.newUUID()
	d, where := g.direction()
	line := fmt.Sprintf("--id=%s create acl direction=%s priority=%d match='%q' action=%s", u, d, 1000+g.IntN(4), g.aclMatch(where), g.verb())
	for range g.IntN(4) {
		line += " " + g.aclProperty(d)
	}
	return line + " -- " + g.place(u)
}

// place adds an ACL to an owner.
func (g *gen) place(acl string) string {
	if len(g.rows["Port_Group"]) > 0 && g.IntN(2) == 0 {
		return fmt.Sprintf("add port_group %s acls %s", g.name("Port_Group"), acl)
	}
	return fmt.Sprintf("add logical_switch %s acls %s", g.name("Logical_Switch"), acl)
}

func (g *gen) verb() string {
	return g.one("allow", "allow-related", "allow-related", "allow-stateless", "drop", "drop", "reject", "pass")
}

// aclMatch has no quotes of a kind that "%q" would not undo.
func (g *gen) aclMatch(where string) string {
	return g.one("ip4", "ip", "1", "tcp.dst == 80", "udp && ip6", "icmp4", "arp", where+` == "`+g.aPort()+`"`, where+` == "`+g.aPort()+`" && ip4`,
		where+" == @"+g.aGroup(), where+" == @"+g.aGroup()+" && ip4.src == $"+g.aGroup()+"_ip4", "ip4.src == $as0", "ip6.dst == $as1",
		"ct.est && tcp", "ip4 && (tcp || udp)", "this does not parse", "ip4.src == {10.0.0.1, 10.0.0.2}", "nd_ns", "eth.src == 50:54:00:00:00:01")
}

// aclProperty sets one column besides those that every ACL has.
func (g *gen) aclProperty(direction string) string {
	p := g.one("log=true", "log=true severity="+g.one("alert", "warning", "notice", "info", "debug"), "meter="+g.one("m0", "m1"),
		fmt.Sprintf("tier=%d", g.IntN(4)), fmt.Sprintf("tier=%d", g.IntN(4)), fmt.Sprintf("label=%d", 1+g.IntN(9)), "name="+g.one("a", "b", "c"),
		"options:log-related=true", "options:persist-established=true", "options:apply-after-lb=true",
		"external_ids:note=here")
	if strings.Contains(p, "apply-after-lb") && direction != "from-lport" {
		return "log=true name=lo"
	}
	return p
}

// editACL changes columns of an ACL in place.
func editACL(g *gen) string {
	u := g.uuid("ACL")
	d, where := g.direction()
	switch g.IntN(8) {
	case 0, 1, 2:
		return "set acl " + u + " action=" + g.verb()
	case 3:
		return fmt.Sprintf("set acl %s match='%q'", u, g.aclMatch(where))
	case 4:
		return fmt.Sprintf("set acl %s priority=%d", u, 1000+g.IntN(4))
	case 5:
		return "set acl " + u + " direction=" + d + " match='" + fmt.Sprintf("%q", g.aclMatch(where)) + "'"
	case 6:
		return g.one("set acl "+u+" log=false", "clear acl "+u+" "+g.one("severity", "meter", "name", "options", "sample_new", "sample_est", "external_ids"),
			"set acl "+u+" tier=0", "set acl "+u+" label=0", "remove acl "+u+" options "+g.one("log-related", "persist-established", "apply-after-lb"))
	}
	return "set acl " + u + " " + g.aclProperty("from-lport")
}
