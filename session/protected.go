package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// protectedCreate creates one znode for certain: when the answer is lost, it is looked for before
// it is created again.
type protectedCreate struct {
	create func(c *zkconn.Conn) (path string, stat zkconn.Stat, err error)           // tries once
	find   func(c *zkconn.Conn, p *proof) (path string, stat zkconn.Stat, err error) // "" if it is not there

	lost  bool   // the answer was, so that it may exist
	gone  losses // of the create
	proof proof  // that what is looked for, if it was created, can be seen
}

// look looks for the znode after the answer was lost. "": it is not there, and may be created.
func (p *protectedCreate) look(c *zkconn.Conn) (path string, stat zkconn.Stat, err error) {
	if path, stat, err = p.find(c, &p.proof); err != nil {
		return "", zkconn.Stat{}, err
	}
	p.lost = false
	if path == "" && p.gone.tooMany() { // it is not there, and others are answered
		err = p.gone.verdict(c)
		p.lost = !definite(err)
	}
	return path, stat, err
}

// try creates the znode, once.
func (p *protectedCreate) try(c *zkconn.Conn) (path string, stat zkconn.Stat, err error) {
	p.proof = proof{}
	path, err = once(&p.gone, c, func(c *zkconn.Conn) (path string, err error) {
		path, stat, err = p.create(c)
		return path, err
	})
	p.lost = errors.Is(err, zkconn.ErrNoReply)
	return path, stat, err
}

// find looks for a znode by what its name begins with, which has a GUID in it.
func find(c *zkconn.Conn, p *proof, parent, head string) (string, error) {
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

// findOwn is find for a znode that the application may have created in an earlier epoch. An
// ephemeral one that belongs to another ZooKeeper session is no longer its own: it is about to end.
func findOwn(c *zkconn.Conn, p *proof, parent, head string, ephemeral bool) (string, error) {
	path, err := find(c, p, parent, head)
	if err != nil || path == "" || !ephemeral {
		return path, err
	}
	stat, exists, err := lookOwn(c, path)
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
// path. The caller may leave; what it then has no use for is deleted.
func (z *znodes) createProtected(ctx context.Context, at string, data []byte, spec *creation) (string, error) {
	var decided atomic.Bool // by whoever is first: the caller that leaves, or the task with the answer
	var made string
	var err error
	var answered notify.Latch
	if !z.tasks.run(func() {
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
		return "", z.lifetime.closedErr()
	}
	select {
	case <-answered.C():
	case <-ctx.Done():
		if !decided.Swap(true) {
			return "", z.state.because(context.Cause(ctx))
		}
		<-answered.C() // the answer was first
	}
	return made, err
}

// createForCertain creates a znode in whichever epoch. Until something may exist it waits for a
// connection with ctx, and from then on until the session ends, since nobody else will look.
func (z *znodes) createForCertain(ctx context.Context, at string, data []byte, spec *creation) (path string, in *epoch, err error) {
	parent, name := znode.Split(at)
	guid := znode.NewGUID()
	p := protectedCreate{
		create: func(c *zkconn.Conn) (string, zkconn.Stat, error) {
			path, err := spec.create(c, z.space, znode.Join(parent, znode.Protect(guid, name)), data)
			return path, zkconn.Stat{}, err
		},
		find: func(c *zkconn.Conn, p *proof) (string, zkconn.Stat, error) {
			path, err := findOwn(c, p, parent, znode.Protect(guid, ""), spec.ephemeral)
			return path, zkconn.Stat{}, err
		},
	}
	var ref connRef
	for try := 1; ; try++ {
		waiting := ctx
		if p.lost {
			waiting = z.tasks.life
		}
		if ref, err = z.conn(waiting, nil, ref); err != nil {
			return "", ref.epoch, unlessLost(p.lost, z.unlessClosed(err))
		}
		if ref.epoch != in { // the proof held on the connections of that one
			p.proof, in = proof{}, ref.epoch
		}
		path = ""
		switch {
		case p.lost:
			path, _, err = p.look(in.conn)
		case p.gone.tooMany(): // at what goes ahead of it
			err = p.gone.verdict(in.conn)
		}
		if err == nil && path == "" {
			path, _, err = p.try(in.conn)
			if p.lost || errors.Is(err, zkconn.ErrCutOff) {
				z.pauseAfterLoss(z.tasks.life, p.gone.times)
			}
		}
		switch {
		case p.lost && errors.Is(err, zkconn.ErrThrottled):
			z.pause(z.tasks.life, backoff(try))
			ref = connRef{}
		case err == nil || definite(err):
			return path, in, unlessLost(p.lost, err)
		default:
			ref = ref.lost(err)
		}
	}
}

// unlessLost is an error that is about a create, unless that one's answer was lost: then it is
// about the look for it.
func unlessLost(lost bool, err error) error {
	if lost {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// deleteOrphan deletes a znode that nobody wants any more. A persistent one does not end with its
// epoch, so neither does this.
func (z *znodes) deleteOrphan(e *epoch, absolute string) {
	_ = z.remove(e, z.space.relative(absolute), nil) // an error is the end of the epoch, or of the session: see below
	g := z.state.lock()
	again := e.over && !g.closing
	g.unlock()
	if !again {
		return
	}
	_, err := readOut(z.tasks.life, z.requests, func(c *zkconn.Conn) (struct{}, error) { return struct{}{}, c.Delete(absolute, -1) })
	if err != nil && !errors.Is(err, ErrNoNode) {
		z.log.Warn("a znode that was given up could not be deleted", "path", absolute, "error", err)
	}
}
