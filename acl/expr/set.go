package expr

import (
	"errors"
	"fmt"
)

// Env is what names in a match refer to. Its methods report whether there is such
// a thing; they may be called from any goroutine that parses.
type Env interface {
	AddressSet(name string) (*Set, bool)
	PortGroup(name string) (*Set, bool)
	Template(name string) (value string, ok bool)
}

// Unresolved is an Env that knows nothing and minds nothing: sets are taken to
// exist and to fit, template variables to stand for a constant or a term that
// fits. A match parsed with it can be printed and asked for its Refs; a
// comparison with what is unknown evaluates as if with an empty set.
var Unresolved Env = unresolved{}

type unresolved struct{}

func (unresolved) AddressSet(string) (*Set, bool) { return nil, true }
func (unresolved) PortGroup(string) (*Set, bool)  { return nil, true }
func (unresolved) Template(string) (string, bool) { return "", false }

// Sets is an Env of three maps.
type Sets struct {
	Addresses map[string]*Set
	Ports     map[string]*Set
	Templates map[string]string
}

func (s *Sets) AddressSet(name string) (*Set, bool) { set, ok := s.Addresses[name]; return set, ok }
func (s *Sets) PortGroup(name string) (*Set, bool)  { set, ok := s.Ports[name]; return set, ok }
func (s *Sets) Template(name string) (string, bool) { v, ok := s.Templates[name]; return v, ok }

// Set is the content of an address set or port group, made for fast lookups. It
// does not change; a match keeps a reference to it, not a copy.
type Set struct {
	ports  map[string]struct{}          // of a port group
	values []number                     // of an address set, in order
	byMask map[Value]map[Value]struct{} // the same by mask
	widest int                          // in values, the one that needs the widest field
	masked bool                         // whether any value has a mask
	parity [2]bool                      // whether values has even and odd ones
}

// NewPortGroup returns the set of the logical ports with these names.
func NewPortGroup(ports []string) *Set {
	s := &Set{ports: make(map[string]struct{}, len(ports))}
	for _, p := range ports {
		s.ports[p] = struct{}{}
	}
	return s
}

// NewAddressSet returns the set of these addresses, each an IPv4, IPv6 or
// Ethernet address with or without a mask. As in OVN, an entry that is none is
// left out; the error names all such entries, and the set is good in any case.
func NewAddressSet(addrs []string) (*Set, error) {
	s := &Set{byMask: map[Value]map[Value]struct{}{}}
	var errs []error
	for _, a := range addrs {
		lex := lexer{src: a}
		var t token
		if lex.next(&t); t.kind != tokInteger {
			err := fmt.Errorf("address set entry %q is no address", clip(a))
			if t.err != nil {
				err = fmt.Errorf("address set entry %q: %w", clip(a), t.err)
			}
			errs = append(errs, err)
			continue
		}
		s.add(t.num)
	}
	return s, errors.Join(errs...)
}

func (s *Set) add(n number) {
	s.values = append(s.values, n)
	if n.width() > s.values[s.widest].width() {
		s.widest = len(s.values) - 1
	}
	s.parity[n.value.Lo&1] = true
	mask := n.mask
	if s.masked = s.masked || n.masked; !n.masked {
		mask = ones(128)
	}
	m := s.byMask[mask]
	if m == nil {
		m = map[Value]struct{}{}
		s.byMask[mask] = m
	}
	m[n.value] = struct{}{}
}

// Len returns the number of members; 0 for nil.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.values) + len(s.ports)
}

// hasPort reports whether the set has a port of that name.
func (s *Set) hasPort(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.ports[name]
	return ok
}

// hasValue reports whether v, the value of a field of the given width, equals a
// member. Members are cut to the field's width.
func (s *Set) hasValue(v Value, width int) bool {
	if s.Len() == 0 {
		return false
	}
	if s.maxBits() <= width {
		for mask, members := range s.byMask {
			if _, ok := members[v.and(mask)]; ok {
				return true
			}
		}
		return false
	}
	for i := range s.values {
		if n := &s.values[i]; n.equals(v, width) {
			return true
		}
	}
	return false
}

// maxBits returns the width that a field needs to be compared with every member.
func (s *Set) maxBits() int { return s.values[s.widest].width() }

// equals reports whether a field of the given width with the value v equals n.
func (n *number) equals(v Value, width int) bool {
	mask := ones(width)
	if n.masked {
		mask = mask.and(n.mask)
	}
	return v.and(mask) == n.value.and(mask)
}
