package flows

// Pipeline is the half of a datapath's processing that a stage belongs to.
type Pipeline uint8

const (
	Ingress Pipeline = iota
	Egress
)

func (p Pipeline) String() string {
	if p == Egress {
		return "egress"
	}
	return "ingress"
}

// Stage is one table of the logical pipelines, with the name and number that
// ovn-northd(8) of OVN 26.03 gives it.
type Stage uint8

const (
	// The ingress pipeline of a logical switch.
	SwitchInCheckPortSec Stage = iota
	SwitchInApplyPortSec
	SwitchInMirror
	SwitchInLookupFDB
	SwitchInPutFDB
	SwitchInPreACL
	SwitchInPreLB
	SwitchInPreStateful
	SwitchInACLHint
	SwitchInACLEval
	SwitchInACLSample
	SwitchInACLAction
	SwitchInQoS
	SwitchInCTExtract
	SwitchInLBAffCheck
	SwitchInLB
	SwitchInLBAffLearn
	SwitchInPreHairpin
	SwitchInNATHairpin
	SwitchInHairpin
	SwitchInACLAfterLBEval
	SwitchInACLAfterLBSample
	SwitchInACLAfterLBAction
	SwitchInPreNetworkFunction
	SwitchInStateful
	SwitchInNetworkFunction
	SwitchInARPRsp
	SwitchInDHCPOptions
	SwitchInDHCPResponse
	SwitchInDNSLookup
	SwitchInDNSResponse
	SwitchInExternalPort
	SwitchInL2Lkup
	SwitchInL2Unknown

	// The egress pipeline of a logical switch.
	SwitchOutLookupFDB
	SwitchOutPutFDB
	SwitchOutPreACL
	SwitchOutPreLB
	SwitchOutPreStateful
	SwitchOutACLHint
	SwitchOutACLEval
	SwitchOutACLSample
	SwitchOutACLAction
	SwitchOutMirror
	SwitchOutQoS
	SwitchOutPreNetworkFunction
	SwitchOutStateful
	SwitchOutNetworkFunction
	SwitchOutCheckPortSec
	SwitchOutApplyPortSec

	// The ingress pipeline of a logical router.
	RouterInAdmission
	RouterInLookupNeighbor
	RouterInLearnNeighbor
	RouterInIPInput
	RouterInDHCPRelayReq
	RouterInUnSNAT
	RouterInPostUnSNAT
	RouterInDefrag
	RouterInCTExtract
	RouterInLBAffCheck
	RouterInDNAT
	RouterInLBAffLearn
	RouterInECMPStateful
	RouterInNDRAOptions
	RouterInNDRAResponse
	RouterInIPRoutingPre
	RouterInIPRouting
	RouterInIPRoutingECMP
	RouterInPolicy
	RouterInPolicyECMP
	RouterInDHCPRelayRespChk
	RouterInDHCPRelayResp
	RouterInARPResolve
	RouterInChkPktLen
	RouterInLargerPkts
	RouterInGwRedirect
	RouterInNetworkID
	RouterInARPRequest
	RouterInECMPStatefulEgr

	// The egress pipeline of a logical router.
	RouterOutChkDNATLocal
	RouterOutUnDNAT
	RouterOutPostUnDNAT
	RouterOutSNAT
	RouterOutPostSNAT
	RouterOutEgrLoop
	RouterOutDelivery

	numStages
)

const firstRouterStage = RouterInAdmission

