package tree

import "github.com/troupe-go/troupe/internal/jute"

// Who is the set of a caller's identities. To look one up costs the same however many there are: a
// client can have any number.
type Who struct {
	ids       []jute.Identity // as they came
	known     map[jute.Identity]struct{}
	addresses []string
	super     bool
}

// NewWho is who has these identities.
func NewWho(ids ...jute.Identity) *Who {
	w := &Who{known: make(map[jute.Identity]struct{})}
	for _, id := range ids {
		w.Add(id)
	}
	return w
}

// Add adds an identity, unless it is there.
func (w *Who) Add(id jute.Identity) {
	if _, there := w.known[id]; there {
		return
	}
	w.known[id] = struct{}{}
	w.ids = append(w.ids, id)
	switch id.Scheme {
	case SuperScheme:
		w.super = true
	case "ip":
		w.addresses = append(w.addresses, id.ID)
	}
}

// IDs are the identities, in the order in which they came.
func (w *Who) IDs() []jute.Identity {
	if w == nil {
		return nil
	}
	return w.ids
}

func (w *Who) mayAll() bool { return w != nil && w.super }

func (w *Who) matches(scheme, want string) bool {
	if w == nil {
		return false
	}
	if scheme != "ip" {
		_, there := w.known[jute.Identity{Scheme: scheme, ID: want}]
		return there
	}
	for _, have := range w.addresses {
		if ipMatches(have, want) {
			return true
		}
	}
	return false
}
