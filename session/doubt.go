package session

import (
	"bytes"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// observed is what is seen at a path. Of what may not be read, it is known whether it is the
// session's.
type observed struct {
	exists bool
	unread bool
	data   []byte
	stat   zkconn.Stat
}

func readZnode(conn *zkconn.Conn, path string) (s observed, err error) {
	s.data, s.stat, err = conn.Get(path, false)
	switch {
	case errors.Is(err, ErrNoNode):
		return s, nil
	case errors.Is(err, ErrNoAuth), errors.Is(err, ErrTooLarge):
		s.unread = true
		s.stat, s.exists, err = lookOwn(conn, path)
		return s, err
	}
	s.exists = err == nil
	return s, err
}

// owned looks whether what a transaction has created, or may have, is there and the client's, and
// strikes it if not: another transaction may have deleted it whose answer was lost, and names come
// again; Czxids do not. One that may not be read is told by its owner and by the record. The error
// is [ErrExpired] or [ErrClosed].
func (z *znodes) owned(c *contender) (bool, error) {
	l := z.requests.state.lock()
	path, certain := c.path, !c.doubtful && !c.transacted
	l.unlock()
	switch {
	case certain:
		return true, nil
	case path == "":
		return z.search(c)
	}
	var s observed
	err := z.requests.insist(c.epoch, func(conn *zkconn.Conn) (err error) {
		s, err = readZnode(conn, z.space.path(path))
		return retried(err)
	})
	if err != nil {
		return false, err
	}
	l = z.requests.state.lock()
	defer l.unlock()
	same := bytes.Equal(s.data, c.data)
	if s.unread {
		same = l.record.byPath[c.path] == c
	}
	same = same || !c.doubtful && !s.unread
	if s.exists && s.stat.EphemeralOwner == c.epoch.sessionID && c.sent.covers(s.stat.Czxid) && same {
		c.doubtful, c.suspect, c.czxid = false, false, s.stat.Czxid
		return true, nil
	}
	l.record.strike(c)
	return false, nil
}

// search looks for a sequential znode whose answer was lost, enters its path, and strikes it if it
// is not there. Its name has a GUID: see protect. The error is [ErrExpired] or [ErrClosed].
func (z *znodes) search(c *contender) (bool, error) {
	var path string
	var seen proof
	try := 0
	err := z.requests.insist(c.epoch, func(conn *zkconn.Conn) (err error) {
		path, err = find(conn, &seen, z.space.path(c.parent), c.head)
		if try++; try == 1 && err != nil && definite(err) {
			z.log.Warn("a znode may have been created and can't be looked for; trying again until the epoch ends", "parent", z.space.path(c.parent), "error", err)
		}
		return retried(err)
	})
	if err != nil {
		return false, err
	}
	l := z.requests.state.lock()
	defer l.unlock()
	if _, entered := l.record.all[c]; !entered || !c.doubtful {
		return entered, nil // somebody else has looked meanwhile
	}
	if path == "" {
		l.record.strike(c)
		return false, nil
	}
	l.record.standsAt(c, z.space.relative(path))
	c.doubtful = false
	return true, nil
}

// lookOwn is Exists for what this session has created itself, and perhaps may not read: since 3.8.4
// a server then refuses to tell its Stat (ZOOKEEPER-2590). That it refuses says that the znode
// stands; whether it is this session's own, its list of these says. The Stat then has an owner, 0
// for somebody else, and nothing more.
func lookOwn(c *zkconn.Conn, path string) (zkconn.Stat, bool, error) {
	stat, exists, err := c.Exists(path, false)
	if !errors.Is(err, ErrNoAuth) {
		return stat, exists, err
	}
	paths, err := c.Ephemerals(path)
	if err != nil {
		return zkconn.Stat{}, false, err
	}
	if slices.Contains(paths, path) {
		return zkconn.Stat{EphemeralOwner: c.SessionID()}, true, nil
	}
	return zkconn.Stat{}, true, nil
}

// stands is Exists for what needs no Stat: a znode that may not be read stands.
func stands(c *zkconn.Conn, path string) (bool, error) {
	_, exists, err := c.Exists(path, false)
	if errors.Is(err, ErrNoAuth) {
		return true, nil
	}
	return exists, err
}

// leftovers are the paths of what this client has in ZooKeeper, as far as they are known.
func (t *client) leftovers() []string {
	g := t.session.state.lock()
	defer g.unlock()
	var paths []string
	for _, c := range g.record.of(t) {
		if c.path != "" {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// Recover tells, after the restart of whoever has the client, which of its znodes really exist in
// this epoch, those whose deletion is under way among them: whoever recovers deletes them. Creates
// and transactions that were under way are waited for, so that nothing turns up later, but not a
// transaction that deletes a znode of the client: it comes to nothing when the znode is deleted
// otherwise. Errors: [ErrExpired], [ErrClosed].
func (t *client) Recover(number uint64, done func(left []string, err error)) {
	underway := t.underway()
	t.within(number, func(e *epoch) {
		z := &t.session.znodes
		g := z.requests.state.lock()
		leftovers := g.record.of(t)
		g.unlock()
		for _, c := range leftovers {
			<-c.settled.C()
		}
		for _, write := range underway {
			<-write.C() // with the epoch at the latest
		}
		if err := z.requests.insist(e, func(c *zkconn.Conn) error { return retried(caughtUp(c, "/")) }); err != nil {
			done(nil, err)
			return
		}
		for _, c := range leftovers {
			if _, err := z.owned(c); err != nil {
				done(nil, err)
				return
			}
		}
		var left []string
		for _, path := range t.leftovers() {
			exists, err := z.exists(t, e, path)
			if err != nil {
				done(nil, err)
				return
			}
			if exists {
				left = append(left, path)
			}
		}
		done(left, nil)
	}, func(err error) { done(nil, err) })
}

// findUnnamed looks for a contender without a GUID in its name, after the answer to its create was
// lost: among the session's own znodes, by its data. Those of the record are other contenders, of
// this process too.
func (g *joining) findUnnamed(conn *zkconn.Conn, p *proof) (string, zkconn.Stat, error) {
	known := g.z.recorded() // before the listing: what is deleted meanwhile may still be in it
	if err := p.ask(conn); err != nil {
		return "", zkconn.Stat{}, err
	}
	c, parent := g.contender, g.z.space.path(g.join.Parent)
	names := []string{c.head}
	if c.form != znode.Alone {
		var err error
		if names, _, err = conn.Children(parent, false); err != nil && !errors.Is(err, ErrNoNode) {
			return "", zkconn.Stat{}, err
		}
	}
	for _, name := range names {
		path := znode.Join(parent, name)
		czxid, other := known[g.z.space.relative(path)]
		if !c.form.Fits(c.head, name) || other && c.form != znode.Alone {
			continue
		}
		stat, mine, err := c.recognise(conn, path)
		if err != nil {
			return "", zkconn.Stat{}, err
		}
		if mine && !(other && isIt(czxid, stat)) && g.z.reserve(c, path, stat) {
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
	l := z.requests.state.lock()
	defer l.unlock()
	known := make(map[string]int64, len(l.record.byPath))
	for path, c := range l.record.byPath {
		known[path] = c.czxid
	}
	return known
}

// reserve takes a path for a contender that was found there; false if another was quicker.
func (z *znodes) reserve(c *contender, path string, stat zkconn.Stat) bool {
	l := z.requests.state.lock()
	defer l.unlock()
	path = z.space.relative(path)
	if other := l.record.byPath[path]; other != nil && isIt(other.czxid, stat) {
		return false
	}
	c.czxid = stat.Czxid
	return l.record.standsAt(c, path)
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
	l := z.requests.state.lock()
	for before := l.record.turns[key]; before != nil; before = l.record.turns[key] {
		l.unlock()
		<-before.C()
		l = z.requests.state.lock()
	}
	defer l.unlock()
	if l.record.turns == nil {
		l.record.turns = make(map[createKey]*notify.Latch)
	}
	latch := new(notify.Latch)
	l.record.turns[key] = latch
	return func() {
		l := z.requests.state.lock()
		delete(l.record.turns, key)
		l.unlock()
		latch.Close()
	}
}
