// Package election chooses one leader among many candidates, tells everybody who it is, and tells
// the leader when it no longer is.
//
//	leader, err := election.New(sess, "/services/billing/leader")
//	…
//	err = leader.Run(ctx, func(ctx context.Context, term *election.Term) error {
//		return serve(ctx, term.Token()) // we lead: ctx ends with the term
//	})
//
// [Election.Run] calls the function for each term, one after the other: no term begins in this
// process before the function of the one before has returned. In a select loop, [Election.Campaign]
// states the intent and [Election.Leader] delivers the terms. A term that is lost is followed by
// the next as soon as this candidate leads again, whatever the last one's function still does: wait
// for it before you start another.
//
// Whoever only wants to know who leads makes an Election too, and never campaigns:
// [Election.Observe], [Election.Current], [Election.Candidates].
//
// # What it guarantees
//
//   - One leader at a time as far as clocks allow: a [Term] ends, here, before ZooKeeper's order
//     makes somebody else leader because this process's session ended, network or no network, given
//     that the process runs and the machines' clocks go at about the same rate.
//   - Tokens of successive terms strictly grow, across sessions, processes and re-created parents,
//     and across [Term.TransferTo]. A resource that remembers the highest token it has seen refuses
//     a leader that was paused (package fence). [session.Hold.Commit] makes ZooKeeper itself refuse
//     it.
//   - Order of arrival. A candidate keeps its place across any disconnection shorter than the
//     session; after an expiry it stands again at the end.
//   - The end of a leader wakes one candidate, and the observers. Nothing polls.
//   - Observers see terms in their order, never an older one after a newer one, and hear when
//     nobody leads.
//   - [Election.Run] deletes the candidate only after the leader's function has returned.
//
// What it does not: it cannot stop a leader that was paused, at the instruction before its write to
// another system, from writing when it wakes. Only that system can, by the token. An observer's
// word is old by the time it is read: it says whom to ask, not who may act.
//
// # The states of a candidate
//
//	            Campaign, Lead, Run               the znode is made
//	┌──────┐ ────────────────────▶ ┌──────────┐ ────────────────▶ ┌─────────────┐
//	│ Idle │                       │ Offering │                   │ Determining │
//	└──────┘ ◀──────────────────── └──────────┘                   └─────────────┘
//	    ▲        Resign, ctx          ▲    ▲                        │        │
//	    │                             │    │ own znode gone,        │        │ nobody
//	    │                             │    │ expiry                 │        │ is ahead
//	    │                             │    │   ┌─────────┐ somebody │        │
//	    │                             │    └── │ Waiting │ ◀────────┘        │
//	    │                             │        └─────────┘ is ahead          │
//	    │                    the term │             │ nobody is ahead        │
//	    │                    was lost │             ▼ any more               │
//	    │  Resign                  ┌─────────┐ ◀────┘                        │
//	    └───────────────────────── │ Leading │ ◀─────────────────────────────┘
//	                               └─────────┘
//
//	and from each: Stopped, by Close or with the session; Failed, by an error that standing again would not mend. Both are final.
//
// # Failure
//
// A disconnection is no loss: the term stands until the session can no longer vouch for it, see
// package session on trust. After a loss a standing intent stands again by itself, and so does Run;
// the next [Term] is a new value with new channels and a larger token. Nothing is re-armed. A panic
// inside ends the term with session.ErrRestarted and nothing else.
//
// # Others
//
// A candidate's znode is called n_ as on ZooKeeper's recipe page, with a GUID in front, and
// contains JSON: its ID, its data (base64), whether it is ready. Candidates of other libraries on
// the same path stand in the same line. Foreign znodes are ignored. [WithLayout] writes the names
// of libraries that do not respect Troupe's.
package election
