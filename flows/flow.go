package flows

// Flow is what makes a logical flow the one that it is: two flows that are equal
// in this are one row of the database. Columns as in ovn-sb(5), Logical_Flow.
type Flow struct {
	Stage    Stage
	Priority int // 0 to 65,535
	Match    string
	Actions  string
	Meter    string // controller_meter, "" for none
}

// Attrs are the columns of a flow that do not decide what it does. Where
// several owners want the same flow, the least Attrs are written, so that the
// choice does not depend on the order in which they came.
type Attrs struct {
	Port string // tags:in_out_port, lets a chassis without the port skip the flow
	CT   bool   // tags:acl_ct_translation, chassis match the connection's addresses
	Desc string // flow_desc
	Hint string // external_ids:stage-hint, the first 8 digits of the northbound row's UUID
}

func (a Attrs) less(b Attrs) bool {
	switch {
	case a.Hint != b.Hint:
		return a.Hint < b.Hint
	case a.Port != b.Port:
		return a.Port < b.Port
	case a.CT != b.CT:
		return b.CT
	}
	return a.Desc < b.Desc
}

// Hint returns the stage hint of the northbound row with the given UUID.
func Hint(uuid string) string {
	if len(uuid) < 8 {
		return ""
	}
	return uuid[:8]
}

// Placement says on which datapaths a row is: on one, or on those of a
// Logical_DP_Group; the zero Placement is on none.
type Placement struct {
	Datapath string // UUID of a Datapath_Binding
	Group    string // UUID of a Logical_DP_Group
}
