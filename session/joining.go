package session

import (
	"errors"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// joining is one contender on its way into the line.
type joining struct {
	session   *Session
	contender *contender
	join      Join
	listing   bool

	proof      proof // that what is looked for, if it was created, can be seen
	replaced   bool  // what was to be replaced is gone
	complained bool
	entered    zkconn.Entered // with the listing behind the create, if that was asked for and answered
}

// run creates the znode for certain, and returns its path, and its Stat if the answer to the create
// told it.
func (g *joining) run() (string, Stat, error) {
	s, e := g.session, g.contender.epoch
	parent := s.Path(g.join.Parent)
	head := g.join.Form.Head(g.contender.guid, e.sessionID, g.join.Name)
	want := znode.Join(parent, head)
	g.replaced = g.join.Replace == ""
	lost := false          // an answer was: look before creating again
	var gone, above losses // of the create, and of those of the parents
	var path string
	var stat Stat
	err := s.insist(e, func(c *zkconn.Conn) (err error) {
		if lost {
			if path, stat, err = g.find(c, parent, head); err != nil {
				return g.unfound(err)
			}
			if path != "" {
				g.displaced()
				return nil
			}
			lost = false
			if gone.tooMany() { // it is not there, and others are answered
				err = gone.verdict(c)
				lost = !definite(err)
				return err
			}
		}
		for {
			g.proof = proof{}
			path, stat, err = g.create(gone.on(c), want)
			lost = errors.Is(gone.noted(err), zkconn.ErrNoReply)
			if !errors.Is(err, ErrNoNode) {
				return err
			}
			if err = above.try(c, func(c *zkconn.Conn) error { return s.ensureParents(c, want) }); err != nil {
				return err
			}
		}
	})
	return s.relative(path), stat, err
}

// unfound: what was lost can't be looked for. It is looked for until it can, since it may stand in
// somebody's way, and nobody else knows of it.
func (g *joining) unfound(err error) error {
	if !definite(err) {
		return err
	}
	if !g.complained {
		g.complained = true
		g.session.log.Warn("a znode may have been created and can't be looked for; trying again until the epoch ends", "parent", g.join.Parent, "error", err)
	}
	return errAgain
}

// create tries once, in the place of the one to be replaced if that stands.
func (g *joining) create(c *zkconn.Conn, path string) (string, Stat, error) {
	s := g.session
	entry := zkconn.Entry{Path: path, Data: g.contender.data, Mode: zkconn.EphemeralSequential, ACL: s.cfg.acl}
	if g.join.Form == znode.Alone {
		entry.Mode = zkconn.Ephemeral
	}
	if g.listing {
		entry.List = s.Path(g.join.Parent)
	}
	if !g.replaced {
		entry.Replace = s.Path(g.join.Replace)
	}
	made, err := c.Enter(entry)
	if err == nil || made.Missing {
		g.displaced()
	}
	if made.Missing {
		return g.create(c, path)
	}
	g.entered = made
	return made.Path, made.Stat, err
}

// displaced notes that what was to be replaced is gone: with the create, or before.
func (g *joining) displaced() {
	if !g.replaced {
		g.replaced = true
		g.session.missing(g.join.Replace)
	}
}

// list returns the listing behind the create that succeeded, or a later one.
func (g *joining) list() ([]string, Stat, error) {
	if e := &g.entered; e.Path != "" && e.Err == nil {
		return e.Names, e.Line, nil
	}
	var names []string
	var stat Stat
	err := g.session.insist(g.contender.epoch, bounded(func(c *zkconn.Conn) (err error) {
		names, stat, err = c.Children(g.session.Path(g.join.Parent), false)
		return err
	}))
	return names, stat, err
}

// find looks for a znode by what its name begins with. The server may lag behind what the one
// before it has done.
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
