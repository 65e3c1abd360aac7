package northd

import (
	"net/netip"
	"strconv"
	"strings"
)

// vip is a virtual address of a load balancer.
type vip struct {
	Key      string // as in vips, to which health checks refer
	IP       string // an address, or the name of a template variable: ^name
	Port     string // "" for all
	V6       bool
	Backends []backend
	Text     string // of the backends
}

// backend is an endpoint behind a virtual address.
type backend struct {
	IP   string
	Port int // 0 where it has none, or comes from a template
}

// parseVIP reads an entry of vips, ADDRESS[:PORT]=BACKEND[,BACKEND]..., where
// each BACKEND is ADDRESS[:PORT], of the same family and with a port just if the
// virtual address has one.
func parseVIP(key, backends string) (vip, bool) {
	ip, port, ok := parseEndpoint(key)
	if !ok {
		return vip{}, false
	}
	v := vip{Key: key, IP: ip.String(), V6: ip.Is6(), Text: backends}
	if port != 0 {
		v.Port = strconv.Itoa(port)
	}
	for text := range nonEmpty(backends, ",") {
		if ok := v.addBackend(text); !ok {
			return vip{}, false
		}
	}
	return v, true
}

// parseTemplateVIP reads an entry of vips of a template, where each address and
// port may be ^NAME, which every chassis replaces by its own value. An address
// of IPv6 cannot be written out, since colons part it from the port. v6 is the
// family that the template declares.
func parseTemplateVIP(key, backends string, v6 bool) (vip, bool) {
	v := vip{Key: key, V6: v6, Text: backends}
	n := 0
	for text := range nonEmpty(key, ":") {
		switch n++; n {
		case 1:
			v.IP = text
		case 2:
			v.Port = text
		default:
			return vip{}, false
		}
	}
	if n == 0 {
		return vip{}, false
	}
	for text := range nonEmpty(backends, ",") {
		if text[0] != '^' {
			if ok := v.addBackend(text); !ok {
				return vip{}, false
			}
			continue
		}
		// The port, if any, takes no part in what follows from single backends.
		ip, port, _ := strings.Cut(text, ":")
		if strings.Contains(port, ":") {
			return vip{}, false
		}
		v.Backends = append(v.Backends, backend{IP: ip})
	}
	return v, true
}

func (v *vip) addBackend(text string) bool {
	ip, port, ok := parseEndpoint(text)
	if !ok || ip.Is6() != v.V6 || (port != 0) != (v.Port != "") {
		return false
	}
	v.Backends = append(v.Backends, backend{IP: ip.String(), Port: port})
	return true
}

// nonEmpty yields the parts of s between separators that are not empty.
func nonEmpty(s, sep string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(s, sep) {
			if part != "" && !yield(part) {
				return
			}
		}
	}
}

// parseEndpoint reads an address with an optional port, 0 meaning none; an IPv6
// address with a port is in brackets.
func parseEndpoint(s string) (ip netip.Addr, port int, ok bool) {
	host, portText := s, ""
	if rest, bracketed := strings.CutPrefix(s, "["); bracketed {
		var after string
		if host, after, ok = strings.Cut(rest, "]"); !ok {
			return ip, 0, false
		}
		if portText, ok = strings.CutPrefix(after, ":"); !ok && after != "" {
			return ip, 0, false
		}
	} else if strings.Count(s, ":") == 1 {
		host, portText, _ = strings.Cut(s, ":")
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Zone() != "" || ip.Is4() && host != s && s[0] == '[' {
		return ip, 0, false
	}
	if portText != "" {
		p, err := strconv.ParseUint(portText, 10, 16)
		if err != nil {
			return ip, 0, false
		}
		port = int(p)
	}
	return ip, port, true
}

// endpoint is the text of an address with a port, "" for none.
func endpoint(ip, port string, v6 bool) string {
	switch {
	case port == "":
		return ip
	case v6:
		return "[" + ip + "]:" + port
	}
	return ip + ":" + port
}

// text is the backend's address with its port, if it has one.
func (b backend) text(v6 bool) string {
	if b.Port == 0 {
		return b.IP
	}
	return endpoint(b.IP, strconv.Itoa(b.Port), v6)
}

// mapping is what ip_port_mappings tells of a backend.
type mapping struct {
	Port   string // name of the backend's logical port
	Source string // address that health checks come from, "" for none
	Zone   string // availability zone of the port, "" for this one
}

// mappingOf finds the mapping of a backend: PORT[:SOURCE[:ZONE]], with IPv6
// addresses in brackets.
func mappingOf(mappings map[string]string, b backend, v6 bool) (mapping, bool) {
	key := b.IP
	if v6 {
		key = "[" + key + "]"
	}
	text, ok := mappings[key]
	if !ok {
		return mapping{}, false
	}
	port, rest, hasSource := strings.Cut(text, ":")
	if port == "" || !hasSource {
		return mapping{Port: port}, port != ""
	}
	source, zone, hasZone := strings.Cut(rest, ":")
	if inner, bracketed := strings.CutPrefix(rest, "["); bracketed {
		if source, zone, ok = strings.Cut(inner, "]"); !ok {
			return mapping{}, false
		}
		hasZone = zone != ""
		zone = strings.TrimPrefix(zone, ":")
	}
	ip, err := netip.ParseAddr(source)
	if err != nil || ip.Zone() != "" || hasZone && zone == "" {
		return mapping{}, false
	}
	return mapping{Port: port, Source: ip.String(), Zone: zone}, true
}
