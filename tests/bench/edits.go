package main

import (
	"fmt"
	"math/rand"

	"northwall/ovsdb"
)

// An edit is a change of the northbound database that is timed.
type edit struct {
	Name string
	// Bound is how many times the floor's time it may take; 0 for no bound.
	Bound float64
	write func(*ovsdb.Txn, *round)
}

// round is what the edits of one round are about. A round leaves the network as
// it was.
type round struct {
	number                int
	aSwitch, group, other string // other: a second group
	quiet                 string // a switch without stateful ACLs
	set                   string
}

func newRound(s size, number int) *round {
	r := rand.New(rand.NewSource(int64(number) + 2))
	return &round{
		number:  number,
		aSwitch: switchName(r.Intn(s.Switches)),
		group:   groupName(r.Intn(s.Groups)),
		other:   groupName(r.Intn(s.Groups)),
		quiet:   quietName(r.Intn(quietSwitches)),
		set:     setName(r.Intn(s.AddressSets)),
	}
}

// named is the name of a row that a round brings.
func (r *round) named(what string) string { return fmt.Sprintf("bench-%s-%d", what, r.number) }

const (
	usual       = 3 // times the floor
	wholeSwitch = 5
)

// edits are in the order in which a round makes them.
var edits = []edit{
	{"no-op", usual, func(*ovsdb.Txn, *round) {}},

	{"switch ACL: add", usual, func(t *ovsdb.Txn, r *round) {
		addACL(t, "Logical_Switch", r.aSwitch, r.named("acl"), newACL(500, false, r.switchMatch(), "allow-related"))
	}},
	{"switch ACL: match", usual, func(t *ovsdb.Txn, r *round) {
		t.Update("ACL", id(r.named("acl"))).String("match", r.switchMatch()+" && ip.ttl > 1")
	}},
	{"switch ACL: delete", usual, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Logical_Switch", id(r.aSwitch)).DeleteUUIDs("acls", []string{id(r.named("acl"))})
	}},

	{"group ACL: add", usual, func(t *ovsdb.Txn, r *round) {
		addACL(t, "Port_Group", r.group, r.named("acl"), newACL(500, false, r.groupMatch(), "allow-related"))
	}},
	{"group ACL: match", usual, func(t *ovsdb.Txn, r *round) {
		t.Update("ACL", id(r.named("acl"))).String("match", r.groupMatch()+" && ip.ttl > 1")
	}},
	{"group ACL: verb", usual, func(t *ovsdb.Txn, r *round) {
		t.Update("ACL", id(r.named("acl"))).String("action", "allow-stateless")
	}},
	{"group ACL: delete", usual, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Port_Group", id(r.group)).DeleteUUIDs("acls", []string{id(r.named("acl"))})
	}},

	{"port: add", usual, func(t *ovsdb.Txn, r *round) {
		insertPort(t, r.named("lsp"), fmt.Sprintf("f2:00:00:00:%02x:%02x 10.250.%d.%d", r.number>>8, r.number&255, r.number>>8, r.number&255), false)
		t.Mutate("Logical_Switch", id(r.aSwitch)).InsertUUIDs("ports", []string{id(r.named("lsp"))})
	}},
	{"port: new address", usual, func(t *ovsdb.Txn, r *round) {
		t.Update("Logical_Switch_Port", id(r.named("lsp"))).String("addresses",
			fmt.Sprintf("f2:00:00:01:%02x:%02x 10.251.%d.%d", r.number>>8, r.number&255, r.number>>8, r.number&255))
	}},
	{"port: into a group", usual, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Port_Group", id(r.other)).InsertUUIDs("ports", []string{id(r.named("lsp"))})
	}},
	{"port: out of a group", usual, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Port_Group", id(r.other)).DeleteUUIDs("ports", []string{id(r.named("lsp"))})
	}},
	{"port: delete", usual, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Logical_Switch", id(r.aSwitch)).DeleteUUIDs("ports", []string{id(r.named("lsp"))})
	}},

	{"address: into a set", usual, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Address_Set", id(r.set)).InsertStrings("addresses", []string{"172.31.255.7"})
	}},
	{"address: out of a set", usual, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Address_Set", id(r.set)).DeleteStrings("addresses", []string{"172.31.255.7"})
	}},

	{"switch of ten ports: add", wholeSwitch, func(t *ovsdb.Txn, r *round) {
		var ports []string
		for p := range 10 {
			name := fmt.Sprintf("%s-%d", r.named("lsp"), p)
			ports = append(ports, id(name))
			insertPort(t, name, fmt.Sprintf("f4:00:00:%02x:%02x:%02x", r.number>>8, r.number&255, p), false)
		}
		insertSwitch(t, r.named("switch"), ports, nil)
	}},
	{"switch of ten ports: delete", wholeSwitch, func(t *ovsdb.Txn, r *round) {
		t.Delete("Logical_Switch", id(r.named("switch")))
	}},

	// What makes a switch another kind of switch, so that all its rules read
	// differently.
	{"first stateful ACL of a switch: add", 0, func(t *ovsdb.Txn, r *round) {
		addACL(t, "Logical_Switch", r.quiet, r.named("trait"), newACL(500, false, "tcp.dst == 7", "allow-related"))
	}},
	{"first stateful ACL of a switch: delete", 0, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Logical_Switch", id(r.quiet)).DeleteUUIDs("acls", []string{id(r.named("trait"))})
	}},
	{"first tier of a switch: add", 0, func(t *ovsdb.Txn, r *round) {
		a := newACL(500, false, "tcp.dst == 7", "allow-stateless")
		a.tier = 1
		addACL(t, "Logical_Switch", r.quiet, r.named("trait"), a)
	}},
	{"first tier of a switch: delete", 0, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Logical_Switch", id(r.quiet)).DeleteUUIDs("acls", []string{id(r.named("trait"))})
	}},
	{"first stateful ACL of a group: add", 0, func(t *ovsdb.Txn, r *round) {
		addACL(t, "Port_Group", quietGroup, r.named("trait"), newACL(500, false, "tcp.dst == 7", "allow-related"))
	}},
	{"first stateful ACL of a group: delete", 0, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Port_Group", id(quietGroup)).DeleteUUIDs("acls", []string{id(r.named("trait"))})
	}},
	{"first tier of a group: add", 0, func(t *ovsdb.Txn, r *round) {
		a := newACL(500, false, "tcp.dst == 7", "allow-stateless")
		a.tier = 1
		addACL(t, "Port_Group", quietGroup, r.named("trait"), a)
	}},
	{"first tier of a group: delete", 0, func(t *ovsdb.Txn, r *round) {
		t.Mutate("Port_Group", id(quietGroup)).DeleteUUIDs("acls", []string{id(r.named("trait"))})
	}},
}

func (r *round) switchMatch() string {
	return fmt.Sprintf("ip4.src == $%s && udp.dst == %d", r.set, 5000+r.number)
}

func (r *round) groupMatch() string {
	return fmt.Sprintf("outport == @%s && ip4 && udp.dst == %d", r.group, 6000+r.number)
}

func addACL(t *ovsdb.Txn, table, owner, name string, a acl) {
	insertACL(t, name, a)
	t.Mutate(table, id(owner)).InsertUUIDs("acls", []string{id(name)})
}
