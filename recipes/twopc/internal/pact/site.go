package pact

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// The intents of a site's application, for the transaction with this GUID.
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
)

// Held tells a restarted machine that the application has a transaction. ID is its name.
type Held struct {
	GUID string
	ID   string
}

// What the machine tells a site's application.
type (
	// Offer delivers a transaction that waits for this site, or for its acknowledgement. It is
	// repeated after a crash of the machine.
	Offer struct {
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
	// Learned tells the outcome. It follows the Offer.
	Learned struct {
		GUID    string
		Outcome Outcome
		Reason  string
	}
	// Vanished tells that the transaction is gone and its outcome cannot be known.
	Vanished struct{ GUID string }
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
	desk     *desk
	root     Root
	name     string
	guid     string
	presence *presence

	inbox   inbox
	waiting []entry           // found, but there is no room yet
	props   map[string]*prop  // by GUID
	gone    map[string]uint64 // acknowledged transactions, with the number of the last listing at that time: that one or an older one may still contain them
	casts   map[string]Cast
	held    map[string]string // GUID → id: the application has it, but it has not been found since a crash
	orphans map[string]string // the same, but it no longer exists
	acks    map[string]bool   // pending acknowledgements; true: the application has learned the outcome
	leaders map[string]*leader

	unoffered []*prop // started, but not offered yet, oldest first

	taken   uint64
	closing bool
	stopped bool
	moved   func(from, to Phase) // for tests
}

// NewSite returns a new machine. guid is the GUID of the instance.
func NewSite(root Root, name, guid string) *Site {
	s := &Site{
		desk: newDesk(), root: root, name: name, guid: guid, props: map[string]*prop{}, gone: map[string]uint64{},
		casts: map[string]Cast{}, acks: map[string]bool{}, leaders: map[string]*leader{}, held: map[string]string{}, orphans: map[string]string{},
	}
	s.inbox.s = s
	s.presence = &presence{
		desk: s.desk, path: root.Alive(name), guid: guid, stood: s.stood,
		taken: func() { s.stop(ErrTaken) }, fail: s.stop,
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
	case !s.presence.standing:
		return "registering"
	case len(s.props) == 0:
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
		s.desk.begin(ev)
		s.reset()
		if !s.closing {
			s.presence.begin()
		}
	case machine.EpochEnded:
		s.desk.end()
		s.reset()
	case Cast:
		s.cast(ev)
	case Ack:
		s.ack(ev)
	case Held:
		if s.props[ev.GUID] == nil {
			s.held[ev.GUID] = ev.ID
		}
	case machine.Closing:
		s.closing = true
	default:
		s.desk.answer(ev)
	}
	s.wound()
	return s.desk.flush()
}

// reset forgets the state of the epoch.
func (s *Site) reset() {
	s.presence.reset()
	s.inbox.reset()
	s.waiting = nil
	clear(s.gone)
	clear(s.leaders)
	for _, p := range s.props {
		p.reset()
	}
}

// stood is called when the site's presence exists. Now it may list its inbox.
func (s *Site) stood() {
	if s.inbox.busy() {
		return
	}
	for _, p := range s.inOrder() {
		p.resume()
	}
	s.inbox.ring()
}

func (s *Site) inOrder() []*prop {
	all := make([]*prop, 0, len(s.props))
	for _, p := range s.props {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *prop) int { return int(a.number) - int(b.number) })
	return all
}

// found handles a listing of the inbox.
func (s *Site) found(number uint64, all []entry) {
	s.waiting = s.waiting[:0]
	here := map[string]bool{}
	for _, e := range all {
		here[e.guid] = true
		if _, left := s.gone[e.guid]; !left && s.props[e.guid] == nil {
			s.waiting = append(s.waiting, e)
		}
	}
	for guid, at := range s.gone {
		if at < number {
			delete(s.gone, guid)
		}
	}
	s.settle(here)
	s.bereave(here)
	slices.SortStableFunc(s.waiting, func(a, b entry) int { return s.rank(a) - s.rank(b) })
	s.take()
}

// rank puts the transactions that the application has first: they already use the window.
func (s *Site) rank(e entry) int {
	if _, has := s.held[e.guid]; has {
		return 0
	}
	return 1
}

// bereave tells the application what became of transactions that it had before a crash and that no
// longer exist, because another client deleted them. They use the window until they are
// acknowledged.
func (s *Site) bereave(here map[string]bool) {
	for _, guid := range sorted(s.held) {
		if !here[guid] {
			s.orphans[guid] = s.held[guid]
			delete(s.held, guid)
			s.desk.do(Vanished{GUID: guid})
		}
	}
}

// settle answers requests from before a crash, about transactions that this site has finished with.
func (s *Site) settle(here map[string]bool) {
	for _, guid := range sorted(s.casts) {
		if s.props[guid] == nil && !here[guid] {
			delete(s.casts, guid)
			s.desk.do(CastDone{GUID: guid, Err: ErrGone})
		}
	}
	for _, guid := range sorted(s.acks) {
		if s.props[guid] == nil && !here[guid] {
			var err error
			if _, orphan := s.orphans[guid]; orphan && !s.acks[guid] {
				err = ErrGone
			}
			delete(s.acks, guid)
			delete(s.held, guid)
			delete(s.orphans, guid)
			s.desk.do(Acked{GUID: guid, Err: err})
		}
	}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// take starts as many transactions as there is room for, oldest first.
func (s *Site) take() {
	for len(s.waiting) > 0 && s.room() && !s.closing && !s.stopped {
		e := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.taken++
		p := &prop{s: s, entry: e, number: s.taken, phase: Reading}
		s.props[e.guid] = p
		delete(s.held, e.guid)
		s.unoffered = append(s.unoffered, p)
		p.resume()
	}
	s.inbox.look()
}

// room reports whether the application may get another transaction.
func (s *Site) room() bool { return len(s.props)+len(s.orphans) < Window }

// leave forgets an acknowledged transaction.
func (s *Site) leave(p *prop) {
	p.move(Left)
	delete(s.props, p.guid)
	delete(s.acks, p.guid)
	s.gone[p.guid] = s.inbox.lists
	s.take()
}

func (s *Site) cast(c Cast) {
	if _, repeat := s.casts[c.GUID]; repeat {
		return
	}
	s.casts[c.GUID] = c
	switch p := s.props[c.GUID]; {
	case p != nil:
		p.advance()
	case s.inbox.listed:
		s.settle(s.unread())
	}
}

func (s *Site) ack(a Ack) {
	s.acks[a.GUID] = a.Known
	switch p := s.props[a.GUID]; {
	case p != nil:
		p.advance()
	case s.inbox.listed:
		s.settle(s.unread())
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

// wound stops the machine when it is closing and no request is pending. The site's votes remain,
// and are found again.
func (s *Site) wound() {
	if !s.closing || s.stopped || s.presence.leaving {
		return
	}
	for _, p := range s.props {
		if p.busy {
			return
		}
	}
	if s.desk.epoch == 0 || !s.presence.begun {
		s.stop(nil)
		return
	}
	s.presence.leave(func() { s.stop(nil) })
}

func (s *Site) stop(err error) {
	if !s.stopped {
		s.stopped = true
		s.desk.do(machine.Stop{Err: err})
	}
}
