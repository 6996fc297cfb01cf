package zkserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// Here the owner of a server changes its tree without a session: ACLs do not matter, clients that
// watch are told, and each call is one transaction, or none if it fails. Errors are ZooKeeper's
// codes, wrapped.

// CreateZnode makes a persistent znode that every client may use, with the parents that are
// missing.
func (s *Server) CreateZnode(path string, data []byte) error {
	return s.administer("create", path, func(plan *tree.Plan) error {
		if plan.Exists(path) {
			return jute.NodeExists
		}
		return s.plant(plan, &treefile.Znode{Path: path, Data: data, ACL: jute.OpenACL()})
	})
}

// SetZnode replaces the data of a znode.
func (s *Server) SetZnode(path string, data []byte) error {
	return s.administer("set", path, func(plan *tree.Plan) error {
		return add(plan, &jute.Request{Op: jute.OpSetData, Path: path, Data: data, Version: -1})
	})
}

// DeleteZnode deletes a znode and everything below it.
func (s *Server) DeleteZnode(path string) error {
	return s.administer("delete", path, func(plan *tree.Plan) error {
		var doomed []string
		if n := s.tree.Get(path); n != nil {
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

func (s *Server) administer(op, path string, prepare func(*tree.Plan) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	plan := s.tree.Plan(tree.Caller{Who: super})
	if err := prepare(plan); err != nil {
		return fmt.Errorf("zkserver: %s %q: %w", op, path, err)
	}
	s.commit(&txn{changes: plan.Changes}, nil)
	return nil
}

// Data is the content of a znode as of the last transaction, nil if it is null.
func (s *Server) Data(path string) (data []byte, err error) {
	err = s.show("get", path, func(n *tree.Node) { data = slices.Clone(n.Data()) })
	return data, err
}

// Children are the names of a znode's children as of the last transaction, sorted.
func (s *Server) Children(path string) (names []string, err error) {
	err = s.show("children of", path, func(n *tree.Node) {
		n.Children(func(c *tree.Node) { names = append(names, strings.Clone(c.Name())) })
		slices.Sort(names)
	})
	return names, err
}

func (s *Server) show(op, path string, show func(*tree.Node)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree.Get(path)
	if n == nil {
		return fmt.Errorf("zkserver: %s %q: %w", op, path, jute.NoNode)
	}
	show(n)
	return nil
}
