// Package lock provides distributed locks on ZooKeeper that report when they are lost: exclusive
// locks, shared (read-write) locks, semaphores, and several locks at once.
//
//	orders, err := lock.New(sess, "/locks/orders")
//	…
//	err = orders.Do(ctx, func(ctx context.Context, grant *lock.Grant) error {
//		return work(ctx, grant.Token()) // the lock is held; ctx ends with it
//	})
//	// Or as a standing intent: orders.Acquire(), and in a select loop <-orders.Acquired().
//
// # What it guarantees
//
//   - Mutual exclusion as far as clocks allow: when this process's session ends, a [Grant] ends
//     locally before ZooKeeper gives the lock to another process, with or without a network,
//     provided that the process runs and the machines' clocks run at about the same rate.
//   - Tokens of successive grants strictly grow, across sessions, processes and re-created parents,
//     unless the ensemble loses its data ([session.ErrDataLoss]).
//     A resource that remembers the highest token it has seen can refuse a holder that was paused
//     (package fence). [session.Hold.Commit] makes ZooKeeper itself refuse it.
//   - Order of arrival. A waiter keeps its position across any disconnection shorter than the
//     session; after an expiry, or a panic inside the package, it queues again at the end.
//   - A release wakes one waiter, or two, however many wait. Nothing polls.
//   - An instance has one znode in the queue at a time, however many goroutines wait on it, and
//     none when no goroutine does.
//
// It cannot stop a process that was paused just before a write from writing when it wakes. No
// distributed lock can. Only the resource can, by checking the token.
//
// # The states of an instance
//
//	          Acquire, Lock                     another is ahead
//	┌──────┐ ────────────▶ ┌─────────┐ ──────────────────────────▶ ┌─────────┐
//	│ Idle │               │ Waiting │ ◀────────────────────────── │ Waiting │
//	└──────┘ ◀──────────── └─────────┘   own znode gone, expiry    │ behind  │
//	    ▲    ctx, Withdraw     │                                   └─────────┘
//	    │                      │ none is ahead ◀───────────────────────┘
//	    │                      ▼                    the one ahead released, or died
//	    │  Release         ┌─────────┐
//	    └───────────────── │ Holding │ ── trust ran out, expiry, deleted ──▶ Done closes; a standing intent queues again
//	                       └─────────┘
//
// From each state: Stopped, by Close or with the session; Failed, by an error. Both are final.
//
// # Failure
//
// A disconnection is not a loss: the grant is valid until the session can no longer prove that it
// is alive; see package session on trust. After a loss the standing intent queues again by itself,
// and the next [Grant] is a new value with new channels and a larger token. Nothing is re-armed.
//
// # Other locks
//
// [NewRead] and [NewWrite] are the two sides of a shared lock: readers hold it together, a writer
// holds it alone. [NewSemaphore] admits as many holders as there are permits. All are locks like
// that of [New], with the same calls and the same grants.
//
// [NewMulti] combines several locks, all or none. [WithDelay] makes the next holder wait after one
// that died. [WithLayout] uses the znode names of other libraries that do not respect Troupe's
// names; [Simple] is the single plain znode with which some systems guard a path.
//
// # Which file for which task
//
//	lock.go       a Lock and its calls: New, Acquire, Lock, TryLock, Do, Close; the errors
//	grant.go      the end of a possession: Release and Downgrade; Revoke and Break by others
//	kind.go       exclusive, read and write locks, and their znodes' names in each layout
//	semaphore.go  limits and weights; which contenders of a semaphore hold
//	multi.go      several locks at once
//	observe.go    who holds and who waits: Contenders, Observe, Delay, ObserveStatus
//	option.go     the options
package lock
