// Package twopc is two-phase commit: an atomic commit across several services, with the votes and
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
//		prepare(p.ID(), p.Payload())                                   // durably: either outcome must be possible
//		err := p.Commit(ctx)                                           // or p.Abort(ctx, "why not")
//		select {
//		case <-p.Decided():
//			carryOut(p.ID(), p.Outcome())
//			err = p.Ack(ctx)                                       // not delivered again
//		case <-p.Done():                                               // no decision is known: p.Err() says why
//		}
//	}
//
// # What it guarantees
//
//   - One outcome. Every process that learns it, at any time and after any crash, learns the same.
//     It is written once, by a ZooKeeper transaction that is a compare-and-set on the version of
//     the record.
//   - Committed only if every site voted to commit: the deciding transaction checks every vote in
//     ZooKeeper itself.
//   - A vote is a promise: it is written once and never changed. A later vote to abort by the same
//     site is refused, also after a restart.
//   - Votes and decisions are durable. Kill the coordinator or any site at any step, restart it,
//     and the transaction continues: sites receive again what they have not acknowledged,
//     coordinators get theirs from [Coordinator.Recover], including decided ones.
//   - Two coordinators may have the same transaction, because one recovered it while the other was
//     still alive. Both learn its outcome, whichever acknowledges it first.
//   - A transaction that has begun never begins again by itself, even if the reply to
//     [Coordinator.Begin] is lost and the transaction is long over when that is noticed.
//   - No site stays in doubt because of a dead coordinator: the sites abort what it left undecided,
//     or, with [WithPeerDecision], commit it if all have voted to commit.
//   - When all have acknowledged, nothing is left in ZooKeeper.
//
// It aborts early: on the first vote to abort, which decides by itself; when a site dies that has
// not voted; when the time for the votes is up.
//
// It cannot make a site carry out what it promised. A site that voted to commit must be able to,
// even after a crash. A site that never comes back never acknowledges: its transactions stay until
// somebody deletes them. Outcomes that only a coordinator has not acknowledged are swept, by age
// and by number ([WithRetention]).
//
// # Ids
//
// Use an id only once if possible. It is in use until every site and the coordinator's application
// have acknowledged; then it is free for another transaction. After a crash, call
// [Coordinator.Recover], and wait until it has returned without an error, before you begin a
// transaction under an id that the previous process may have used. A request of that process may
// take effect until its session is over, and the sites would be asked a second time. While a
// coordinator is alive, its ids belong to it.
//
// # The states of a transaction
//
//	                 every site has voted to commit
//	             ┌────────────────────────────────────▶ Committed ──┐
//	Begin ──▶ Undecided                                             ├─ all have acknowledged ──▶ deleted
//	             └────────────────────────────────────▶ Aborted ────┘
//	               a vote to abort, Abort, time is up, a site that had not voted died, the coordinator died
//
// # Failure
//
// A disconnection causes a delay and decides nothing. An expired session counts as a death: of a
// site, for the transactions on which it has not voted; of a coordinator, for those undecided. Both
// register again by themselves in the next epoch and continue from the state in ZooKeeper. If a
// transaction was deleted by hand, those that had not learned its outcome get [ErrGone]; it is
// never reported as aborted.
package twopc
