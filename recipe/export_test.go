package recipe

import "github.com/troupe-go/troupe/internal/seam"

// What tests may do to an instance: occupy its actor, and read its ledger.

// Occupy blocks the actor, in its first incarnation, until it is let go.
func (i *Claims[P]) Occupy() (letGo func()) {
	occupied := make(chan struct{})
	i.core.host.ref.Tell(afterwards{1, func() { <-occupied }})
	return func() { close(occupied) }
}

// Wishes is how many wishes are in the ledger.
func (i *Claims[P]) Wishes() int { return len(i.core.ledger.all()) }

// HoldUp blocks every call that ends a possession until it is let go.
func HoldUp() (letGo func()) {
	holders.mu.Lock()
	return holders.mu.Unlock
}

// Hear passes on what the session says, in two parts: what tell does comes last.
func (h *Host) Hear(n seam.Event) (tell func()) {
	m := h.saw(n)
	return func() { h.ref.Tell(m) }
}
