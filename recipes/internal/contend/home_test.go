package contend_test

// Instances that share a session, which follow one another in it without requests.

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// home is what shares a session.
type home struct{ all []*instance }

// drawHome draws with whom an instance shares its session.
func (i *instance) drawHome() {
	if n := len(i.w.all); n > 0 && i.w.rule <= shared && i.w.chance(2) {
		i.home = i.w.all[i.w.Pick(n)].home
	} else {
		i.home = &home{}
	}
	i.home.all = append(i.home.all, i)
}

// entry is what a session knows of a contender of its own.
type entry struct {
	by      *instance
	session int64
	held    bool // a possession came of it
	vacated bool // that is over, and it is being deleted
	gone    bool
	next    []*instance // who follow it
	told    bool        // that it is held, or that one before it is
}

// follow is false if the session knows of no contender that can be followed, or not yet.
func (i *instance) follow(e machine.Read) bool {
	n := i.w.entries[e.Path]
	s := i.sess
	if n == nil || n.vacated || n.gone || n.by == i || s == nil || s.epoch != e.Epoch || s.id != n.session || i.w.chance(10) {
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
	if n := i.w.entries[path]; n != nil {
		n.next = slices.DeleteFunc(n.next, func(o *instance) bool { return o == i })
	}
}

// tell tells those who follow what becomes of a contender.
func (w *world) tell(path string, change machine.Change) {
	n := w.entries[path]
	if n == nil {
		return
	}
	if change != machine.Held {
		w.fire(n, path, change)
		if w.chance(10) {
			w.fire(n, path, machine.Held) // they were told of one before, and hear of it late
		}
		n.next = nil
		return
	}
	n.held = true
	many := 2
	if !w.calm {
		many = 1 + w.Pick(8)
	}
	for n, path, more := n, path, many; n != nil && more > 0; more-- {
		if !n.told {
			w.fire(n, path, machine.Held)
		}
		n.told = true
		n, path = w.behind(n)
	}
}

// behind is the contender of one that follows another.
func (w *world) behind(n *entry) (behind *entry, path string) {
	for _, i := range slices.Backward(n.next) {
		for _, at := range slices.Sorted(maps.Keys(w.entries)) {
			if o := w.entries[at]; o.by == i && !o.gone {
				return o, at
			}
		}
	}
	return nil, ""
}

func (w *world) fire(n *entry, path string, change machine.Change) {
	for _, i := range n.next {
		if i.sess != nil && i.sess.id == n.session {
			i.news = append(i.news, machine.Fired{Epoch: i.sess.epoch, Path: path, Change: change})
		}
	}
}

// vacate: what came of a contender is over, and its deletion is about to be sent.
func (i *instance) vacate(path string) {
	n := i.w.entries[path]
	if n != nil && n.held && !n.vacated && !n.gone && i.sess != nil && (i.held == nil || !i.held.live || i.held.path != path) {
		n.vacated = true
		i.w.tell(path, machine.HolderReleased)
	}
}

// strike: the session has learned that a contender of its own is gone.
func (w *world) strike(path string) {
	if n := w.entries[path]; n != nil && !n.gone {
		n.gone = true
		w.tell(path, machine.Deleted)
	}
}

// handOn has somebody who holds pass others over.
func (w *world) handOn() {
	if w.rule > shared {
		return
	}
	for _, i := range w.all {
		if i.transfer() {
			return
		}
	}
}

// transfer deletes those behind an exclusive holder, up to one of them, and releases, as
// election.Term.TransferTo does. What the session is told by its watches is in its record before
// the answer is there; those who stand there hear of it later, perhaps behind the word of the
// release.
func (i *instance) transfer() bool {
	h, s := i.held, i.sess
	if i.name == "read-" || h == nil || !h.live || h.read || s.dead || s.suspended || !i.w.stands(h.node) {
		return false
	}
	behind := slices.DeleteFunc(slices.Clone(i.w.nodes), func(n *node) bool { return n.order <= h.node.order || n.foreign })
	slices.SortFunc(behind, func(a, b *node) int { return cmp.Compare(a.order, b.order) })
	if len(behind) < 2 {
		return false
	}
	i.w.Log("#%d hands over", i.id)
	for _, n := range behind[:1+i.w.Pick(len(behind)-1)] {
		i.w.remove(n, false)
		if slices.ContainsFunc(i.home.all, func(o *instance) bool { return o.sess.told(n.path) }) {
			i.w.strike(n.path)
		}
	}
	return i.release()
}

// told: the session has been told of the end of a path, whether or not that was passed on.
func (s *session) told(path string) bool {
	return slices.ContainsFunc(s.of.fires, func(f fire) bool {
		return f.ev.Epoch == s.epoch && f.path == path && f.ev.Change == machine.Deleted
	})
}

// known: the session knows that a contender of its own is gone.
func (w *world) known(path string) bool {
	n := w.entries[path]
	return n != nil && n.gone
}

// vacated: a contender of mine's session held it, and has released it.
func (w *world) vacated(n, mine *node) bool {
	e := w.entries[n.path]
	return e != nil && e.vacated && n.owner == mine.owner
}

func (i *instance) deliverNews() {
	ev := i.news[0]
	i.news = i.news[1:]
	i.step(ev)
}
