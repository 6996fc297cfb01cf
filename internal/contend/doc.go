// Package contend decides when an instance that wants something holds it. There are two strategies.
// With [New] it is one of the contenders under a znode, each an ephemeral sequential znode, and
// waits for those ahead: exclusive locks and elections with [Exclusive], shared locks with
// [Shared], semaphores with [AtMost]. With [NewSingle] there is one plain ephemeral znode: whoever
// creates it holds, and all others wait for it to go. That is the first form of a lock in
// ZooKeeper's paper, for paths that other systems guard in this way.
//
// It is pure decision logic in the vocabulary of package machine: no clock, no network, no
// goroutine. Whoever runs it (recipe.Claims) feeds it events and carries out its effects.
//
// # Contenders
//
//	                                      order known
//	┌──────┐ Wanted ┌─────────┐Entered ┌─────────┐ ───────────────▶ ┌──────────┐ both watched ┌─────────┐
//	│ Idle │───────▶│Entering │───────▶│ Listing │                  │ Checking │─────────────▶│ Waiting │
//	└──────┘        └─────────┘        └─────────┘ ◀─────────────── └──────────┘◀─────────────└─────────┘
//	   ▲             ▲       ▲           │    ▲   predecessor gone    ▲   │     watch fired       │
//	   │             │       │   order   ▼    │                       │   │ nobody is ahead       │ predecessor gone,
//	   │ Removed     │   own │ doubtful ┌──────────┐  Czxids read     │   ▼                       │ it alone was ahead
//	   │        next │ znode │          │ Ordering │──────────────────┘ ┌───────┐ trusted ┌─────────┐
//	┌─────────┐ claim│  gone │          └──────────┘                    │ Ready │────────▶│ Holding │◀┘
//	│ Leaving │──────┘       │                                          └───────┘         └─────────┘
//	└─────────┘              └──── from each of these                                        │  │
//	   ▲                                             HoldEnded: Entering, in its place◀──────┘  │
//	   └──── released, withdrawn, refused, failed ◀─────────────────────────────────────────────┘
//
// From Listing and Ordering it goes straight to Ready if nobody is ahead and the own znode is known
// to stand.
//
// A semaphore's contender whose turn it is goes through Marking, where that is written on its own
// znode, to Ready. A holder who goes on as a reader goes from Holding through Downgrading back to
// Holding, with another znode and the same token.
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
// There is no order: all who wait try when the znode goes, and the server picks one.
//
// With both, EpochEnded leads to Out from everywhere, and EpochBegan from there to Entering, or to
// Idle if nothing is wanted. [Transitions] declares every change of state with its reason.
//
// # Guarantees
//
//   - A [machine.Grant] is given only after, in the current epoch, the own znode was seen with this
//     session as its owner, and a look found nobody ahead that the rule makes it wait for (or the
//     one who was ahead is gone, and could not have left anything in its place). It was seen in one
//     of two ways: by a read with a watch that has not fired since; or by the create's own answer,
//     and then the look has shown it too, and its first read, which arms the watch, is under way at
//     the latest with the grant.
//   - So whoever deletes the own znode is heard of within a round trip: from the watch, or from
//     that first read's answer. Where the own znode can't be read, no possession lasts.
//   - The machine has one znode at a time. It makes the next one when the last is gone,
//     or in the transaction that deletes it.
//   - No possession comes of a znode twice, so that tokens grow.
//   - A waiter watches its own znode and one other. A predecessor that is gone is noticed at
//     whatever moment it goes.
//   - A single znode is granted only if the present epoch's session owns it and this machine has
//     created it. Its holder watches it, and reads before it believes that it is gone: an event at
//     the path is about whatever stood there when the watch was armed.
//   - No polling. The one exception is a holder whose own znode cannot be read (somebody took away
//     the right to): it asks again, with growing pauses.
//
// # Semaphores
//
// Whether it fits is what ZooKeeper's transaction says: the mark on the own znode is written
// together with a check of the limit's version. The first who does not fit is the head of the
// waiters. It watches who comes and goes, and the limit; all others watch the data of the one
// ahead, whose mark makes its successor the head. Nobody else could: a predecessor that becomes a
// holder leaves no trace but that mark. Once head, always head, as long as the znode stands:
// whoever is ahead of a holder holds too, or goes.
//
// If the limit is lowered, some who fitted before may still be about to be marked while others
// behind them are already; they are granted as if it had been at the moment when they fitted.
//
// # Delay
//
// [Config].Delay keeps the next holder waiting after one that died: Chubby's lock-delay, for the
// sake of requests of the dead one that are still on their way to somewhere that does not check
// tokens. A persistent record beside the contenders contains the token of whoever holds. It is
// written before a grant, and deleted in the transaction that gives the possession up. So whoever
// is first and finds another's token there knows that this one has ended otherwise: it waits, puts
// its own token in the place of that one, and is granted.
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
//   - Another's token is replaced only after a whole delay that began when it was found by one who
//     was first.
//   - A possession that was given up takes the record with it. One that was lost, by whatever,
//     leaves it.
//   - A Try claim does not wait out a delay: it is refused.
//
// # Claims
//
// The claims of an instance get their turn one after the other, and the znode stands for the first
// of them. A claim that is not Once goes to the back when its possession ends. A znode that no
// possession came of belongs to the instance rather than to the claim: when its claim is withdrawn
// or refused, the next one takes it over, so that giving up costs ZooKeeper nothing while others
// wait. With nobody to take it over, the znode is deleted, and the claim is settled when it is
// gone.
//
// A Try claim never waits behind another claim of its own instance, and its verdict comes only from
// a listing that was asked after it was wanted. So whoever it lost to was there during the try,
// also with a znode that it took over. It is settled once nothing of it is left: a second try
// elsewhere never loses to the first one's remains. With a single znode the verdict is the answer
// of a create.
//
// # Failures
//
// A definite error (no right to create, list or read; a request too large) settles every claim that
// waits at that moment, the standing intent too: each of them would ask the same of ZooKeeper.
// Where a znode stands already, it is deleted first. A listing that fails is believed only after
// the own znode was found standing; a parent deleted with everything in it means that the znode is
// gone, no more. If it is the first read of the own znode that fails, and it is held already, the
// possession ends with that error, and everything else goes as with a waiter.
//
// A lost znode (deleted by somebody, or not ours after all) is made anew, behind all others.
// When the epoch ends, a possession ends with it, and every claim stands again in the next.
//
// # What it asks of its host
//
// Beyond what package machine says: a Grant that cannot be made a possession is answered with
// Deferred, also because the epoch has ended already; EpochEnded then finds the claim waiting. That
// of a reader in a writer's place is answered with HoldEnded: the claim has had its possession.
// Released, HoldEnded and Deferred must be about the claim's present possession. A host that hears
// late of one that ended before (the machine emitted [machine.End], and perhaps granted again)
// keeps it to itself. Answers and Woke must go to the incarnation that asked; numbers start anew
// with each. Recovered must not name a znode that is being deleted already. Suspended comes before
// the events of watches that fired after it.
package contend
