package session

import (
	"errors"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// unnamed looks for a contender without a GUID in its name, after the answer to its create was
// lost: among the session's own znodes, by its data. Those of the record are somebody else's: of
// this process too.
type unnamed struct {
	*znodes
	contender    *contender
	parent, head string
}

func (u *unnamed) find(c *zkconn.Conn, p *proof) (string, Stat, error) {
	known := u.recorded() // before the listing: what is deleted meanwhile may still be in it
	if err := p.ask(c); err != nil {
		return "", Stat{}, err
	}
	form, names := u.contender.form, []string{u.head}
	if form != znode.Alone {
		var err error
		if names, _, err = c.Children(u.parent, false); err != nil && !errors.Is(err, ErrNoNode) {
			return "", Stat{}, err
		}
	}
	for _, name := range names {
		path := znode.Join(u.parent, name)
		czxid, other := known[u.space.relative(path)]
		if !form.Fits(u.head, name) || other && form != znode.Alone {
			continue
		}
		stat, own, err := u.recognise(c, path)
		if err != nil {
			return "", Stat{}, err
		}
		if own && !(other && isIt(czxid, stat)) && u.reserve(u.contender, path, stat) {
			return path, stat, nil
		}
	}
	return "", Stat{}, nil
}

// recognise tells whether a znode is one that this session made with the contender's data. One that
// it may not read is told by its owner alone.
func (u *unnamed) recognise(c *zkconn.Conn, path string) (stat Stat, own bool, err error) {
	data, stat, err := c.Get(path, false)
	same := znode.Same(u.contender.data, data)
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
	return stat, same && stat.EphemeralOwner == u.contender.epoch.sessionID, err
}

// isIt: the znode of which this is known, if anything is, is the one with that Stat, as far as that
// is known.
func isIt(czxid int64, stat Stat) bool {
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
func (z *znodes) reserve(c *contender, path string, stat Stat) bool {
	l := z.state.lock()
	defer l.unlock()
	path = z.space.relative(path)
	if other := l.ledger.byPath[path]; other != nil && isIt(other.czxid, stat) {
		return false
	}
	c.czxid = stat.Czxid
	return l.ledger.stands(c, path)
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
func (z *znodes) turn(c *contender) (done func()) {
	if c.form.Named() {
		return func() {}
	}
	key := alike{c.parent, c.form, string(c.data)}
	l := z.state.lock()
	for before := l.ledger.turns[key]; before != nil; before = l.ledger.turns[key] {
		l.unlock()
		<-before.C()
		l = z.state.lock()
	}
	defer l.unlock()
	if l.ledger.turns == nil {
		l.ledger.turns = make(map[alike]*notify.Latch)
	}
	own := notify.NewLatch()
	l.ledger.turns[key] = own
	return func() {
		l := z.state.lock()
		delete(l.ledger.turns, key)
		l.unlock()
		own.Close()
	}
}
