package take

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/asks"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// Machine takes items out of one queue.
type Machine struct {
	cfg     Config
	epoch   uint64
	session int64
	asks    *asks.Book

	total     int64 // wanted
	delivered int64 // of these

	root    root
	buckets map[string]*bucket // by path
	order   []*bucket

	line     []*pick // what is to be claimed next, in order
	claiming *claim  // under way, or in doubt
	bumps    int     // how often in a row somebody else was quicker
	reach    int     // how many items are picked at most: fewer where others go for the same
	aside    bool    // a pause after that
	receipt  receipt // with AutoAck
	backs    []*pick // with AutoAck: what is to be put back
	backing  bool    // the first of these is on its way
	unsure   bool    // whether it is back is not known: the answer has not come yet, or is lost

	items    uint64
	turn     uint64 // how often trust or the connection came back
	held     map[uint64]*held
	runs     map[string]*run // by path
	tags     uint64
	settling []*held     // to be settled, in order
	settle   *settlement // under way
	doubts   []*held     // settled in an epoch that ended before the answer
	watching bool        // a timer runs, after which claims are watched

	bounded   bool
	homeAsked bool
	room      *room.Room

	burials []*burial
	burying bool

	later later
	subs  [2]*sub // what moves delayed items into line, and what moves dead letters away

	idle    uint64
	closing bool
	stopped bool
}

// New makes a machine that knows nothing yet.
func New(cfg Config) *Machine {
	m := &Machine{
		cfg: cfg, asks: asks.New(), items: cfg.First, reach: most,
		buckets: make(map[string]*bucket), held: make(map[uint64]*held), runs: make(map[string]*run),
		room: room.New(cfg.Site.Root, cfg.Home),
	}
	m.subs[promoter] = newSub(give.Site{Root: cfg.Site.Root})
	m.subs[undertaker] = newSub(give.Site{Root: cfg.Dead})
	return m
}

// Phase is what the live tree shows.
func (m *Machine) Phase() string {
	switch {
	case m.stopped:
		return "Stopped"
	case m.epoch == 0:
		return "Out"
	case m.claiming != nil:
		return "Claiming"
	case len(m.line) > 0:
		return "Reading"
	case m.wanted() > 0:
		return "Waiting"
	case len(m.held) > 0:
		return "Holding"
	default:
		return "Idle"
	}
}

// Step takes in one event.
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	if m.stopped {
		return nil
	}
	var effects []machine.Effect
	switch ev := ev.(type) {
	case Demand:
		if ev.Incarnation == m.cfg.Incarnation {
			m.total = ev.Total
		}
	case Settle:
		effects = m.onSettle(ev)
	case Extend:
		effects = m.onExtend(ev)
	case Over:
		effects = m.onOver(ev)
	case Unheld:
		effects = m.onUnheld(ev)
	case machine.EpochBegan:
		effects = m.endEpoch()
		effects = append(effects, m.beginEpoch(ev)...)
	case machine.EpochEnded:
		effects = m.endEpoch()
	case machine.TrustGained, machine.Resumed:
		effects = m.unpark()
	case machine.Fired:
		effects = m.onFired(ev)
	case machine.Closing:
		effects = m.close()
	case machine.Woke:
		if m.idle != 0 && ev.Ask == m.idle {
			m.idle, m.closing = 0, true
		}
		effects = m.asks.Answer(ev, m.epoch)
	default:
		effects = m.asks.Answer(ev, m.epoch)
	}
	if m.stopped {
		return effects
	}
	return append(effects, m.next()...)
}

// next does all that can be done now.
func (m *Machine) next() []machine.Effect {
	if m.epoch == 0 {
		return m.end(nil)
	}
	effects := m.look()
	effects = append(effects, m.fill()...)
	effects = append(effects, m.sendBack()...) // before what is behind it, and not together: both write the receipt
	effects = append(effects, m.take()...)
	effects = append(effects, m.bury()...)
	effects = append(effects, m.sendSettled()...)
	effects = append(effects, m.promote()...)
	effects = append(effects, m.runSubs()...)
	return m.end(effects)
}

// end stops when that is asked and nothing is left to settle, or when there is nothing to do for a
// while.
func (m *Machine) end(effects []machine.Effect) []machine.Effect {
	busy := len(m.settling) > 0 || m.settle != nil || len(m.doubts) > 0 || len(m.backs) > 0 || len(m.burials) > 0 || m.burying ||
		m.claiming != nil || // what comes of it is given back
		m.cfg.AutoAck && len(m.held) > 0 // what was taken for good has found its receiver, or comes back
	if m.closing && !busy {
		m.stopped = true
		return append(effects, machine.Stop{})
	}
	resting := !busy && len(m.held) == 0 && m.wanted() <= 0 && m.claiming == nil && len(m.line) == 0
	switch {
	case m.cfg.Idle == 0:
	case resting && m.idle == 0:
		m.idle = m.asks.Number()
		effects = append(effects, machine.Wake{Ask: m.idle, After: m.cfg.Idle})
	case !resting && m.idle != 0:
		effects = append(effects, machine.Cancel{Ask: m.idle})
		m.idle = 0
	}
	return effects
}

// ask notes who takes the next answer, and returns its number.
func (m *Machine) ask(t asks.Taker) uint64 { return m.asks.Note(t) }

// wanted is how many items are to be picked yet.
func (m *Machine) wanted() int {
	if m.closing {
		return 0
	}
	n := m.total - m.delivered - int64(len(m.line))
	if m.claiming != nil {
		n -= int64(len(m.claiming.picks))
	}
	return int(n)
}

// fail gives up: ZooKeeper refuses what has to be done.
func (m *Machine) fail(err error) []machine.Effect {
	m.stopped = true
	return []machine.Effect{machine.Stop{Err: err}}
}

func (m *Machine) beginEpoch(ev machine.EpochBegan) []machine.Effect {
	m.epoch, m.session = ev.Epoch, ev.SessionID
	effects := m.stepSubs(ev)
	return append(effects, m.clearDoubts()...)
}

// endEpoch forgets what the epoch had. Claims are gone with it; what was being settled may be
// settled.
func (m *Machine) endEpoch() []machine.Effect {
	if m.epoch == 0 {
		return nil
	}
	effects := m.stepSubs(machine.EpochEnded{Epoch: m.epoch})
	m.epoch = 0
	m.asks.Clear()
	m.root, m.order, m.line = root{}, nil, nil
	clear(m.buckets)
	m.room.ForgetAll()
	m.later = later{}
	m.receipt.made, m.receipt.alive, m.receipt.asked = false, false, false
	m.backing, m.homeAsked, m.aside, m.bumps = false, false, false, 0
	m.burials, m.burying = nil, false
	if m.claiming != nil {
		if m.cfg.AutoAck {
			m.claiming.doubt = true
		} else {
			m.claiming = nil
		}
	}
	return append(effects, m.loseHeld()...)
}
