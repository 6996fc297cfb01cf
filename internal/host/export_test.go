package host

// Occupy keeps the actor from everything else until it is let go.
func (i *Instance[P]) Occupy() (letGo func()) {
	occupied := make(chan struct{})
	i.ref.Tell(poked{func() { <-occupied }})
	return func() { close(occupied) }
}

// Claims is how many wishes are in the ledger.
func (i *Instance[P]) Claims() int { return len(i.ledger.all()) }
