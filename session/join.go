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
				attempt.listing = z.join(key)
				defer z.joined(key)
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

// enroll enters a contender that is about to be created; nil if the epoch is over.
func (z *znodes) enroll(t *client, e *epoch, j seam.Join) *ephemeral {
	guid := znode.NewGUID()
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
	listing bool // right behind the create

	create     protectedCreate
	replaced   bool // what was to be replaced is gone
	complained bool
	entered    zkconn.Entered // with the listing behind the create, if that was asked for and answered
}

// inTurn runs the creation when it is the contender's turn, and records its outcome.
func (g *joining) inTurn() (string, zkconn.Stat, error) {
	done := g.z.turn(g.node)
	defer done() // also if it panics: others wait for it, also in later epochs
	path, stat, err := g.run()
	return path, stat, g.z.enrolled(g.node, path, stat.Czxid, err)
}

// run creates the znode for certain, and returns its path, and its Stat if the answer to the create
// told it.
func (g *joining) run() (string, zkconn.Stat, error) {
	n := g.node
	parent := g.z.space.path(g.join.Parent)
	want := znode.Join(parent, n.head)
	g.replaced = g.join.Replace == ""
	g.create.create = func(conn *zkconn.Conn) (string, zkconn.Stat, error) { return g.enter(conn, want) }
	g.create.search = func(conn *zkconn.Conn, p *proof) (string, zkconn.Stat, error) {
		path, err := findByHead(conn, p, parent, n.head)
		return path, zkconn.Stat{}, err
	}
	if !g.join.Form.Named() {
		g.create.search = g.findUnnamed
	}
	var above losses // of the creates of the parents
	var path string
	var stat zkconn.Stat
	err := g.z.sender.insist(n.epoch, func(conn *zkconn.Conn) (err error) {
		if g.create.lost {
			path, stat, err = g.create.find(conn)
			switch {
			case err != nil && g.create.lost:
				return g.notFound(err)
			case err != nil:
				return err
			case path != "":
				g.displaced()
				return nil
			}
		}
		for try := 0; ; try++ {
			g.z.pauseIfRepeated(g.z.sender.tasks.life, min(max(try, int(n.client.repeats.Load())), 8), "what was created is gone at once, again and again; pausing between attempts", "path", g.z.space.path(g.join.Parent))
			path, stat, err = g.create.try(conn)
			if !errors.Is(err, ErrNoNode) {
				return err
			}
			if err = above.try(conn, func(conn *zkconn.Conn) error { return n.client.space.ensure(conn, parent, jute.FlagContainer) }); err != nil {
				return err
			}
		}
	})
	return g.z.space.relative(path), stat, err
}

// notFound is called when the parent of a lost znode can't be listed. The znode is looked for until
// it can, since it may block other contenders, and only this process knows of it.
func (g *joining) notFound(err error) error {
	if !definite(err) {
		return err
	}
	if !g.complained {
		g.complained = true
		g.z.log.Warn("a znode may have been created and can't be looked for; trying again until the epoch ends", "parent", g.z.space.path(g.join.Parent), "error", err)
	}
	return errAgain
}

// enter sends the create once, with the deletion of the znode to be replaced if that exists.
func (g *joining) enter(c *zkconn.Conn, path string) (string, zkconn.Stat, error) {
	entry := zkconn.Entry{
		Path: path, Data: g.node.data, Flags: jute.FlagEphemeralSequential, ACL: g.node.client.space.acl,
	}
	if g.join.Form == znode.Alone {
		entry.Flags = jute.FlagEphemeral
	}
	if g.listing {
		entry.List = g.z.space.path(g.join.Parent)
	}
	if !g.replaced {
		entry.Replace = g.z.space.path(g.join.Replace)
	}
	made, err := c.Enter(entry)
	if err == nil || made.Missing {
		g.displaced()
	}
	if made.Missing {
		return g.enter(c, path)
	}
	g.entered = made
	return made.Path, made.Stat, err
}

// displaced records that the znode to be replaced is gone: with the create, or before.
func (g *joining) displaced() {
	if !g.replaced {
		g.replaced = true
		g.node.client.repeats.Store(0)
		g.z.missing(g.join.Replace)
	}
}

// list returns the listing behind the create that succeeded, or a later one.
func (g *joining) list() seam.Listed {
	e := g.node.epoch
	if made := &g.entered; made.Path != "" && made.Err == nil && g.listing {
		return seam.Listed{Epoch: e.number, Path: g.join.Parent, Names: made.Names}
	}
	return g.z.gather(joinKey{e, g.join.Parent})
}

// joins counts the creates below one parent, in one epoch, that are under way and want a listing.
// The first lists right behind its create. Those that come meanwhile share a listing, which is sent
// after their creates were answered: so it is never older than what they have created.
type joins struct {
	under   int
	current *listing // that was sent last
	next    *listing // that is sent when current is answered; nil: none is wanted
}

type joinKey struct {
	epoch  *epoch
	parent string
}

type listing struct {
	ended  notify.Latch
	answer seam.Listed // set before; it is shared, so it must not be changed
}

// join counts a create that is under way; true if it is the only one.
func (z *znodes) join(key joinKey) (alone bool) {
	g := z.sender.state.lock()
	defer g.unlock()
	q := g.record.joins[key]
	if q == nil {
		q = &joins{}
		g.record.joins[key] = q
	}
	q.under++
	return q.under == 1
}

func (z *znodes) joined(key joinKey) {
	g := z.sender.state.lock()
	defer g.unlock()
	if q := g.record.joins[key]; q.under > 1 {
		q.under--
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
