package produce

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// proceed asks for what is missing before the next transaction, or sends it.
func (m *Machine) proceed() {
	idle := key{purpose: idling}
	switch {
	case m.stopped:
	case len(m.puts) > 0:
		m.requests.Cancel(idle)
		if m.requests.Epoch() != 0 && m.asked == 0 && !m.requests.Pending(key{purpose: pausing}) {
			m.prepare()
		}
	case m.closing:
		m.stopped = true
		m.requests.Emit(machine.Stop{})
	case m.cfg.Idle > 0 && m.asked == 0 && !m.requests.Pending(idle):
		m.requests.Ask(machine.Wake{After: m.cfg.Idle}, idle)
	}
}

func (m *Machine) prepare() {
	r := &m.receipt
	switch {
	case slices.ContainsFunc(m.puts, func(p *put) bool { return p.doubt }): // before the receipt is made, perhaps anew: one that is gone tells nothing
		m.ask(machine.Read{Path: r.path}, key{purpose: readingReceipt})
	case !r.made:
		m.ask(machine.Ensure{Path: r.path, Container: true}, key{purpose: makingReceipt})
	case !r.known && r.version > 0:
		m.ask(machine.Read{Path: r.path}, key{purpose: readingReceipt})
	case !m.tail.Known():
		m.look()
		m.count()
	case m.count(), m.bind(), m.readClock():
	default:
		m.send()
	}
}

// look asks what the queue is like. The version of the buckets' parent comes first: what comes
// behind it is as new, so the check of that version is one of all of it.
func (m *Machine) look() {
	for _, p := range m.puts {
		p.bound = true
	}
	work := m.cfg.Root.Work()
	m.ask(machine.Look{Queries: []machine.Query{
		{Path: work}, {Path: work, Children: true}, {Path: place.Root(m.cfg.Root).Room()},
	}}, key{purpose: looking})
}

func (m *Machine) onLooked(p purpose, answers []machine.Event) {
	for _, a := range answers {
		if err := failed(a); err != nil {
			m.forget()
			m.refused(err)
			return
		}
	}
	m.tries = 0
	switch p {
	case looking:
		m.onQueue(answers[0].(machine.Seen), answers[1].(machine.Listed), answers[2].(machine.Seen))
	case surveying:
		m.limit.surveyed(answers)
	case readingRoom:
		m.onRoom(answers)
	}
}

// failed is why a read was refused; nil: it was not.
func failed(a machine.Event) error {
	switch a := a.(type) {
	case machine.Seen:
		return a.Err
	case machine.Listed:
		if a.Code != machine.NoNode {
			return a.Err
		}
	}
	return nil
}

// onQueue takes in what the queue is like.
func (m *Machine) onQueue(work machine.Seen, buckets machine.Listed, room machine.Seen) {
	m.tail.Listed(buckets.Names)
	if !m.limit.takeIn(work, buckets, room) {
		m.forget()
		m.refused(ErrCapacity)
	}
	if !work.Exists { // if it is not what was made then, the transaction fails
		m.ask(machine.Ensure{Path: m.cfg.Root.Work()}, key{purpose: makingQueue})
	}
}

func (m *Machine) onEnsured(p purpose, ev machine.Ensured) {
	if ev.Code != machine.Done {
		m.forget()
		m.refused(ev.Err)
		return
	}
	m.tries = 0
	if p == makingReceipt {
		m.receipt.made = true
		m.tail = tail.New(m.cfg.Root, m.cfg.Limit) // what was known may have been another queue's
		m.limit.forget()
	}
}

// refused waits before it tries again what may pass: a right that somebody takes away may come
// back. Wishes that are not in doubt are answered with it.
func (m *Machine) refused(err error) {
	for _, p := range slices.Clone(m.puts) {
		if !p.doubt {
			m.settle(p, err)
		}
	}
	if pause := (key{purpose: pausing}); len(m.puts) > 0 && !m.requests.Pending(pause) {
		m.tries++
		m.requests.Ask(machine.Wake{Try: m.tries}, pause)
	}
}

// count asks how many consumers live, if there is something to be divided among them.
func (m *Machine) count() bool {
	if m.consumers.known || !m.divides() {
		return false
	}
	m.ask(machine.List{Path: m.cfg.Root.Living()}, key{purpose: counting})
	return true
}

// divides tells whether a set waits, or many puts that can share znodes.
func (m *Machine) divides() bool {
	run := 1
	for n, p := range m.puts {
		if run++; n == 0 || !m.puts[n-1].precedes(p) {
			run = 1
		}
		if run == leastNeighbours || p.divided() {
			return true
		}
	}
	return false
}

// share is how many items of a set may lie in one znode, or of several puts. An ephemeral item has
// its own: one that went back from a znode with several would not end with its producer.
func (m *Machine) share(h neighbourhood) int {
	items, most := len(h[0].items), layout.MostTogether
	if len(h) > 1 {
		items, most = len(h), mostNeighbours
	}
	switch n := m.consumers.count; {
	case h[0].ephemeral(), len(h) > 1 && !m.consumers.known:
		return 1
	case n > 0:
		return min((items+n-1)/n, most)
	}
	return most
}

// readClock asks the servers for the time: what they write is stamped by their leader. It is the
// beginning of the delays of those who wait by now; whoever comes later would be early by it.
func (m *Machine) readClock() bool {
	first := slices.IndexFunc(m.puts, (*put).delayed)
	if first < 0 || m.clock != 0 && m.puts[first].timed {
		return false
	}
	for _, p := range m.puts {
		p.timed = true
	}
	path := place.Root(m.cfg.Root).Clock()
	m.ask(machine.Transact{Ops: []machine.Op{{Do: machine.Set, Path: path, Version: machine.Any}}}, key{purpose: readingClock})
	return true
}

func (m *Machine) onClock(ev machine.Transacted) {
	switch ev.Code {
	case machine.Done:
		m.clock = ev.Results[0].Stat.Mtime
	case machine.NoNode:
		m.ask(machine.Ensure{Path: place.Root(m.cfg.Root).Clock()}, key{purpose: makingClock})
	case machine.Refused:
		m.refused(ev.Err)
	}
}
