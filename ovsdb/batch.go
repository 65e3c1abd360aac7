package ovsdb

import "iter"

// A Change is what happened to one row since the batch before: Old is nil for a
// row that appeared, New for one that went. Both are pointers to the Go type
// that the row's Table was declared with, or nil interfaces; rows are immutable
// once delivered, and strings that repeat are shared between them.
type Change struct {
	UUID     string
	Old, New any
}

// A Batch is the difference between two states of the monitored tables of one
// database. Every batch starts and ends at a transaction boundary of the
// server: all rows that a transaction changed are in one batch. A batch never
// holds two changes of one row, nor does it hide any: a change that undoes one
// begins another batch. Who wrote a row, and relies on being told, is told also
// when someone else takes it away at once.
type Batch struct {
	// Changes by table name; tables without changes are absent.
	Changes map[string][]Change
	// Initial is set on the first batch of a client, which holds every row (and may
	// hold none), but for rows of tables that are read last (Table.ReadLast). It is
	// delivered even for an empty database.
	Initial bool
	// Transactions is the number of the server's messages that the batch merges:
	// a transaction each, but for the first ones, which have the contents.
	Transactions int
}

// Each calls f for every change of the named table in b with the rows as *T.
func Each[T any](b *Batch, table string, f func(uuid string, old, new *T)) {
	for _, c := range b.Changes[table] {
		old, _ := c.Old.(*T)
		new, _ := c.New.(*T)
		f(c.UUID, old, new)
	}
}

// Batches takes all that c has, batch by batch.
func Batches(c Conn) iter.Seq[*Batch] {
	return func(yield func(*Batch) bool) {
		for b := c.Take(); b != nil && yield(b); b = c.Take() {
		}
	}
}
