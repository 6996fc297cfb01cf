// Package protocol decides what the coordinator and the sites of a two-phase commit do, as pure
// machines (package machine). A coordinator and its sites are the participants. All state that
// matters is in ZooKeeper, so a machine may die at any step and be created again. The section "In
// ZooKeeper" of docs/recipes/twopc.md shows the znodes; the znode "open" there is the mark here.
//
// Names contain the GUID of the transaction. So a late request of a process that has died cannot
// affect a later transaction with the same id.
//
//   - A transaction is decided once: the decision is a compare-and-set on its record.
//   - It is committed only if every site has voted to commit: the decision checks every vote.
//   - A vote is written once, and not after the decision. A vote to abort is the decision.
//   - An undecided transaction of a dead coordinator is aborted by its sites, or committed by them
//     if they may decide and all have voted to commit. So no site stays in doubt.
//   - A transaction that has begun never begins again, even if replies were lost: see tx.disprove.
//   - The outcome exists until every participant has acknowledged it.
//
// # A transaction, step by step
//
//	coordinator  tx.begin         writes the record, the payload, the mark, the votes, entries in the inboxes
//	site         inbox.take       lists its inbox; proposal.advance offers the transaction
//	site         proposal.vote    writes the application's vote; a vote to abort is the decision, too
//	coordinator  tx.decideIfDue   decides when all votes are there, one is missing in time, or a site has died
//	both         onDecided        tells the application (at a site, proposal.advance does); when that has acknowledged, deleteOwn
//
// # Which file for which task
//
//   - being present, and finding out whether another participant is alive: participant.go
//   - a coordinator: coordinator.go; its transactions: tx.go; beginning and taking over: begin.go
//   - a site, and its inbox: site.go; voting on a transaction, and acknowledging it: proposal.go
//   - a transaction's record and votes, deciding, deleting, for both: view.go
//   - requests, their replies, and watches: dispatcher.go
//   - znodes, names, data: layout.go; events and effects of the application: events.go
package protocol
