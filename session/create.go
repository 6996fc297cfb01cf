package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
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
	return made, s.space.failed("create", path, err)
}

func (s *Session) create(ctx context.Context, path string, data []byte, opts []CreateOption) (string, error) {
	spec, err := newCreation(opts)
	if err != nil {
		return "", err
	}
	at, space := s.space.path(path), s.space.making(ctx)
	if spec.acl == nil {
		spec.acl = space.acl
	}
	if err := s.requests.ready(path); err != nil {
		return "", err
	}
	size := spec.size(at, data)
	if err := s.requests.fits(size); err != nil {
		return "", err
	}
	if spec.protected {
		return s.znodes.createProtected(ctx, at, data, &spec)
	}
	made, err := writeOut(ctx, &s.requests, size, func(c *zkconn.Conn) (string, error) { return spec.create(c, space, at, data) })
	return s.space.relative(made), err
}

// CreateOption says what kind of znode is created. Without any, it is a persistent one with the
// session's ACL. [Container] does not go with [Ephemeral], [Sequential] or [TTL], nor TTL with
// Ephemeral.
type CreateOption func(*creation)

// Ephemeral lets the znode end with the ZooKeeper session that creates it, that is at the latest
// with the epoch.
func Ephemeral() CreateOption { return func(c *creation) { c.ephemeral = true } }

// Sequential has the server append a number of ten digits to the name, larger than that of any
// sibling made before.
func Sequential() CreateOption { return func(c *creation) { c.sequential = true } }

// Container has the server delete the znode some time after its last child is gone. Servers before
// 3.5.3 lack it: [ErrUnsupported].
func Container() CreateOption { return func(c *creation) { c.container = true } }

// TTL has the server delete the znode when it has been unchanged and childless for this long, in
// whole milliseconds. Servers have to be configured for it (zookeeper.extendedTypesEnabled), or it
// is [ErrUnsupported].
func TTL(d time.Duration) CreateOption { return func(c *creation) { c.ttl, c.hasTTL = d, true } }

// Parents creates the parents that are missing: container nodes where the server has them, else
// persistent ones.
func Parents() CreateOption { return func(c *creation) { c.parents = true } }

// Protected puts a random GUID in front of the name ("_c_<guid>-name", as Curator does), so that a
// create whose answer was lost is found again. Such a create is never of unknown outcome, and one
// that was given up leaves nothing behind while the session can reach ZooKeeper. Not for a znode on
// the path of a recipe: a contender of the same session may take it for a leftover, and delete it.
func Protected() CreateOption { return func(c *creation) { c.protected = true } }

// NodeACL replaces the session's ACL for this znode.
func NodeACL(acl ...ACL) CreateOption { return func(c *creation) { c.acl = convert[jute.ACL](acl) } }

// creation is what the options of a create come to.
type creation struct {
	ephemeral, sequential, container, parents, protected bool

	ttl    time.Duration
	hasTTL bool
	acl    []jute.ACL // nil: none is given

	mode int32
}

func newCreation(opts []CreateOption) (creation, error) {
	var c creation
	for _, opt := range opts {
		if opt == nil {
			return c, errors.New("option: nil")
		}
		opt(&c)
	}
	switch {
	case c.container && (c.ephemeral || c.sequential || c.hasTTL):
		return c, errors.New("Container can't be combined with Ephemeral, Sequential or TTL")
	case c.hasTTL && c.ephemeral:
		return c, errors.New("TTL can't be combined with Ephemeral")
	case c.hasTTL && (c.ttl < time.Millisecond || c.ttl.Milliseconds() >= 1<<40):
		return c, fmt.Errorf("TTL: %v is not between a millisecond and 2^40-1 of them", c.ttl)
	}
	if c.acl != nil {
		if err := validateACL(c.acl); err != nil {
			return c, fmt.Errorf("NodeACL: %w", err)
		}
	}
	c.mode = c.kind()
	return c, nil
}

func (c *creation) kind() int32 {
	switch {
	case c.container:
		return jute.FlagContainer
	case c.hasTTL && c.sequential:
		return jute.FlagPersistentSequentialTTL
	case c.hasTTL:
		return jute.FlagPersistentTTL
	case c.ephemeral && c.sequential:
		return jute.FlagEphemeralSequential
	case c.ephemeral:
		return jute.FlagEphemeral
	case c.sequential:
		return jute.FlagSequential
	}
	return jute.FlagPersistent
}

// size is that of the request for a znode at an absolute path.
func (c *creation) size(path string, data []byte) int {
	if c.protected {
		path += znode.Protect(znode.NewGUID(), "")
	}
	return zkconn.Size(zkconn.NewCreate(path, data, c.mode, c.ttl, c.acl))
}

// create tries once, and again if what was missing above could be made, unless that vanishes.
func (c *creation) create(conn *zkconn.Conn, space *namespace, path string, data []byte) (string, error) {
	for try := 1; ; try++ {
		made, err := conn.Create(path, data, c.mode, c.ttl, c.acl)
		if !errors.Is(err, ErrNoNode) || try > 2 {
			return made, err
		}
		if !c.parents {
			again, err := space.rootMissing(conn, err)
			if errors.Is(err, ErrNoNode) {
				err = fmt.Errorf("%w: that is its parent, which Parents() makes", err)
			}
			if !again {
				return "", goesAhead(err)
			}
			continue
		}
		if err := space.ensure(conn, parentOf(path), jute.FlagContainer); err != nil {
			return "", goesAhead(err)
		}
	}
}
