package sbdump

import (
	"fmt"
	"regexp"
	"strings"

	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/ovsdb"
)

var (
	persistID = regexp.MustCompile(`reg2\[16\.\.31\] = (\d+);`)
	setQueue  = regexp.MustCompile(`set_queue\((\d+)\);`)
)

const queueID = "qdisc_queue_id" // of Port_Binding.options

// ForgetKeys replaces keys that a northd has allocated in sb by what does not depend
// on the order of allocations: each is then equal where it is the key of the same
// thing. Keys that a northbound row asks for stay.
func ForgetKeys(sb, nb Contents) {
	asked := map[string]string{} // by the name of a switch or port
	for table, column := range map[string]string{"Logical_Switch": "other_config", "Logical_Switch_Port": "options"} {
		for _, r := range nb[table] {
			if key := mapValue(r, column, "requested-tnl-key"); key != "" {
				asked[table+" "+text(r, "name")] = key
			}
		}
	}
	forget := func(r *ovsdb.Row, asker string) {
		if fmt.Sprint(r.Columns["tunnel_key"]) != asked[asker] {
			r.Columns["tunnel_key"] = 0
		}
	}
	names := map[string]string{} // of datapaths, by key
	for _, r := range sb["Datapath_Binding"] {
		name := mapValue(r, "external_ids", "name")
		names[fmt.Sprint(r.Columns["tunnel_key"])] = name
		forget(r, "Logical_Switch "+name)
	}
	for _, g := range sb["Port_Group"] {
		// Groups are named after the datapath's key.
		if key, name, ok := strings.Cut(text(g, "name"), "_"); ok && names[key] != "" {
			g.Columns["name"] = names[key] + "/" + name
		}
	}
	queues := map[string]string{} // ports, by the number of their queue
	for _, r := range sb["Port_Binding"] {
		forget(r, "Logical_Switch_Port "+text(r, "logical_port"))
		if queue := mapValue(r, "options", queueID); queue != "" {
			r.Columns["options"].(libovsdb.OvsMap).GoMap[queueID] = "N"
			queues[queue] = text(r, "logical_port")
		}
	}
	ids := map[string]string{}
	for _, r := range sb["ACL_ID"] {
		ids[fmt.Sprint(r.Columns["id"])] = r.UUID
		r.Columns["id"] = 0
	}
	for _, r := range sb["Logical_Flow"] {
		actions := text(r, "actions")
		if len(ids) > 0 {
			actions = persistID.ReplaceAllStringFunc(actions, func(set string) string {
				return "reg2[16..31] = ACL_ID:" + ids[persistID.FindStringSubmatch(set)[1]] + ";"
			})
		}
		actions = setQueue.ReplaceAllStringFunc(actions, func(set string) string {
			if port, ok := queues[setQueue.FindStringSubmatch(set)[1]]; ok {
				return "set_queue(" + port + ");"
			}
			return set
		})
		r.Columns["actions"] = actions
	}
}

func text(r *ovsdb.Row, column string) string {
	s, _ := r.Columns[column].(string)
	return s
}

func mapValue(r *ovsdb.Row, column, key string) string {
	m, _ := r.Columns[column].(libovsdb.OvsMap)
	s, _ := m.GoMap[key].(string)
	return s
}
