package double

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// Config is what a party knows of itself.
type Config struct {
	Path    string // of the barrier
	Parties int
	ID      string
	GUID    func() znode.GUID // a fresh one for each znode
}

// Machine decides for one party. The zero value is not usable: see [New].
type Machine struct {
	cfg     Config
	state   State
	effects []machine.Effect // of the step

	epoch   uint64
	session int64
	closing bool

	claims []Wanted // in order; the first is being served
	newest uint64   // the greatest number that a claim or a passage has had

	last uint64 // ask
	main uint64 // the ask that the state waits for

	// Where it stands, or will.
	round   int64   // 0: look for it
	version int32   // of the round, as long as it is open
	unsure  bool    // the version has to be read
	old     []int64 // rounds before it, to be looked at
	guard   int32   // the version of the barrier's own znode: nobody has made a round out of turn since
	place   place

	stay *stay // the round that it is in, or was, until that is over
}

// place is what is known of the place in an open round.
type place struct {
	name     string // of the own znode
	rank     int    // which arrival it was, at least
	czxid    int64  // of the own znode; 0 until it was seen
	askOwn   uint64 // under way
	askRound uint64
	ownGone  bool // news that came during a decision
	stale    bool
	watched  bool                // the round's data are
	seen     *machine.Seen       // the round; nil until it was read
	counted  bool                // arrived is known
	arrived  int32               // how many had, before the parties were listed
	found    map[string][]string // Counting: who stands there, by id
	births   map[string]int64    // Counting: Czxids of those who share an id
	decision Verdict             // Deciding: what is to be written
	doubtful bool                // it was asked to be given up, and nobody knows whether it was
	next     bool                // there is a next round already, against all rules
}

// stay is what is known of a round that was released with this party in it.
type stay struct {
	claim    uint64 // 0: nobody has a passage of it
	round    int64
	names    []string
	me       int
	once     bool  // the claim's
	own      int64 // Czxid
	at       int   // whom it is about: to be said out, or watched
	tries    int   // to close the round
	modest   bool  // a foreign znode keeps the round from being deleted: delete the parties alone
	regained bool  // trust, or the connection, since a possession was asked for
}

// New makes a machine for one party.
func New(cfg Config) *Machine { return &Machine{cfg: cfg} }

// State is how far it has come.
func (m *Machine) State() State { return m.state }

// Phase shows in the live tree.
func (m *Machine) Phase() string { return m.state.String() }

// Step implements [machine.Machine].
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	m.effects = nil
	switch ev := ev.(type) {
	case machine.EpochBegan:
		m.onEpochBegan(ev)
	case machine.EpochEnded:
		m.onEpochEnded()
	case machine.TrustGained, machine.Resumed:
		m.onTrust()
	case machine.Closing:
		m.onClosing()
	case machine.Fired:
		if ev.Epoch == m.epoch {
			m.onFired(ev)
		}
	default:
		if !m.onAnswer(ev) {
			m.onWish(ev)
		}
	}
	return m.effects
}

// onAnswer takes the answers of requests; those of another epoch, and those that nobody waits for
// any more, are void.
func (m *Machine) onAnswer(ev machine.Event) bool {
	switch ev := ev.(type) {
	case machine.Listed:
		if ev.Epoch == m.epoch {
			m.onListed(ev)
		}
	case machine.Seen:
		if ev.Epoch == m.epoch {
			m.onSeen(ev)
		}
	case machine.Transacted:
		if ev.Epoch == m.epoch && ev.Ask == m.main {
			m.onTransacted(ev)
		}
	case machine.Ensured:
		if ev.Epoch == m.epoch && ev.Ask == m.main {
			m.onEnsured(ev)
		}
	case machine.Removed:
		if ev.Epoch == m.epoch && ev.Ask == m.main {
			m.onRemoved()
		}
	default:
		return false
	}
	return true
}

