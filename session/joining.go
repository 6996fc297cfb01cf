package session

import (
	"errors"
	"strings"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/link"
)

// joining is one contender on its way into the line.
type joining struct {
	session   *Session
	contender *contender
	join      Join
	listing   bool

	replaced bool // what was to be replaced is gone
	mu       sync.Mutex
	answer   *listing // of the listing behind the last create
}

// listing is a listing under way.
type listing struct {
	done  *notify.Latch
	names []string
	stat  Stat
	err   error
}

// run creates the znode for certain, and returns its path, and its Stat if the answer to the create told it.
func (g *joining) run() (string, Stat, error) {
	s, e := g.session, g.contender.epoch
	parent := s.Path(g.join.Parent)
	head := g.join.Form.Head(g.contender.guid, e.sessionID, g.join.Name)
	want := znode.Join(parent, head)
	g.replaced = g.join.Replace == ""
	lost := false // an answer was: look before creating again
	var path string
	var stat Stat
	err := s.insist(e, func(c *link.Conn) (err error) {
		if lost {
			if path, stat, err = g.find(c, parent, head); err != nil || path != "" {
				return err
			}
			lost = false
		}
		for {
			path, stat, err = g.create(c, want)
			lost = errors.Is(err, link.ErrNoReply)
			if !errors.Is(err, ErrNoNode) {
				return err
			}
			if err = s.ensureParents(c, want); err != nil {
				return err
			}
		}
	})
	return s.relative(path), stat, err
}

// create tries once, in the place of the one to be replaced if that stands.
func (g *joining) create(c *link.Conn, path string) (string, Stat, error) {
	s := g.session
	written := func() {}
	if g.listing {
		written = func() { g.listBehind(c) }
	}
	if g.replaced {
		mode := link.EphemeralSequential
		if g.join.Form == znode.Alone {
			mode = link.Ephemeral
		}
		return c.CreateStat(path, g.contender.data, mode, s.cfg.acl, written)
	}
	old := s.Path(g.join.Replace)
	results, err := c.Multi([]link.Op{
		{Kind: link.OpDelete, Path: old, Version: -1},
		{Kind: link.OpCreate, Path: path, Data: g.contender.data, Mode: link.EphemeralSequential, ACL: s.cfg.acl},
	}, written)
	switch {
	case err == nil:
		g.replaced = true
		s.missing(g.join.Replace)
		return results[1].Path, Stat{}, nil
	case errors.Is(err, ErrNoNode) && len(results) == 2 && errors.Is(results[0].Err, ErrNoNode):
		g.replaced = true
		s.missing(g.join.Replace)
		return g.create(c, path)
	}
	return "", Stat{}, err
}

// listBehind asks for a listing from a goroutine of its own: it is called in the middle of a request.
func (g *joining) listBehind(c *link.Conn) {
	l := &listing{done: notify.NewLatch()}
	g.mu.Lock()
	g.answer = l
	g.mu.Unlock()
	parent := g.session.Path(g.join.Parent)
	if !g.session.tasks.run(func() {
		l.names, l.stat, l.err = c.Children(parent, false)
		l.done.Close()
	}) {
		l.err = ErrClosed
		l.done.Close()
	}
}

// list returns the listing behind the create that succeeded, or a later one.
func (g *joining) list() ([]string, Stat, error) {
	g.mu.Lock()
	l := g.answer
	g.mu.Unlock()
	if l != nil {
		<-l.done.C()
		if l.err == nil {
			return l.names, l.stat, nil
		}
	}
	var names []string
	var stat Stat
	err := g.session.insist(g.contender.epoch, func(c *link.Conn) (err error) {
		names, stat, err = c.Children(g.session.Path(g.join.Parent), false)
		return err
	})
	return names, stat, err
}

// find looks for a znode by what its name begins with. The sync is what makes the look tell the truth: the server may lag behind what the one before it has
// done.
func find(c *link.Conn, parent, head string) (string, error) {
	if err := c.Sync(parent); err != nil {
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
