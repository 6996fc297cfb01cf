package recipe

import "github.com/troupe-go/troupe/internal/seam"

// What tests may do to an instance: hold it up, and look into its ledger.

// Occupy keeps the actor from everything else until it is let go. It is
// the actor's first incarnation.
func (i *Claims[P]) Occupy() (letGo func()) {
	occupied := make(chan struct{})
	i.core.host.ref.Tell(afterwards{1, func() { <-occupied }})
	return func() { close(occupied) }
}

// Wishes is how many wishes are in the ledger.
func (i *Claims[P]) Wishes() int { return len(i.core.ledger.all()) }

// HoldUp keeps whoever ends a possession from going on until it is let go.
func HoldUp() (letGo func()) {
	holders.mu.Lock()
	return holders.mu.Unlock
}

// Hear passes on what the session says, in two parts: what tell does comes last.
func (h *Host) Hear(n seam.Event) (tell func()) {
	m := h.saw(n)
	return func() { h.ref.Tell(m) }
}
