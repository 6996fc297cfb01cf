// Package consume is the machine that claims items of a queue for one consumer, and settles them:
// pure decisions, run by package recipe. Package layout says what the znodes mean.
//
// A free item is one that no claim is on. Nothing else says so: nobody has to be told, and nothing
// has to be cleared up when a consumer dies, since its claims go with its session.
//
//	     Set(item, attempts+1), Create(claim)          Delete(item), Delete(claim)
//	free ────────────────────────────────────▶ claimed ──────────────────────────▶ gone
//	  ▲ ▲                                        │ │ │
//	  │ └──── Check(item), Delete(claim) ────────┘ │ └─▶ dead letter
//	  └──── later/ ◀── it goes back with a pause ──┘
//
// What nobody has received goes back with Set(item, attempts-1) in the place of the Check.
//
// A dead letter, a pause, and what is due are items that are put elsewhere, which deletes them here
// in the same transaction: the machine asks a producer for that with [Put].
//
// Each operation on an item names its version, which each claim changes. So a late one touches
// nothing that somebody else has claimed since, and reading the two tells whether a transaction was
// carried out whose answer was lost.
//
// A consumer that wants more items lists; one that has found none stands in line until it claims:
//
//   - the first lists when the bell rings, or a znode in consumers/ goes;
//   - the second lists half a second later, in case that the first hangs;
//   - the others sleep, and watch the two ahead of them.
//
// # Which file for which task
//
//	event.go     what the machine is told, and what it asks its face for
//	machine.go   events to handlers, and what is asked for after each; the end of an epoch and of the machine
//	base.go      requests and those that fail, the znodes that a queue always has
//	claim.go     from a listing to a claim: the order of what is done when items are wanted
//	finder.go    listings of buckets, and the free items that they show
//	place.go     the place in line, and when it calls for a listing
//	later.go     items with a delay: when the next is due
//	holdings.go  items that are claimed, and commands about them
//	settle.go    Ack, Nack and Return where an item stays or goes
//	move.go      what is put elsewhere: dead letters, pauses, and what is due
//	txn.go       transactions for several items, and what follows from each result
package consume
