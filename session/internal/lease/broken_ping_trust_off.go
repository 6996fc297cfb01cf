//go:build !broken_ping_trust

package lease

// pingsProve is false in every build but one with -tags broken_ping_trust, which test/chaos has to
// catch: there, answers to pings count as the leader's word, and nothing is asked of it while they
// come.
const pingsProve = false
