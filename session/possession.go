package session

// Possession is anything with a [Hold] in it: a grant, a term, an item, or the hold itself. A type
// becomes one by embedding *Hold.
type Possession interface{ possession() *Hold }

func (h *Hold) possession() *Hold { return h }

// holdOf is recipe.HoldOf.
func holdOf(p Possession) (h *Hold) {
	// Embedding alone leads to a hold, so it is a nil, p or one on the way, if this panics.
	defer func() { _ = recover() }()
	return p.possession()
}
