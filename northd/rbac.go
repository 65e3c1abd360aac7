package northd

import (
	"slices"

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

// chassisRole is the name of the role for chassis, the only one that is ours:
// administrators may have made others.
const chassisRole = "ovn-controller"

// otherRoles knows the permissions of roles that are not ours.
type otherRoles struct {
	uses        map[string]int // by UUID of a permission: of how many roles it is
	permissions map[string]*sb.RBACPermission
}

// observeRole notes whose permissions a role has. It comes before the batch's
// permissions.
func (n *Northd) observeRole(_ string, old, new *sb.RBACRole) {
	for _, c := range []struct {
		role *sb.RBACRole
		by   int
	}{{new, 1}, {old, -1}} {
		if c.role == nil || c.role.Name == chassisRole {
			continue
		}
		for _, id := range c.role.Permissions {
			n.useElsewhere(id, c.by)
		}
	}
}

// useElsewhere counts the roles of others that have a permission. With the first
// and the last one it changes whose it is.
func (n *Northd) useElsewhere(permission string, by int) {
	o := &n.sb.otherRoles
	uses := o.uses[permission] + by
	p := o.permissions[permission]
	if changes := (o.uses[permission] > 0) != (uses > 0); p != nil && changes {
		n.out.permission.observe(p, nil)
		defer n.out.permission.observe(nil, p)
	}
	if uses > 0 {
		o.uses[permission] = uses
	} else {
		delete(o.uses, permission)
	}
}

func (n *Northd) observePermission(uuid string, old, new *sb.RBACPermission) {
	n.out.permission.observe(old, new)
	if new == nil {
		delete(n.sb.otherRoles.permissions, uuid)
	} else {
		n.sb.otherRoles.permissions[uuid] = new
	}
}

// permissionKey is the table of a permission that is ours. One for another table may
// be made for a role that is not there yet.
func (n *Northd) permissionKey(r *sb.RBACPermission) string {
	ours := slices.ContainsFunc(permissions, func(p sb.RBACPermission) bool { return p.Table == r.Table })
	if !ours || n.sb.otherRoles.uses[r.UUID] > 0 {
		return notOurs
	}
	return r.Table
}

// roleKey is the name of a role that is ours.
func roleKey(r *sb.RBACRole) string {
	if r.Name != chassisRole {
		return notOurs
	}
	return r.Name
}

func (n *Northd) defineRBAC() {
	n.sb.otherRoles = otherRoles{uses: map[string]int{}, permissions: map[string]*sb.RBACPermission{}}
	engine.ForEach(n.e, "access control of chassis", n.once, func(s *engine.Scope, _ struct{}) {
		role := &sb.RBACRole{Name: chassisRole, Permissions: map[string]string{}}
		for _, p := range permissions {
			n.out.permission.Want(s, p.Table, &p)
			role.Permissions[p.Table] = n.out.permission.UUID(s, p.Table)
		}
		n.out.roles.Want(s, role.Name, role)
	})
}
