// Package flows holds logical flows: what one is, the stages that it can be in,
// the sets of datapaths that it can be on, and the table of all of them, which
// knows the rows that are wanted and the rows that the database has, and writes
// the difference.
//
// A flow is wanted by owners, each of which puts it on a Set of datapaths. Sets
// have identity ("all switches", "the switches of this port group"), and change
// by members coming and going; no flow is rewritten for that. Where owners put
// equal flows on different sets, there is one row for the union.
//
// The package knows no database: a Writer receives the difference, and Observe
// methods tell what the database has. Read Table first.
package flows
