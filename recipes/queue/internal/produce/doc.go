// Package produce is the machine that puts items into a queue: pure decisions, run by package
// recipe. Package layout says what the znodes mean, and package tail appends them to the lanes.
//
// # One transaction
//
// A put is one transaction, and one is under way at a time. When nothing is, a put is sent at once;
// what comes meanwhile goes together into the next transaction. If one of them can't be carried
// out, it is answered for itself, and the others are sent again: all of them, if the operation that
// failed tells which one it was; otherwise half as many, until the one is found.
//
// Single items that wait together share znodes, as those of a set do, if their GUIDs count on: then
// each item's GUID is that of its put, in whatever company it is sent, and sent again.
//
// # Lost answers
//
// Every transaction writes the producer's receipt: the numbers of the puts that it carries out, on
// condition of the receipt's version. Whoever has lost the answer reads the receipt. It outlives
// the session and the actor, and so a put that is told again is not carried out twice; the server
// deletes it a while after the process is gone.
//
//	         Put                    the transaction               Done
//	waiting ─────▶ queued ───────────────────────────▶ in flight ───────▶ settled
//	                 ▲                                  │      │
//	                 │  sealed, gone, room taken:       │      │ the answer is lost, the epoch over
//	                 └───────── look again ◀────────────┘      ▼
//	                 └──────── the receipt says no ◀──── in doubt ── the receipt says yes ──▶ settled
//
// The receipt is made before anything else is looked at. As long as it stands nobody has deleted
// the queue and made another one at its path, so versions that were read are this queue's.
//
// # Capacity
//
// Whoever gives a queue its capacity writes /q/work. A put without a limit checks the version of
// that, and one with a limit takes room from some of its parts, on condition of their versions. So
// a producer is bound by a capacity that was set after it had looked. A queue has its room once it
// is known that nothing lies in it: see limit.
package produce
