package northd

import (
	libovsdb "github.com/ovn-org/libovsdb/ovsdb"

	"northwall/flows"
	"northwall/ovsdb"
	"northwall/schema"
	"northwall/schema/nb"
	"northwall/schema/sb"
)

// nbTable and sbTable declare the tables of the two databases; columns left out
// are all columns of the model.
func nbTable[T any](name string, columns ...string) *ovsdb.Table {
	return ovsdb.TableOf[T](schema.Northbound(), name, columns...)
}

func sbTable[T any](name string, columns ...string) *ovsdb.Table {
	return ovsdb.TableOf[T](schema.Southbound(), name, columns...)
}

// NorthboundTables declares the northbound tables that a northd reads.
func NorthboundTables() []*ovsdb.Table {
	return []*ovsdb.Table{
		nbTable[nb.NBGlobal]("NB_Global"),
		nbTable[nb.LogicalSwitch]("Logical_Switch"),
		nbTable[nb.LogicalSwitchPort]("Logical_Switch_Port"),
		nbTable[nb.LogicalSwitchPortHealthCheck]("Logical_Switch_Port_Health_Check"),
		nbTable[nb.ACL]("ACL"),
		nbTable[nb.PortGroup]("Port_Group"),
		nbTable[nb.AddressSet]("Address_Set"),
		nbTable[nb.QoS]("QoS"),
		nbTable[nb.NetworkFunctionGroup]("Network_Function_Group"),
		nbTable[nb.NetworkFunction]("Network_Function"),
		nbTable[nb.NetworkFunctionHealthCheck]("Network_Function_Health_Check"),
		nbTable[nb.HAChassisGroup]("HA_Chassis_Group"),
		nbTable[nb.HAChassis]("HA_Chassis"),
		nbTable[nb.LoadBalancer]("Load_Balancer"),
		nbTable[nb.LoadBalancerGroup]("Load_Balancer_Group"),
		nbTable[nb.LoadBalancerHealthCheck]("Load_Balancer_Health_Check"),
		nbTable[nb.ChassisTemplateVar]("Chassis_Template_Var"),
		nbTable[nb.Sample]("Sample"),
		nbTable[nb.SampleCollector]("Sample_Collector"),
		nbTable[nb.SamplingApp]("Sampling_App"),
		nbTable[nb.Meter]("Meter"),
		nbTable[nb.MeterBand]("Meter_Band"),
		nbTable[nb.Copp]("Copp"),
		nbTable[nb.DNS]("DNS"),
		nbTable[nb.Mirror]("Mirror"),
		nbTable[nb.MirrorRule]("Mirror_Rule"),
		nbTable[nb.DHCPOptions]("DHCP_Options"),
		nbTable[nb.ForwardingGroup]("Forwarding_Group"),
		nbTable[nb.LogicalRouter]("Logical_Router", "name"),
	}
}