// stages describes each Stage; tables are numbered from 0 in each pipeline.
var stages = [numStages]struct {
	name     string
	pipeline Pipeline
	table    int
}{
	SwitchInCheckPortSec:        {"ls_in_check_port_sec", Ingress, 0},
	SwitchInApplyPortSec:        {"ls_in_apply_port_sec", Ingress, 1},
	SwitchInMirror:              {"ls_in_mirror", Ingress, 2},
	SwitchInLookupFDB:           {"ls_in_lookup_fdb", Ingress, 3},
	SwitchInPutFDB:              {"ls_in_put_fdb", Ingress, 4},
	SwitchInPreACL:              {"ls_in_pre_acl", Ingress, 5},
	SwitchInPreLB:               {"ls_in_pre_lb", Ingress, 6},
	SwitchInPreStateful:         {"ls_in_pre_stateful", Ingress, 7},
	SwitchInACLHint:             {"ls_in_acl_hint", Ingress, 8},
	SwitchInACLEval:             {"ls_in_acl_eval", Ingress, 9},
	SwitchInACLSample:           {"ls_in_acl_sample", Ingress, 10},
	SwitchInACLAction:           {"ls_in_acl_action", Ingress, 11},
	SwitchInQoS:                 {"ls_in_qos", Ingress, 12},
	SwitchInCTExtract:           {"ls_in_ct_extract", Ingress, 13},
	SwitchInLBAffCheck:          {"ls_in_lb_aff_check", Ingress, 14},
	SwitchInLB:                  {"ls_in_lb", Ingress, 15},
	SwitchInLBAffLearn:          {"ls_in_lb_aff_learn", Ingress, 16},
	SwitchInPreHairpin:          {"ls_in_pre_hairpin", Ingress, 17},
	SwitchInNATHairpin:          {"ls_in_nat_hairpin", Ingress, 18},
	SwitchInHairpin:             {"ls_in_hairpin", Ingress, 19},
	SwitchInACLAfterLBEval:      {"ls_in_acl_after_lb_eval", Ingress, 20},
	SwitchInACLAfterLBSample:    {"ls_in_acl_after_lb_sample", Ingress, 21},
	SwitchInACLAfterLBAction:    {"ls_in_acl_after_lb_action", Ingress, 22},
	SwitchInPreNetworkFunction:  {"ls_in_pre_network_function", Ingress, 23},
	SwitchInStateful:            {"ls_in_stateful", Ingress, 24},
	SwitchInNetworkFunction:     {"ls_in_network_function", Ingress, 25},
	SwitchInARPRsp:              {"ls_in_arp_rsp", Ingress, 26},
	SwitchInDHCPOptions:         {"ls_in_dhcp_options", Ingress, 27},
	SwitchInDHCPResponse:        {"ls_in_dhcp_response", Ingress, 28},
	SwitchInDNSLookup:           {"ls_in_dns_lookup", Ingress, 29},
	SwitchInDNSResponse:         {"ls_in_dns_response", Ingress, 30},
	SwitchInExternalPort:        {"ls_in_external_port", Ingress, 31},
	SwitchInL2Lkup:              {"ls_in_l2_lkup", Ingress, 32},
	SwitchInL2Unknown:           {"ls_in_l2_unknown", Ingress, 33},
	SwitchOutLookupFDB:          {"ls_out_lookup_fdb", Egress, 0},
	SwitchOutPutFDB:             {"ls_out_put_fdb", Egress, 1},
	SwitchOutPreACL:             {"ls_out_pre_acl", Egress, 2},
	SwitchOutPreLB:              {"ls_out_pre_lb", Egress, 3},
	SwitchOutPreStateful:        {"ls_out_pre_stateful", Egress, 4},
	SwitchOutACLHint:            {"ls_out_acl_hint", Egress, 5},
	SwitchOutACLEval:            {"ls_out_acl_eval", Egress, 6},
	SwitchOutACLSample:          {"ls_out_acl_sample", Egress, 7},
	SwitchOutACLAction:          {"ls_out_acl_action", Egress, 8},
	SwitchOutMirror:             {"ls_out_mirror", Egress, 9},
	SwitchOutQoS:                {"ls_out_qos", Egress, 10},
	SwitchOutPreNetworkFunction: {"ls_out_pre_network_function", Egress, 11},
	SwitchOutStateful:           {"ls_out_stateful", Egress, 12},
	SwitchOutNetworkFunction:    {"ls_out_network_function", Egress, 13},
	SwitchOutCheckPortSec:       {"ls_out_check_port_sec", Egress, 14},
	SwitchOutApplyPortSec:       {"ls_out_apply_port_sec", Egress, 15},
	RouterInAdmission:           {"lr_in_admission", Ingress, 0},
	RouterInLookupNeighbor:      {"lr_in_lookup_neighbor", Ingress, 1},
	RouterInLearnNeighbor:       {"lr_in_learn_neighbor", Ingress, 2},
	RouterInIPInput:             {"lr_in_ip_input", Ingress, 3},
	RouterInDHCPRelayReq:        {"lr_in_dhcp_relay_req", Ingress, 4},
	RouterInUnSNAT:              {"lr_in_unsnat", Ingress, 5},
	RouterInPostUnSNAT:          {"lr_in_post_unsnat", Ingress, 6},
	RouterInDefrag:              {"lr_in_defrag", Ingress, 7},
	RouterInCTExtract:           {"lr_in_ct_extract", Ingress, 8},
	RouterInLBAffCheck:          {"lr_in_lb_aff_check", Ingress, 9},
	RouterInDNAT:                {"lr_in_dnat", Ingress, 10},
	RouterInLBAffLearn:          {"lr_in_lb_aff_learn", Ingress, 11},
	RouterInECMPStateful:        {"lr_in_ecmp_stateful", Ingress, 12},
	RouterInNDRAOptions:         {"lr_in_nd_ra_options", Ingress, 13},
	RouterInNDRAResponse:        {"lr_in_nd_ra_response", Ingress, 14},
	RouterInIPRoutingPre:        {"lr_in_ip_routing_pre", Ingress, 15},
	RouterInIPRouting:           {"lr_in_ip_routing", Ingress, 16},
	RouterInIPRoutingECMP:       {"lr_in_ip_routing_ecmp", Ingress, 17},
	RouterInPolicy:              {"lr_in_policy", Ingress, 18},
	RouterInPolicyECMP:          {"lr_in_policy_ecmp", Ingress, 19},
	RouterInDHCPRelayRespChk:    {"lr_in_dhcp_relay_resp_chk", Ingress, 20},
	RouterInDHCPRelayResp:       {"lr_in_dhcp_relay_resp", Ingress, 21},
	RouterInARPResolve:          {"lr_in_arp_resolve", Ingress, 22},
	RouterInChkPktLen:           {"lr_in_chk_pkt_len", Ingress, 23},
	RouterInLargerPkts:          {"lr_in_larger_pkts", Ingress, 24},
	RouterInGwRedirect:          {"lr_in_gw_redirect", Ingress, 25},
	RouterInNetworkID:           {"lr_in_network_id", Ingress, 26},
	RouterInARPRequest:          {"lr_in_arp_request", Ingress, 27},
	RouterInECMPStatefulEgr:     {"lr_in_ecmp_stateful_egr", Ingress, 28},
	RouterOutChkDNATLocal:       {"lr_out_chk_dnat_local", Egress, 0},
	RouterOutUnDNAT:             {"lr_out_undnat", Egress, 1},
	RouterOutPostUnDNAT:         {"lr_out_post_undnat", Egress, 2},
	RouterOutSNAT:               {"lr_out_snat", Egress, 3},
	RouterOutPostSNAT:           {"lr_out_post_snat", Egress, 4},
	RouterOutEgrLoop:            {"lr_out_egr_loop", Egress, 5},
	RouterOutDelivery:           {"lr_out_delivery", Egress, 6},
}

// Name is the stage's name, as in external_ids:stage-name.
func (s Stage) Name() string { return stages[s].name }

// Pipeline is the pipeline that the stage is in.
func (s Stage) Pipeline() Pipeline { return stages[s].pipeline }

// Table is the stage's number in its pipeline, the table_id of its flows.
func (s Stage) Table() int { return stages[s].table }

// OfRouter reports whether the stage is one of logical routers; all others are
// of logical switches.
func (s Stage) OfRouter() bool { return s >= firstRouterStage }

func (s Stage) String() string { return stages[s].name }

// SwitchStage returns the logical switch's stage with the given pipeline and
// number.
func SwitchStage(p Pipeline, table int) (Stage, bool) {
	for s := Stage(0); s < firstRouterStage; s++ {
		if stages[s].pipeline == p && stages[s].table == table {
			return s, true
		}
	}
	return 0, false
}

// StageByName returns the stage with the given name.
func StageByName(name string) (Stage, bool) {
	for s := range stages {
		if stages[s].name == name {
			return Stage(s), true
		}
	}
	return 0, false
}
