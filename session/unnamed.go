package session

import (
	"errors"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// findUnnamed looks for a contender without a GUID in its name, after the answer to its create was
// lost: among the session's own znodes, by its data. Those of the record are other contenders, of
// this process too.
func (g *joining) findUnnamed(conn *zkconn.Conn, p *proof) (string, zkconn.Stat, error) {
	known := g.recorded() // before the listing: what is deleted meanwhile may still be in it
	if err := p.ask(conn); err != nil {
		return "", zkconn.Stat{}, err
	}
	c, parent := g.contender, g.space.path(g.join.Parent)
	names := []string{c.head}
	if c.form != znode.Alone {
		var err error
		if names, _, err = conn.Children(parent, false); err != nil && !errors.Is(err, ErrNoNode) {
			return "", zkconn.Stat{}, err
		}
	}
	for _, name := range names {
		path := znode.Join(parent, name)
		czxid, other := known[g.space.relative(path)]
		if !c.form.Fits(c.head, name) || other && c.form != znode.Alone {
			continue
		}
		stat, mine, err := c.recognise(conn, path)
		if err != nil {
			return "", zkconn.Stat{}, err
		}
		if mine && !(other && isIt(czxid, stat)) && g.reserve(c, path, stat) {
			return path, stat, nil
		}
	}
	return "", zkconn.Stat{}, nil
}

// recognise tells whether a znode is one that this session made with the contender's data. One that
// it may not read is told by its owner alone.
func (c *contender) recognise(conn *zkconn.Conn, path string) (stat zkconn.Stat, mine bool, err error) {
	data, stat, err := conn.Get(path, false)
	same := znode.Same(c.data, data)
	if errors.Is(err, ErrNoAuth) {
		same = true
		var exists bool
		if stat, exists, err = lookOwn(conn, path); err == nil && !exists {
			return zkconn.Stat{}, false, nil
		}
	}
	if errors.Is(err, ErrNoNode) {
		return zkconn.Stat{}, false, nil
	}
	return stat, same && stat.EphemeralOwner == c.epoch.sessionID, err
}

// isIt: the znode of which this is known, if anything is, is the one with that Stat, as far as that
// is known.
func isIt(czxid int64, stat zkconn.Stat) bool {
	return czxid == 0 || stat.Czxid == 0 || czxid == stat.Czxid
}

// recorded are the paths of all znodes in the record, and their Czxids as far as they are known.
func (z *znodes) recorded() map[string]int64 {
	l := z.state.lock()
	defer l.unlock()
	known := make(map[string]int64, len(l.ledger.byPath))
	for path, c := range l.ledger.byPath {
		known[path] = c.czxid
	}
	return known
}

// reserve takes a path for a contender that was found there; false if another was quicker.
func (z *znodes) reserve(c *contender, path string, stat zkconn.Stat) bool {
	l := z.state.lock()
	defer l.unlock()
	path = z.space.relative(path)
	if other := l.ledger.byPath[path]; other != nil && isIt(other.czxid, stat) {
		return false
	}
	c.czxid = stat.Czxid
	return l.ledger.stands(c, path)
}

// createKey is what contenders have in common that only the record can tell apart.
type createKey struct {
	parent string
	form   znode.Form
	data   string
}

// turn waits until no contender that is like this one is being created. Otherwise one whose answer
// was lost could take the other's znode for its own before the other's answer is in the record. The
// function ends the turn. It is not waited for longer than for that epoch, with which creates end.
func (z *znodes) turn(c *contender) (done func()) {
	if c.form.Named() {
		return func() {}
	}
	key := createKey{c.parent, c.form, string(c.data)}
	l := z.state.lock()
	for before := l.ledger.turns[key]; before != nil; before = l.ledger.turns[key] {
		l.unlock()
		<-before.C()
		l = z.state.lock()
	}
	defer l.unlock()
	if l.ledger.turns == nil {
		l.ledger.turns = make(map[createKey]*notify.Latch)
	}
	latch := new(notify.Latch)
	l.ledger.turns[key] = latch
	return func() {
		l := z.state.lock()
		delete(l.ledger.turns, key)
		l.unlock()
		latch.Close()
	}
}
