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
// A dead letter, a pause, and what is due are items that are put elsewhere, which deletes them here
// in the same transaction: the machine asks a producer for that with [Put].
//
// Each operation on an item names its version, which each claim changes. So a late one touches
// nothing that somebody else has claimed since, and reading the two tells whether a transaction was
// carried out whose answer was lost.
//
// A consumer that has room looks; one that has found nothing stands in line:
//
//	     room            nothing found                  nobody ahead
//	busy ────▶ it looks ──────────────▶ third and behind ──────────▶ second ──▶ first
//	  ▲           │                     sleep                        looks ½ s  looks when
//	  └───────────┴──────────◀─────────────── a claim ───────────◀── later      the bell rings
package consume
