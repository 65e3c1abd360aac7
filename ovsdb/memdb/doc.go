// Package memdb is an OVSDB database in memory that stands in for a server where
// none is wanted: in tests of what lies above package ovsdb, and wherever rows
// go in and rows come out. It has no clients over a network and keeps nothing on
// disk; package ovsdb/standalone is for that.
//
// A DB executes transactions as ovsdb-server does (RFC 7047 section 5.2, with
// ovsdb-server(7)'s extensions): constraints, unique indexes, references and
// their consequences, all or nothing. Only "wait" differs: nothing can happen
// while it waits, so what is not so at once is an error at once.
//
// Each Conn has batches of its own, and can be made to fail: see Refuse, Hold,
// Break and Drop.
//
// Read DB first.
package memdb
