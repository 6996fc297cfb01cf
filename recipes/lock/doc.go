// Package lock holds things for one process at a time: a lock on ZooKeeper that says when it is
// lost.
//
//	orders, err := lock.New(sess, "/locks/orders")
//	…
//	orders.Acquire()                    // the intent: hold it, whatever happens on the way
//	for grant := range orders.Acquired() {
//		work(grant.Context(), grant.Token()) // the fact: it is ours until Done
//	}
//
// # What it guarantees
//
//   - Mutual exclusion as far as clocks allow: a [Grant] ends, here, before ZooKeeper gives the
//     lock to somebody else because this process's session ended, network or no network, given that
//     the process runs and the machines' clocks go at about the same rate.
//   - Tokens of successive grants strictly grow, across sessions, processes and re-created parents.
//     A resource that remembers the highest token it has seen refuses a holder that was paused
//     (package fence). [session.Hold.Commit] makes ZooKeeper itself refuse him.
//   - Order of arrival. A waiter keeps its place across any disconnection shorter than the session;
//     after an expiry it stands again at the end.
//   - A release wakes one waiter. Nothing polls.
//   - One instance has one znode in the line at a time, however many goroutines wait on it, and
//     none when nobody does.
//
// What it does not: no lock in any distributed system can stop a process that was paused, at the
// instruction before its write, from writing when it wakes. Only the resource can, by the token.
//
// # The states of an instance
//
//	          Acquire, Lock                    somebody is ahead
//	┌──────┐ ────────────▶ ┌────────┐ ───────────────────────────▶ ┌────────┐
//	│ Idle │               │ Queued │ ◀─────────────────────────── │ Queued │
//	└──────┘ ◀──────────── └────────┘   own znode gone, expiry     │ behind │
//	    ▲    ctx, Release      │                                   └────────┘
//	    │                      │ nobody is ahead ◀─────────────────────┘
//	    │                      ▼                    he released, or died
//	    │  Release         ┌──────┐
//	    └───────────────── │ Held │ ── trust ran out, expiry, deleted ──▶ Done closes; a standing intent queues again
//	                       └──────┘
//
// # Failure
//
// A disconnection is not a loss: the grant stands until the session can no longer vouch for it, see
// package session on trust. After a loss the standing intent stands again by itself, and the next
// [Grant] is a new value with new channels and a larger token. Nothing is re-armed.
//
// # More than one, and others
//
// [NewRead] and [NewWrite] are the two sides of a shared lock: readers hold together, a writer
// alone. [NewSemaphore] lets as many hold as there are permits. Both are locks like that of [New],
// with the same calls and the same grants.
//
// [NewMulti] holds several locks together, all or none. [WithDelay] has the next holder wait after
// one that died. [WithLayout] names the znodes as other libraries do, where those do not respect
// Troupe's names; [Simple] is the one plain znode by which some systems guard a path.
package lock
