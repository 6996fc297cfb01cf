package session

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// List reads the names of a znode's children. With watch, [machine.Fired] tells of the next change:
// a child that comes or goes, or the znode's end. An error, a znode that is missing among them
// ([ErrNoNode]), arms nothing.
func (t *client) List(number uint64, path string, watch bool, done func(seam.Listed)) {
	s := t.session
	refuse := func(err error) { done(seam.Listed{Epoch: number, Path: path, Err: err}) }
	read := func(c *zkconn.Conn, watch bool) (func(), error) {
		names, stat, err := c.Children(s.space.path(path), watch)
		return func() { done(seam.Listed{Epoch: number, Path: path, Names: names, Stat: stat, Err: err}) }, err
	}
	t.readZnode(number, &watchRead{client: t, key: watches.Key{Path: s.space.path(path), Kind: watches.Children}, read: read, refuse: refuse}, watch)
}

// Read reads a znode. With watch, [machine.Fired] tells of the next change of its data, or of its
// end. A znode that is missing is no error, and arms nothing.
func (t *client) Read(number uint64, path string, watch bool, done func(seam.Seen)) {
	s := t.session
	refuse := func(err error) { done(seam.Seen{Epoch: number, Path: path, Err: err}) }
	read := func(c *zkconn.Conn, watch bool) (func(), error) {
		lacked := s.znodes.lacks(path) // before the request: so it is not just being deleted
		data, stat, err := c.Get(s.space.path(path), watch)
		seen := seam.Seen{Epoch: number, Path: path, Exists: err == nil, Data: data, Stat: stat, Err: err}
		if errors.Is(err, ErrNoNode) {
			seen.Err = nil
			s.znodes.missing(path)
		}
		if err == nil && lacked && stat.EphemeralOwner == c.SessionID() {
			s.znodes.returned(t, number, path)
		}
		return func() { done(seen) }, err
	}
	t.readZnode(number, &watchRead{client: t, key: watches.Key{Path: s.space.path(path), Kind: watches.Data}, read: read, refuse: refuse}, watch)
}

// MultiRead does several reads, in this order, in one trip to the server: what one of them sees is
// never older than what those before it saw. Servers before 3.6 are sent a request for each, which
// takes no more trips; so are others whose reply to sixty-four of them is larger than a reply may
// be ([ErrTooLarge]), and then the one that is too large fails alone. All data are in memory at
// once. found has the outcome of each read; err is an error of all of them.
func (t *client) MultiRead(number uint64, queries []seam.Query, done func(found []seam.Found, err error)) {
	s := t.session
	asks := slices.Clone(queries)
	for i := range asks {
		asks[i].Path = s.space.path(asks[i].Path)
	}
	t.within(number, func(e *epoch) {
		var found []seam.Found
		err := s.sender.insist(e, bounded(func(c *zkconn.Conn) (err error) {
			found, err = c.MultiRead(asks)
			return err
		}))
		for i, f := range found {
			if errors.Is(f.Err, ErrNoNode) {
				s.znodes.missing(queries[i].Path)
			}
		}
		done(found, err)
	}, func(err error) { done(nil, err) })
}

// Await tells whether a znode exists, without its data, and watches for its creation, or for its
// change or end if it exists. It needs no permission.
func (t *client) Await(number uint64, path string, done func(seam.Seen)) {
	s := t.session
	refuse := func(err error) { done(seam.Seen{Epoch: number, Path: path, Err: err}) }
	read := func(c *zkconn.Conn, watch bool) (func(), error) {
		stat, exists, err := c.Exists(s.space.path(path), watch)
		seen := seam.Seen{Epoch: number, Path: path, Exists: exists, Stat: stat, Err: err}
		if err == nil && !exists {
			err = ErrNoNode
		}
		return func() { done(seen) }, err
	}
	t.readZnode(number, &watchRead{client: t, key: watches.Key{Path: s.space.path(path), Kind: watches.Data}, birth: true, read: read, refuse: refuse}, true)
}

// readZnode sends a read: through the table of watches if it has a watch, directly if not.
func (t *client) readZnode(number uint64, r *watchRead, watch bool) {
	s := t.session
	if !watch {
		t.within(number, func(e *epoch) {
			var answer func()
			err := s.sender.insist(e, bounded(func(c *zkconn.Conn) error {
				answer = nil // of an earlier try
				read, err := r.read(c, false)
				if err == nil || definite(err) {
					answer = read
				}
				return err
			}))
			if answer == nil {
				r.refuse(err)
				return
			}
			answer()
		}, r.refuse)
		return
	}
	g := s.state.lock()
	r.epoch = g.current(number)
	closing := g.closing
	g.unlock()
	switch {
	case closing:
		r.refuse(ErrClosed)
	case r.epoch != nil && r.epoch.watched.ask(r):
	case !s.tasks.run(func() { r.refuse(ErrExpired) }):
		r.refuse(ErrClosed)
	}
}

