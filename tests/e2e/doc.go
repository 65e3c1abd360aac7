// Package e2e tests the daemon on real database servers: what it writes, and
// that nothing is lost when something breaks.
package e2e
