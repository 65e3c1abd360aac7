package northd

import (
	"time"

	"northwall/ovsdb"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// unknownCfg stands for the number of no configuration.
const unknownCfg = -1

// cfg follows the configuration numbers: nb_cfg is passed on to the chassis,
// and sb_cfg and hv_cfg say how far it has come (ovn-nb(5), NB_Global).
type cfg struct {
	global  *nb.NBGlobal // the row with the least UUID
	globals map[string]*nb.NBGlobal
	sb      *sb.SBGlobal
	chassis map[string]*sb.ChassisPrivate
	lowest  lowest // of them

	done     int       // nb_cfg whose configuration the southbound database has, or unknownCfg
	received time.Time // when the newest nb_cfg was seen
}

func (n *Northd) observeGlobal(uuid string, _, new *nb.NBGlobal) {
	c := &n.cfg
	if c.globals == nil {
		c.globals = map[string]*nb.NBGlobal{}
		c.done = unknownCfg
	}
	before := 0
	if c.global != nil {
		before = c.global.NbCfg
	}
	if new == nil {
		delete(c.globals, uuid)
	} else {
		c.globals[uuid] = new
	}
	c.global = nil
	for _, g := range c.globals {
		if c.global == nil || g.UUID < c.global.UUID {
			c.global = g
		}
	}
	if c.global != nil && c.global.NbCfg != before {
		c.received = time.Now()
	}
	n.writes.globals.observe(uuid, nil, new)
}

func (n *Northd) observeSBGlobal(_ string, _, new *sb.SBGlobal) {
	n.cfg.sb = new
	version, ok := "", false
	if new != nil {
		version, ok = new.Options["northd_internal_version"]
	}
	switch was, had := n.southVersion.Peek(struct{}{}); {
	case ok && (!had || was != version):
		n.southVersion.Set(struct{}{}, version)
	case !ok && had:
		n.southVersion.Delete(struct{}{})
	}
}

// lowest is the lowest configuration number that chassis report.
type lowest struct {
	known     bool
	chassis   bool // whether there is any
	number    int
	timestamp int // when the last chassis came that far, in milliseconds since 1970
}

// observeChassis notes that other chassis may count for hvCfg.
func (n *Northd) observeChassis(string, *sb.Chassis, *sb.Chassis) { n.cfg.lowest.known = false }

func (n *Northd) observeChassisPrivate(uuid string, _, new *sb.ChassisPrivate) {
	n.cfg.lowest.known = false
	if n.cfg.chassis == nil {
		n.cfg.chassis = map[string]*sb.ChassisPrivate{}
	}
	if new == nil {
		delete(n.cfg.chassis, uuid)
	} else {
		n.cfg.chassis[uuid] = new
	}
}

// NBCfg is the number of the northbound configuration seen last.
func (n *Northd) NBCfg() int {
	if n.cfg.global == nil {
		return 0
	}
	return n.cfg.global.NbCfg
}

// HasGlobal reports whether the northbound database has its NB_Global row,
// without which nothing can be told about progress.
func (n *Northd) HasGlobal() bool { return n.cfg.global != nil }

// WriteNBCfg appends to a southbound transaction the number of the
// configuration that it completes.
func (n *Northd) WriteNBCfg(txn *ovsdb.Txn, nbCfg int) {
	if g, s := n.cfg.global, n.cfg.sb; g != nil && s != nil && s.NbCfg != nbCfg {
		txn.Update("SB_Global", s.UUID).Int("nb_cfg", nbCfg)
	}
}

// Committed tells that the southbound database has all that follows from the
// configuration numbered nbCfg.
func (n *Northd) Committed(nbCfg int) {
	n.cfg.done = nbCfg
}

// hvCfg is the lowest configuration number that a chassis reports, and when the
// last one came that far, in milliseconds since 1970. Chassis that stand for
// another availability zone do not count.
func (n *Northd) hvCfg() (number, timestamp int) {
	if !n.cfg.lowest.known {
		n.cfg.lowest = n.lowestOfChassis()
	}
	switch l := n.cfg.lowest; {
	case l.chassis && l.number <= n.cfg.done:
		return l.number, l.timestamp
	default:
		return n.cfg.done, 0
	}
}

func (n *Northd) lowestOfChassis() lowest {
	remote := map[string]bool{}
	for _, c := range n.sb.chassis.All() {
		if optBool(c.OtherConfig, "is-remote", false) {
			remote[c.Name] = true
		}
	}
	l := lowest{known: true}
	for _, p := range n.cfg.chassis {
		switch {
		case remote[p.Name]:
		case !l.chassis || p.NbCfg < l.number:
			l.chassis, l.number, l.timestamp = true, p.NbCfg, p.NbCfgTimestamp
		case p.NbCfg == l.number:
			l.timestamp = max(l.timestamp, p.NbCfgTimestamp)
		}
	}
	return l
}

// WriteCfg appends to a northbound transaction how far the configuration has
// come.
func (n *Northd) WriteCfg(txn *ovsdb.Txn) {
	c := &n.cfg
	g := c.global
	if g == nil || c.done == unknownCfg {
		return
	}
	type change struct {
		column string
		value  int
	}
	var changes []change
	set := func(column string, have, want int) {
		if have != want {
			changes = append(changes, change{column, want})
		}
	}
	if g.SbCfg != c.done {
		set("nb_cfg_timestamp", g.NbCfgTimestamp, int(c.received.UnixMilli()))
		set("sb_cfg", g.SbCfg, c.done)
		set("sb_cfg_timestamp", g.SbCfgTimestamp, int(time.Now().UnixMilli()))
	}
	if hv, at := n.hvCfg(); hv != g.HvCfg {
		set("hv_cfg", g.HvCfg, hv)
		set("hv_cfg_timestamp", g.HvCfgTimestamp, at)
	}
	if len(changes) == 0 {
		return
	}
	cols := txn.Update("NB_Global", g.UUID)
	for _, ch := range changes {
		cols.Int(ch.column, ch.value)
	}
}
