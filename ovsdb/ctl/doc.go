// Package ctl is the ground under command line database editors such as nwctl:
// command lines with several commands chained by "--", rows of any schema as a
// transaction under construction sees them, the syntax of values, and the
// generic commands (list, find, get, set, add, remove, clear, create, destroy,
// wait-until, comment) that OVS's and OVN's tools share.
//
// It knows nothing of any particular database: tables, columns and types come
// from a libovsdb DatabaseSchema, the ways to name a row and the commands from a
// Tool. Package schema/nbctl is the Tool for the northbound database.
//
// Read Tool and Txn first. A Tool's Run parses a command line, runs its commands
// against one Txn over a DB, and commits it; what a command reads and then
// changes is verified by the server, and the commands run again when somebody
// else was faster.
package ctl