// Unwatch says that the client depends no more on what a read of this znode with a watch has armed,
// or is about to: no [machine.Fired] of its data comes of reads before this, but for one that is
// held back already. If no other client of the session depends on that watch, ZooKeeper is told to
// forget it. A watch of its children is not touched.
func (t *client) Unwatch(number uint64, path string) {
	g := t.session.state.lock()
	e := g.current(number)
	if n := g.record.byPath[path]; n != nil {
		n.followers = slices.DeleteFunc(n.followers, func(o *client) bool { return o == t })
	}
	g.unlock()
	if e != nil {
		e.watched.change(func(table *watches.Table) {
			table.Forget(t, watches.Key{Path: t.session.space.path(path), Kind: watches.Data})
		})
	}
}

// Follow watches a contender of another client of this session without a request. [machine.Fired]
// tells when it has a possession (held: it has one) or a contender before it has, and then of its
// end: when that possession is over and the deletion is about to be sent, or when it is gone
// otherwise. Not ok: the record has none at that path, it is being deleted, or its name has no
// GUID, so that the name may come again.
func (t *client) Follow(number uint64, path string) (held, ok bool) {
	g := t.session.state.lock()
	defer g.unlock()
	n := g.record.byPath[path]
	if n == nil || n.client == t || n.leaving || !n.form.Named() || g.closing || g.current(number) != n.epoch {
		return false, false
	}
	n.followers, n.told = append(slices.DeleteFunc(n.followers, func(o *client) bool { return o == t }), t), 0
	return n.hold != nil, true
}

// longest is the length of the longest stretch: so many contenders may read their znodes at the
// same time, and so many watches may turn out not to have been needed.
const longest = 64

// tellHeld tells a stretch of contenders behind one of the client's that it has a possession. They
// read their own znodes then, and where possessions are short, they have the answers before their
// turn. It does so when the followers of the contender, or of the one behind it, were not told yet.
// So the first stretch has the followers of two contenders, and each that continues it those of
// twice as many, up to longest.
func (t *client) tellHeld(h *Hold) {
	g := t.session.state.lock()
	n := g.record.byPath[h.path]
	if n == nil || n.client != t {
		g.unlock()
		return
	}
	n.hold = h
	var tell []func()
	if second := g.record.behind(n); second != nil && (n.told == 0 || second.told == 0) {
		stretch := min(max(2*n.told, 2), longest)
		for o, left := n, stretch; o != nil && left > 0; o, left = g.record.behind(o), left-1 {
			if o.told == 0 {
				tell = append(tell, g.record.telling(o, machine.Held))
			}
			o.told = stretch
		}
	}
	g.unlock()
	for _, followers := range tell {
		followers()
	}
}

// behind is a contender of a client that follows this one; nil: none does. If several do, any of
// them will do: it decides who reads early, not who is granted. With the session's mutex.
func (*record) behind(n *ephemeral) *ephemeral {
	for _, t := range n.followers {
		for o := range t.ephemerals {
			return o
		}
	}
	return nil
}

// tellReleased tells the followers of a contender that it is about to be deleted, if it had a
// possession that is over, and no write under that is under way. Only a contender that would hold
// alone is followed: so none was ahead of it, and its followers need not wait for the deletion.
func (t *client) tellReleased(path string) {
	g := t.session.state.lock()
	n := g.record.byPath[path]
	if n == nil || n.client != t || n.hold == nil || !n.hold.ended.Load() || n.hold.writes.Load() > 0 {
		g.unlock()
		return
	}
	n.leaving = true
	tell := g.record.telling(n, machine.HolderReleased)
	g.unlock()
	tell()
}

// telling returns a function that tells the present followers of a change. It is to be called with
// the session's mutex, the function without it. After a change that is the znode's end it has no
// followers.
func (*record) telling(n *ephemeral, change machine.Change) func() {
	next := slices.Clone(n.followers)
	if change != machine.Held {
		n.followers = nil
	}
	return func() {
		for _, t := range next {
			t.fired(machine.Fired{Epoch: n.epoch.number, Path: n.path, Change: change})
		}
	}
}
