package northd

import (
	"northwall/northd/engine"
	"northwall/schema/sb"
)

// permissions are what the role "ovn-controller" may do, by table: what
// ovn-architecture(7), "Role-Based Access Controls for the Southbound DB", lets
// a chassis write.
var permissions = []sb.RBACPermission{
	{Table: "BFD", Authorization: []string{"chassis_name"}, Update: []string{"status"}},
	{Table: "Chassis", Authorization: []string{"name"}, InsertDelete: true,
		Update: []string{"nb_cfg", "external_ids", "encaps", "vtep_logical_switches", "other_config", "transport_zones"}},
	{Table: "Chassis_Private", Authorization: []string{"name"}, InsertDelete: true,
		Update: []string{"nb_cfg", "nb_cfg_timestamp", "chassis", "external_ids"}},
	{Table: "Controller_Event", Authorization: []string{""}, InsertDelete: true,
		Update: []string{"chassis", "event_info", "event_type", "seq_num"}},
	{Table: "Encap", Authorization: []string{"chassis_name"}, InsertDelete: true, Update: []string{"type", "options", "ip"}},
	{Table: "FDB", Authorization: []string{""}, InsertDelete: true, Update: []string{"dp_key", "mac", "port_key", "timestamp"}},
	{Table: "IGMP_Group", Authorization: []string{"chassis_name"}, InsertDelete: true,
		Update: []string{"address", "chassis", "datapath", "ports", "protocol"}},
	{Table: "Learned_Route", Authorization: []string{""}, InsertDelete: true,
		Update: []string{"datapath", "logical_port", "ip_prefix", "nexthop", "external_ids"}},
	{Table: "MAC_Binding", Authorization: []string{""}, InsertDelete: true,
		Update: []string{"logical_port", "ip", "mac", "datapath", "timestamp"}},
	{Table: "Port_Binding", Authorization: []string{""},
		Update: []string{"chassis", "additional_chassis", "encap", "additional_encap", "up", "virtual_parent", "options"}},
	{Table: "Service_Monitor", Authorization: []string{"chassis_name"}, Update: []string{"status"}},
}

func (n *Northd) defineRBAC() {
	engine.ForEach(n.e, "access control of chassis", n.once, func(s *engine.Scope, _ struct{}) {
		role := &sb.RBACRole{Name: "ovn-controller", Permissions: map[string]string{}}
		for _, p := range permissions {
			n.out.permission.Want(s, p.Table, &p)
			role.Permissions[p.Table] = n.out.permission.UUID(s, p.Table)
		}
		n.out.roles.Want(s, role.Name, role)
	})
}
