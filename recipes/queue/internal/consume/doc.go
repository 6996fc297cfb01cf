// Package consume is the machine that claims items of a queue for one consumer, and settles them:
// pure decisions, run by package recipe. Package layout says what the znodes mean.
//
// What is claimed is not marked on the items: the cursor says up to where everything was claimed,
// and each consumer's journal what it has of that. So a claim is one transaction that writes these
// two, however many items it is for:
//
//	                 Set(cursor), Set(journal)                Set(journal), Delete(item)
//	behind the cursor ──────────────────────────▶ in a journal ──────────────────────────▶ gone
//	                                               ▲        │
//	             Delete(returned/x), Set(journal)  │        │  Set(journal), Create(returned/x): it goes back
//	                                               │        ▼  Delete(journal), Create(returned/x): its consumer is dead
//	                                              returned/x
//
// Every transaction writes the journal, on condition of its version. So nobody acknowledges what
// somebody else has taken over, and reading the journal tells whether a transaction was carried out
// whose answer was lost.
//
// An attempt counts when an item was received. The journal marks what may be handed out before it
// is, so that an item that kills its process is counted; the marks of items that find no receiver
// within ten milliseconds are taken back until they find one.
//
// Only the first consumer in line looks for items: it watches the queue, returns what dead
// consumers had, and then claims what it has room for. Without room it stays first as long as it
// knows of nothing that it could claim: an item that is put then costs the others nothing. It
// leaves the line when it does, or when it has settled nothing for a while, and the next one looks.
// The line decides who looks, and never who has what.
//
//	        room                    nobody ahead                    no room, and more to claim
//	busy ──────────▶ in line ───────────────────────▶ dispatcher ──────────────────────────────▶ busy
package consume
