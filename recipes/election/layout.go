package election

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Layout determines the name of a candidate's znode, and its contents. Troupe respects the
// candidates of other libraries on its path whatever the layout, so the other layouts are needed
// only for libraries that do not respect Troupe's names.
//
// In the layouts of other libraries a znode contains only the ID (see [WithID]), as theirs do, so
// that they can identify the leader. So [WithData], [Term.Ready] and [Term.Proclaim] are
// session.ErrUnsupported there. So is [Term.TransferTo], since a candidate of another library that
// is moved away may not queue again.
type Layout int

// The layouts.
const (
	// Troupe is the default.
	Troupe Layout = iota

	// Curator is the layout of Curator's LeaderLatch ("latch-"), which sorts all other candidates
	// last.
	Curator

	// Kazoo is the layout of the Python library kazoo, whose Election is a lock
	// ("<uuid>__lock__").
	Kazoo

	// LeaderElectionSupport is the layout of ZooKeeper's Java recipe of this name: "n_<number>",
	// without a GUID, with the ID in place of the host name. Nothing else may be under the path:
	// that recipe fails on any child that it cannot parse.
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

// WithLayout uses the znode name and contents of another library.
func WithLayout(l Layout) Option {
	return func(o *options) error {
		if l < 0 || int(l) >= len(layouts) {
			return fmt.Errorf("WithLayout: unknown layout %d", int(l))
		}
		o.layout = l
		return nil
	}
}

// content is the initial data of a candidate's znode.
func (o options) content() ([]byte, error) {
	switch {
	case o.layout == Troupe:
		return envelope{ID: o.id, Data: o.data, By: o.by}.encode()
	case len(o.data) > 0:
		return nil, fmt.Errorf("WithData: %w: the layout %v stores only the ID", session.ErrUnsupported, o.layout)
	}
	return []byte(o.id), nil
}

// expressible refuses what the layout cannot represent.
func (e *Election) expressible() error {
	if e.layout == Troupe {
		return nil
	}
	return fmt.Errorf("%w: not in the layout %v", session.ErrUnsupported, e.layout)
}
