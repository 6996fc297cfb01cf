// Package twopc is two-phase commit: an atomic commit across several services, with the votes and
// the decision in ZooKeeper.
//
//	tx, err := transfers.Begin(ctx, "t-4711", order, "ledger", "stock") // of a Coordinator
//	…
//	p := <-ledger.Proposals() // of a Site: p.VoteCommit or p.VoteAbort, then p.Decided and p.Ack
//
// A [Coordinator] begins transactions, each [Site] votes, and all of them learn one outcome,
// through any crash. docs/recipes/twopc.md has whole examples, the guarantees, what is left to the
// application, what to do about each error, and the znodes.
package twopc
