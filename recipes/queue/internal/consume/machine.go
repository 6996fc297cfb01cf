package consume

import (
	"errors"
	"strconv"

	"github.com/troupe-go/troupe/machine"
)

// Machine claims and settles the items of one consumer. The zero value is not usable: see [New].
//
// After each event it asks for whatever is missing: see proceed. One transaction is under way at a
// time; all that is to be written meanwhile goes together into the next one.
type Machine struct {
	*wire
	*parts
	cfg     Config
	heirs   heirs
	sharing sharing
	later   later
	scrub   scrub
	clock   clock
	txn     *txn // under way; nil: none
	stopped bool
}

// New makes a machine for one consumer.
func New(cfg Config) *Machine {
	w := &wire{root: cfg.Root, told: make(map[string]bool), avoided: make(map[string]bool)}
	p := &parts{own: own{wire: w, guid: cfg.GUID, unheld: cfg.Auto}, graves: newGraves(w, cfg), space: newSpace(w, cfg)}
	p.line = line{own: &p.own, abandoned: make(map[string]bool)}
	p.view.wire = w
	p.book = book{
		own: &p.own, graves: &p.graves, window: newWindow(cfg), patience: cfg.Visibility, items: make(map[uint64]*item), last: cfg.First,
	}
	m := &Machine{wire: w, parts: p, cfg: cfg, later: newLater(w)}
	m.heirs.own, m.sharing.own, m.scrub.wire, m.clock.wire = &p.own, &p.own, w, w
	return m
}

// Phase shows in the live tree.
func (m *Machine) Phase() string {
	switch {
	case m.stopped:
		return "over"
	case m.Epoch() == 0:
		return "offline"
	case !m.own.made:
		return "preparing"
	case m.line.first:
		return "dispatcher"
	case m.line.path != "":
		return "in line"
	}
	return "busy"
}

// Step implements [machine.Machine].
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	k, ok := m.Accept(ev)
	if !ok || m.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.Begin(ev.Epoch)
		m.book.untrusted = false
		m.renew()
	case machine.EpochEnded:
		m.End()
		m.removing = 0
		clear(m.line.abandoned)
		m.lose()
	case machine.TrustGained:
		m.book.trust()
	case machine.Closing:
		m.close()
	case machine.Fired:
		m.onFired(ev)
	case machine.Woke:
		m.onWoke(k)
	case Demand, Received, Settle, Unheld, Over, Extend:
		m.onWish(ev)
	default:
		m.onAnswer(k, ev)
	}
	if m.unlucky && m.line.path != "" && (m.txn == nil || !m.txn.leaves) {
		m.remove(m.line.path)
		m.left()
	}
	m.share()
	m.proceed()
	m.book.hoard()
	m.idle()
	m.unlucky, m.clock.fresh = false, false
	return m.Flush()
}

func (m *Machine) onWish(ev machine.Event) {
	if no, about := subject(ev); about && no <= m.cfg.First {
		return
	}
	b := &m.book
	switch ev := ev.(type) {
	case Demand:
		if ev.Incarnation == m.cfg.Incarnation {
			b.window.total = ev.Total
		}
	case Received:
		b.received(ev.No)
	case Settle:
		b.settle(ev)
	case Unheld:
		b.unhold(ev.No)
	case Over:
		b.over(ev.No)
	case Extend:
		b.extend(ev)
	}
}

func (m *Machine) onWoke(k key) {
	switch k.purpose {
	case waiting:
		m.clock.alarm, m.clock.asked = 0, true
	case retrying:
		clear(m.avoided)
		m.book.retry()
		m.heirs.retry()
	case idling:
		m.close()
	case filling:
		m.line.slow = true
	case lying:
		m.book.lain()
	case starving:
		m.sharing.survey(&m.heirs)
	case hoarding:
		m.book.giveBack()
	case resting:
		m.scrub.rested(&m.view)
		m.heirs.vet()
	case grieving:
		m.graves.refused = false
	case judging:
		m.book.judge()
	case expiring:
		no, _ := strconv.ParseUint(k.at, 10, 64) // as it was asked for
		m.book.onExpired(no)
	}
}

// close has everything go back, and the machine end.
func (m *Machine) close() {
	m.closing = true
	m.book.close()
}

// renew begins anew, with nothing claimed and a tag that nobody had: what the former one had is not
// this consumer's any more.
func (m *Machine) renew() {
	m.own.renew()
	m.txn = nil
	m.Forget(key{purpose: resolving})
	m.graves.tail.Forget()
	m.space.room.ForgetAll()
	m.space.none = false
	m.left()
	m.line.times = 0
	clear(m.told)
	clear(m.avoided)
	m.scrub.renew()
	m.heirs.renew()
}

// left: the own place in line is gone.
func (m *Machine) left() {
	m.line.leave()
	m.Forget(key{purpose: counting}, key{purpose: calling})
	m.later.forget()
	m.view.leave()
	m.heirs.leave()
	m.sharing.leave()
}

