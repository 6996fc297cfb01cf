package session

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Create creates a znode and returns its path, which is not the one given if it is [Sequential] or
// [Protected]. It is sent once: if the answer is lost, it returns [ErrUnknownOutcome], unless it is
// [Protected] and can be looked for: until the session ends, where the application may list its
// parent.
//
// Errors are those of [Session.Set]; [ErrNodeExists]; [ErrNoNode] if its parent is missing, without
// [Parents]; [ErrNoChildrenForEphemerals]; [ErrInvalidACL]; [ErrUnsupported] if the server lacks
// the kind; [ErrHungUp] at a parent, or at the namespace's own znode, that has to be made for it;
// options that do not go together.
func (s *Session) Create(ctx context.Context, path string, data []byte, opts ...CreateOption) (string, error) {
	made, err := s.create(ctx, path, data, opts)
	return made, failed("create", path, err)
}

func (s *Session) create(ctx context.Context, path string, data []byte, opts []CreateOption) (string, error) {
	spec, err := newCreation(opts)
	if err != nil {
		return "", err
	}
	if spec.acl == nil {
		spec.acl = s.cfg.acl
	}
	if err := s.ready(path); err != nil {
		return "", err
	}
	n := newborn{session: s, path: path, data: data, creation: spec}
	if err := s.fits(n.size()); err != nil {
		return "", err
	}
	if spec.protected {
		return n.createProtected(ctx)
	}
	made, err := writeOut(ctx, s, func(c *zkconn.Conn) (string, error) { return n.create(c, s.Path(path)) })
	return s.relative(made), err
}

// newborn is a znode that the application wants created.
type newborn struct {
	creation
	session *Session
	path    string
	data    []byte
}

func (n *newborn) size() int {
	path := n.session.Path(n.path)
	if n.protected {
		path += znode.Protect(znode.NewGUID(), "")
	}
	return zkconn.SizeAlone(zkconn.Op{Kind: zkconn.OpCreate, Path: path, Data: n.data, Mode: n.mode, ACL: n.acl})
}

// create tries once, and again if what was missing above could be made.
func (n *newborn) create(c *zkconn.Conn, path string) (string, error) {
	for {
		made, err := c.Create(path, n.data, n.mode, n.ttl, n.acl)
		if !errors.Is(err, ErrNoNode) {
			return made, err
		}
		if !n.parents {
			again, err := n.session.rootMissing(c, err)
			if !again {
				return "", goesAhead(err)
			}
			continue
		}
		if err := n.session.ensureParents(c, path); err != nil {
			return "", goesAhead(err)
		}
	}
}
