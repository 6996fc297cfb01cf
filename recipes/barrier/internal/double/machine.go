package double

import (
	"slices"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// Config describes a party.
type Config struct {
	Path    string // of the barrier
	Parties int
	ID      string
	GUID    func() znode.GUID // a fresh one for each znode
}

// Machine decides for one party. The zero value is not usable: see [New].
type Machine struct {
	cfg      Config
	state    State
	session  int64
	closing  bool
	requests machine.Requests[purpose]
	handlers [purposes]func(machine.Event) // for the answers, by purpose

	claims []Wanted // in the order of their numbers; the machine serves the first one
	newest uint64   // the greatest number of a claim or a passage so far

	awaited string   // while Cleaning: the znode of another process with this party's id, which is watched
	round   round    // to arrive in
	arrival *arrival // the own znode in that round; nil before there is one
	member  *member  // of the round that this party has entered, until all have left it; else nil
}

// round is the round to arrive in.
type round struct {
	number  int64 // 0: not known yet
	version int32 // of the round's znode, while the round is open
	unread  bool  // the version has to be read before the next arrival
}

// New returns a machine for one party.
func New(cfg Config) *Machine { return &Machine{cfg: cfg} }

// State returns the state of the party.
func (m *Machine) State() State { return m.state }

// Phase returns the state, for the live tree.
func (m *Machine) Phase() string { return m.state.String() }

// Step implements [machine.Machine].
func (m *Machine) Step(ev machine.Event) []machine.Effect {
	if purpose, ok := m.requests.Accept(ev); ok && purpose != none {
		m.handlers[purpose](ev)
	} else if ok {
		m.onEvent(ev)
	}
	return m.requests.Flush()
}

// onEvent handles an event that answers no request.
func (m *Machine) onEvent(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		if m.state != NoEpoch {
			m.onEpochEnded()
		}
		m.requests.Begin(ev.Epoch)
		m.session = ev.SessionID
		m.proceed()
	case machine.EpochEnded:
		m.onEpochEnded()
	case machine.TrustGained, machine.Resumed:
		m.onTrust()
	case machine.Closing:
		m.onClosing()
	case machine.Fired:
		m.onFired(ev)
	case Wanted:
		if m.fresh(ev.Claim) {
			m.claims = append(m.claims, ev)
			m.proceedIfIdle()
		}
	case Followed:
		if m.fresh(ev.Claim) {
			m.onFollowed(ev)
		}
	case Withdrawn:
		m.onWithdrawn(ev.Claim)
	case Departed:
		if m.state == Entered && m.member.claim.Claim == ev.Claim {
			m.member.depart()
		}
	case Deferred:
		m.onDeferred(Wanted(ev))
	}
}

// proceed begins the next step, after the last one has ended.
func (m *Machine) proceed() {
	m.requests.Forget(ownRead, roundRead)
	m.arrival = nil
	switch {
	case m.member != nil:
		m.member.depart()
	case m.closing:
		m.state = Idle
		m.requests.Emit(machine.Stop{})
	case len(m.claims) == 0:
		m.state = Idle
	case m.round.number == 0:
		m.findRound()
	default:
		m.arrive()
	}
}

func (m *Machine) proceedIfIdle() {
	if m.state == Idle {
		m.proceed()
	}
}

// onEpochEnded forgets the arrival, whose znode ends with the epoch. The membership stays.
func (m *Machine) onEpochEnded() {
	if m.state == Ready {
		m.repeatClaim()
	}
	m.requests.End()
	m.state, m.round.number, m.arrival = NoEpoch, 0, nil
	if m.closing {
		m.requests.Emit(machine.Stop{})
	}
}

// repeatClaim repeats the claim of a round that this party cannot enter: its znode was deleted
// before the claim got its passage.
func (m *Machine) repeatClaim() {
	if m.member.claim.Claim != 0 {
		m.claims = slices.Insert(m.claims, 0, m.member.claim)
	}
	m.member = nil
}

// fail refuses the first claim. If that is one without Once, the instance ends.
func (m *Machine) fail(err error) {
	if len(m.claims) == 0 {
		return
	}
	c := m.claims[0]
	m.claims = m.claims[1:]
	m.requests.Emit(Refuse{Claim: c.Claim, Err: err})
	if !c.Once {
		m.stop(err)
	}
}

// refused refuses the first claim, because ZooKeeper has refused a request that it needs.
func (m *Machine) refused(err error) {
	m.round.number = 0
	m.fail(err)
	m.proceed()
}

func (m *Machine) stop(err error) { m.requests.Emit(machine.Stop{Err: err}) }

// fresh reports whether a number is new, and the machine is not closing.
func (m *Machine) fresh(number uint64) bool {
	if number <= m.newest {
		return false
	}
	m.newest = number
	return !m.closing
}

