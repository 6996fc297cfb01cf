package session

import (
	"bytes"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// observed is what is seen at a path. If the znode may not be read, its Stat tells only whether it
// is the session's.
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
		s.stat, s.exists, err = existsOwn(conn, path)
		return s, err
	}
	s.exists = err == nil
	return s, err
}

// owned finds out whether a znode that a transaction has created, or may have, exists and is the
// client's, and strikes it if not. Another transaction may have deleted it whose answer was lost,
// and names come again; Czxids do not. So it is the client's if the session owns it, the Czxid is
// in the span of the transaction, and, as long as that is doubtful, it has the data. If it may not
// be read, the record must have no other one at its path. The error is [ErrExpired] or [ErrClosed].
func (z *znodes) owned(n *ephemeral) (bool, error) {
	g := z.sender.state.lock()
	path, certain := n.path, !n.doubtful && !n.transacted
	g.unlock()
	switch {
	case certain:
		return true, nil
	case path == "":
		return z.findCreated(n)
	}
	var s observed
	err := z.sender.insist(n.epoch, func(conn *zkconn.Conn) (err error) {
		s, err = readZnode(conn, z.space.path(path))
		return retried(err)
	})
	if err != nil {
		return false, err
	}
	g = z.sender.state.lock()
	defer g.unlock()
	same := true
	switch {
	case s.unread:
		same = g.record.byPath[n.path] == n
	case n.doubtful:
		same = bytes.Equal(s.data, n.data)
	}
	mine := s.exists && s.stat.EphemeralOwner == n.epoch.sessionID && n.sent.covers(s.stat.Czxid)
	if mine && same {
		if o := g.record.byPath[path]; n.doubtful && o != nil && o != n && g.record.created(n, path) {
			g.record.strike(o) // n has taken its place
		}
		n.doubtful, n.suspect, n.czxid = false, false, s.stat.Czxid
		return true, nil
	}
	g.record.strike(n)
	return false, nil
}

// findCreated looks for a sequential znode of a transaction whose answer was lost. It records the
// path, or strikes the znode if there is none. Its name has a GUID: see protect. The error is
// [ErrExpired] or [ErrClosed].
func (z *znodes) findCreated(n *ephemeral) (bool, error) {
	var path string
	var seen proof
	try := 0
	err := z.sender.insist(n.epoch, func(conn *zkconn.Conn) (err error) {
		path, err = findByHead(conn, &seen, z.space.path(n.parent), n.head)
		if try++; try == 1 && err != nil && definite(err) {
			z.log.Warn("a znode may have been created and can't be looked for; trying again until the epoch ends", "parent", z.space.path(n.parent), "error", err)
		}
		return retried(err)
	})
	if err != nil {
		return false, err
	}
	g := z.sender.state.lock()
	defer g.unlock()
	if _, entered := g.record.all[n]; !entered || !n.doubtful {
		return entered, nil // another task has found it meanwhile, or found none
	}
	if path == "" {
		g.record.strike(n)
		return false, nil
	}
	g.record.created(n, z.space.relative(path))
	n.doubtful = false
	return true, nil
}

