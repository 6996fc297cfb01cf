// Package pact decides two-phase commit: what the coordinator and the sites of a transaction do, as
// pure machines (package machine).
//
// All state that matters is in ZooKeeper, so either machine may die at any step and be created
// again:
//
//	<root>/tx/<id>                              the record: the sites, the coordinator, and the decision; decisions compete for its version
//	<root>/tx/<id>/_c_<guid>-payload            what is to be done; never changed; exists until the sites have acknowledged
//	<root>/tx/<id>/_c_<guid>-open               exists until the coordinator's application has acknowledged the decision
//	<root>/tx/<id>/_c_<guid>-vote-<site>        empty, then the vote, written once; exists until the site has acknowledged the decision
//	<root>/inbox/<site>/_c_<guid>-<id>-<seq>    tells the site about the transaction; deleted with its vote
//	<root>/alive/<site>                         ephemeral: the site's presence
//	<root>/coordinators/<guid>                  ephemeral: the coordinator's presence
//	<root>/tombstones/_c_<guid>-<id>            the outcome of a transaction that several coordinators had, and one has acknowledged
//	<root>/swept                                up to which transaction unacknowledged outcomes have been deleted
//
// The GUID is that of the transaction. So a late request of a process that has died cannot affect a
// later transaction with the same id.
//
// A transaction at the coordinator:
//
//	Beginning ──▶ Open ──▶ Deciding ──▶ Ended      Settling ──▶ Ended
//	    │          │ ▲───────┘ lost the race, or not all agreed
//	Claiming ──────┘
//
// Settling begins when the application has acknowledged the outcome. The coordinator deletes its
// mark, and the whole transaction if it is the last participant.
//
// A transaction that has begun never begins again, whichever reply was lost: see resolve. An
// outcome that is not acknowledged is kept for a long time, but not forever: see sweeper.
//
// and at a site:
//
//	Reading ──▶ Asked ──▶ Voting ──▶ Bound ──▶ Resolved ──▶ Leaving ──▶ Left
//	   │          │                  (in doubt)    ▲
//	   └──────────┴────────────────────────────────┘ decided without this site
package pact
