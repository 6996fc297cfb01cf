package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Create creates a znode and returns its path, which differs from the one given if it is
// [Sequential] or [Protected]. It is sent once: if the answer is lost, Create returns
// [ErrUnknownOutcome], except with [Protected], where it is looked for until the session ends, if
// the ACL permits to list its parent. [Session.EnsurePath] makes a path that may exist already.
//
// Errors are those of [Session.Set]; [ErrNodeExists]; [ErrNoNode] if its parent is missing, without
// [Parents]; [ErrNoChildrenForEphemerals]; [ErrInvalidACL]; [ErrUnsupported] if the server lacks
// the kind; [ErrHungUp] at a parent, or at the namespace's own znode, that has to be made for it;
// options that can't be combined, or are not valid.
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
	if err := s.sender.ready(path); err != nil {
		return "", err
	}
	size := spec.size(at, data)
	if err := s.sender.fits(size); err != nil {
		return "", err
	}
	if spec.protected {
		return s.znodes.createProtected(ctx, at, data, &spec)
	}
	made, err := writeOut(ctx, &s.sender, size, func(c *zkconn.Conn) (string, error) { return spec.create(c, space, at, data) })
	return s.space.relative(made), err
}

// CreateOption says what kind of znode is created. Without any, it is a persistent one with the
// session's ACL. [Container] can't be combined with [Ephemeral], [Sequential] or [TTL], nor TTL
// with Ephemeral.
type CreateOption func(*creation) error

// Ephemeral creates a znode that ZooKeeper deletes when the ZooKeeper session that creates it ends,
// which is at the latest when the epoch ends.
func Ephemeral() CreateOption { return func(c *creation) error { c.ephemeral = true; return nil } }

// Sequential has the server append a number of ten digits to the name, larger than that of any
// sibling made before.
func Sequential() CreateOption { return func(c *creation) error { c.sequential = true; return nil } }

// Container has the server delete the znode some time after its last child is gone. Servers before
// 3.5.3 lack it: [ErrUnsupported].
func Container() CreateOption { return func(c *creation) error { c.container = true; return nil } }

// TTL has the server delete the znode when it has been unchanged and childless for this long, in
// whole milliseconds. Servers have to be configured for it (zookeeper.extendedTypesEnabled), or it
// is [ErrUnsupported].
func TTL(d time.Duration) CreateOption {
	return func(c *creation) error {
		if d < time.Millisecond || d.Milliseconds() >= 1<<40 {
			return fmt.Errorf("TTL: %v is not between a millisecond and 2^40-1 of them", d)
		}
		c.ttl = d
		return nil
	}
}

// Parents creates the parents that are missing: container nodes where the server has them, else
// persistent ones.
func Parents() CreateOption { return func(c *creation) error { c.parents = true; return nil } }

// Protected puts a random GUID in front of the name ("_c_<guid>-name", as Curator does), by which a
// create whose answer was lost is found again: its outcome is known, unless the session ends before
// that, or the ACL of the parent forbids to list it. If the caller gives up, the znode is deleted,
// as long as the session can reach ZooKeeper. Not for a znode on the path of a recipe: a contender
// of the same session may take it for a leftover, and delete it.
func Protected() CreateOption { return func(c *creation) error { c.protected = true; return nil } }

// WithNodeACL replaces the session's ACL for this znode.
func WithNodeACL(acl ...ACL) CreateOption {
	return func(c *creation) error {
		c.acl = convert[jute.ACL](acl)
		if err := validateACL(c.acl); err != nil {
			return fmt.Errorf("WithNodeACL: %w", err)
		}
		return nil
	}
}

// creation is the sum of the options of a create: see [CreateOption] for those that go together.
type creation struct {
	ephemeral, sequential, container bool
	parents, protected               bool

	ttl  time.Duration // 0: none
	acl  []jute.ACL    // nil: none is given
	mode int32         // the flags of the request: see kind
}

