package session

import (
	"errors"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Join creates a contender's znode. It is in the session's record before it is asked for, and found
// again if the answer is lost.
func (t *client) Join(number uint64, j seam.Join, done func(seam.Joined)) {
	t.JoinList(number, j, done, nil)
}

// JoinList is [client.Join] with a listing of the parent that is put on the wire right behind the
// create, so that both take one trip. listed is called after joined; if joining failed, with the
// same error.
func (t *client) JoinList(number uint64, j seam.Join, joined func(seam.Joined), listed func(seam.Listed)) {
	refuse := func(err error) {
		joined(seam.Joined{Epoch: number, Err: err})
		if listed != nil {
			listed(seam.Listed{Epoch: number, Path: j.Parent, Err: err})
		}
	}
	t.entered(number, func(e *epoch) (func(), error) {
		z := &t.session.znodes
		n := z.enroll(t, e, j)
		if n == nil {
			return nil, ErrExpired
		}
		return func() {
			attempt := &joining{z: z, node: n, join: j}
			if listed != nil {
				key := joinKey{e, j.Parent}
				attempt.listing = z.beginJoin(key)
				defer z.endJoin(key)
			}
			path, stat, err := attempt.inTurn()
			if err != nil {
				refuse(err)
				return
			}
			joined(seam.Joined{Epoch: number, Path: path, Stat: stat})
			if listed != nil {
				listed(attempt.list())
			}
		}, nil
	}, refuse)
}

// enroll enters a contender in the record, before it is created; nil if the epoch is over.
func (z *znodes) enroll(t *client, e *epoch, j seam.Join) *ephemeral {
	guid := znode.DrawGUID(z.sender.tasks.source)
	n := &ephemeral{client: t, epoch: e, parent: j.Parent, form: j.Form}
	n.head = j.Form.Head(guid, e.sessionID, j.Name)
	n.data = j.Form.Data(guid, j.Data)
	g := z.sender.state.lock()
	defer g.unlock()
	if e.ended || g.closing {
		return nil
	}
	g.record.enter(n)
	g.record.suspect(j.Replace)
	t.queue = j.Parent
	return n
}

// enrolled records the outcome of a creation. If the client has left meanwhile, it is deleted.
func (z *znodes) enrolled(n *ephemeral, path string, czxid int64, err error) error {
	defer n.resolved.Close()
	left := n.client.Left()
	g := z.sender.state.lock()
	n.czxid = czxid
	if err == nil && n.form == znode.Alone {
		g.record.forget(n, path)
	}
	switch {
	case err != nil:
		g.record.strike(n)
	case !g.record.created(n, path):
		err = ErrExpired
	}
	g.unlock()
	if err == nil && left {
		z.sweep(n)
	}
	return err
}

// joining is the creation of one contender.
type joining struct {
	z       *znodes
	node    *ephemeral
	join    seam.Join
	listing bool // the parent is listed right behind the create

	create     protectedCreate
	replaced   bool           // nothing is to be replaced, or it is gone
	complained bool           // a search that fails was logged
	entered    zkconn.Entered // the answer to the create, and to the listing behind it
}

// inTurn runs the creation when it is the contender's turn, and records its outcome.
func (a *joining) inTurn() (string, zkconn.Stat, error) {
	done := a.z.turn(a.node)
	defer done() // also if it panics: others wait for it, also in later epochs
	path, stat, err := a.run()
	return path, stat, a.z.enrolled(a.node, path, stat.Czxid, err)
}

// run creates the znode for certain, and returns its path, and its Stat if the answer to the create
// told it.
func (a *joining) run() (string, zkconn.Stat, error) {
	n := a.node
	parent := a.z.space.path(a.join.Parent)
	want := znode.Join(parent, n.head)
	a.replaced = a.join.Replace == ""
	a.create.create = func(conn *zkconn.Conn) (string, zkconn.Stat, error) { return a.enter(conn, want) }
	a.create.search = func(conn *zkconn.Conn, p *proof) (string, zkconn.Stat, error) {
		path, err := findByHead(conn, p, parent, n.head)
		return path, zkconn.Stat{}, err
	}
	if !a.join.Form.Named() {
		a.create.search = a.findUnnamed
	}
	var above losses // of the creates of the parents
	var path string
	var stat zkconn.Stat
	err := a.z.sender.insist(n.epoch, func(conn *zkconn.Conn) (err error) {
		if a.create.lost {
			path, stat, err = a.create.find(conn)
			switch {
			case err != nil && a.create.lost:
				return a.notFound(err)
			case err != nil: // servers hang up at the create
				return err
			case path != "": // it was carried out
				a.displaced()
				return nil
			}
		}
		for try := 0; ; try++ {
			a.z.pauseIfRepeated(a.z.sender.tasks.life, min(max(try, int(n.client.repeats.Load())), mostRepeats), "what was created is gone at once, again and again; pausing between attempts", "path", a.z.space.path(a.join.Parent))
			path, stat, err = a.create.try(conn)
			if !errors.Is(err, ErrNoNode) {
				return err
			}
			if err = above.try(conn, func(conn *zkconn.Conn) error { return n.client.space.ensure(conn, parent, jute.FlagContainer) }); err != nil {
				return err
			}
		}
	})
	return a.z.space.relative(path), stat, err
}

// notFound is called when the parent of a lost znode can't be listed. The znode is looked for until
// it can, since it may block other contenders, and only this process knows of it.
func (a *joining) notFound(err error) error {
	if !definite(err) {
		return err
	}
	if !a.complained {
		a.complained = true
		a.z.log.Warn("a znode may have been created and can't be looked for; trying again until the epoch ends", "parent", a.z.space.path(a.join.Parent), "error", err)
	}
	return errAgain
}

// enter sends the create once, with the deletion of the znode to be replaced if that exists.
func (a *joining) enter(c *zkconn.Conn, path string) (string, zkconn.Stat, error) {
	entry := zkconn.Entry{
		Path: path, Data: a.node.data, Flags: jute.FlagEphemeralSequential, ACL: a.node.client.space.acl,
	}
	if a.join.Form == znode.Alone {
		entry.Flags = jute.FlagEphemeral
	}
	if a.listing {
		entry.List = a.z.space.path(a.join.Parent)
	}
	if !a.replaced {
		entry.Replace = a.z.space.path(a.join.Replace)
	}
	made, err := c.Enter(entry)
	if err == nil || made.Missing {
		a.displaced()
	}
	if made.Missing {
		return a.enter(c, path)
	}
	a.entered = made
	return made.Path, made.Stat, err
}

// displaced records that the znode to be replaced is gone: with the create, or before.
func (a *joining) displaced() {
	if !a.replaced {
		a.replaced = true
		a.node.client.repeats.Store(0)
		a.z.missing(a.join.Replace)
	}
}

// list returns the listing behind the create that succeeded, or a later one.
func (a *joining) list() seam.Listed {
	e := a.node.epoch
	if made := &a.entered; made.Path != "" && made.Err == nil && a.listing {
		return seam.Listed{Epoch: e.number, Path: a.join.Parent, Names: made.Names}
	}
	return a.z.gather(joinKey{e, a.join.Parent})
}

// joins counts the creates below one parent, in one epoch, that are under way and want a listing.
// The first lists right behind its create. Those that come meanwhile share a listing, which is sent
// after their creates were answered: so it is never older than what they have created.
type joins struct {
	underway int
	current  *listing // that was sent last
	next     *listing // that is sent when current is answered; nil: none is wanted
}

type joinKey struct {
	epoch  *epoch
	parent string
}

type listing struct {
	ended  notify.Latch
	answer seam.Listed // set before; it is shared, so it must not be changed
}

// beginJoin counts a create that is under way; true if it is the only one.
func (z *znodes) beginJoin(key joinKey) (alone bool) {
	g := z.sender.state.lock()
	defer g.unlock()
	q := g.record.joins[key]
	if q == nil {
		q = &joins{}
		g.record.joins[key] = q
	}
	q.underway++
	return q.underway == 1
}

// endJoin is called when the create and its listing are answered.
func (z *znodes) endJoin(key joinKey) {
	g := z.sender.state.lock()
	defer g.unlock()
	if q := g.record.joins[key]; q.underway > 1 {
		q.underway--
	} else {
		delete(g.record.joins, key)
	}
}

// gather returns a listing that was sent after the call. The first caller that wants one sends it,
// and parses it for all.
func (z *znodes) gather(key joinKey) seam.Listed {
	g := z.sender.state.lock()
	q := g.record.joins[key]
	mine, before := q.next, q.current
	if mine != nil {
		g.unlock()
		<-mine.ended.C() // with the epoch at the latest
		return mine.answer
	}
	mine = new(listing)
	a := &mine.answer
	a.Epoch, a.Path, a.Err = key.epoch.number, key.parent, ErrExpired // if it panics, which ends the epoch
	q.next = mine
	g.unlock()
	defer mine.ended.Close()
	if before != nil {
		<-before.ended.C()
	}
	g = z.sender.state.lock()
	q.current, q.next = mine, nil
	g.unlock()
	a.Err = z.sender.insist(key.epoch, bounded(func(c *zkconn.Conn) (err error) {
		a.Names, a.Stat, err = c.Children(z.space.path(key.parent), false)
		return err
	}))
	a.Contenders = znode.NewContenders(a.Names)
	return *a
}
