package naming

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
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
		if _, _, marker := znode.Protection(child); marker && name == "" {
			continue // it is being changed
		}
		if name != "" {
			child = name + "/" + child
		}
		below = append(below, child)
	}
	return b, below, err
}