func (m *Machine) onListed(ev machine.Listed) {
	switch {
	case ev.Ask == m.place.askOwn && m.place.askOwn != 0:
		m.onOwn(ev)
	case ev.Ask != m.main:
	case m.state == Looking:
		m.onRounds(ev)
	case m.state == Sweeping:
		m.onDebris(ev)
	case m.state == Counting:
		m.onParties(ev)
	case m.state == Closing:
		m.onRemaining(ev)
	}
}

func (m *Machine) onSeen(ev machine.Seen) {
	switch {
	case ev.Ask == m.place.askRound && m.place.askRound != 0:
		m.onRound(ev)
	case ev.Ask != m.main:
	case m.state == Looking:
		m.onNewest(ev)
	case m.state == Sweeping:
		m.onOld(ev)
	case m.state == Finding:
		m.onFound(ev)
	case m.state == Counting && ev.Path == m.arrivals():
		m.onArrivals(ev)
	case m.state == Counting:
		m.onTwin(ev)
	case m.state == Tallying:
		m.onTally(ev)
	case m.state == Following:
		m.onNeighbour(ev)
	}
}

func (m *Machine) onTransacted(ev machine.Transacted) {
	switch m.state {
	case Founding:
		m.onFounded(ev)
	case Sweeping:
		m.sweep(m.old[1:])
	case Standing:
		m.onStood(ev)
	case Deciding:
		m.onDecided(ev)
	case Withdrawing:
		m.onWithdrawn(ev)
	case Clearing:
		m.proceed()
	case Marking:
		m.onMarked(ev)
	case Closing:
		m.onClosed(ev)
	}
}

// proceed goes on to what is next when nothing is under way.
func (m *Machine) proceed() {
	m.main, m.place = 0, place{}
	switch {
	case m.stay != nil:
		m.mark(m.stay.me)
	case m.closing:
		m.state = Idle
		m.emit(machine.Stop{})
	case len(m.claims) == 0:
		m.state = Idle
	case m.round == 0:
		m.look()
	default:
		m.stand()
	}
}

func (m *Machine) onEpochBegan(ev machine.EpochBegan) {
	if m.state != Out {
		m.onEpochEnded()
	}
	m.epoch, m.session = ev.Epoch, ev.SessionID
	m.proceed()
}

// onEpochEnded: whatever stood is gone, or about to be.
func (m *Machine) onEpochEnded() {
	if m.state == Ready {
		m.again()
	}
	m.state, m.epoch, m.round, m.main, m.place = Out, 0, 0, 0, place{}
	if m.closing {
		m.emit(machine.Stop{})
	}
}

// again: the round was released, but its znode went before the claim got anything of it. The claim
// stands again.
func (m *Machine) again() {
	if m.stay.claim != 0 {
		m.claims = slices.Insert(m.claims, 0, m.stay.wanted())
	}
	m.stay = nil
}

// fail refuses the first claim. One that stands until it is served takes the instance with it.
func (m *Machine) fail(err error) {
	if len(m.claims) == 0 {
		return
	}
	c := m.claims[0]
	m.claims = m.claims[1:]
	m.emit(Settle{Claim: c.Claim, Err: err})
	if !c.Once {
		m.emit(machine.Stop{Err: err})
	}
}

func (m *Machine) emit(e machine.Effect) { m.effects = append(m.effects, e) }

func (m *Machine) next() uint64 {
	m.last++
	return m.last
}

func (m *Machine) list(path string, watch bool) uint64 {
	ask := m.next()
	m.emit(machine.List{Epoch: m.epoch, Ask: ask, Path: path, Watch: watch})
	return ask
}

func (m *Machine) read(path string, watch bool) uint64 {
	ask := m.next()
	m.emit(machine.Read{Epoch: m.epoch, Ask: ask, Path: path, Watch: watch})
	return ask
}

func (m *Machine) transact(ops ...machine.Op) {
	m.main = m.next()
	m.emit(machine.Transact{Epoch: m.epoch, Ask: m.main, Ops: ops})
}

func (m *Machine) roundPath() string { return RoundPath(m.cfg.Path, m.round) }

func (m *Machine) arrivals() string { return znode.Join(m.roundPath(), arrivals) }

func (m *Machine) own() string { return znode.Join(m.roundPath(), m.place.name) }
