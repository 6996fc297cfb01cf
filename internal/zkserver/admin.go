package zkserver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
	"github.com/troupe-go/troupe/internal/zkserver/watch"
)

// Admin changes and shows the tree without a session, for the owner of a server. ACLs do not
// matter, clients that watch are told, and each call is one transaction, or none if it fails.
// Errors are ZooKeeper's codes, wrapped; after Close, ErrClosed.
type Admin struct{ Server *Server }

// Create makes a znode, with the parents that are missing, of the kind the flags say: persistent
// (session is 0), or a session's ephemeral. It returns the path, with the number if there is one.
func (a Admin) Create(z *treefile.Znode, session int64, flags int32) (path string, err error) {
	err = a.change("create", z.Path, session, func(plan *tree.Plan) error {
		switch {
		case session != 0 && a.Server.sessions[session] == nil:
			return jute.SessionExpired
		case flags&jute.FlagSequential == 0 && plan.Exists(z.Path):
			return jute.NodeExists
		}
		if err := a.Server.plant(plan, z, flags); err != nil {
			return err
		}
		path = plan.Changes[len(plan.Changes)-1].Path
		return nil
	})
	return path, err
}

// Set replaces the data of a znode.
func (a Admin) Set(path string, data []byte) error {
	return a.change("set", path, 0, func(plan *tree.Plan) error {
		return add(plan, &jute.Request{Op: jute.OpSetData, Path: path, Data: data, Version: -1})
	})
}

// Delete deletes a znode and everything below it.
func (a Admin) Delete(path string) error {
	return a.change("delete", path, 0, func(plan *tree.Plan) error {
		var doomed []string
		if n := a.Server.tree.Get(path); n != nil {
			n.Walk(func(n *tree.Node) { doomed = append(doomed, n.Path()) })
		} else {
			doomed = []string{path} // which fails
		}
		slices.Reverse(doomed) // children first
		for _, path := range doomed {
			if err := add(plan, &jute.Request{Op: jute.OpDelete, Path: path, Version: -1}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a Admin) change(op, path string, session int64, prepare func(*tree.Plan) error) error {
	s := a.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	plan := s.tree.Plan(tree.Caller{Session: session, Who: super, IPv6: true})
	err := ErrClosed
	if !s.closed {
		err = prepare(plan)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", op, path, err)
	}
	s.commit(&txn{changes: plan.Changes}, nil)
	return nil
}

// Show calls show with a znode as of the last transaction. Only strings may be kept of it.
func (a Admin) Show(op, path string, show func(*tree.Node)) error {
	s := a.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.tree.Get(path), ErrClosed
	switch {
	case s.closed:
	case !tree.Valid(path):
		err = jute.BadArguments
	case n == nil:
		err = jute.NoNode
	default:
		show(n)
		return nil
	}
	return fmt.Errorf("%s %q: %w", op, path, err)
}

// Await waits until done is true of the tree and the number of sessions. It asks at once, and again
// at each transaction, so that it misses none; done may not call the server.
func (a Admin) Await(ctx context.Context, done func(t *tree.Tree, sessions int) bool) error {
	s := a.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	} else if done(s.tree, len(s.sessions)) {
		return nil
	}
	w := &waiter{done, make(chan struct{})}
	s.waiters = append(s.waiters, w)
	s.mu.Unlock()
	err := ErrClosed
	select {
	case <-w.over:
	case <-s.closing:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	if i := slices.Index(s.waiters, w); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
		return err
	}
	return nil
}

// waiter is one Await.
type waiter struct {
	done func(t *tree.Tree, sessions int) bool
	over chan struct{}
}

// Knows reports whether the server has ever opened a session.
func (a Admin) Knows(session int64) bool {
	a.Server.mu.Lock()
	defer a.Server.mu.Unlock()
	return session >= firstSessionID(a.Server.started.Add(a.Server.skipped)) && session < a.Server.nextID
}

// Join opens a session that no client has, and that does not expire.
func (a Admin) Join() (session int64, err error) {
	a.Server.mu.Lock()
	defer a.Server.mu.Unlock()
	if a.Server.closed {
		return 0, ErrClosed
	}
	return a.Server.openSession(0).id, nil
}

// Watch tells what a client watches at a path.
type Watch struct {
	Path                                  string
	SessionID                             int64
	Data, Children, Persistent, Recursive bool
}

// Watches are those of all clients, by path and session.
func (a Admin) Watches() []Watch {
	a.Server.mu.Lock()
	defer a.Server.mu.Unlock()
	all := make(map[Watch]Watch) // by path and session
	for _, f := range a.Server.fronts {
		for _, t := range []*watchTable{f.data, f.child} {
			t.Each(func(path string, c *conn) {
				k := Watch{Path: path, SessionID: c.session.id}
				w := cmp.Or(all[k], k)
				w.Data = w.Data || t == f.data
				w.Children = w.Children || t == f.child && t.HasMode(path, c, watch.Once|watch.Persistent)
				w.Persistent = w.Persistent || t.HasMode(path, c, watch.Persistent|watch.Recursive)
				w.Recursive = w.Recursive || t.HasMode(path, c, watch.Recursive)
				all[k] = w
			})
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b Watch) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.SessionID, b.SessionID))
	})
}
