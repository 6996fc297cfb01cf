package election

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
	"unicode/utf8"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Option configures an Election.
type Option func(*options) error

type options struct {
	name   string
	data   []byte
	by     json.RawMessage
	layout Layout

	claims recipe.ClaimsConfig // the fields that options set
}

// warnAfter is the default of WithHeldWarning.
const warnAfter = 10 * time.Second

// newOptions applies the options, for a session of this identity.
func newOptions(i session.Identity, opts []Option) (options, error) {
	o := options{name: defaultName(), by: znode.Identity(i).JSON(), claims: recipe.ClaimsConfig{WarnAfter: warnAfter}}
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("opts[%d]: nil", i)
		}
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	var err error
	o.claims.Data, err = o.content()
	return o, err
}

// WithName sets the name of this candidate, which observers see. It must be unique among the
// candidates on the path. The default consists of the host's name, the process ID and a random
// part.
func WithName(name string) Option {
	return func(o *options) error {
		if name == "" {
			return errors.New("WithName: empty")
		}
		if !utf8.ValidString(name) {
			return errors.New("WithName: not UTF-8")
		}
		o.name = name
		return nil
	}
}

// WithData sets the data of the candidate's znode, which observers see from the moment it
// campaigns: the address of this process, say. [Term.Proclaim] replaces them for the rest of a
// term; the next candidacy begins with these data again.
func WithData(data []byte) Option {
	return func(o *options) error {
		o.data = append([]byte(nil), data...)
		return nil
	}
}

// WithHeldWarning sets the time after which a warning is logged for a term that this candidate
// holds and no code has received from [Election.Leader], if other candidates wait: no process leads
// meanwhile. The warning in the session's log has the place in the source that called
// [Election.Campaign]. The default is 10 seconds; further warnings follow after a minute and every
// ten minutes. 0 turns them off. A term that was received is not warned of: leading may last.
func WithHeldWarning(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithHeldWarning: d: negative: %v", d)
		}
		o.claims.WarnAfter = d
		return nil
	}
}

func defaultName() string {
	name, err := os.Hostname()
	if err != nil || !utf8.ValidString(name) {
		name = "unknown"
	}
	return fmt.Sprintf("%s-%d-%08x", name, os.Getpid(), rand.Uint32())
}

// WithACL sets the ACL of the znodes that the election creates: its candidates' znodes, the path
// itself, and its missing parents. Without this option they get the session's: see session.WithACL.
// The ACL of a znode that exists stays as it is.
//
// In ZooKeeper the right to delete a znode is given by its parent's ACL. So it is the ACL of the
// path that keeps others from deposing the leader. The candidates' sessions need the rights to
// read, create and delete there, and to write, for [Term.Ready], [Term.Proclaim] and
// [Term.TransferTo]. Those that only observe the election need the right to read.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.claims.ACL, acl) }
}

// Layout determines the name of a candidate's znode, and its contents. Troupe respects the
// candidates of other libraries on its path in any layout, so the other layouts are needed only for
// libraries that do not respect Troupe's names.
//
// In the layouts of other libraries a znode contains only the name (see [WithName]), as theirs do,
// so that they can identify the leader. So [WithData], [Term.Ready] and [Term.Proclaim] are
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
	// without a GUID, with the candidate's name in place of the host name. Nothing else may be
	// under the path: that recipe fails on any child that it cannot parse.
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

// content encodes the initial data of a candidate's znode.
func (o options) content() ([]byte, error) {
	switch {
	case o.layout == Troupe:
		return envelope{ID: o.name, Data: o.data, By: o.by}.encode()
	case len(o.data) > 0:
		return nil, fmt.Errorf("WithData: %w: the layout %v stores only the name", session.ErrUnsupported, o.layout)
	}
	return []byte(o.name), nil
}

// expressible is an error in a layout that has only the name in the znode.
func (e *Election) expressible() error {
	if e.layout == Troupe {
		return nil
	}
	return fmt.Errorf("%w: not in the layout %v", session.ErrUnsupported, e.layout)
}
