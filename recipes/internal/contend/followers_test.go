package contend_test

// Instances that share a session, which follow one another in it without requests.

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// sharers are the instances that share a session.
type sharers struct{ all []*instance }

// drawSharers draws the instances that share the session.
func (i *instance) drawSharers() {
	if n := len(i.sim.all); n > 0 && i.sim.rule <= shared && i.sim.oneIn(2) {
		i.sharers = i.sim.all[i.sim.Pick(n)].sharers
	} else {
		i.sharers = &sharers{}
	}
	i.sharers.all = append(i.sharers.all, i)
}

// entry is a contender of a session, in its record.
type entry struct {
	by             *instance
	session        int64
	held           bool // it was granted
	holderReleased bool // its possession was released, and it is being deleted
	gone           bool
	next           []*instance // that follow it
	told           bool        // they were told that it is held, or that one before it is
}

// follow follows a contender of the session; false if there is none at the path, or not yet.
func (i *instance) follow(e machine.Read) bool {
	n := i.sim.entries[e.Path]
	s := i.sess
	if n == nil || n.holderReleased || n.gone || n.by == i || s == nil || s.epoch != e.Epoch || s.id != n.session || i.sim.oneIn(10) {
		return false
	}
	i.unfollow(e.Path)
	n.next, n.told = append(n.next, i), false
	r := &request{effect: e, ran: true}
	i.answers = append(i.answers, answer{r, machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, SameSession: true}})
	if n.held {
		i.news = append(i.news, machine.Fired{Epoch: e.Epoch, Path: e.Path, Change: machine.Held})
	}
	return true
}

func (i *instance) unfollow(path string) {
	if n := i.sim.entries[path]; n != nil {
		n.next = slices.DeleteFunc(n.next, func(o *instance) bool { return o == i })
	}
}

// tell tells the followers of a contender that it holds, has released or is gone.
func (sim *simulation) tell(path string, change machine.Change) {
	n := sim.entries[path]
	if n == nil {
		return
	}
	if change != machine.Held {
		sim.fire(n, path, change)
		if sim.oneIn(10) {
			sim.fire(n, path, machine.Held) // they were told of one before, and hear of it late
		}
		n.next = nil
		return
	}
	n.held = true
	stretch := 2 // how many contenders behind are told, as by tellHeld in package session
	if !sim.calm {
		stretch = 1 + sim.Pick(8)
	}
	for n, path, left := n, path, stretch; n != nil && left > 0; left-- {
		if !n.told {
			sim.fire(n, path, machine.Held)
		}
		n.told = true
		n, path = sim.behind(n)
	}
}

// behind is the contender of one that follows another.
func (sim *simulation) behind(n *entry) (behind *entry, path string) {
	for _, i := range slices.Backward(n.next) {
		for _, at := range slices.Sorted(maps.Keys(sim.entries)) {
			if o := sim.entries[at]; o.by == i && !o.gone {
				return o, at
			}
		}
	}
	return nil, ""
}

func (sim *simulation) fire(n *entry, path string, change machine.Change) {
	for _, i := range n.next {
		if i.sess != nil && i.sess.id == n.session {
			i.news = append(i.news, machine.Fired{Epoch: i.sess.epoch, Path: path, Change: change})
		}
	}
}

// tellReleased: a contender has held and released, and its deletion is about to be sent.
func (i *instance) tellReleased(path string) {
	n := i.sim.entries[path]
	if n != nil && n.held && !n.holderReleased && !n.gone && i.sess != nil && (i.held == nil || !i.held.live || i.held.path != path) {
		n.holderReleased = true
		i.sim.tell(path, machine.HolderReleased)
	}
}

// strike records that a contender of a session is gone, and tells its followers.
func (sim *simulation) strike(path string) {
	if n := sim.entries[path]; n != nil && !n.gone {
		n.gone = true
		sim.tell(path, machine.Deleted)
	}
}

// handOn lets a holder pass others over.
func (sim *simulation) handOn() {
	if sim.rule > shared {
		return
	}
	for _, i := range sim.all {
		if i.transfer() {
			return
		}
	}
}

// transfer deletes the contenders behind an exclusive holder, up to one of them, and releases, as
// election.Term.TransferTo does. The events of the session's watches are in its record before the
// answer. The instances are told of them later, perhaps after the release.
func (i *instance) transfer() bool {
	h, s := i.held, i.sess
	if i.name == "read-" || h == nil || !h.live || h.read || s.dead || s.suspended || !i.sim.exists(h.node) {
		return false
	}
	behind := slices.DeleteFunc(slices.Clone(i.sim.nodes), func(n *node) bool { return n.order <= h.node.order || n.foreign })
	slices.SortFunc(behind, func(a, b *node) int { return cmp.Compare(a.order, b.order) })
	if len(behind) < 2 {
		return false
	}
	i.sim.Log("#%d hands over", i.id)
	for _, n := range behind[:1+i.sim.Pick(len(behind)-1)] {
		i.sim.remove(n, false)
		if slices.ContainsFunc(i.sharers.all, func(o *instance) bool { return o.sess.told(n.path) }) {
			i.sim.strike(n.path)
		}
	}
	return i.release()
}

// told tells whether the session got the event that a znode is gone, even if not passed on yet.
func (s *session) told(path string) bool {
	return slices.ContainsFunc(s.of.fires, func(f fire) bool {
		return f.ev.Epoch == s.epoch && f.path == path && f.ev.Change == machine.Deleted
	})
}

// knownGone tells whether a session knows that its contender is gone.
func (sim *simulation) knownGone(path string) bool {
	n := sim.entries[path]
	return n != nil && n.gone
}

// holderReleased tells whether n, of the session of mine, has held and released.
func (sim *simulation) holderReleased(n, mine *node) bool {
	e := sim.entries[n.path]
	return e != nil && e.holderReleased && n.owner == mine.owner
}

func (i *instance) deliverNews() {
	ev := i.news[0]
	i.news = i.news[1:]
	i.step(ev)
}
