package acl

// Registers and bits that the ACL stages use, as ovn-northd(8) gives them.
const (
	bitTrack       = "reg0[0]"      // send to connection tracking
	bitCommit      = "reg0[1]"      // commit the connection in table "stateful"
	bitHintNew     = "reg0[7]"      // a new connection, or one to be allowed again
	bitHintAllow   = "reg0[8]"      // an established one, or untracked
	bitHintDrop    = "reg0[9]"      // may be dropped without a commit
	bitHintBlock   = "reg0[10]"     // established: dropping it takes a commit
	bitObserve     = "reg0[13]"     // commit label or sample with the connection
	bitStateless   = "reg0[16]"     // goes past connection tracking
	bitReply       = "reg0[17]"     // allowed as a reply, seen again after load balancing
	bitPersist     = "reg0[20]"     // commit allow_established
	bitEstablished = "reg0[21]"     // allowed by a committed allow_established
	regPersistID   = "reg2[16..31]" // the rule's ACL_ID
	regObsNew      = "reg3"         // observation point of a new connection
	regObsEst      = "reg9"         // observation point of an established one
	regCollNew     = "reg8[0..7]"
	regCollEst     = "reg8[8..15]"
	bitAllow       = "reg8[16]" // the verdict
	bitDrop        = "reg8[17]"
	bitReject      = "reg8[18]"
	regObsStage    = "reg8[19..20]"
	bitNF          = "reg8[21]" // to a network function
	bitNFRequest   = "reg8[22]" // as a request, not a reply
	regTier        = "reg8[30..31]"
)

// What the network function tables go by.
const (
	// RegNF holds the id of a network function group, then of its active function.
	RegNF          = "reg0[22..29]"
	MatchNFRequest = bitNF + " == 1 && " + bitNFRequest + " == 1"
	MatchNFReply   = bitNF + " == 1 && " + bitNFRequest + " == 0"
	// ActionNFSkip lets a packet pass although no function is there to see it.
	ActionNFSkip = bitNF + " = 0; " + RegNF + " = 0; next;"
)

// Priorities of the sample tables.
const (
	prioritySampleUntracked = 900
	prioritySampleCollector = 1000
	prioritySampleNew       = 1100
	prioritySampleEst       = 1200
)

// Priorities of the ACL tables, ovn-northd(8).
const (
	// priorityOffset leaves room below the rules' own 0 to 32,767.
	priorityOffset  = 1000
	prioritySvcMon  = 34000
	priorityFixed   = 65532 // replies, related, invalid, neighbour discovery
	priorityRelated = 65533 // replies that are logged
	priorityNone    = 65535 // the switch has no rules
)
