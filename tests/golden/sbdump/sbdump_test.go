package sbdump_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
	"northwall/ovsdb/memdb"
	"northwall/schema"
	"northwall/tests/golden/sbdump"
)

func row(uuid string, columns map[string]any) *ovsdb.Row {
	return &ovsdb.Row{UUID: uuid, Columns: columns}
}

func ref(uuid string) libovsdb.UUID { return libovsdb.UUID{GoUUID: uuid} }

func set(elems ...any) libovsdb.OvsSet { return libovsdb.OvsSet{GoSet: elems} }

func stringMap(kv ...any) libovsdb.OvsMap {
	m := libovsdb.OvsMap{GoMap: map[any]any{}}
	for i := 0; i < len(kv); i += 2 {
		m.GoMap[kv[i]] = kv[i+1]
	}
	return m
}

const (
	dp0   = "00000000-0000-4000-8000-000000000001"
	dp1   = "00000000-0000-4000-8000-000000000002"
	both  = "00000000-0000-4000-8000-000000000003"
	one   = "00000000-0000-4000-8000-000000000004"
	other = "00000000-0000-4000-8000-000000000005"
	nbSw  = "00000000-0000-4000-8000-000000000006"
)

func TestLines(t *testing.T) {
	datapaths := []*ovsdb.Row{
		row(dp0, map[string]any{"external_ids": stringMap("name", "sw0"), "tunnel_key": 1, "nb_uuid": ref(nbSw)}),
		row(dp1, map[string]any{"external_ids": stringMap("name", "sw1", "logical-switch", nbSw), "tunnel_key": 16711680}),
	}
	tests := []struct {
		name   string
		sb, nb sbdump.Contents
		want   []string
	}{
		{"references by name, free keys left out, large numbers",
			sbdump.Contents{"Datapath_Binding": datapaths},
			sbdump.Contents{"Logical_Switch": {row(nbSw, map[string]any{"name": "north"})}},
			[]string{
				`Datapath_Binding external_ids={name="sw0"} nb_uuid=nb:north tunnel_key=1`,
				`Datapath_Binding external_ids={name="sw1"} tunnel_key=1.671168e+07`,
			}},
		{"flows on one datapath, on a group, and on a group of one",
			sbdump.Contents{
				"Datapath_Binding": datapaths,
				"Logical_DP_Group": {row(both, map[string]any{"datapaths": set(ref(dp1), ref(dp0))}), row(one, map[string]any{"datapaths": ref(dp0)})},
				"Logical_Flow": {
					row(other, map[string]any{"pipeline": "ingress", "table_id": 3, "priority": 100, "match": "ip4", "actions": "next;",
						"logical_datapath": ref(dp0), "external_ids": stringMap("stage-name", "s", "stage-hint", "x", "source", "y"), "tags": stringMap(), "controller_meter": "m"}),
					row(other, map[string]any{"pipeline": "egress", "table_id": 0.0, "priority": 0.0, "match": "1", "actions": "x;", "logical_dp_group": ref(both), "logical_datapath": set()}),
					row(other, map[string]any{"pipeline": "egress", "table_id": 0, "priority": 1, "match": "1", "actions": "sample(b);sample(a);next;", "logical_dp_group": ref(one), "tags": stringMap("k", "v")}),
				}},
			nil,
			[]string{
				`Datapath_Binding external_ids={name="sw0"} nb_uuid=<uuid> tunnel_key=1`,
				`Datapath_Binding external_ids={name="sw1"} tunnel_key=1.671168e+07`,
				`Logical_Flow egress table=00 priority=00000 match=(1) actions=(x;) dps=[sw0 sw1]`,
				`Logical_Flow egress table=00 priority=00001 match=(1) actions=(sample(a);sample(b);next;) dps=[sw0] tags={k="v"}`,
				`Logical_Flow ingress table=03 priority=00100 match=(ip4) actions=(next;) dps=sw0 controller_meter="m" external_ids={stage-name="s"}`,
			}},
		{"what others write is left out, and so is what is empty",
			sbdump.Contents{
				"Chassis":      {row(other, map[string]any{"name": "hv1"})},
				"Port_Binding": {row(one, map[string]any{"logical_port": "p1", "chassis": ref(other), "up": false, "mac": set("b", "a"), "type": "", "options": stringMap(), "tag": set()})},
				"SB_Global":    {row(both, map[string]any{"nb_cfg": 7, "ipsec": false})},
			},
			nil,
			[]string{
				`Port_Binding logical_port="p1" mac=["a" "b"] up=false`,
				`SB_Global ipsec=false`,
			}},
		{"northbound columns that a northd writes; UUIDs inside strings",
			sbdump.Contents{"Port_Group": {row(other, map[string]any{"name": "see " + nbSw + " and " + dp0})}},
			sbdump.Contents{
				"Logical_Switch_Port": {row(nbSw, map[string]any{"name": "p1", "up": true, "tag": 5, "addresses": "x"}), row(one, map[string]any{"name": "p2", "up": set()})},
				"NB_Global":           {row(both, map[string]any{"options": stringMap("a", "b", "northd_internal_version", "x"), "nb_cfg": 4})},
			},
			[]string{
				`NB Logical_Switch_Port p1 up=true tag=5`,
				`NB Logical_Switch_Port p2`,
				`NB NB_Global NB_Global options={a="b"}`,
				`Port_Group name="see <nb:p1> and <uuid>"`,
			}},
		{"rows without a name go by their key columns",
			sbdump.Contents{
				"HA_Chassis_Group": {row(one, map[string]any{"name": "g", "ha_chassis": ref(other)})},
				"HA_Chassis":       {row(other, map[string]any{"priority": 3, "chassis": set(), "external_ids": stringMap()})},
				"Meter":            {row(dp0, map[string]any{"name": "acl", "bands": ref(nbSw)})},
				"ACL_ID":           {row(nbSw, map[string]any{"id": 1})},
			},
			sbdump.Contents{"ACL": {row(nbSw, map[string]any{"direction": "to-lport", "priority": 9, "match": "ip4"})}},
			[]string{
				`ACL_ID id=1`,
				`HA_Chassis priority=3`,
				`HA_Chassis_Group ha_chassis=HA_Chassis(priority=3) name="g"`,
				`Meter bands=ACL_ID(id=1) name="acl"`,
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sbdump.Lines(tt.sb, tt.nb)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRead checks that what is read through a connection is what is there.
func TestRead(t *testing.T) {
	db := memdb.New(schema.Northbound())
	txn := ovsdb.NewTxn()
	c := txn.Insert("Logical_Switch", dp0)
	c.String("name", "sw0")
	c.UUIDs("ports", []string{dp1})
	txn.Insert("Logical_Switch_Port", dp1).String("name", "p1")
	if _, err := db.Transact(txn); err != nil {
		t.Fatal(err)
	}
	got, err := sbdump.Read(db.Connect(), db.Schema())
	if err != nil {
		t.Fatal(err)
	}
	want := sbdump.Contents(db.Snapshot())
	for table, rows := range want {
		if len(rows) == 0 {
			delete(want, table)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
