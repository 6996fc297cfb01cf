package naming

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// Names is a name service under a root. It is safe for concurrent use.
type Names struct {
	session *session.Session
	life    *recipe.Handle
	root    string
}

// Binding is the state of a name, as seen at some moment.
type Binding struct {
	Name  string
	Value []byte // receivers share it, and must not change it; nil if the name is not bound
	Bound bool   // false: the name has no value
	Stale bool   // from Observe: the connection is down; this is the last known state

	// These describe the znode. Czxid and Mzxid distinguish a binding from every other one ever
	// made; the version restarts when the znode is deleted and created again.
	Czxid, Mzxid int64
	Version      int32
}

// New returns the name service under a root, which its users share. It does no I/O. Errors name the
// invalid argument; for a closed session the error is session.ErrClosed.
func New(s *session.Session, root string, opts ...Option) (*Names, error) {
	if err := recipe.CheckNew("naming.New", s, "root", root); err != nil {
		return nil, err
	}
	var o options
	if err := recipe.Apply(&o, opts); err != nil {
		return nil, recipe.Failed(s, "naming.New", root, err)
	}
	return &Names{session: s, root: root, life: recipe.NewHandle(s, "names", root, o.acl...)}, nil
}

// Close ends this handle: its calls end with session.ErrClosed, and the channels of its observers
// close. What is in ZooKeeper stays. Close is idempotent, and does not wait: ctx is not used.
func (n *Names) Close(ctx context.Context) error {
	n.life.Close()
	return nil
}

// Done closes when the handle has ended: by Close, or with its session.
func (n *Names) Done() <-chan struct{} { return n.life.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed.
func (n *Names) Err() error { return n.life.Err() }

// path is the path of a name's znode. The name is a path without the leading slash.
func (n *Names) path(op, argument, name string) (string, error) {
	err := errors.New("empty")
	if name != "" {
		err = znode.Validate("/" + name)
	}
	if err != nil {
		return "", recipe.Failed(n.session, op, n.root, fmt.Errorf("%w: %s: %q: %w", session.ErrInvalidPath, argument, name, err))
	}
	return znode.Join(n.root, name), nil
}

// Lookup returns the binding of a name. It syncs with a quorum first, so it sees every change that
// any process had been told of before. Errors: [ErrNotBound]; session.ErrInvalidPath; ctx's cause;
// session.ErrClosed.
func (n *Names) Lookup(ctx context.Context, name string) (Binding, error) {
	ctx, leave := n.life.Within(ctx)
	defer leave()
	const op = "look up"
	path, err := n.path(op, "name", name)
	if err != nil {
		return Binding{}, err
	}
	if err := n.session.SyncQuorum(ctx, path); err != nil {
		return Binding{}, recipe.Failed(n.session, op, path, err)
	}
	b, err := n.read(ctx, name, path)
	if err == nil && !b.Bound {
		err = ErrNotBound
	}
	if err != nil {
		return Binding{}, recipe.Failed(n.session, op, path, err)
	}
	return b, nil
}

// read reads a name's znode. A missing znode is no error.
func (n *Names) read(ctx context.Context, name, path string) (Binding, error) {
	data, stat, err := n.session.Get(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return Binding{Name: name}, nil
	}
	if err != nil {
		return Binding{}, err
	}
	return binding(name, data, stat), nil
}

func binding(name string, data []byte, stat session.Stat) Binding {
	b := Binding{Name: name, Czxid: stat.Czxid, Mzxid: stat.Mzxid, Version: stat.Version}
	if len(data) > 0 {
		b.Bound, b.Value = true, data
	}
	return b
}

// parents are the znodes above a path and below the root, lowest first.
func (n *Names) parents(path string) []string {
	var all []string
	for {
		path, _ = znode.Split(path)
		if path == n.root || !strings.HasPrefix(path, strings.TrimSuffix(n.root, "/")+"/") {
			return all
		}
		all = append(all, path)
	}
}

// Option configures Names.
type Option func(*options) error

type options struct{ acl []session.ACL } // nil: the session's

// WithACL sets the ACL of the znodes that the name service creates, those above them included.
// Without it they get the session's. A znode that exists keeps its own.
func WithACL(acl ...session.ACL) Option {
	return func(o *options) error { return recipe.SetACL(&o.acl, acl) }
}

var (
	// ErrNotBound: the name is not bound.
	ErrNotBound = errors.New("not bound")
	// ErrBound: the name is bound already, and the option was [WithoutReplacing].
	ErrBound = errors.New("already bound")
)

// List returns the bindings of a name and of all names below it, sorted by name; "" stands for all.
// Each is up to date, but they are read one after the other, so the list is not a snapshot of one
// instant. An empty list is no error. Errors: session.ErrInvalidPath; ctx's cause;
// session.ErrClosed.
func (n *Names) List(ctx context.Context, prefix string) ([]Binding, error) {
	ctx, leave := n.life.Within(ctx)
	defer leave()
	const op = "list"
	path := n.root
	if prefix != "" {
		var err error
		if path, err = n.path(op, "prefix", prefix); err != nil {
			return nil, err
		}
	}
	if err := n.session.SyncQuorum(ctx, path); err != nil {
		return nil, recipe.Failed(n.session, op, path, err)
	}
	var all []Binding
	for open := []string{prefix}; len(open) > 0; {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		b, below, err := n.visit(ctx, name)
		if err != nil {
			return nil, recipe.Failed(n.session, op, path, err)
		}
		if b.Bound && name != "" { // the root has no name
			all = append(all, b)
		}
		open = append(open, below...)
	}
	slices.SortFunc(all, func(a, b Binding) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// visit reads a name and the names directly below it.
func (n *Names) visit(ctx context.Context, name string) (b Binding, below []string, err error) {
	path := n.root
	if name != "" {
		path = znode.Join(n.root, name)
	}
	if b, err = n.read(ctx, name, path); err != nil || b.Czxid == 0 && name != "" {
		return b, nil, err
	}
	children, _, err := n.session.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return b, nil, nil
	}
	for _, child := range children {
		if _, rest, marked := znode.Protection(child); marked && rest == "name" && name == "" {
			continue // the marker of a change under way: see once
		}
		if name != "" {
			child = name + "/" + child
		}
		below = append(below, child)
	}
	return b, below, err
}

// Observe subscribes to a name: the current binding first, or that there is none, and then each
// newer one, which replaces one that was not received. It continues through expiry. The channel
// closes when ctx, the handle or the session ends (cancel ctx when you leave the loop), and at once
// if the name is not valid.
func (n *Names) Observe(ctx context.Context, name string) <-chan Binding {
	out := notify.NewLatest[Binding]()
	path, err := n.path("observe", "name", name)
	if err != nil {
		out.Close()
		return out.C()
	}
	ctx, leave := n.life.Within(ctx)
	observe.Run(ctx, observe.Spec{Session: n.session, Kind: "binding", Path: path, Ended: func(error) { leave(); out.Close() }, Begin: func(t *observe.Turn) {
		observe.Each(t.Context(), t, n.session.WatchData(t.Context(), path), func(d session.Data, open bool) {
			if !open {
				t.End()
				return
			}
			b := Binding{Name: name}
			if d.Exists {
				b = binding(name, d.Bytes, d.Stat)
			}
			b.Stale = d.Stale
			out.Publish(b)
		})
	}})
	return out.C()
}
