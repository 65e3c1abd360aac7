package northd_test

import (
	"fmt"
	"testing"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb/memdb"
)

// column is the value of a column in the row with a name, "" for an empty one.
func column(t *testing.T, db *memdb.DB, table, name, column string) string {
	t.Helper()
	for _, r := range db.Snapshot()[table] {
		if r.UUID != name && r.Columns["name"] != name && r.Columns["logical_port"] != name {
			continue
		}
		v := r.Columns[column]
		if set, ok := v.(libovsdb.OvsSet); ok {
			if len(set.GoSet) == 0 {
				return ""
			}
			v = set.GoSet[0]
		}
		if id, ok := v.(libovsdb.UUID); ok {
			return id.GoUUID
		}
		return fmt.Sprint(v)
	}
	t.Fatalf("no row %s in %s", name, table)
	return ""
}

// TestActiveNetworkFunction: the active function of a group is a healthy one; it
// stays while it is healthy, even if another would have been chosen.
func TestActiveNetworkFunction(t *testing.T) {
	b := newBench(t, "ls-add sw0", "lsp-add sw0 i0", "lsp-add sw0 o0", "lsp-add sw0 i1", "lsp-add sw0 o1",
		"nf-add f0 1 i0 o0", "nf-add f1 2 i1 o1", "nfg-add g 1 inline f0 f1", "sb: chassis-add hv1 geneve 127.0.0.1",
		"sb: lsp-bind i0 hv1", "sb: lsp-bind o0 hv1", "sb: lsp-bind i1 hv1", "sb: lsp-bind o1 hv1")
	ids := map[string]string{"": ""}
	for _, f := range []string{"f0", "f1"} {
		ids[f] = find(t, b.m.NB, "Network_Function", "name", f)
	}
	least, other := "f0", "f1"
	if ids["f1"] < ids["f0"] {
		least, other = other, least
	}
	monitor := func(f string) string { return "o" + f[1:] }
	for _, c := range []struct {
		name string
		line string
		want string // the active function
	}{
		{"without health checks any will do", "sync", least},
		{"no source of probes", "--id=@h create network_function_health_check name=h -- set network_function f0 health_check=@h -- set network_function f1 health_check=@h", ""},
		{"not probed yet", "set nb_global . options:svc_monitor_ip=10.0.0.1 options:svc_monitor_ip_dst=10.0.0.2", ""},
		{"one is online", "sb: set service_monitor " + monitor(other) + " status=online", other},
		{"both are", "sb: set service_monitor " + monitor(least) + " status=online", other},
		{"it is offline", "sb: set service_monitor " + monitor(other) + " status=offline", least},
		{"it is back", "sb: set service_monitor " + monitor(other) + " status=online", least},
		{"a port is down", "sb: set port_binding i" + least[1:] + " up=false", other},
		{"a port is not bound", "sb: lsp-unbind " + monitor(other), ""},
		{"it is removed from the group", "nfg-del-nf g " + least, ""},
		{"it has no health check", "clear network_function " + other + " health_check", other},
	} {
		b.run(c.line)
		if got := column(t, b.m.NB, "Network_Function_Group", "g", "network_function_active"); got != ids[c.want] {
			t.Errorf("%s: %s is active, want %q: %v", c.name, got, c.want, ids)
		}
	}
	if got := column(t, b.m.SB, "Service_Monitor", monitor(least), "status"); got != "offline" {
		t.Errorf("the monitor of a port that is down is %s, want offline", got)
	}
}

// TestPortCheckStatus: the northbound database is told the state of a port's
// health check, and keeps what it was told last.
func TestPortCheckStatus(t *testing.T) {
	b := newBench(t, "ls-add sw0", "lsp-add sw0 p -- lsp-set-addresses p '50:54:00:00:00:01 10.0.0.1'", "sb: chassis-add hv1 geneve 127.0.0.1",
		`--id=@h create logical_switch_port_health_check protocol=tcp port=80 src_ip='"10.0.0.2"' address='"10.0.0.1"' -- add logical_switch_port p health_checks @h`)
	check := find(t, b.m.NB, "Logical_Switch_Port_Health_Check", "protocol", "tcp")
	for _, c := range []struct{ line, want string }{
		{"sync", ""},
		{"sb: lsp-bind p hv1", ""},
		{"sb: set service_monitor p status=online", "online"},
		{"sb: lsp-unbind p", "offline"},
		{"sb: set service_monitor p status=error", "error"},
		{"sb: clear service_monitor p status", "error"},
		{"lsp-set-enabled p disabled", "error"},
	} {
		b.run(c.line)
		if got := column(t, b.m.NB, "Logical_Switch_Port_Health_Check", check, "status"); got != c.want {
			t.Errorf("after %s: status is %q, want %q", c.line, got, c.want)
		}
	}
	if left := b.m.SB.Snapshot()["Service_Monitor"]; len(left) != 0 {
		t.Errorf("a port that is disabled is checked: %v", left)
	}
}
