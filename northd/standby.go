package northd

import (
	"northwall/northd/engine"
	"northwall/ovsdb"
)

// A northd that stands by derives as the active one does, so that taking over is
// warm: what is left to do then is to write what the active one did not come to.
//
// It gives out nothing, though. Which key a new port has, which address a dynamic
// one, is for the active northd to say; what follows from it waits until the
// databases show it. Taking over makes those look again that still wait.

// SetStandby tells whether this northd stands by, which it does not at first.
func (n *Northd) SetStandby(on bool) {
	_, was := n.standby.Peek(struct{}{})
	if on == was {
		return
	}
	// How far the databases have come is for the active one to say, once it has
	// written what follows from them itself.
	n.cfg.done = unknownCfg
	n.flows.Follow(on)
	if on {
		n.standby.Set(struct{}{}, struct{}{})
	} else {
		n.standby.Delete(struct{}{})
	}
}

// standsBy is for derivations that would have to give out something: they run
// again when the answer is another.
func (n *Northd) standsBy(s *engine.Scope) bool {
	_, on := n.standby.Get(s, struct{}{})
	return on
}

// allocate is pool.get for a derivation.
func (n *Northd) allocate(s *engine.Scope, pool *keyPool, who string, max int, ok func(int) bool) int {
	if k := pool.has(who, max, ok); k != 0 || n.standsBy(s) {
		return k
	}
	k := pool.get(who, max, ok)
	if k == 0 {
		n.sb.freedKeys.Await(s, pool) // derive again when there may be one
	}
	return k
}

// free gives back the key of who, if that is still the one, and has those try again
// that found none left in the pool.
func (n *Northd) free(pool *keyPool, who string, key int) (freed bool) {
	if freed = pool.key[who] == key; freed {
		pool.release(who)
	}
	n.sb.freedKeys.Raise(pool)
	return freed
}

// request gives who the key that it asks for and is entitled to, whoever holds it.
func (n *Northd) request(s *engine.Scope, pool *keyPool, who string, key int) {
	if pool.key[who] == key || n.standsBy(s) { // the pool is to be as the database is
		return
	}
	pool.evict(who, key)
}

// shortage reports that an allocation came out empty, unless it is to wait for the
// active northd.
func (n *Northd) shortage(s *engine.Scope, object, reason string) {
	if !n.standsBy(s) {
		n.problems.Report(s, object, reason)
	}
}

// learn records that the database has key for who. For the active northd a key that
// it gave to another stays that one's; for one that stands by the database is right,
// and again is told who has lost the key.
func (n *Northd) learn(pool *keyPool, who string, key int, again func(who string)) (learned bool) {
	if _, on := n.standby.Peek(struct{}{}); !on {
		return pool.take(who, key)
	}
	if loser := pool.evict(who, key); loser != "" {
		again(loser)
	}
	return true
}

// SettleRows compares rows, but for flows, with those that the database has, and keeps in
// mind only those that differ. It is for when flows are still to be read: what is equal
// need not be kept twice until then, nor compared after. txn is not to be sent.
func (n *Northd) SettleRows(txn *ovsdb.Txn) {
	for _, t := range n.out.all {
		t.settle(txn)
	}
}

// Settle works out what is to be written, by transactions that are not to be sent,
// and keeps in mind only what the databases lack. A northd that stands by calls it
// after Derive: what there is to look at does not pile up.
func (n *Northd) Settle(nb, sb *ovsdb.Txn, limit int) {
	n.WriteSouthbound(sb, limit)
	n.Retry()
	n.WriteNorthbound(nb)
	n.RetryNorthbound()
}
