// Package election elects one leader among many candidates, tells observers which one it is, and
// tells the leader when its term ends.
//
//	leader, err := election.New(sess, "/services/billing/leader")
//	…
//	err = leader.Run(ctx, func(ctx context.Context, term *election.Term) error {
//		return serve(ctx, term.Token()) // this process leads; ctx ends with the term
//	})
//
// [Election.Run] calls the function for each term, one after the other: in this process, a term
// starts only after the function of the previous one has returned. In a select loop,
// [Election.Campaign] states the intent and [Election.Leader] delivers the terms. After a loss the
// next term is delivered as soon as this candidate leads again, even if the code of the previous
// term is still running: wait for it before you start again.
//
// A process that only wants to know the leader also creates an Election, and does not campaign:
// [Election.Observe], [Election.Current], [Election.Candidates].
//
// # What it guarantees
//
//   - One leader at a time as far as clocks allow: when this process's session ends, a [Term] ends
//     locally before ZooKeeper's order makes another process the leader, with or without a network,
//     provided that the process runs and the machines' clocks run at about the same rate.
//   - Tokens of successive terms strictly grow, across sessions, processes and re-created parents,
//     and across [Term.TransferTo]. A resource that remembers the highest token it has seen can
//     refuse a leader that was paused (package fence). [session.Hold.Commit] makes ZooKeeper itself
//     refuse it.
//   - Order of arrival. A candidate keeps its position across any disconnection shorter than the
//     session; after an expiry, or a panic inside the package, it queues again at the end.
//   - The end of a leader wakes one candidate, or two, and the observers. Nothing polls.
//   - Observers see terms in order, never an older one after a newer one, and learn when there is
//     no leader.
//   - [Election.Run] deletes the candidate only after the leader's function has returned.
//
// It cannot stop a leader that was paused just before a write to another system from writing when
// it wakes. Only that system can, by checking the token. What an observer sees may be out of date
// when it is read: use it to decide which process to ask, not which process may act.
//
// # The states of a candidate
//
//	            Campaign, Lead, Run               znode created
//	┌──────┐ ────────────────────▶ ┌──────────┐ ────────────────▶ ┌─────────────┐
//	│ Idle │                       │ Offering │                   │ Determining │
//	└──────┘ ◀──────────────────── └──────────┘                   └─────────────┘
//	    ▲       Withdraw, ctx         ▲    ▲                        │        │
//	    │                             │    │ own znode gone,        │        │ none
//	    │                             │    │ expiry                 │        │ is ahead
//	    │                             │    │   ┌─────────┐ another  │        │
//	    │                             │    └── │ Waiting │ ◀────────┘        │
//	    │                             │        └─────────┘ is ahead          │
//	    │                    the term │             │ none is ahead          │
//	    │                    was lost │             ▼ any more               │
//	    │  Withdraw                ┌─────────┐ ◀────┘                        │
//	    └───────────────────────── │ Leading │ ◀─────────────────────────────┘
//	                               └─────────┘
//
// From each state: Stopped, by Close or with the session; Failed, by an error that campaigning
// again would not fix. Both are final.
//
// # Failure
//
// A disconnection is not a loss: the term is valid until the session can no longer prove that it is
// alive; see package session on trust. After a loss a standing intent queues again by itself, and
// so does Run; the next [Term] is a new value with new channels and a larger token. Nothing is
// re-armed. A panic inside the package ends the term with session.ErrRestarted, or has the waiting
// candidate queue again, and affects nothing else.
//
// # Other libraries
//
// A candidate's znode is named n_ as on ZooKeeper's recipe page, with a GUID in front, and contains
// JSON: its name, its data (base64), whether it is ready. Candidates of other libraries on the same
// path are part of the same queue. Other znodes are ignored. [WithLayout] uses the names of
// libraries that do not respect Troupe's.
package election
