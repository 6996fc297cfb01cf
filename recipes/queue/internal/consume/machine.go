package consume

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Machine claims and settles the items of one consumer. The zero value is not usable: see [New].
//
// After each event it asks for what is missing: see proceed. One claim, one settlement and one
// move of due items are under way at a time.
type Machine struct {
	base       *base
	holdings   holdings
	place      place
	finder     finder
	later      later
	search     search // for items (claim.go)
	moves      moves  // of items elsewhere (move.go)
	settlement *txn   // under way (settle.go); nil: none
	stopped    bool
}

// New makes a machine for one consumer.
func New(cfg Config) machine.Machine {
	b := &base{cfg: cfg, root: cfg.Root, avoided: make(map[string]bool)}
	return &Machine{
		base:     b,
		holdings: holdings{base: b, items: make(map[uint64]*item), last: cfg.First, wanted: cfg.Prefetch},
		place:    place{base: b},
		finder:   finder{base: b, rng: rand.New(rand.NewPCG(cfg.Seed, 0)), window: 1, width: 1},
		later:    later{base: b}, moves: moves{puts: make(map[uint64]put)},
	}
}

// Phase shows in the live tree.
func (m *Machine) Phase() string {
	switch {
	case !m.base.registered:
		return "offline"
	case m.base.gate.watched && !m.base.gate.open:
		return "paused"
	case m.place.path == "":
		return "busy"
	case len(m.place.ahead) == 0:
		return "first in line"
	}
	return "in line"
}

// Step implements [machine.Machine].
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	k, ok := m.base.Requests.Accept(ev)
	if !ok || m.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.base.Requests.Begin(ev.Epoch)
		m.renew()
	case machine.EpochEnded:
		m.lose()
		m.base.Requests.End()
	case machine.TrustGained:
		m.base.Requests.Cancel(key{purpose: pausing})
	case machine.Closing:
		m.close()
	case machine.Fired:
		if ev.Path == m.base.root.Claims() {
			m.base.gate = gate{}
		}
		m.place.onFired(ev.Path)
	case machine.Woke:
		m.onWoke(k)
	case Demand:
		if ev.First == m.base.cfg.First {
			m.holdings.wanted = ev.Wanted
		}
	case Answer:
		m.onPut(ev)
	case Command:
		m.holdings.onCommand(ev)
	default:
		m.onAnswer(k, ev)
	}
	m.proceed()
	m.later.fresh = false // the servers' clock goes on until the next step
	return m.base.Requests.Flush()
}

func (m *Machine) onWoke(k key) {
	switch k.purpose {
	case lingering:
		m.place.turn = waited
	case waiting:
		m.later.onAlarm()
		m.place.overtake(m.later.behind > 0)
	case avoiding:
		clear(m.base.avoided)
		m.base.relist = true
	}
}

func (m *Machine) onAnswer(k key, ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Ensured:
		m.base.onPrepared(k.at, ev)
	case machine.Listed:
		m.place.onConsumers(ev)
	case machine.Seen:
		switch k.purpose {
		case watchingBell:
			m.place.onBell(ev)
		case watchingGate:
			m.base.onGate(ev)
		case releasing:
			m.onClaim(k.token, ev)
		case watchingAhead:
			m.place.onAhead(ev)
		}
	case machine.MultiSeen:
		switch k.purpose {
		case listing:
			m.onListed(ev)
		case reading:
			m.onRead(ev)
		case resolving:
			m.onResolved(ev)
		case fetching:
			m.onFetched(ev)
		}
	case machine.Transacted:
		switch k.purpose {
		case claiming:
			m.onTransacted(&m.search.claim, ev)
		case settling:
			m.onTransacted(&m.settlement, ev)
		case registering:
			m.base.onRegistered(ev)
			m.base.relist = m.finder.buckets != nil // a client that has deleted the znode by hand may have deleted all that was listed
		case mending:
			m.onMended(ev)
		case joining:
			m.place.onJoined(ev)
		case askingTime:
			if m.base.ok(ev.Code, m.base.root.Line(), ev.Err) {
				m.later.saw(ev.Results[0].Stat.Mtime)
			}
		}
	}
}

// renew forgets what ends with an epoch: requests, watches, the znodes of the session, and what a
// listing has shown to be free or due. Not so the rest, which holds in the next epoch too or is a
// mere guess: commands, paths that are avoided, the names of buckets, the time, counts of tries.
func (m *Machine) renew() {
	m.base.registered, m.base.gate, m.base.ensuring = false, gate{}, 0
	m.search.claim, m.search.candidates, m.search.noneFree = nil, nil, false
	m.settlement, m.moves.underWay = nil, false
	m.place.bellArmed, m.place.consumersArmed = false, false
	m.later = later{base: m.base, now: m.later.now}
	m.place.left()
	m.finder.drop()
	m.finder.begin()
	clear(m.moves.puts)
}

// lose gives up all items: their claims have ended with the session. A settlement under way may
// have been carried out.
func (m *Machine) lose() {
	for _, i := range slices.Clone(m.holdings.held) {
		if t := m.settlement; i.doubt || i.put || t != nil && slices.Contains(t.items, i) {
			m.holdings.end(i, fmt.Errorf("%w: %w", session.ErrLost, session.ErrUnknownOutcome))
		} else {
			m.holdings.end(i, session.ErrLost)
		}
	}
	m.renew()
}

// close has all items go back that are not being settled. The machine ends when none is left.
func (m *Machine) close() {
	m.base.closing = true
	for _, i := range m.holdings.held {
		m.holdings.dismiss(i)
	}
}

// proceed asks for what is missing.
func (m *Machine) proceed() {
	switch {
	case m.base.Requests.Epoch() == 0:
		if m.base.closing {
			m.stop()
		}
	case m.base.busy(pausing), m.base.ensuring > 0:
	case !m.base.registered && (!m.base.closing || m.base.busy(registering)):
		m.base.register()
		m.base.watchGate()
	default:
		m.base.watchGate()
		if m.search.claim != nil && !m.base.busy(claiming) { // a pause has come between
			m.resolve()
		}
		m.putAway()
		m.settle()
		m.move()
		if m.base.closing && len(m.holdings.held) == 0 {
			m.finish()
		} else {
			m.seek()
		}
	}
}

// finish deletes the place in line and the consumer's znode, and ends the machine.
func (m *Machine) finish() {
	switch {
	case m.search.claim != nil || m.settlement != nil || m.base.busy(listing, joining, leaving):
	case m.place.doubt:
		m.list(true)
	case m.place.path != "":
		m.base.Requests.Ask(machine.Remove{Path: m.place.path}, key{purpose: leaving})
		m.place.left()
	case m.base.registered:
		m.base.registered = false
		m.base.Requests.Ask(machine.Remove{Path: m.base.root.Consumer(m.base.cfg.GUID)}, key{purpose: leaving})
	default:
		m.stop()
	}
}

func (m *Machine) stop() {
	m.stopped = true
	m.base.Requests.Emit(machine.Stop{})
}
