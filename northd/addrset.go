package northd

import (
	"northwall/northd/engine"
	"northwall/schema/sb"
)

// defineAddressSets copies the operator's address sets, as strings: what an
// address means is for the chassis to say.
func (n *Northd) defineAddressSets() {
	engine.ForEach(n.e, "address set", n.addressSetNames.Keys(), func(s *engine.Scope, name string) {
		if as, ok := n.nb.addresses.Get(s, engine.Least(s, n.addressSetNames, name)); ok {
			n.out.addresses.Want(s, name, &sb.AddressSet{Name: name, Addresses: as.Addresses})
		}
	})
}