func newCreation(opts []CreateOption) (creation, error) {
	var c creation
	err := seam.Apply(&c, opts)
	switch {
	case err != nil:
	case c.container && (c.ephemeral || c.sequential || c.ttl != 0):
		err = errors.New("Container can't be combined with Ephemeral, Sequential or TTL")
	case c.ttl != 0 && c.ephemeral:
		err = errors.New("TTL can't be combined with Ephemeral")
	}
	c.mode = c.kind()
	return c, err
}

func (c *creation) kind() int32 {
	switch {
	case c.container:
		return jute.FlagContainer
	case c.ttl != 0 && c.sequential:
		return jute.FlagPersistentSequentialTTL
	case c.ttl != 0:
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

func (c *creation) size(path string, data []byte) int {
	if c.protected {
		path += znode.Protect(znode.NewGUID(), "")
	}
	return zkconn.Size(zkconn.NewCreate(path, data, c.mode, c.ttl, c.acl))
}

// create creates a znode. If its parent is missing, it makes what is missing above, without Parents
// only the namespace's own znode, and tries again: twice at most, since that may be gone again.
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
				return "", inPreparation(err)
			}
			continue
		}
		if err := space.ensure(conn, parentOf(path), jute.FlagContainer); err != nil {
			return "", inPreparation(err)
		}
	}
}

// protectedCreate creates one znode for certain: when the answer is lost, it is looked for before
// it is created again.
type protectedCreate struct {
	create func(c *zkconn.Conn) (path string, stat zkconn.Stat, err error)           // tries once
	search func(c *zkconn.Conn, p *proof) (path string, stat zkconn.Stat, err error) // "" if it is not there

	lost  bool   // the last answer was lost, so that the znode may exist
	gone  losses // of connections, at the create
	proof proof  // that the server would show the znode, if it was created
}

// find looks for the znode after the answer was lost. "": it is not there, and may be created.
func (p *protectedCreate) find(c *zkconn.Conn) (path string, stat zkconn.Stat, err error) {
	if path, stat, err = p.search(c, &p.proof); err != nil {
		return "", zkconn.Stat{}, err
	}
	p.lost = false
	if path == "" && p.gone.tooMany() { // it is not created again: servers hang up at it
		err = p.gone.verdict(c)
		p.lost = !definite(err) // then the connection went, and find is called again
	}
	return path, stat, err
}

func (p *protectedCreate) try(c *zkconn.Conn) (path string, stat zkconn.Stat, err error) {
	p.proof = proof{}
	path, err = once(&p.gone, c, func(c *zkconn.Conn) (path string, err error) {
		path, stat, err = p.create(c)
		return path, err
	})
	p.lost = errors.Is(err, zkconn.ErrNoReply)
	return path, stat, err
}

// findByHead looks for a znode by what its name begins with, which has a GUID in it.
func findByHead(c *zkconn.Conn, p *proof, parent, head string) (string, error) {
	if err := p.ask(c); err != nil {
		return "", err
	}
	names, _, err := c.Children(parent, false)
	if err != nil && !errors.Is(err, ErrNoNode) {
		return "", err
	}
	for _, name := range names {
		if strings.HasPrefix(name, head) {
			return znode.Join(parent, name), nil
		}
	}
	return "", nil
}

// findOwn is findByHead for a znode that the application may have created in an earlier epoch. An
// ephemeral one that belongs to another ZooKeeper session is no longer its own: it is about to end.
func findOwn(c *zkconn.Conn, p *proof, parent, head string, ephemeral bool) (string, error) {
	path, err := findByHead(c, p, parent, head)
	if err != nil || path == "" || !ephemeral {
		return path, err
	}
	stat, exists, err := existsOwn(c, path)
	switch {
	case err != nil:
		return "", err
	case exists && stat.EphemeralOwner == c.SessionID():
		return path, nil
	case exists:
		if err := c.Delete(path, -1); err != nil && !errors.Is(err, ErrNoNode) {
			return "", err
		}
	}
	return "", nil
}

