// Package northd derives the southbound database from the northbound one: what
// ovn-northd(8) describes, each rule stated once, as if computed from scratch.
// Package engine keeps the results up to date.
//
// Northd is the whole of it without any connection: batches of changes go in,
// transactions come out. Daemon drives it against two databases. The
// derivations are one file per subject (switch.go, port.go, acl.go, ...); each
// file's define method states its facts, relations and rules, and New calls
// them in the order in which they build on each other.
package northd
