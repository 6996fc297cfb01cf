// Package give is the machine that puts items into a queue: pure decisions, run by package
// recipe.
//
// # What it keeps
//
// Items of one priority lie in buckets, numbered in the order in which they were opened. One of
// them is open, the last: its version is 0. A put is one transaction that checks that, so any
// number of producers put at the same time without a conflict, and nothing is ever put into a
// sealed bucket. When a bucket is full, the transaction that finds it so seals it and opens the
// next one. So every item in a lower bucket was put before every item in a higher one, whatever any
// producer believed meanwhile, and the order of arrival survives.
//
// A bucket 0 that was sealed stays, for as long as the queue lives, so that nobody takes its lane
// for a new one; the others go when they are empty.
//
// # Lost answers
//
// Every transaction writes the producer's receipt: the numbers of the wishes that it carries out,
// on condition of the receipt's version. Whoever has lost the answer reads the receipt. It outlives
// the session and the actor, and so a wish that is told again is not carried out twice; the server
// deletes it a while after the process is gone.
//
//	         Put                    the transaction               Done
//	waiting ─────▶ queued ───────────────────────────▶ in flight ───────▶ settled
//	                 ▲                                  │      │
//	                 │  sealed, gone, room taken:       │      │ the answer is lost, the epoch over
//	                 └───────── look again ◀────────────┘      ▼
//	                 └──────── the receipt says no ◀──── in doubt ── the receipt says yes ──▶ settled
package give
