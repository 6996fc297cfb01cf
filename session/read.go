package session

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/seam"
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
		lacked := s.znodes.lacks(path) // before it was asked for: so it is not just being deleted
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
// be ([ErrTooLarge]), and then the one that is too large fails alone. All that is read is in memory
// at once. found has what came of each. An error instead is of all of them.
func (t *client) MultiRead(number uint64, queries []seam.Query, done func(found []seam.Found, err error)) {
	s := t.session
	asks := slices.Clone(queries)
	for i := range asks {
		asks[i].Path = s.space.path(asks[i].Path)
	}
	t.within(number, func(e *epoch) {
		var found []seam.Found
		err := s.requests.insist(e, bounded(func(c *zkconn.Conn) (err error) {
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

// await looks whether a znode exists, and watches for its birth, or its change or end if it does.
func (t *client) await(number uint64, path string, done func(exists bool, err error)) {
	s := t.session
	read := func(c *zkconn.Conn, watch bool) (func(), error) {
		_, exists, err := c.Exists(s.space.path(path), watch)
		if err == nil && !exists {
			return func() { done(false, nil) }, ErrNoNode
		}
		return func() { done(exists, err) }, err
	}
	t.readZnode(number, &watchRead{
		client: t, key: watches.Key{Path: s.space.path(path), Kind: watches.Data}, birth: true, read: read,
		refuse: func(err error) { done(false, err) },
	}, true)
}

// readZnode reads: with a watch, by way of the table of watches; without, straight away.
func (t *client) readZnode(number uint64, r *watchRead, watch bool) {
	s := t.session
	if !watch {
		t.within(number, func(e *epoch) {
			var answer func()
			err := s.requests.insist(e, bounded(func(c *zkconn.Conn) error {
				read, err := r.read(c, false)
				if answer = nil; err == nil || definite(err) {
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
// or is about to: no [machine.Fired] of its data comes of reads before this. If nobody else in the
// session depends on that watch, ZooKeeper is told to forget it. A watch of its children is not
// touched.
func (t *client) Unwatch(number uint64, path string) {
	g := t.session.state.lock()
	e := g.current(number)
	if c := g.record.byPath[path]; c != nil {
		c.next = slices.DeleteFunc(c.next, func(o *client) bool { return o == t })
	}
	g.unlock()
	if e != nil {
		e.watched.change(func(table *watches.Table) {
			table.Forget(&t.inbox, watches.Key{Path: t.session.space.path(path), Kind: watches.Data})
		})
	}
}
