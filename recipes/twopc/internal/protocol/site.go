package protocol

import (
	"errors"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// The requests of a site's application, for the transaction with this GUID.
type (
	// Cast is its vote. Reason is for votes to abort.
	Cast struct {
		GUID   string
		Commit bool
		Reason string
	}
	// Ack says that the application has acted on the decision and does not need the transaction any
	// more. Known: it has learned the outcome.
	Ack struct {
		GUID  string
		Known bool
	}
	// Delivered tells a restarted machine that the application has the transaction.
	Delivered struct{ GUID string }
)

// What the machine tells a site's application.
type (
	// Propose delivers a transaction that waits for this site, or for its acknowledgement. It is
	// repeated after a crash of the machine.
	Propose struct {
		GUID    string
		ID      string
		Payload []byte
		Voted   Outcome // this site's vote
	}
	// CastDone answers Cast.
	CastDone struct {
		GUID string
		Err  error
	}
	// Learned tells the outcome. It follows Propose.
	Learned struct {
		GUID    string
		Outcome Outcome
		Reason  string
	}
	// Gone tells that the transaction is gone and its outcome cannot be known.
	Gone struct{ GUID string }
	// Acked answers Ack: this site has finished with the transaction.
	Acked struct {
		GUID string
		Err  error
	}
)

// The errors of a site's requests.
var (
	ErrDecided   = errors.New("twopc: the transaction is decided")
	ErrVoted     = errors.New("twopc: this site has already voted differently")
	ErrUndecided = errors.New("twopc: the transaction is not decided")
	ErrTaken     = errors.New("twopc: another site with this name is alive")
)

// Window is the maximum number of transactions that a site handles at a time. The others wait in
// its inbox.
const Window = 1024

// Site is the machine that votes.
type Site struct {
	participant
	name string

	inbox     inbox
	waiting   []entry              // found, but there is no room yet
	proposals map[string]*proposal // by GUID
	left      map[string]uint64    // acknowledged transactions, with the number of the last listing at that time: that one or an older one may still contain them
	votes     map[string]Cast      // asked for, and not answered
	acks      map[string]bool      // the same of acknowledgements; true: the application has learned the outcome
	delivered map[string]bool      // the application has it, but it has not been found since a crash
	vanished  map[string]bool      // the same, but it no longer exists

	coordinators *presences
	unoffered    []*proposal // started, but not offered yet, oldest first
	started      uint64      // number of transactions so far
}

// NewSite returns a new machine. guid is the GUID of the instance.
func NewSite(root Root, name, guid string) *Site {
	d := newRequests()
	s := &Site{
		participant: participant{requests: d, root: root}, name: name, proposals: map[string]*proposal{}, left: map[string]uint64{},
		votes: map[string]Cast{}, acks: map[string]bool{}, delivered: map[string]bool{}, vanished: map[string]bool{},
		coordinators: newPresences(d, root.Coordinator, func(_ string, w *watched) { w.tell() }),
	}
	s.inbox.s = s
	s.presence = &presence{
		requests: d, path: root.Alive(name), guid: guid, ready: s.registered,
		duplicate: func() { s.stop(ErrTaken) }, fail: s.stop,
	}
	return s
}

// Phase returns the state, for the live tree.
func (s *Site) Phase() string {
	switch {
	case s.stopped:
		return "over"
	case s.closing:
		return "closing"
	case s.presence.state != registered:
		return "registering"
	case len(s.proposals) == 0:
		return "idle"
	}
	return "taking part"
}

// Step implements [machine.Machine].
func (s *Site) Step(ev machine.Event) []machine.Effect {
	if s.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		s.requests.begin(ev)
		s.reset()
		if !s.closing {
			s.presence.create()
		}
	case machine.EpochEnded:
		s.requests.end()
		s.reset()
	case Cast:
		s.cast(ev)
	case Ack:
		s.ack(ev)
	case Delivered:
		if s.proposals[ev.GUID] == nil {
			s.delivered[ev.GUID] = true
		}
	case machine.Closing:
		s.closing = true
	default:
		s.requests.answer(ev)
	}
	s.closeIfIdle()
	return s.requests.Flush()
}

// reset forgets the state of the epoch.
func (s *Site) reset() {
	s.presence.reset()
	s.inbox.reset()
	s.waiting = nil
	clear(s.left)
	clear(s.coordinators.all)
	for _, p := range s.proposals {
		p.reset()
	}
}

