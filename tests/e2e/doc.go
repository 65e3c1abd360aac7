// Package e2e tests the daemon as it is installed, on real database servers: that
// nothing is lost when something breaks. docs/reliability.md has the table of what
// is tried; `make faults` prints it.
package e2e