// existsOwn is Exists for a znode that this session has created itself, and perhaps may not read:
// since 3.8.4 a server then refuses to tell its Stat (ZOOKEEPER-2590). A refusal says that the
// znode exists; the server's list of the session's ephemeral znodes says whether it is the
// session's own. The Stat then has an owner, 0 for another session, and nothing more.
func existsOwn(c *zkconn.Conn, path string) (zkconn.Stat, bool, error) {
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

// znodeExists is Exists for callers that need no Stat: a znode that may not be read exists.
func znodeExists(c *zkconn.Conn, path string) (bool, error) {
	_, exists, err := c.Exists(path, false)
	if errors.Is(err, ErrNoAuth) {
		return true, nil
	}
	return exists, err
}

// leftovers are the paths of the znodes that this client has in ZooKeeper, as far as they are
// known.
func (t *client) leftovers() []string {
	g := t.session.state.lock()
	defer g.unlock()
	var paths []string
	for _, n := range g.record.of(t) {
		if n.path != "" {
			paths = append(paths, n.path)
		}
	}
	return paths
}

// Recover tells, after the restart of the client's host, which of its znodes really exist in this
// epoch, those whose deletion is under way among them: the host deletes them. Creates and
// transactions that were under way are waited for, so that nothing turns up later, but not a
// transaction that deletes a znode of the client: it comes to nothing when the znode is deleted
// otherwise. Errors: [ErrExpired], [ErrClosed].
func (t *client) Recover(number uint64, done func(left []string, err error)) {
	underway := t.underway()
	t.within(number, func(e *epoch) {
		z := &t.session.znodes
		g := z.sender.state.lock()
		leftovers := g.record.of(t)
		g.unlock()
		for _, n := range leftovers {
			<-n.resolved.C()
		}
		for _, write := range underway {
			<-write.C() // with the epoch at the latest
		}
		if err := z.sender.insist(e, func(c *zkconn.Conn) error { return retried(caughtUp(c, "/")) }); err != nil {
			done(nil, err)
			return
		}
		for _, n := range leftovers {
			if _, err := z.owned(n); err != nil {
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
func (a *joining) findUnnamed(conn *zkconn.Conn, p *proof) (string, zkconn.Stat, error) {
	known := a.z.recorded() // before the listing, in which a znode that is deleted meanwhile may still be
	if err := p.ask(conn); err != nil {
		return "", zkconn.Stat{}, err
	}
	n, parent := a.node, a.z.space.path(a.join.Parent)
	names := []string{n.head}
	if n.form != znode.Alone {
		var err error
		if names, _, err = conn.Children(parent, false); err != nil && !errors.Is(err, ErrNoNode) {
			return "", zkconn.Stat{}, err
		}
	}
	for _, name := range names {
		path := znode.Join(parent, name)
		czxid, other := known[a.z.space.relative(path)]
		if !n.form.Fits(n.head, name) || other && n.form != znode.Alone {
			continue
		}
		stat, mine, err := n.recognise(conn, path)
		if err != nil {
			return "", zkconn.Stat{}, err
		}
		if mine && !(other && isIt(czxid, stat)) && a.z.reserve(n, path, stat) {
			return path, stat, nil
		}
	}
	return "", zkconn.Stat{}, nil
}

// recognise tells whether a znode is one that this session made with the contender's data. A znode
// that may not be read is recognised by its owner alone.
func (n *ephemeral) recognise(conn *zkconn.Conn, path string) (stat zkconn.Stat, mine bool, err error) {
	data, stat, err := conn.Get(path, false)
	same := znode.Same(n.data, data)
	if errors.Is(err, ErrNoAuth) {
		same = true
		var exists bool
		if stat, exists, err = existsOwn(conn, path); err == nil && !exists {
			return zkconn.Stat{}, false, nil
		}
	}
	if errors.Is(err, ErrNoNode) {
		return zkconn.Stat{}, false, nil
	}
	return stat, same && stat.EphemeralOwner == n.epoch.sessionID, err
}

// isIt tells whether a znode may be the one with that Stat: their Czxids are equal, or one is not
// known.
func isIt(czxid int64, stat zkconn.Stat) bool {
	return czxid == 0 || stat.Czxid == 0 || czxid == stat.Czxid
}

// recorded are the paths of all znodes in the record, and their Czxids as far as they are known.
func (z *znodes) recorded() map[string]int64 {
	g := z.sender.state.lock()
	defer g.unlock()
	known := make(map[string]int64, len(g.record.byPath))
	for path, n := range g.record.byPath {
		known[path] = n.czxid
	}
	return known
}

// reserve takes a path for a contender that was found there; false if another was quicker.
func (z *znodes) reserve(n *ephemeral, path string, stat zkconn.Stat) bool {
	g := z.sender.state.lock()
	defer g.unlock()
	path = z.space.relative(path)
	if other := g.record.byPath[path]; other != nil && isIt(other.czxid, stat) {
		return false
	}
	n.czxid = stat.Czxid
	return g.record.created(n, path)
}

// createKey is the same for contenders that only the record can tell apart.
type createKey struct {
	parent string
	form   znode.Form
	data   string
}

// turn waits until no contender that is like this one is being created. Otherwise one whose answer
// was lost could take the other's znode for its own before the other's answer is in the record. The
// function ends the turn. Creates end with their epoch, and so does the wait.
func (z *znodes) turn(n *ephemeral) (done func()) {
	if n.form.Named() {
		return func() {}
	}
	key := createKey{n.parent, n.form, string(n.data)}
	g := z.sender.state.lock()
	for before := g.record.turns[key]; before != nil; before = g.record.turns[key] {
		g.unlock()
		<-before.C()
		g = z.sender.state.lock()
	}
	defer g.unlock()
	latch := new(notify.Latch)
	g.record.turns[key] = latch
	return func() {
		g := z.sender.state.lock()
		delete(g.record.turns, key)
		g.unlock()
		latch.Close()
	}
}
