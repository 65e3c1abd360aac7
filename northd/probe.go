package northd

import (
	"strconv"
	"time"

	"go.uber.org/zap"
)

// Bounds of the inactivity probe of both databases, ovn-nb(5), northd_probe_interval.
const (
	DefaultProbe = 5 * time.Second
	minProbe     = time.Second
)

// prober is a connection whose inactivity probe can be changed.
type prober interface{ SetProbe(time.Duration) }

// probeInterval reads options:northd_probe_interval, in milliseconds.
func probeInterval(value string) time.Duration {
	ms, err := strconv.Atoi(value)
	switch {
	case err != nil || ms < 0:
		return DefaultProbe
	case ms == 0:
		return 0
	}
	return max(time.Duration(ms)*time.Millisecond, minProbe)
}

// setProbe applies the interval that NB_Global says, where it is another.
func (d *Daemon) setProbe() {
	value := ""
	if g := d.n.cfg.global; g != nil {
		value = g.Options["northd_probe_interval"]
	}
	if value == d.probe {
		return
	}
	d.probe = value
	interval := probeInterval(value)
	if interval == 0 {
		d.log.Warn("northd_probe_interval is 0: a database that stops answering without closing the connection will not be noticed, nor another one tried")
	} else {
		d.log.Info("inactivity probe of the databases", zap.Duration("interval", interval))
	}
	for _, c := range []Transactor{d.nb, d.sb} {
		if p, ok := c.(prober); ok {
			p.SetProbe(interval)
		}
	}
}
