package northd

import "strconv"

// exhaust takes all keys of a pool but the last few.
func exhaust(p *keyPool, max, left int) {
	for k := 1; k <= max-left; k++ {
		p.take("taken "+strconv.Itoa(k), k)
	}
}

// ExhaustMulticastKeys leaves few keys for learned multicast groups of a datapath.
func (n *Northd) ExhaustMulticastKeys(datapath string, left int) {
	exhaust(n.mcastKeyPools.of(datapath), lastMulticastKey-firstIPGroupKey+1, left)
}

// ExhaustTags leaves few VLAN tags for the containers of a port.
func (n *Northd) ExhaustTags(parent string, left int) { exhaust(n.tagPool.of(parent), maxTag, left) }

// ExhaustACLIDs leaves few numbers for persistent ACLs.
func (n *Northd) ExhaustACLIDs(left int) { exhaust(n.aclIDPool, maxACLID, left) }
