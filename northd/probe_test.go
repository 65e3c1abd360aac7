package northd

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
	"northwall/schema"
)

// probed is a connection in memory that notes its inactivity probe.
type probed struct {
	*memdb.Conn
	set chan time.Duration
}

func (p probed) SetProbe(d time.Duration) { p.set <- d }

// TestProbeInterval: both connections follow northd_probe_interval, and 0 is warned
// about.
func TestProbeInterval(t *testing.T) {
	nb, sb := memdb.New(schema.Northbound()), memdb.New(schema.Southbound())
	core, logs := observer.New(zap.InfoLevel)
	set := make(chan time.Duration, 2)
	d := NewDaemon(probed{nb.Connect(NorthboundTables()...), set}, probed{sb.Connect(SouthboundTables()...), set}, zap.New(core), DaemonOptions{})
	runDaemon(t, d)
	id := ovsdb.NewUUID()
	for i, tt := range []struct {
		value string
		want  time.Duration
	}{{"20000", 20 * time.Second}, {"100", time.Second}, {"0", 0}, {"junk", DefaultProbe}} {
		txn := ovsdb.NewTxn()
		options := ovsdb.NewMap("northd_probe_interval", tt.value)
		if i == 0 {
			txn.Insert("NB_Global", id).Map("options", options)
		} else {
			txn.Update("NB_Global", id).Map("options", options)
		}
		if _, err := nb.Transact(txn); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := <-set; got != tt.want {
				t.Errorf("%s: got %v, want %v", tt.value, got, tt.want)
			}
		}
	}
	if n := logs.FilterLevelExact(zapcore.WarnLevel).FilterMessageSnippet("northd_probe_interval is 0").Len(); n != 1 {
		t.Errorf("warned %d times, want once", n)
	}
}
