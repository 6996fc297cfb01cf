// Package delay is the machine of locks with a delay after a holder that died: Chubby's lock-delay,
// for the sake of requests of the dead one that are still on their way to somewhere that does not
// check tokens.
//
// It is a contender (package contend) with a gate in front of its grants. A persistent record
// beside the line contains the token of whoever holds. It is written before a grant, and deleted in
// the transaction that gives the possession up. So whoever is first in line and finds another's
// token there knows that this one has ended otherwise: it waits, puts its own token in the place of
// that one, and is granted.
//
//	         granted by the contender           written
//	┌──────┐ ────────────────────────▶ ┌───────────┐ ──────▶ ┌──────────┐
//	│ Open │                           │ Recording │         │ Recorded │──▶ Grant
//	└──────┘ ◀──── the place is lost   └───────────┘         └──────────┘
//	    ▲            in each of these    │       ▲
//	    │                     another's  ▼       │ the delay is over
//	    │                              ┌───────────┐
//	    └───────────────────────────── │ Lingering │
//	                                   └───────────┘
//
// [Transitions] declares every change of state with its reason.
//
// # Guarantees, beside those of package contend
//
//   - A grant comes only after the record contains its token, written while the own znode stood.
//   - Another's token is replaced only after a whole delay that began when it was found by one who
//     was first.
//   - A possession that was given up takes the record with it. One that was lost, by whatever,
//     leaves it.
//   - A Try claim does not wait out a delay: it is refused.
//
// It keeps the contender waiting by telling it that the grant cannot be made yet (Deferred), and
// that it can (TrustGained, which says nothing new by then).
package delay
