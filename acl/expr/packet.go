package expr

// Packet is what a match is evaluated on: the values of a packet's fields, and
// what the chassis that handles it has.
type Packet interface {
	// Int returns the value of a field; 0 for one that the packet does not have.
	Int(Field) Value
	// Str returns the value of Inport or Outport; "" for none.
	Str(Field) string
	// Resident reports whether the chassis has the logical port.
	Resident(port string) bool
}

// Header is a Packet that holds its values itself. Its zero value is a packet
// with no field set, on a chassis with no port.
type Header struct {
	ints    [numInts]Value
	strings [numStrings]string
	local   map[string]bool
}

var _ Packet = (*Header)(nil)

func (h *Header) Int(f Field) Value {
	if f >= numInts {
		return Value{}
	}
	return h.ints[f]
}

func (h *Header) Str(f Field) string {
	if f < numInts || f >= numFields {
		return ""
	}
	return h.strings[f-numInts]
}

func (h *Header) Resident(port string) bool { return h.local[port] }

// SetInt sets an integer field. Bits above the field's width are the caller's to
// avoid.
func (h *Header) SetInt(f Field, v Value) { h.ints[f] = v }

// SetStr sets Inport or Outport.
func (h *Header) SetStr(f Field, s string) { h.strings[f-numInts] = s }

// AddResident makes a logical port one of the chassis's.
func (h *Header) AddResident(port string) {
	if h.local == nil {
		h.local = map[string]bool{}
	}
	h.local[port] = true
}
