package session

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Follow follows a contender of another client of this session, so that nothing has to be asked of
// ZooKeeper: [machine.Fired] tells when a possession comes of it (held: one has) or of the one that
// it follows, and then of its end: when that possession is over and the deletion is about to be
// sent, or when it is gone otherwise. Not ok: there is none at that path, it is being deleted, or
// its name has no GUID, so that another's znode may come to have it.
func (t *client) Follow(number uint64, path string) (held, ok bool) {
	g := t.session.state.lock()
	defer g.unlock()
	c := g.ledger.byPath[path]
	if c == nil || c.client == t || c.leaving || !c.form.Named() || g.closing || g.current(number) != c.epoch {
		return false, false
	}
	if !slices.Contains(c.next, t) {
		c.next = append(c.next, t)
	}
	return c.hold != nil, true
}

// tellHeld tells those who follow a contender of the client that a possession came of it, and those
// who follow these: where possessions are short, what they then read is answered before their turn.
func (t *client) tellHeld(h *Hold) {
	g := t.session.state.lock()
	c := g.ledger.byPath[h.path]
	if c == nil || c.client != t {
		g.unlock()
		return
	}
	c.hold = h
	followed, followers := []*contender{c}, [][]*client{slices.Clone(c.next)}
	for _, n := range c.next {
		for o := range n.standing {
			followed, followers = append(followed, o), append(followers, slices.Clone(o.next))
		}
	}
	g.unlock()
	for i, o := range followed {
		o.tell(followers[i], machine.Held)
	}
}

// vacate tells those who follow a contender that it is about to be deleted, if a possession came of
// it and is over. Only what held alone is followed (recipes/internal/contend): so nobody else stood
// before it, and none of them need wait for the deletion.
func (t *client) vacate(path string) {
	g := t.session.state.lock()
	c := g.ledger.byPath[path]
	if c == nil || c.client != t || c.hold == nil || !c.hold.over.Load() {
		g.unlock()
		return
	}
	c.leaving = true
	next := c.followers()
	g.unlock()
	c.tell(next, machine.Vacated)
}

// followers are those to be told of the contender's end, once. With the session's mutex.
func (c *contender) followers() []*client {
	next := c.next
	c.next = nil
	return next
}

func (c *contender) tell(next []*client, change machine.Change) {
	for _, t := range next {
		t.inbox.fired(machine.Fired{Epoch: c.epoch.number, Path: c.path, Change: change})
	}
}
