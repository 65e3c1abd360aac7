// Package oracle tests Northwall against the original: its daemon and the stock
// ovn-northd of a tree with OVN 26.03 get the same random edits of the northbound
// database, and after every step what they have written is compared.
//
// Edits are command lines of nwctl. They run on a northbound database in memory
// (master); what they changed there is then sent to the database servers of both
// sides, so that rows have the same UUIDs everywhere. Package edits makes the
// edits, known differences are predicates on exact rows (known.go), and a sequence
// that shows another difference is made shorter and printed (edits.Shrink).
package oracle