// onFollowed takes up the round of an earlier incarnation of this machine. The application sends at
// most one such event, before all claims.
func (m *Machine) onFollowed(ev Followed) {
	me, found := position(ev.Names, ev.Self)
	if m.member != nil || !found {
		return
	}
	m.member = &member{m: m, claim: Wanted{Claim: ev.Claim}, round: ev.Round, names: ev.Names, me: me}
	m.proceedIfIdle()
}

// onDeferred handles a claim that got no passage. The machine offers it again when trust is back.
// If the round cannot be entered any more, the claim is repeated.
func (m *Machine) onDeferred(c Wanted) {
	mine := m.member != nil && m.member.claim.Claim == c.Claim
	switch {
	case mine && m.state == Entered && m.member.regained:
		m.member.enter()
	case mine && m.state == Entered:
		m.state = Ready
	case !m.closing && !slices.Contains(m.claims, c): // the claim is there already if this event was sent before a crash
		if mine {
			m.member.claim.Claim = 0
		}
		m.claims = slices.Insert(m.claims, 0, c)
		m.proceedIfIdle()
	}
}

func (m *Machine) onWithdrawn(claim uint64) {
	m.claims = slices.DeleteFunc(m.claims, func(c Wanted) bool { return c.Claim == claim })
	if m.member != nil && m.member.claim.Claim == claim {
		m.member.claim.Claim = 0
	}
	switch {
	case (m.state == Ready || m.state == Entered) && m.member.claim.Claim == 0:
		m.member.depart()
	case m.state == Waiting && len(m.claims) == 0:
		m.arrival.advance()
	}
}

// onTrust offers the passage again, since a possession may be possible now. In state Entered a
// Deferred for the last offer may still come.
func (m *Machine) onTrust() {
	switch m.state {
	case Ready:
		m.member.enter()
	case Entered:
		m.member.regained = true
	}
}

func (m *Machine) onClosing() {
	m.closing, m.claims = true, nil
	switch m.state {
	case NoEpoch, Idle, Finding, Cleaning, Creating:
		m.stop(nil)
	case Waiting:
		m.arrival.advance()
	case Ready, Entered:
		m.member.depart()
	case Watching, Leaving:
		m.member.quit()
	}
}

func (m *Machine) onFired(ev machine.Fired) {
	gone := ev.Change == machine.Deleted
	switch m.state {
	case Waiting, Counting, Deciding:
		switch {
		case ev.Path == m.arrival.path() && gone:
			m.arrival.onOwnGone()
		case ev.Path == m.roundPath():
			m.arrival.onRoundChanged()
		}
	case Ready, Entered:
		if ev.Path == m.member.path(m.member.me) && gone {
			m.member.onOwnGone()
		}
	case Cleaning:
		if ev.Path == m.awaited {
			m.findRound()
		}
	case Leaving:
		if ev.Path == m.member.path(m.member.neighbour) {
			m.member.neighbourChanged(gone)
		}
	}
}

func (m *Machine) roundPath() string { return RoundPath(m.cfg.Path, m.round.number) }

// purpose is what a request is for. A new request for the same purpose replaces the one before.
type purpose int

const (
	none      purpose = iota
	step              // the request whose answer the state waits for
	ownRead           // a read of the own znode
	roundRead         // a read of the round
	purposes
)

// ask makes the request whose answer the state waits for.
func ask[E machine.Event](m *Machine, r machine.Request, handle func(E)) { askFor(m, step, r, handle) }

func askFor[E machine.Event](m *Machine, p purpose, r machine.Request, handle func(E)) {
	m.requests.Ask(r, p)
	m.handlers[p] = func(ev machine.Event) { handle(ev.(E)) }
}

// State is how far a party has come with its first claim.
type State int

// The states of a party.
const (
	NoEpoch            State = iota
	Idle                     // there is no claim
	Finding                  // reads which round is the newest
	Creating                 // creates a round
	Cleaning                 // reads older rounds: deletes those without parties, waits while another process of its id is in one
	Arriving                 // creates the own znode
	Resolving                // reads whether the own znode exists, because the reply to its creation was lost
	Waiting                  // has arrived, and waits for a verdict or for the other parties
	Counting                 // lists the parties
	Deciding                 // writes a verdict
	Ready                    // is a member of the round, and waits for trust
	Entered                  // is a member of the round, and has a passage
	Withdrawing              // deletes the own znode, unless the verdict comes first
	Removing                 // deletes the own znode, and the round if no party is left in it
	Departing                // records a departure
	CountingDepartures       // reads how many members have departed
	Watching                 // reads the neighbour in the ring
	Leaving                  // waits for a change or the deletion of the neighbour's znode
	Deleting                 // deletes the round
)

// String is the state's name.
func (s State) String() string {
	return enum.Name(
		"State", s, "NoEpoch", "Idle", "Finding", "Creating", "Cleaning", "Arriving", "Resolving", "Waiting", "Counting", "Deciding", "Ready",
		"Entered", "Withdrawing", "Removing", "Departing", "CountingDepartures", "Watching", "Leaving", "Deleting",
	)
}
