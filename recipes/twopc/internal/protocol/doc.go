// Package protocol decides two-phase commit: what the coordinator and the sites of a transaction
// do, as pure machines (package machine). A coordinator and its sites are the participants. All
// state that matters is in ZooKeeper, so a machine may die at any step and be created again:
//
//	<root>/tx/<id>                              the record: the sites, the coordinator, and the decision; decisions compete for its version
//	<root>/tx/<id>/_c_<guid>-payload            what is to be done; never changed; exists until the sites have acknowledged
//	<root>/tx/<id>/_c_<guid>-open               the mark: exists until the coordinator's application has acknowledged the outcome
//	<root>/tx/<id>/_c_<guid>-vote-<site>        empty, then the vote, written once; exists until the site has acknowledged the outcome
//	<root>/inbox/<site>/_c_<guid>-<id>-<seq>    tells the site about the transaction; deleted with its vote
//	<root>/alive/<site>                         ephemeral: the site's presence
//	<root>/coordinators/<guid>                  ephemeral: the coordinator's presence
//
// The GUID is that of the transaction. So a late request of a process that has died cannot affect a
// later transaction with the same id.
//
//   - A transaction is decided once: the decision is a compare-and-set on its record.
//   - It is committed only if every site has voted to commit: the decision checks every vote.
//   - A vote is written once, and not after the decision. A vote to abort is the decision.
//   - An undecided transaction of a dead coordinator is aborted by its sites, or committed by them
//     if they may decide and all have voted to commit. So no site stays in doubt.
//   - A transaction that has begun never begins again, whichever reply was lost: see tx.disprove.
//   - The outcome exists until every participant has acknowledged it.
package protocol
