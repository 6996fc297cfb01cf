package session

import (
	"errors"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// find looks for the contender after an answer was lost: by the GUID in its name, or, where it has
// none there, among the session's own znodes by its data. Those of the record are somebody else's:
// of this process too.
func (g *joining) find(c *zkconn.Conn, parent, head string) (string, Stat, error) {
	if g.join.Form.Named() {
		path, err := find(c, &g.proof, parent, head)
		return path, Stat{}, err
	}
	known := g.session.recorded() // before the listing: what is deleted meanwhile may still be in it
	if err := g.proof.ask(c); err != nil {
		return "", Stat{}, err
	}
	names := []string{head}
	if g.join.Form != znode.Alone {
		var err error
		if names, _, err = c.Children(parent, false); err != nil && !errors.Is(err, ErrNoNode) {
			return "", Stat{}, err
		}
	}
	for _, name := range names {
		path := znode.Join(parent, name)
		czxid, other := known[g.session.relative(path)]
		if !g.join.Form.Fits(head, name) || other && g.join.Form != znode.Alone {
			continue
		}
		stat, own, err := g.recognise(c, path)
		if err != nil {
			return "", Stat{}, err
		}
		if own && !(other && isIt(czxid, stat)) && g.session.reserve(g.contender, path, stat) {
			return path, stat, nil
		}
	}
	return "", Stat{}, nil
}

// recognise tells whether a znode is one that this session made with the contender's data. One that
// it may not read is told by its owner alone.
func (g *joining) recognise(c *zkconn.Conn, path string) (stat Stat, own bool, err error) {
	data, stat, err := c.Get(path, false)
	same := znode.Same(g.contender.data, data)
	if errors.Is(err, ErrNoAuth) {
		same = true
		var exists bool
		if stat, exists, err = lookOwn(c, path); err == nil && !exists {
			return Stat{}, false, nil
		}
	}
	if errors.Is(err, ErrNoNode) {
		return Stat{}, false, nil
	}
	return stat, same && stat.EphemeralOwner == g.contender.epoch.sessionID, err
}

// isIt: the znode of which this is known, if anything is, is the one with that Stat, as far as that
// is known.
func isIt(czxid int64, stat Stat) bool {
	return czxid == 0 || stat.Czxid == 0 || czxid == stat.Czxid
}

// recorded are the paths of all znodes in the record, and their Czxids as far as they are known.
func (s *Session) recorded() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make(map[string]int64, len(s.ledger.byPath))
	for path, c := range s.ledger.byPath {
		known[path] = c.czxid
	}
	return known
}

// reserve takes a path for a contender that was found there; false if another was quicker.
func (s *Session) reserve(c *contender, path string, stat Stat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	path = s.relative(path)
	if other := s.ledger.byPath[path]; other != nil && isIt(other.czxid, stat) {
		return false
	}
	c.czxid = stat.Czxid
	return s.ledger.stands(c, path)
}

// alike is what contenders have in common that only the record can tell apart.
type alike struct {
	parent string
	form   znode.Form
	data   string
}

// turn waits until no contender that is like this one is being created. Otherwise one whose answer
// was lost could take the other's znode for its own before the other's answer is in the record. The
// function ends the turn. It is not waited for longer than for that epoch, with which creates end.
func (s *Session) turn(c *contender) (done func()) {
	if c.form.Named() {
		return func() {}
	}
	key := alike{c.parent, c.form, string(c.data)}
	for {
		s.mu.Lock()
		before := s.ledger.turns[key]
		if before == nil {
			break
		}
		s.mu.Unlock()
		<-before.C()
	}
	defer s.mu.Unlock()
	if s.ledger.turns == nil {
		s.ledger.turns = make(map[alike]*notify.Latch)
	}
	own := notify.NewLatch()
	s.ledger.turns[key] = own
	return func() {
		s.mu.Lock()
		delete(s.ledger.turns, key)
		s.mu.Unlock()
		own.Close()
	}
}
