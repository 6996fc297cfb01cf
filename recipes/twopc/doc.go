// Package twopc commits one thing in many places, or in none: two-phase commit, with the votes and
// the decision in ZooKeeper.
//
//	transfers, err := twopc.NewCoordinator(sess, "/pay/transfers")     // one process
//	…
//	tx, err := transfers.Begin(ctx, "t-4711", order, "ledger", "stock")
//	<-tx.Decided()                                                     // tx.Outcome(): Committed or Aborted
//	note(tx.ID(), tx.Outcome())                                        // durably
//	err = tx.Ack(ctx)                                                  // not recovered any more
//
//	ledger, err := twopc.NewSite(sess, "/pay/transfers", "ledger")     // another
//	for p := range ledger.Proposals() {
//		prepare(p.ID(), p.Payload())                                   // durably: it may have to be done, or undone
//		err := p.Commit(ctx)                                           // or p.Abort(ctx, "why not")
//		select {
//		case <-p.Decided():
//			carryOut(p.ID(), p.Outcome())
//			err = p.Ack(ctx)                                       // not offered again
//		case <-p.Done():                                               // without a decision here: p.Err() says why
//		}
//	}
//
// # What it guarantees
//
//   - One outcome. Whoever learns it, whenever, after whatever crashes, learns the same. It is
//     written once, by a transaction of ZooKeeper's that competes for the version of the record.
//   - Committed only if every site voted to commit: the transaction that decides checks every vote
//     in ZooKeeper itself.
//   - A vote is a promise: it is written once and never changed. A site's own later vote to abort
//     is refused, also after a restart.
//   - Votes and decisions are durable. Kill the coordinator or any site at any step, restart it,
//     and the transaction goes on: sites are offered what they have not acknowledged, coordinators
//     get theirs from [Coordinator.Recover], also decided ones.
//   - Where two coordinators have a transaction, since one recovered it while the other lived on,
//     both learn its outcome, whichever acknowledges it first.
//   - A transaction that has begun never begins again by itself, also if the answer to
//     [Coordinator.Begin] is lost and it is long over when that is noticed.
//   - No site waits in doubt for a dead coordinator: the sites abort what it left undecided, and
//     what all have voted for is committed if the peers decide ([WithPeerDecision]).
//   - When everybody has acknowledged, nothing is left in ZooKeeper.
//
// It aborts early: on the first vote to abort, which decides by itself; when a site dies that has
// not voted; when the time for the votes is up.
//
// What it does not: it cannot make a site carry out what it promised. A site that voted to commit
// has to be able to, also after a crash. And a site that never comes back never acknowledges: its
// transactions stay until somebody takes them away. What only a coordinator does not acknowledge is
// swept, by age and by number ([WithRetention]).
//
// # Ids
//
// An id is best used once. It is in use until every site and the coordinator's application have
// acknowledged, and then it is free for another transaction. After a crash, call
// [Coordinator.Recover], and wait until it has returned without an error, before anything is begun
// under an id that the process before may have begun: what that one sent may come until its session
// is over, and the sites would be asked a second time. An id of a coordinator that lives is its
// own.
//
// # The states of a transaction
//
//	                 every site has voted to commit
//	             ┌────────────────────────────────────▶ Committed ──┐
//	Begin ──▶ Undecided                                             ├─ all have acknowledged ──▶ gone
//	             └────────────────────────────────────▶ Aborted ────┘
//	               a vote to abort, Abort, time is up, a site that had not voted died, the coordinator died
//
// # Failure
//
// A disconnection delays and decides nothing. A session that expires is a death: of a site, for the
// transactions on which it has not voted; of a coordinator, for those undecided. Both stand again
// by themselves in the next epoch and go on with what there is. A transaction that somebody deleted
// by hand is [ErrGone] for those who had not learned its outcome, and never passes for aborted.
package twopc
