package session

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Follow follows a contender of another client of this session, so that nothing has to be asked of
// ZooKeeper: [machine.Fired] tells when a possession comes of it (held: one has) or of one that
// stands before it, and then of its end: when that possession is over and the deletion is about to
// be sent, or when it is gone otherwise. Not ok: there is none at that path, it is being deleted,
// or its name has no GUID, so that another's znode may come to have it.
func (t *client) Follow(number uint64, path string) (held, ok bool) {
	g := t.session.state.lock()
	defer g.unlock()
	c := g.record.byPath[path]
	if c == nil || c.client == t || c.leaving || !c.form.Named() || g.closing || g.current(number) != c.epoch {
		return false, false
	}
	c.next, c.stretch = append(slices.DeleteFunc(c.next, func(o *client) bool { return o == t }), t), 0
	return c.hold != nil, true
}

// longest is the length of the longest stretch: so many may read their znodes at the same time, and
// so many watches may turn out not to have been needed.
const longest = 64

// tellHeld tells a stretch of the line behind a contender of the client that a possession came of
// it: where possessions are short, what they then read is answered before their turn. It does so
// when the followers of the contender, or of the one behind it, were not told yet. So the first
// stretch has the followers of two contenders, and each that continues it of twice as many, up to
// longest.
func (t *client) tellHeld(h *Hold) {
	g := t.session.state.lock()
	c := g.record.byPath[h.path]
	if c == nil || c.client != t {
		g.unlock()
		return
	}
	c.hold = h
	var tell []func()
	if second := c.behind(); second != nil && (c.stretch == 0 || second.stretch == 0) {
		stretch := min(max(2*c.stretch, 2), longest)
		for o, n := c, stretch; o != nil && n > 0; o, n = o.behind(), n-1 {
			if o.stretch == 0 {
				tell = append(tell, o.telling(machine.Held))
			}
			o.stretch = stretch
		}
	}
	g.unlock()
	for _, followers := range tell {
		followers()
	}
}

// behind is a contender of a client that follows this one; nil: nobody does. Of several any will
// do: it decides who reads early, not who is granted. With the session's mutex.
func (c *contender) behind() *contender {
	for _, t := range c.next {
		for o := range t.standing {
			return o
		}
	}
	return nil
}

// vacate tells those who follow a contender that it is about to be deleted, if a possession came of
// it and is over, and no write under it is under way. Only what would hold alone is followed: so
// nobody was ahead of it, and none of its followers need wait for the deletion.
func (t *client) vacate(path string) {
	g := t.session.state.lock()
	c := g.record.byPath[path]
	if c == nil || c.client != t || c.hold == nil || !c.hold.over.Load() || c.hold.writes.Load() > 0 {
		g.unlock()
		return
	}
	c.leaving = true
	tell := c.telling(machine.HolderReleased)
	g.unlock()
	tell()
}

// telling returns a function that tells the present followers of a change. It is to be called with
// the session's mutex, the function without it. After a change that is the end nobody follows.
func (c *contender) telling(change machine.Change) func() {
	next := slices.Clone(c.next)
	if change != machine.Held {
		c.next = nil
	}
	return func() {
		for _, t := range next {
			t.inbox.fired(machine.Fired{Epoch: c.epoch.number, Path: c.path, Change: change})
		}
	}
}
