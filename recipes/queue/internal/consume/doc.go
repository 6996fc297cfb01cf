// Package consume is the machine that claims items of a queue for one consumer, and settles them:
// pure decisions, run by package recipe. Package layout says what the znodes mean.
//
// An item is free if no claim is on it. Nothing else says so: no process has to be told, and
// nothing has to be cleared up when a consumer dies, since its claims go with its session.
//
//	     Set(item, attempts+1), Create(claim)          Delete(item), Delete(claim)
//	free ────────────────────────────────────▶ claimed ──────────────────────────▶ gone
//	  ▲ ▲                                        │ │ │
//	  │ └──── Check(item), Delete(claim) ────────┘ │ └─▶ dead letter
//	  └──── later/ ◀── it goes back with a pause ──┘
//
// An item goes back without an attempt with Set(item, attempts-1) in the place of the Check.
//
// An item becomes a dead letter, pauses, or ends its delay by being put elsewhere, and deleted here
// in the same transaction. The machine asks a producer for that with [Put].
//
// Each operation on an item names the item's version, which each claim changes. So an operation
// that comes late does not touch an item that another consumer has claimed since. After a lost
// answer, the version and the claim tell whether the transaction was carried out.
//
// # What follows each event
//
//	proceed: put dead letters and pauses elsewhere; settle; move what is due; seek
//	seek, the first that is the case (a loss: a rival has claimed the item before):
//		the answer to joining was lost         list: is there a place in line?
//		no item is wanted                      forget what was found, and leave the line
//		the queue is or may be paused          forget what was found
//		candidates, fewer than four losses     claim them
//		free items, fewer than four losses     read some: they become candidates
//		buckets behind these are not listed    list some of them
//		losses, or no listing yet, or relist   list from the first bucket on
//		no place in line, or it yields         make one at the end of the line
//		a place whose turn it is (place.go)    arm the bell; list when it rings, or the place is new
//		the first two places (later.go)        list when a delayed item is due: a timer tells
//
// A consumer keeps its place in line until it claims. The first lists when the bell rings or a
// znode in consumers/ goes; the second half a second later, if the first hangs; the others sleep.
//
// # Which file for which task
//
//	event.go     commands to the machine, and the effects that package queue carries out
//	machine.go   events to handlers; what follows each event; the ends of an epoch and of the machine
//	gate.go      whether the queue is paused
//	base.go      requests and those that fail; the znodes that a queue always has
//	claim.go     from a listing to a claim: the order of what is done when items are wanted
//	finder.go    listings of buckets, and the free items in them
//	place.go     the place in line, and when it calls for a listing
//	later.go     items with a delay: when the next is due
//	holdings.go  items that are claimed, and commands about them
//	settle.go    Ack, Nack and Return for items that stay in their bucket, or go
//	move.go      items that are put elsewhere: dead letters, pauses, and those that are due
//	txn.go       transactions for several items, and what follows from each result
package consume