// lose gives up all claims: somebody else has them, or will.
func (m *Machine) lose() {
	var settling []*item
	if t := m.txn; t != nil {
		settling = t.settled
		if t.joins && m.Epoch() != 0 && m.Pending(key{writing, m.own.tag}) {
			m.line.abandoned[m.own.tag] = true
		}
	}
	m.book.lose(settling)
	if m.own.made && m.Epoch() != 0 { // somebody has deleted the journal by hand
		m.remove(m.own.alive())
		if m.line.path != "" {
			m.remove(m.line.path)
		}
	}
	m.renew()
}

// proceed asks for what is missing.
func (m *Machine) proceed() {
	switch {
	case m.stopped:
	case m.Epoch() == 0:
		if m.closing {
			m.stop()
		}
	case m.busy(pausing):
	case !m.own.made && m.closing:
		if m.removing == 0 && !m.busy(signing) && !m.busy(checking) && !m.line.joining() { // or something of its own would stay
			m.stop()
		}
	case !m.own.made:
		m.own.sign()
	default:
		m.own.guard()
		m.book.read()
		if !m.closing {
			m.look()
		}
		m.graves.dig(m.book.claims)
		m.write()
	}
}

// look stands in line, and looks for items if this consumer is first.
func (m *Machine) look() {
	if m.txn == nil || !m.txn.leaves && !m.txn.joins {
		m.line.stand(m.book.wantsMore())
	}
	if m.line.first {
		m.view.look()
		m.heirs.look()
		m.scrub.tidy(&m.view)
	}
}

// write sends a transaction, if something is to be written.
func (m *Machine) write() {
	switch {
	case m.txn != nil && m.txn.inDoubt:
		m.once(machine.Read{Path: m.own.journal()}, key{purpose: resolving})
		return
	case m.txn != nil:
		return
	}
	t := newTxn(m.parts)
	if m.cfg.Auto {
		m.book.takeNext()
	}
	changed := t.settle()
	p := m.pick()
	if m.starves(p) {
		m.sharing.starve()
	} else {
		m.sharing.rest()
	}
	changed = t.claim(p) || changed
	changed = t.offer() || changed
	changed = t.leave(m.filled(t)) || m.clock.asked || changed
	t.join()
	t.bury()
	t.give()
	switch {
	case m.closing && len(t.next) == 0:
		if m.line.joining() {
			return // or its place in line would stay
		}
		t.end()
	case !changed:
		return
	default:
		t.write()
	}
	m.txn = t
	m.book.window.received, m.clock.asked = 0, false
	m.Ask(machine.Transact{Ops: t.ops}, key{writing, m.own.tag})
}

// pick is what can be claimed now. It asks for what has to be known first, moves what is due, and
// waits for what is due next.
func (m *Machine) pick() (p pick) {
	if !m.line.first || m.closing {
		return pick{}
	}
	next := int64(0)
	if m.view.buckets != nil {
		next = m.later.tend(m.clock.now, &m.view)
	}
	if !m.view.known() || !m.heirs.done() { // what the dead had comes first
		return pick{}
	}
	if free := m.book.free(); free > 0 {
		p = m.view.pick(min(free, most), m.clock.now, m.own.number)
		m.view.ask(p)
	}
	if p.due == 0 || next != 0 && next < p.due {
		p.due = next
	}
	m.clock.await(p.due)
	return p
}

// filled tells whether a dispatcher that has no room then knows of something that another one could
// claim. One that settles nothing for a while is taken to: others should be ready.
func (m *Machine) filled(t *txn) (more bool) {
	k := key{purpose: filling}
	switch {
	case !m.line.first || m.closing || t.room() > 0:
		m.Cancel(k)
		m.line.slow = false
		return false
	case len(t.settled) > 0:
		m.Cancel(k)
	case m.line.slow:
		return true
	}
	m.once(machine.Wake{After: slow}, k)
	if !m.view.known() {
		return false
	}
	p := m.view.pick(t.items+1, m.clock.now, m.own.number)
	m.view.ask(p)
	return len(p.found) > len(t.claims)
}

// idle waits to end a machine that has nothing to do.
func (m *Machine) idle() {
	k := key{purpose: idling}
	switch b := &m.book; {
	case m.cfg.Idle == 0, m.cfg.Stream, m.closing:
	case b.window.waiting() == 0 && len(b.items) == 0 && len(b.claims) == 0:
		m.once(machine.Wake{After: m.cfg.Idle}, k)
	default:
		m.Cancel(k)
	}
}

func (m *Machine) stop() {
	m.stopped = true
	m.Emit(machine.Stop{})
}

var (
	errUnnamed = errors.New("nobody named it: its items are delivered again")
	errForeign = errors.New("this is not a queue's")
)

func number(n uint64) string { return strconv.FormatUint(n, 10) }
