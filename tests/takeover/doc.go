// Package takeover tests that a northd which takes over leaves what is right: our
// daemon after itself, after the stock ovn-northd, and that after ours, on what
// each scenario of tests/golden leaves in the databases. Every row is compared by
// UUID and content. What may differ is what docs/differences.md lists, as
// predicates on exact rows and columns: those of the oracle, and the table
// "written" here.
package takeover
