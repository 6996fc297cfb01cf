package election

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Layout is how a candidate's znode is named, and what it contains. Troupe understands and respects
// the others' candidates on its path whatever the layout; a layout is for the sake of libraries
// that do not understand Troupe's.
//
// In the layouts of others a znode contains the ID (see [WithID]) and nothing else, as theirs do,
// so that they can tell who leads. So there [WithData], [Term.Ready] and [Term.Proclaim] are
// session.ErrUnsupported. So is [Term.TransferTo], since a candidate of another library that is
// sent away may not stand again.
type Layout int

// The layouts.
const (
	// Troupe is the default.
	Troupe Layout = iota

	// Curator is that of Curator's LeaderLatch ("latch-"), which takes all other candidates for the
	// last in line.
	Curator

	// Kazoo is that of the Python library kazoo, whose Election is a lock ("<uuid>__lock__").
	Kazoo

	// LeaderElectionSupport is that of ZooKeeper's Java recipe of this name: "n_<number>",
	// unprotected, with the ID for the host's name. Nothing else may be under the path: that recipe
	// fails at any child that it cannot read.
	LeaderElectionSupport
)

var layouts = [...]struct {
	name string
	mark string
	form znode.Form
}{
	Troupe:                {"Troupe", "n_", znode.Dashed},
	Curator:               {"Curator", "latch-", znode.Dashed},
	Kazoo:                 {"Kazoo", "__lock__", znode.Bare},
	LeaderElectionSupport: {"LeaderElectionSupport", "n_", znode.Plain},
}

// String is the layout's name.
func (l Layout) String() string {
	if l < 0 || int(l) >= len(layouts) {
		return fmt.Sprintf("Layout(%d)", int(l))
	}
	return layouts[l].name
}

// WithLayout names the candidate's znode as another library does, and fills it as that does.
func WithLayout(l Layout) Option {
	return func(o *options) error {
		if l < 0 || int(l) >= len(layouts) {
			return fmt.Errorf("WithLayout: unknown layout %d", int(l))
		}
		o.layout = l
		return nil
	}
}

// content is what a candidate's znode contains at first.
func (o options) content() ([]byte, error) {
	switch {
	case o.layout == Troupe:
		return envelope{ID: o.id, Data: o.data}.encode()
	case len(o.data) > 0:
		return nil, fmt.Errorf("WithData: %w: the layout %v has room for the ID alone", session.ErrUnsupported, o.layout)
	}
	return []byte(o.id), nil
}

// expressible refuses what the layout has no room for.
func (e *Election) expressible() error {
	if e.layout == Troupe {
		return nil
	}
	return fmt.Errorf("%w: not in the layout %v", session.ErrUnsupported, e.layout)
}