// registered is called when the site's presence exists. Now it may list its inbox.
func (s *Site) registered() {
	if s.inbox.busy() {
		return
	}
	for _, p := range slices.SortedFunc(maps.Values(s.proposals), func(a, b *proposal) int { return int(a.number) - int(b.number) }) {
		p.resume()
	}
	s.inbox.notified()
}

// found handles a listing of the inbox.
func (s *Site) found(number uint64, all []entry) {
	s.waiting = s.waiting[:0]
	here := map[string]bool{}
	for _, e := range all {
		here[e.guid] = true
		if _, left := s.left[e.guid]; !left && s.proposals[e.guid] == nil {
			s.waiting = append(s.waiting, e)
		}
	}
	for guid, at := range s.left {
		if at < number {
			delete(s.left, guid)
		}
	}
	s.answerLeft(here)
	s.vanish(here)
	slices.SortStableFunc(s.waiting, func(a, b entry) int { return s.rank(a) - s.rank(b) })
	s.take()
}

// rank puts the transactions that the application has first: they already use the window.
func (s *Site) rank(e entry) int {
	if s.delivered[e.guid] {
		return 0
	}
	return 1
}

// vanish tells the application what became of transactions that it had before a crash and that no
// longer exist, because another client deleted them. They use the window until they are
// acknowledged.
func (s *Site) vanish(here map[string]bool) {
	for _, guid := range slices.Sorted(maps.Keys(s.delivered)) {
		if !here[guid] {
			s.vanished[guid] = true
			delete(s.delivered, guid)
			s.requests.Emit(Gone{GUID: guid})
		}
	}
}

// answerLeft answers requests from before a crash, about transactions that this site has finished
// with.
func (s *Site) answerLeft(here map[string]bool) {
	for _, guid := range slices.Sorted(maps.Keys(s.votes)) {
		if s.proposals[guid] == nil && !here[guid] {
			delete(s.votes, guid)
			s.requests.Emit(CastDone{GUID: guid, Err: ErrGone})
		}
	}
	for _, guid := range slices.Sorted(maps.Keys(s.acks)) {
		if s.proposals[guid] == nil && !here[guid] {
			var err error
			if s.vanished[guid] && !s.acks[guid] {
				err = ErrGone
			}
			delete(s.acks, guid)
			delete(s.delivered, guid)
			delete(s.vanished, guid)
			s.requests.Emit(Acked{GUID: guid, Err: err})
		}
	}
}

// take starts as many transactions as there is room for, oldest first.
func (s *Site) take() {
	for len(s.waiting) > 0 && s.room() && !s.closing && !s.stopped {
		e := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.started++
		p := &proposal{view: view{requests: s.requests, root: s.root, id: e.id, rec: Record{GUID: e.guid}}, s: s, entry: e.name, number: s.started, phase: Reading}
		s.proposals[e.guid] = p
		delete(s.delivered, e.guid)
		s.unoffered = append(s.unoffered, p)
		p.resume()
	}
	s.inbox.look()
}

// room reports whether the application may get another transaction.
func (s *Site) room() bool { return len(s.proposals)+len(s.vanished) < Window }

// forget forgets an acknowledged transaction.
func (s *Site) forget(p *proposal) {
	p.move(Left)
	delete(s.proposals, p.rec.GUID)
	delete(s.acks, p.rec.GUID)
	s.left[p.rec.GUID] = s.inbox.lists
	s.take()
}

func (s *Site) cast(c Cast) {
	if _, repeat := s.votes[c.GUID]; repeat {
		return
	}
	s.votes[c.GUID] = c
	switch p := s.proposals[c.GUID]; {
	case p != nil:
		p.advance()
	case s.inbox.listed:
		s.answerLeft(s.unread())
	}
}

func (s *Site) ack(a Ack) {
	s.acks[a.GUID] = a.Known
	switch p := s.proposals[a.GUID]; {
	case p != nil:
		p.advance()
	case s.inbox.listed:
		s.answerLeft(s.unread())
		s.take()
	}
}

// unread returns the entries of the inbox that there was no room for.
func (s *Site) unread() map[string]bool {
	here := map[string]bool{}
	for _, e := range s.waiting {
		here[e.guid] = true
	}
	return here
}

// closeIfIdle stops the machine when it is closing and no request is pending. The site's votes
// remain, and are found again.
func (s *Site) closeIfIdle() {
	if !s.closing {
		return
	}
	for _, p := range s.proposals {
		if p.busy {
			return
		}
	}
	s.windUp()
}
