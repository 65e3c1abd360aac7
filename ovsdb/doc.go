// Package ovsdb connects to OVSDB servers: RFC 7047 with the extensions of
// ovsdb-server(7). It is one package for the daemon and the command line: a
// Client keeps typed rows of the tables that it was asked to monitor current
// and hands their changes over in batches, one consistent difference at a time;
// a Txn is a transaction, built once as bytes.
//
// It knows nothing of OVN: which tables and columns there are is said by
// Tables, declared from Go structs with `ovsdb` tags such as those in package
// schema. Value, schema and operation types are libovsdb's; its client and
// cache are not used, docs/architecture.md says why.
//
// Read Conn first, then Txn.
package ovsdb
