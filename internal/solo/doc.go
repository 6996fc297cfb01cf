// Package solo is the machine of locks that are one plain ephemeral znode: whoever creates it
// holds, and all others wait for it to go. It is the first form of a lock in ZooKeeper's paper, for
// paths that other systems guard in this way.
//
// It is pure decision logic in the vocabulary of package machine, as package contend is: no clock,
// no network, no goroutine.
//
//	               created                      trusted
//	┌──────┐ Wanted ┌──────────┐ ──────▶ ┌───────┐ ──────▶ ┌─────────┐
//	│ Idle │───────▶│ Creating │         │ Ready │         │ Holding │
//	└──────┘        └──────────┘         └───────┘         └─────────┘
//	   ▲             ▲  │    │ whose? ┌───────────┐ ours ▲       │
//	   │             │  │    └──────▶ │ Verifying │──────┘       │ Released, HoldEnded,
//	   │        gone │  │ exists      └───────────┘              │ Withdrawn
//	   │             │  ▼                                        ▼
//	   │         ┌─────────┐ watched ┌─────────┐           ┌─────────┐
//	   │         │ Looking │────────▶│ Waiting │           │ Leaving │
//	   │         └─────────┘         └─────────┘           └─────────┘
//	   └───────────────────────────────────────────────────────┘ Left
//
// EpochEnded leads to Out from everywhere, and EpochBegan from there to Creating, or to Idle if
// nothing is wanted. [Transitions] declares every change of state with its reason.
//
// # Guarantees
//
//   - A [machine.Grant] is given only for a znode that the present epoch's session owns and that
//     this machine has created.
//   - No possession comes of a znode twice, so that tokens grow.
//   - A holder's znode is watched. An event at the path is about whatever stood there when the
//     watch was armed, which may have been somebody else's znode; so a holder reads before it
//     believes that its own is gone.
//   - There is no line: all who wait try when the znode goes, and the server picks one. No polling.
//
// # Claims
//
// As in package contend: the claims of an instance have a line of their own, and the znode stands
// for the first of them. A Try claim is refused by the answer of a create that was asked after it
// was wanted.
package solo
