package main

import (
	"fmt"
	"math/rand"

	"github.com/google/uuid"

	"northwall/ovsdb"
)

// Beside what its size says, a network has a part in which nothing is stateful
// and no tier is above 0, so that an edit can bring the first of either: as many
// switches of quietPorts ports each, all in one group of their own.
const (
	quietSwitches = 10
	quietPorts    = 10
	quietACLs     = 4 // of each quiet switch, and of their group
)

// id is the UUID of a row: the same in every database, so that all northds work
// on the same contents.
func id(name string) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String() }

// network writes the contents of a size as transactions.
type network struct {
	size
	rand *rand.Rand
	send func(*ovsdb.Txn) error
}

// load sends the transactions of a size: one for each address set, switch and
// group.
func load(s size, send func(*ovsdb.Txn) error) error {
	n := &network{size: s, rand: rand.New(rand.NewSource(1)), send: send}
	for a := range s.AddressSets {
		if err := n.addressSet(a); err != nil {
			return err
		}
	}
	for i := range s.Switches {
		if err := n.switchOf(i); err != nil {
			return err
		}
	}
	for g := range s.Groups {
		if err := n.group(g); err != nil {
			return err
		}
	}
	return n.quiet()
}

// transactions is the number of those that load sends.
func (s size) transactions() int { return s.AddressSets + s.Switches + s.Groups + 1 }

func (n *network) addressSet(a int) error {
	seen := map[string]bool{}
	var list []string
	for range n.Addresses {
		if ip := ipOf(n.rand.Intn(n.Switches), n.rand.Intn(n.Ports)); !seen[ip] {
			seen[ip] = true
			list = append(list, ip)
		}
	}
	txn := ovsdb.NewTxn()
	c := txn.Insert("Address_Set", id(setName(a)))
	c.String("name", setName(a))
	c.Strings("addresses", list)
	return n.send(txn)
}

func (n *network) switchOf(s int) error {
	txn := ovsdb.NewTxn()
	var ports, acls []string
	for p := range n.Ports {
		name := fmt.Sprintf("lsp-%d-%d", s, p)
		ports = append(ports, id(name))
		insertPort(txn, name, macOf(s, p)+" "+ipOf(s, p), true)
	}
	for a := range n.SwitchACLs {
		name := fmt.Sprintf("acl-%d-%d", s, a)
		acls = append(acls, id(name))
		n.acl(txn, name, 2000+a, fmt.Sprintf("ip4.src == $%s && tcp.dst == %d", n.anySet(), 1000+a), a%2 == 0)
	}
	insertSwitch(txn, switchName(s), ports, acls)
	return n.send(txn)
}

func (n *network) group(g int) error {
	txn := ovsdb.NewTxn()
	var ports, acls []string
	for a := range n.GroupACLs {
		from, port := a%2 == 0, "outport"
		if from {
			port = "inport"
		}
		name := fmt.Sprintf("acl-%s-%d", groupName(g), a)
		acls = append(acls, id(name))
		n.acl(txn, name, 1000+a, fmt.Sprintf("%s == @%s && ip4 && ip4.src == $%s && tcp.dst == %d", port, groupName(g), n.anySet(), a+1), from)
	}
	for i := range n.ports() {
		if i%n.Groups == g || (i+1)%n.Groups == g {
			ports = append(ports, id(fmt.Sprintf("lsp-%d-%d", i/n.Ports, i%n.Ports)))
		}
	}
	insertGroup(txn, groupName(g), ports, acls)
	return n.send(txn)
}

// quiet adds the part where an edit can bring the first stateful ACL.
func (n *network) quiet() error {
	txn := ovsdb.NewTxn()
	var all []string
	for s := range quietSwitches {
		var ports, acls []string
		for p := range quietPorts {
			name := fmt.Sprintf("quiet-lsp-%d-%d", s, p)
			ports = append(ports, id(name))
			insertPort(txn, name, fmt.Sprintf("f8:00:00:00:%02x:%02x 10.248.%d.%d", s, p, s, p+2), true)
		}
		for a := range quietACLs {
			name := fmt.Sprintf("quiet-acl-%d-%d", s, a)
			acls = append(acls, id(name))
			insertACL(txn, name, newACL(1000+a, a%2 == 0, fmt.Sprintf("udp.dst == %d", a+1), "allow-stateless"))
		}
		insertSwitch(txn, quietName(s), ports, acls)
		all = append(all, ports...)
	}
	var acls []string
	for a := range quietACLs {
		name := fmt.Sprintf("quiet-acl-%d", a)
		acls = append(acls, id(name))
		insertACL(txn, name, newACL(1000+a, a%2 == 0, fmt.Sprintf("ip4 && udp.src == %d", a+1), "allow-stateless"))
	}
	insertGroup(txn, quietGroup, all, acls)
	return n.send(txn)
}

// acl inserts a rule: one in five drops, and of the others three in ten are
// stateless.
func (n *network) acl(txn *ovsdb.Txn, name string, priority int, match string, from bool) {
	action := "allow-related"
	switch x := n.rand.Float64(); {
	case x < 0.2:
		action = "drop"
	case n.rand.Float64() < 0.3:
		action = "allow-stateless"
	}
	insertACL(txn, name, newACL(priority, from, match, action))
}

func (n *network) anySet() string { return setName(n.rand.Intn(n.AddressSets)) }

func setName(a int) string    { return fmt.Sprintf("as%d", a) }
func switchName(s int) string { return fmt.Sprintf("ls%d", s) }
func groupName(g int) string  { return fmt.Sprintf("pg%d", g) }
func quietName(s int) string  { return fmt.Sprintf("quiet%d", s) }

const quietGroup = "quietgroup"

func macOf(s, p int) string {
	return fmt.Sprintf("f0:00:%02x:%02x:%02x:%02x", s>>8, s&255, p>>8, p&255)
}

// ipOf gives each switch a /24.
func ipOf(s, p int) string {
	n := s*256 + p + 2
	return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

func insertSwitch(txn *ovsdb.Txn, name string, ports, acls []string) {
	c := txn.Insert("Logical_Switch", id(name))
	c.String("name", name)
	c.UUIDs("ports", ports)
	c.UUIDs("acls", acls)
}

func insertPort(txn *ovsdb.Txn, name, addresses string, secured bool) {
	c := txn.Insert("Logical_Switch_Port", id(name))
	c.String("name", name)
	c.String("addresses", addresses)
	if secured {
		c.String("port_security", addresses)
	}
}

func insertGroup(txn *ovsdb.Txn, name string, ports, acls []string) {
	c := txn.Insert("Port_Group", id(name))
	c.String("name", name)
	c.UUIDs("ports", ports)
	c.UUIDs("acls", acls)
}

type acl struct {
	priority, tier int
	direction      string
	match, action  string
}

func newACL(priority int, from bool, match, action string) acl {
	direction := "to-lport"
	if from {
		direction = "from-lport"
	}
	return acl{priority: priority, direction: direction, match: match, action: action}
}

func insertACL(txn *ovsdb.Txn, name string, a acl) {
	c := txn.Insert("ACL", id(name))
	c.Int("priority", a.priority)
	c.Int("tier", a.tier)
	c.String("direction", a.direction)
	c.String("match", a.match)
	c.String("action", a.action)
}
