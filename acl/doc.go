// Package acl turns access control rules into logical flows: what ovn-nb(5)
// says of the ACL table and ovn-northd(8) of the tables "ACL hints" to "ACL
// action", as pure functions from typed values.
//
// A Rule is one ACL row with what it refers to already looked up; a Switch says
// of the switches that the rule is on what the flows' text depends on. The
// package knows no database. Read Rule first, then Rule.Flows.
package acl
