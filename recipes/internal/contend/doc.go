// Package contend is the state machine of locks, elections and semaphores: it decides when an
// instance holds what it wants. There are two strategies:
//
//   - With [New] the instance is one of the contenders under a znode, each an ephemeral sequential
//     znode, and waits for those ahead of it: [Exclusive] for locks and elections, [Shared] for
//     shared locks, [AtMost] for semaphores.
//   - With [NewSingle] there is one plain ephemeral znode. The instance that creates it holds, and all
//     others wait until it is deleted. This is the first form of a lock in ZooKeeper's paper. It
//     serves paths that other systems lock in this way.
//
// It is pure decision logic, as package machine describes it. Its host is recipe.Claims.
//
// # The loop
//
//	create   an ephemeral sequential znode; its name has a GUID        enter, onEntered
//	list     the contenders                                            list, digest, arrange
//	decide   for which of those ahead the rule makes it wait           conclude; a semaphore: decide
//	wait     for the deletion of the last of these, if mayWait         onPredSeen, advance
//	         when it is gone, list again, unless mayHold by now        predGone, predReleased
//	hold     if mayHold, and the session is trusted                    first, grant
//	delete   the znode: the possession has ended                       leave, onLeft
//
// [Machine.Step] takes what comes in between, and passes it to one of these. Whether the machine
// may hold, and whether it may wait, are two pure functions in decide.go.
//
// # Contenders
//
//	                                      order known
//	┌──────┐ Wanted ┌─────────┐Entered ┌─────────┐ ───────────────▶ ┌──────────┐ both watched ┌─────────┐
//	│ Idle │───────▶│Entering │───────▶│ Listing │                  │ Checking │─────────────▶│ Waiting │
//	└──────┘        └─────────┘        └─────────┘ ◀─────────────── └──────────┘◀─────────────└─────────┘
//	   ▲             ▲       ▲           │    ▲   predecessor gone    ▲   │     watch fired       │
//	   │             │       │   order   ▼    │                       │   │ none is ahead         │ predecessor gone,
//	   │ Removed     │   own │ doubtful ┌──────────┐  Czxids read     │   ▼                       │ it alone was ahead
//	   │        next │ znode │          │ Ordering │──────────────────┘ ┌───────┐ trusted ┌─────────┐
//	┌─────────┐ claim│  gone │          └──────────┘                    │ Ready │────────▶│ Holding │◀┘
//	│ Leaving │──────┘       │                                          └───────┘         └─────────┘
//	└─────────┘              └──── from each of these                                        │  │
//	   ▲                                             HoldEnded: Entering, in its place◀──────┘  │
//	   └──── released, withdrawn, refused, failed ◀─────────────────────────────────────────────┘
//
// From Listing and Ordering it goes straight to Ready if no contender is ahead and the own znode is
// known to exist. With two or more ahead only the predecessor is watched.
//
// In a semaphore, a contender whose turn it is first writes a mark on its own znode: it goes
// through Marking to Ready. A writer that is downgraded to a reader goes from Holding through
// Downgrading back to Holding, with another znode and the same token.
//
// # A single znode
//
//	                created                    trusted
//	┌──────┐ Wanted ┌─────────┐ ─────▶ ┌───────┐ ─────▶ ┌─────────┐
//	│ Idle │───────▶│Entering │        │ Ready │        │ Holding │
//	└──────┘        └─────────┘        └───────┘        └─────────┘
//	   ▲             ▲  │    │ whose? ┌──────────┐ ours ▲     │
//	   │             │  │    └──────▶ │ Checking │──────┘     │ Released, HoldEnded,
//	   │        gone │  │ exists      └──────────┘            │ Withdrawn
//	   │             │  ▼                                     ▼
//	   │         ┌─────────┐ watched ┌──────────┐        ┌─────────┐
//	   │         │ Reading │────────▶│ Watching │        │ Leaving │
//	   │         └─────────┘         └──────────┘        └─────────┘
//	   └─────────────────────────────────────────────────────┘ Removed
//
// There is no order: when the znode is deleted, all that wait try to create it, and one succeeds.
//
// In both strategies EpochEnded leads to Out from everywhere, and EpochBegan from there to
// Entering, or to Idle if nothing is wanted. The table in testdata/transitions.md has every change
// of state with its reason, and the tests hold the machine to it.
//
// # Guarantees
//
//   - A [machine.Grant] has two conditions, both in the current epoch. The own znode was seen, with
//     this session as its owner. And a listing showed no contender ahead that the rule makes it wait
//     for, or the only one ahead was deleted since and could not have left another in its place, or
//     the last one ahead, of the same session, has held alone since and released, or a semaphore's
//     transaction marked the own znode. These are none, released and marked in decide.go.
//   - There are two ways to have seen the own znode. Either a read found it, and the watch of that
//     read has not fired since. Or the reply to the create told of it: then the listing showed it
//     too, and its first read, which sets the watch, is sent a few milliseconds after the grant. A
//     possession that is released by then costs no read.
//   - So a holder notices within these milliseconds and a round trip if another client deletes the
//     own znode, or asks it to release: from the watch, or from the reply to that first read. If the
//     own znode cannot be read, the possession ends.
//   - The machine has one znode at a time. It creates the next one when the last is deleted,
//     or in the transaction that deletes it.
//   - A znode is granted at most once, so that tokens grow.
//   - A waiter watches its predecessor, and notices that one's deletion whenever it happens. A
//     waiter that is next, and one whose znode's name has no GUID, watches its own znode too. The
//     others list before a grant, and learn then whether their znode exists.
//   - A predecessor of the same session is followed in the session instead ([machine.Read].SameSession).
//     When the predecessor holds, or a contender of the session before it, the waiter watches its own
//     znode. When the predecessor has released what it held alone, no contender is ahead, and the
//     waiter is granted as soon as its own znode is watched, though the predecessor's may still
//     exist. The release may be told before the own znode's end: then the host, whose session knows
//     of that end, answers the Grant with Deferred.
//   - A single znode is granted only if the current session owns it and this machine created it.
//     The holder watches it, and reads before it concludes that the znode is gone: see single.go.
//   - No polling, with one exception: a holder that may no longer read its own znode tries again,
//     with growing pauses.
//
// # Semaphores
//
// A transaction decides whether a contender gets its permits: it writes the mark on the own znode
// and checks the version of the limit. The first contender that does not fit is the head of the
// waiters. It watches the children of the parent, and the limit. Every other waiter watches the
// data of the one ahead: when that one is marked as a holder, its successor becomes the head. The
// mark is the only sign of this, since a predecessor that becomes a holder keeps its znode. The
// head remains the head as long as its znode exists: those ahead of a holder hold as well, or
// leave.
//
// When the limit is lowered, a contender that fitted before may not have its mark yet, while others
// behind it have theirs. It is granted as of the moment when it fitted.
//
// # Delay
//
// [Config].Delay is Chubby's lock-delay. After a holder that died the next one waits, because
// requests of the dead holder may still be on their way to a service that does not check tokens. A
// persistent record beside the contenders contains the token of the holder. It is written before a
// grant, and deleted in the transaction that releases the possession. So a contender that is first
// and finds another token in the record knows that its holder did not release: it waits, replaces
// the token by its own, and is granted.
//
//	         it is its turn                     written
//	┌──────┐ ────────────────────────▶ ┌───────────┐ ──────▶ ┌──────────┐
//	│ Open │                           │ Recording │         │ Recorded │──▶ Grant
//	└──────┘ ◀──── the own znode goes  └───────────┘         └──────────┘
//	    ▲          in each of these      │       ▲
//	    │                     another's  ▼       │ the delay is over
//	    │                              ┌──────────┐
//	    └───────────────────────────── │ Delaying │
//	                                   └──────────┘
//
// It promises, beside the guarantees above:
//
//   - A grant comes only after the record contains its token, written while the own znode stood.
//   - Another's token is replaced only after a whole delay, which begins when a contender that is
//     first finds it.
//   - A release deletes the record. A possession that is lost, for any reason, leaves it.
//   - A Try claim does not wait for the delay: it is refused.
//
// # Claims
//
// The claims of an instance are served one after the other, and the znode is that of the first of
// them. A claim that is not Once goes to the back when its possession ends. A znode that was not
// granted belongs to the instance rather than to the claim: when its claim is withdrawn or refused,
// the next claim takes it over, so that withdrawing costs no request while others wait. If there is
// no other claim, the znode is deleted, and the claim is settled after that.
//
// A Try claim never waits behind another claim of its own instance. It is refused only by a listing
// that was requested after the claim was made. So the contender it lost to was there during the
// try, even if the claim took a znode over. It is settled once its znode is deleted: a second try
// elsewhere never loses to what is left of the first. With a single znode, the reply to a create
// decides.
//
// # Failures
//
// A definite error (no right to create, list or read; a request too large) settles every claim that
// waits at that moment, the standing intent too: each of them would send the same request. If a
// znode exists already, it is deleted first. A failed listing counts only after the own znode was
// found to exist: if the parent was deleted with all its children, only the znode is gone. If the
// first read of the own znode fails and it is granted already, the possession ends with that error,
// and the rest is as for a waiter.
//
// A lost znode (deleted by another client, or not ours after all) is created again, behind all
// others. When the epoch ends, a possession ends with it, and every claim is renewed in the next.
//
// # What it requires of its host
//
// Beyond what package machine says:
//
//   - A Grant that cannot become a possession is answered with Deferred, even if the epoch has ended
//     already; the claim is waiting when EpochEnded comes. After a downgrade it is answered with
//     HoldEnded instead: the claim has had its possession.
//   - Released, HoldEnded and Deferred are about the claim's current possession. The host does not
//     tell them of an earlier one, which the machine has ended with [machine.End] before it granted
//     again.
//   - Answers and Woke go to the incarnation that asked; each incarnation numbers from 1.
//   - Suspended comes before the events of watches that fired after it.
//
// # Which file for which task
//
//   - decide.go: whether it may hold, and whether it may wait
//   - contenders.go: one of several contenders: its events, its downgrade
//   - listing.go: the listings, and the order of the contenders
//   - single.go: the one znode at a path
//   - entry.go: the own znode, from its create over its grant to its deletion
//   - claims.go: the claims of the application
//   - machine.go, state.go, epoch.go, watches.go: the machine, its states and keys, epochs, watches
//   - rule.go, semaphore.go: who waits for whom; permits, marks and the limit
//   - delay.go: the delay after a holder that died
package contend
