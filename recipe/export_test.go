package recipe

import "github.com/troupe-go/troupe/internal/seam"

// What tests may do to an instance: keep its actor busy, count its intents, hold up the ends of all
// possessions, and let a notice of the session come late.

// Occupy blocks the actor, in its first incarnation, until it is let go.
func (i *Claims[P]) Occupy() (letGo func()) {
	const firstIncarnation = 1
	occupied := make(chan struct{})
	i.core.host.ref.Tell(afterwards{firstIncarnation, func() { <-occupied }})
	return func() { close(occupied) }
}

// Intents is how many intents are in the ledger.
func (i *Claims[P]) Intents() int { return len(i.core.ledger.all()) }

// HoldUp blocks every call that ends a possession until it is let go: each takes the possession
// from the holders (Possession.drop), whose mutex is taken here.
func HoldUp() (letGo func()) {
	holders.mu.Lock()
	return holders.mu.Unlock
}

// Hear is a notice of the session in two steps: the view of the host has it at once, the actor is
// told when the test calls tell.
func (h *Host) Hear(n seam.Event) (tell func()) {
	m := h.saw(n)
	return func() { h.ref.Tell(m) }
}

// Begin is what Host.HoldAs tells of a possession.
func (t *Tenure) Begin() { t.begin() }

// Recording tells whether an intent is being entered.
func (i *Claims[P]) Recording() bool {
	free := i.core.ledger.mu.TryLock()
	if free {
		i.core.ledger.mu.Unlock()
	}
	return !free
}
