//go:build broken_ping_trust

package lease

// pingsProve breaks this build on purpose: see broken_ping_trust_off.go.
const pingsProve = true