// SouthboundTables declares the southbound tables that a northd reads, its own
// output included: what others change there is put right.
func SouthboundTables() []*ovsdb.Table {
	return []*ovsdb.Table{
		sbTable[sb.SBGlobal]("SB_Global"),
		sbTable[sb.DatapathBinding]("Datapath_Binding"),
		sbTable[sb.PortBinding]("Port_Binding"),
		logicalFlows(),
		sbTable[sb.LogicalDPGroup]("Logical_DP_Group"),
		sbTable[sb.MulticastGroup]("Multicast_Group"),
		sbTable[sb.IPMulticast]("IP_Multicast"),
		sbTable[sb.AddressSet]("Address_Set"),
		sbTable[sb.PortGroup]("Port_Group"),
		sbTable[sb.Meter]("Meter"),
		sbTable[sb.MeterBand]("Meter_Band"),
		sbTable[sb.ACLID]("ACL_ID"),
		sbTable[sb.HAChassisGroup]("HA_Chassis_Group", "name", "ha_chassis", "external_ids"),
		sbTable[sb.HAChassis]("HA_Chassis"),
		sbTable[sb.DNS]("DNS"),
		sbTable[sb.Mirror]("Mirror"),
		sbTable[sb.DHCPOptions]("DHCP_Options"),
		sbTable[sb.DHCPv6Options]("DHCPv6_Options"),
		sbTable[sb.LoadBalancer]("Load_Balancer"),
		sbTable[sb.ServiceMonitor]("Service_Monitor"),
		sbTable[sb.ChassisTemplateVar]("Chassis_Template_Var"),
		sbTable[sb.AdvertisedMACBinding]("Advertised_MAC_Binding"),
		sbTable[sb.RBACRole]("RBAC_Role"),
		sbTable[sb.RBACPermission]("RBAC_Permission"),
		sbTable[sb.Chassis]("Chassis", "name", "hostname", "encaps", "other_config"),
		sbTable[sb.ChassisPrivate]("Chassis_Private", "name", "nb_cfg", "nb_cfg_timestamp"),
		sbTable[sb.Encap]("Encap", "type"),
		sbTable[sb.IGMPGroup]("IGMP_Group", "address", "datapath", "chassis", "ports"),
		sbTable[sb.FDB]("FDB", "dp_key", "port_key", "timestamp"),
	}
}

// logicalFlows declares the table of the flows, most of the contents. They are only
// compared with what is derived: so all else is derived while the server makes them up.
// The parts are of about the same size where ports make the most flows, and where ACLs
// do it, the first is the larger one. Without datapaths there are no flows.
func logicalFlows() *ovsdb.Table {
	before := func(s flows.Stage) libovsdb.Condition {
		return libovsdb.NewCondition("table_id", libovsdb.ConditionLessThan, s.Table())
	}
	return sbTable[LogicalFlow]("Logical_Flow").ReadLast(before(flows.SwitchInARPRsp), before(flows.SwitchInL2Lkup)).HoldWithout("Datapath_Binding")
}

// LogicalFlow is a row of the southbound table of that name, in the compact form
// that hundreds of thousands of them call for.
type LogicalFlow struct {
	UUID            string    `ovsdb:"_uuid"`
	Actions         string    `ovsdb:"actions"`
	ControllerMeter *string   `ovsdb:"controller_meter"`
	ExternalIDs     ovsdb.Map `ovsdb:"external_ids"`
	FlowDesc        *string   `ovsdb:"flow_desc"`
	LogicalDatapath *string   `ovsdb:"logical_datapath"`
	LogicalDPGroup  *string   `ovsdb:"logical_dp_group"`
	Match           string    `ovsdb:"match"`
	Pipeline        string    `ovsdb:"pipeline"`
	Priority        int       `ovsdb:"priority"`
	TableID         int       `ovsdb:"table_id"`
	Tags            ovsdb.Map `ovsdb:"tags"`
}

// ID implements flows.Row.
func (r *LogicalFlow) ID() string { return r.UUID }

// Known implements flows.Row.
func (r *LogicalFlow) Known() flows.Known {
	k := flows.Known{UUID: r.UUID, Placement: flows.Placement{Datapath: deref(r.LogicalDatapath), Group: deref(r.LogicalDPGroup)}}
	k.Attrs.Desc = deref(r.FlowDesc)
	k.Attrs.Hint, _ = r.ExternalIDs.Get("stage-hint")
	k.Attrs.Port, _ = r.Tags.Get("in_out_port")
	name, _ := r.ExternalIDs.Get("stage-name")
	pipeline := flows.Ingress
	if r.Pipeline == "egress" {
		pipeline = flows.Egress
	}
	stage, ok := flows.SwitchStage(pipeline, r.TableID)
	tags := 0
	if k.Attrs.Port != "" {
		tags++
	}
	if v, _ := r.Tags.Get("acl_ct_translation"); v == "true" {
		k.Attrs.CT = true
		tags++
	}
	k.Clean = ok && stage.Name() == name && len(r.Tags) == tags
	return k
}
