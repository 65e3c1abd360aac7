package northd_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// learn has a chassis write that it has seen an address behind a port at a time.
func (b *bench) learn(mac string, dp, port int, at time.Time) {
	b.Helper()
	b.others(fmt.Sprintf(`{"op":"insert","table":"FDB","row":{"mac":%q,"dp_key":%d,"port_key":%d,"timestamp":%d}}`, mac, dp, port, at.UnixMilli()))
}

// learned are the addresses that FDB has.
func (b *bench) learned() []string {
	var macs []string
	for _, r := range b.m.SB.Snapshot()["FDB"] {
		macs = append(macs, r.Columns["mac"].(string))
	}
	slices.Sort(macs)
	return macs
}

func (b *bench) wantLearned(what string, want ...string) {
	b.Helper()
	if got := b.learned(); !slices.Equal(got, want) {
		b.Errorf("%s: FDB has %q, want %q", what, got, want)
	}
}

// TestForwarding: entries go with their port, its key and its switch, in the same
// transaction.
func TestForwarding(t *testing.T) {
	b := newBench(t, "ls-add sw0 -- lsp-add sw0 p1", "lsp-add sw0 p2", "lsp-add sw0 p3", "ls-add sw1 -- lsp-add sw1 q1")
	now := time.Now()
	b.learn("01", 1, 1, now)
	b.learn("02", 1, 2, now)
	b.learn("03", 1, 3, now)
	b.learn("11", 2, 1, now)
	b.settle()
	b.wantLearned("all ports are there", "01", "02", "03", "11")

	b.learn("04", 1, 4, now)
	b.learn("91", 9, 1, now)
	b.settle()
	b.wantLearned("a port and a switch that are not", "01", "02", "03", "11")

	if err := b.m.Northbound(t.Context(), []string{"set", "logical_switch_port", "p2", "options:requested-tnl-key=7"}); err != nil {
		t.Fatal(err)
	}
	b.wantLearned("another key", "01", "03", "11")
	b.run("lsp-del p1")
	b.wantLearned("a port is deleted", "03", "11")
	b.run("set logical_switch sw1 other_config:requested-tnl-key=5")
	b.wantLearned("another key of a switch", "03")
	b.run("ls-del sw0")
	b.wantLearned("a switch is deleted")
}

// TestForwardingAges: entries go that are older than their switch says, as many at a
// time as are allowed.
func TestForwardingAges(t *testing.T) {
	b := newBench(t, "ls-add sw0 -- lsp-add sw0 p1", "ls-add sw1 -- lsp-add sw1 q1")
	n := b.m.Northd.Northd
	now := time.Now()
	for i := range 5 {
		b.learn(fmt.Sprint("0", i), 1, 1, now.Add(time.Duration(i)*time.Minute))
	}
	b.learn("10", 2, 1, now)
	b.settle()
	if next := n.AgeFDB(now.Add(time.Hour)); !next.IsZero() {
		t.Errorf("no switch has an age, but entries are to be looked at again at %v", next)
	}
	b.run("set logical_switch sw0 other_config:fdb_age_threshold=60")
	next := n.AgeFDB(now)
	if want := time.UnixMilli(now.UnixMilli()).Add(time.Minute); !next.Equal(want) {
		t.Errorf("the first is too old at %v, want %v", next, want)
	}
	next = n.AgeFDB(next)
	b.settle()
	b.wantLearned("after a minute", "01", "02", "03", "04", "10")
	if want := time.UnixMilli(now.UnixMilli()).Add(2 * time.Minute); !next.Equal(want) {
		t.Errorf("the second is too old at %v, want %v", next, want)
	}
	// One that a chassis has seen again stays.
	b.others(fmt.Sprintf(`{"op":"update","table":"FDB","where":[["mac","==","01"]],"row":{"timestamp":%d}}`, now.Add(time.Hour).UnixMilli()))
	b.run("set nb_global . options:fdb_removal_limit=2")
	late := now.Add(30 * time.Minute)
	next = n.AgeFDB(late)
	b.settle()
	b.wantLearned("two at a time", "01", b.learned()[1], "10")
	if want := late.Add(5 * time.Second); !next.Equal(want) {
		t.Errorf("the rest goes at %v, want %v", next, want)
	}
	n.AgeFDB(next)
	b.settle()
	b.wantLearned("the rest", "01", "10")

	b.run("set logical_switch sw0 other_config:fdb_age_threshold=long")
	if next := n.AgeFDB(now.Add(24 * time.Hour)); !next.IsZero() {
		t.Errorf("an age that is no number: again at %v", next)
	}
	if b.logged("logical switch sw0 ("+find(t, b.m.NB, "Logical_Switch", "name", "sw0")+")", "other_config:fdb_age_threshold long is no number") != 1 {
		t.Error("an age that is no number is not reported")
	}
}
