// Package pact decides two-phase commit: what the coordinator and the sites of a transaction do, as
// pure machines (package recipe).
//
// Everything that matters stands in ZooKeeper, so that either machine may die at any step and be
// made anew:
//
//	<root>/tx/<id>                              the record: who takes part, who coordinates, and the decision; its version is what decisions compete for
//	<root>/tx/<id>/_c_<guid>-payload            what is to be done; never changed; until the sites have acknowledged
//	<root>/tx/<id>/_c_<guid>-open               stands until the coordinator's application has acknowledged the decision
//	<root>/tx/<id>/_c_<guid>-vote-<site>        empty, then the vote, written once; stands until the site has acknowledged the decision
//	<root>/inbox/<site>/_c_<guid>-<id>-<seq>    tells the site; goes with its vote
//	<root>/alive/<site>                         ephemeral, of the site's own
//	<root>/coordinators/<guid>                  ephemeral, of the coordinator's own
//	<root>/tombstones/_c_<guid>-<id>            the outcome of a transaction that several coordinators had, and one has acknowledged
//	<root>/swept                                which outcomes have been deleted that nobody had acknowledged
//
// The GUID is the transaction's: whatever arrives late, from a process long dead, can touch no
// later transaction of the same id.
//
// A transaction at the coordinator:
//
//	Beginning ──▶ Open ──▶ Deciding ──▶ Ended      Settling ──▶ Ended
//	    │          │ ▲───────┘ lost the race, or not all agreed
//	Claiming ──────┘
//
// Settling begins when the application has acknowledged the outcome: the coordinator takes its mark
// away, and the whole if it is last.
//
// What has once begun never begins again by itself, whatever answer was lost: see resolve. An
// outcome that nobody acknowledges is kept for long, and not for ever: see sweeper.
//
// and at a site:
//
//	Reading ──▶ Asked ──▶ Voting ──▶ Bound ──▶ Settled ──▶ Leaving ──▶ Over
//	   │          │                  (in doubt)    ▲
//	   └──────────┴────────────────────────────────┘ decided without this site
package pact
