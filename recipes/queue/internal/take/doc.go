// Package take is the machine that takes items out of a queue: pure decisions, run by package
// recipe.
//
// # The life of an item in it
//
//	          listed           read              the claim: one transaction for several
//	in line ─────────▶ picked ──────▶ ready ─────────────────────────────────────────▶ held
//	   ▲                  │  somebody was quicker: listed again  │                        │
//	   └──────────────────┴──────────────────────────────────────┘                        │ Ack: deleted, with the claim
//	   ▲                                                                                  ├──────────────────────────────▶ gone
//	   │  Nack, Return, loss: the claim goes, and the item is where it was                │ too many attempts
//	   └──────────────────────────────────────────────────────────────────────────────────┼──────────────────────────────▶ dead letters
//
// The claim writes the item's own data back to it, on condition of its version: so the version
// counts the attempts, those of the dead too, and what is done to the item on condition of the next
// version can be done by this claim's owner alone. With AutoAck the transaction deletes the items
// instead, and writes a receipt, so that a lost answer can be made up for.
//
// # Packs
//
// Items that were put together lie in packs, whose names say what they are and how often they were
// claimed. Whoever claims some of them, or settles some, deletes the pack and makes packs of its
// parts; so a name stands for a state, as the version of a single item's znode does. See
// docs/decisions/0016-packs.md.
//
// # Order
//
// Buckets are gone through in order, and no bucket is passed of which it is not known that nothing
// in it is free. What is known comes from a listing with a watch; several items are taken with one
// listing, and the next listing comes when that is used up, when somebody else was quicker, or when
// a claim of one's own was given back.
package take
