// Package expr is OVN's match language, the "match" column of the southbound
// Logical_Flow table and of the northbound ACL table, as ovn-sb(5) defines it:
// it reads, checks, prints and evaluates matches.
//
// Parse turns text into an Expr whose names are resolved and whose types are
// checked; Check only says whether ovn-controller would take the text, and is
// cheap enough for every edit. Both accept and refuse what OVN 26.03 does, with
// the exceptions that are named below. Eval decides whether a Packet matches;
// Refs says which address sets, port groups, ports and template variables a
// match depends on; String prints its canonical form.
//
// # Negation
//
// As in OVN, "!" disappears while parsing: it is pushed down to the comparisons,
// so that "!(tcp.dst == 80)" is "tcp.dst != 80". That matters for prerequisites,
// which every comparison keeps: neither form matches a UDP packet. A predicate is
// negated as a whole, prerequisites included: "!ip.is_frag" matches ARP.
//
// # Differences from OVN
//
//   - icmp4.frag_mtu and icmp6.frag_mtu, which only actions can use, are refused;
//     OVN's tools crash on such a match.
//   - "<", "<=", ">" and ">=" are refused with an address set that has a masked
//     member. OVN looks at the first member only, and aborts where the mask of
//     another is not one run of bits.
//   - Texts above MaxSize bytes are refused, and so are bytes that are not UTF-8
//     and NUL, which a database column cannot hold.
//   - A match that names a set that does not exist is otherwise checked to its
//     end, so that its other mistakes come first.
//
// The package knows no database and nothing else of this module.
// Read Expr first, then symbols in fields.go.
package expr