// createProtected creates a znode of the application under a name with a GUID, and returns its
// path. If the caller leaves before that, the znode is deleted.
func (z *znodes) createProtected(ctx context.Context, at string, data []byte, spec *creation) (string, error) {
	var decided atomic.Bool // set by the first: the caller that leaves, or the task that has the answer
	var made string
	var err error
	var answered notify.Latch
	if !z.sender.tasks.run(func() {
		path, epoch, failure := z.createForCertain(ctx, at, data, spec)
		if decided.Swap(true) {
			if failure == nil {
				z.deleteOrphan(epoch, path)
			}
			return
		}
		made, err = z.space.relative(path), failure
		answered.Close()
	}) {
		return "", z.sender.lifetime.closedErr()
	}
	select {
	case <-answered.C():
	case <-ctx.Done():
		if !decided.Swap(true) {
			return "", z.sender.state.because(context.Cause(ctx))
		}
		<-answered.C() // the answer was first
	}
	return made, err
}

// createForCertain creates a znode in any epoch. Until the znode may exist it waits for a
// connection with ctx, and from then on until the session ends, since only this will look for it.
func (z *znodes) createForCertain(ctx context.Context, at string, data []byte, spec *creation) (path string, in *epoch, err error) {
	parent, name := znode.Split(at)
	guid := znode.DrawGUID(z.sender.tasks.source)
	p := protectedCreate{
		create: func(c *zkconn.Conn) (string, zkconn.Stat, error) {
			path, err := spec.create(c, z.space, znode.Join(parent, znode.Protect(guid, name)), data)
			return path, zkconn.Stat{}, err
		},
		search: func(c *zkconn.Conn, p *proof) (string, zkconn.Stat, error) {
			path, err := findOwn(c, p, parent, znode.Protect(guid, ""), spec.ephemeral)
			return path, zkconn.Stat{}, err
		},
	}
	var ref connRef
	for try := 1; ; try++ {
		waiting := ctx
		if p.lost {
			waiting = z.sender.tasks.life
		}
		if ref, err = z.sender.conn(waiting, nil, ref); err != nil {
			return "", ref.epoch, unlessLost(p.lost, z.sender.unlessClosed(err))
		}
		if ref.epoch != in { // a proof holds in its epoch
			p.proof, in = proof{}, ref.epoch
		}
		path = ""
		switch {
		case p.lost:
			path, _, err = p.find(in.conn)
		case p.gone.tooMany(): // at the create of its parents
			err = p.gone.verdict(in.conn)
		}
		if err == nil && path == "" {
			path, _, err = p.try(in.conn)
			if p.lost || errors.Is(err, zkconn.ErrCutOff) {
				z.sender.pauseAfterLoss(z.sender.tasks.life, p.gone.times)
			}
		}
		switch {
		case p.lost && errors.Is(err, zkconn.ErrThrottled): // the search was refused, which says nothing of the create
			z.sender.pause(z.sender.tasks.life, backoff(z.sender.tasks.source, try))
			ref = connRef{}
		case err == nil || definite(err):
			return path, in, unlessLost(p.lost, err)
		default:
			ref = ref.lost(err)
		}
	}
}

// unlessLost is the error of a create. If the answer to that was lost, the error is about the
// search for the znode, so that the outcome is unknown.
func unlessLost(lost bool, err error) error {
	if lost {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// deleteOrphan deletes a znode that its caller has given up. A persistent one does not end with its
// epoch, so neither does this.
func (z *znodes) deleteOrphan(e *epoch, absolute string) {
	_ = z.remove(e, z.space.relative(absolute), nil) // an error is the end of the epoch, or of the session: see below
	g := z.sender.state.lock()
	again := e.ended && !g.closing
	g.unlock()
	if !again {
		return
	}
	_, err := readOut(z.sender.tasks.life, z.sender, func(c *zkconn.Conn) (struct{}, error) { return struct{}{}, c.Delete(absolute, -1) })
	if err != nil && !errors.Is(err, ErrNoNode) {
		z.log.Warn("a znode that was given up could not be deleted", "path", absolute, "error", err)
	}
}
