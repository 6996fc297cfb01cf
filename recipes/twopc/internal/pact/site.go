package pact

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/recipe"
)

// What a site's application wishes, of the transaction with this GUID.
type (
	// Cast is its vote. Reason is for votes against.
	Cast struct {
		GUID   string
		Commit bool
		Reason string
	}
	// Ack says that it has acted on the decision and needs nothing of the transaction any more.
	Ack struct{ GUID string }
)

// What a site's application gets.
type (
	// Offer is a transaction that waits for this site, or for what it knows. After a crash of the machine it comes again.
	Offer struct {
		GUID    string
		ID      string
		Payload []byte
		Voted   Outcome // how this site has voted
	}
	// CastDone answers Cast.
	CastDone struct {
		GUID string
		Err  error
	}
	// Learned tells the outcome. It comes after the Offer.
	Learned struct {
		GUID    string
		Outcome Outcome
		Reason  string
	}
	// Vanished: the transaction is gone, and how it was decided can't be known.
	Vanished struct{ GUID string }
	// Acked answers Ack: this site has nothing to do with the transaction any more.
	Acked struct {
		GUID string
		Err  error
	}
)

// Why a site's wish is refused.
var (
	ErrDecided   = errors.New("the transaction is decided")
	ErrVoted     = errors.New("this site has voted otherwise")
	ErrUndecided = errors.New("the transaction is not decided")
	ErrTaken     = errors.New("another site of this name is alive")
)

// Window is how many transactions a site has before it at a time. Further ones wait in its inbox.
const Window = 1024

// Site is the machine of one that votes.
type Site struct {
	desk     *desk
	root     Root
	name     string
	guid     string
	presence *presence

	listing bool
	again   bool              // something happened since the listing under way was asked
	listed  bool              // the inbox was read, in this epoch
	lists   uint64            // how many listings were asked
	waiting []entry           // found, and no room yet
	props   map[string]*prop  // by GUID
	gone    map[string]uint64 // acknowledged, and the listing that was the last then: an older one may still name them
	casts   map[string]Cast
	acks    map[string]bool
	leaders map[string]*leader

	unoffered []*prop // taken up, and not offered yet, oldest first

	taken   uint64
	closing bool
	stopped bool
	moved   func(from, to Phase) // for tests
}

// NewSite makes one that has done nothing yet. guid is the instance's own.
func NewSite(root Root, name, guid string) *Site {
	s := &Site{
		desk: newDesk(), root: root, name: name, guid: guid, props: map[string]*prop{}, gone: map[string]uint64{},
		casts: map[string]Cast{}, acks: map[string]bool{}, leaders: map[string]*leader{},
	}
	s.presence = &presence{
		desk: s.desk, path: root.Alive(name), guid: guid, stood: s.stood,
		taken: func() { s.stop(ErrTaken) }, fail: s.stop,
	}
	return s
}

// Phase is for the live tree.
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

// Step implements [recipe.Machine].
func (s *Site) Step(ev recipe.Event) []recipe.Effect {
	if s.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case recipe.EpochBegan:
		s.desk.begin(ev)
		s.reset()
		if !s.closing {
			s.presence.begin()
		}
	case recipe.EpochEnded:
		s.desk.end()
		s.reset()
	case Cast:
		s.cast(ev)
	case Ack:
		s.ack(ev.GUID)
	case recipe.Closing:
		s.closing = true
	default:
		s.desk.answer(ev)
	}
	s.wound()
	return s.desk.flush()
}

// reset forgets what belonged to the epoch.
func (s *Site) reset() {
	s.presence.reset()
	s.listing, s.again, s.listed, s.waiting = false, false, false, nil
	clear(s.gone)
	clear(s.leaders)
	for _, p := range s.props {
		p.reset()
	}
}

// stood: this site is the one of its name. Now it may look at what it is asked.
func (s *Site) stood() {
	if s.lists > 0 && (s.listing || s.listed) {
		return
	}
	for _, p := range s.inOrder() {
		p.resume()
	}
	s.list()
}

func (s *Site) inOrder() []*prop {
	all := make([]*prop, 0, len(s.props))
	for _, p := range s.props {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *prop) int { return int(a.number) - int(b.number) })
	return all
}

// list reads the inbox, and again whenever it changes.
func (s *Site) list() {
	if s.listing {
		s.again = true
		return
	}
	s.listing, s.again = true, false
	s.lists++
	number := s.lists
	s.desk.list(s.root.Inbox(s.name), s.list, func(ev recipe.Listed) {
		s.listing = false
		switch ev.Code {
		case recipe.Done:
			s.found(number, entries(ev.Names))
			if s.again {
				s.list()
			}
		case recipe.NoNode:
			s.desk.ensure(func(err error) {
				if err != nil {
					s.stop(err)
					return
				}
				s.list()
			}, s.root.Inbox(s.name))
		default:
			s.stop(ev.Err)
		}
	})
}

// found takes up what is new in the inbox.
func (s *Site) found(number uint64, all []entry) {
	s.listed, s.waiting = true, s.waiting[:0]
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
	s.orphans(here)
	s.take()
}

// orphans answers wishes that a machine before this one left, about transactions that this site is through with.
func (s *Site) orphans(here map[string]bool) {
	for _, guid := range sorted(s.casts) {
		if s.props[guid] == nil && !here[guid] {
			delete(s.casts, guid)
			s.desk.do(CastDone{GUID: guid, Err: ErrGone})
		}
	}
	for _, guid := range sorted(s.acks) {
		if s.props[guid] == nil && !here[guid] {
			delete(s.acks, guid)
			s.desk.do(Acked{GUID: guid})
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

// take takes up as many as there is room for, oldest first.
func (s *Site) take() {
	for len(s.waiting) > 0 && len(s.props) < Window && !s.closing && !s.stopped {
		e := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.taken++
		p := &prop{s: s, entry: e, number: s.taken, phase: Reading}
		s.props[e.guid] = p
		s.unoffered = append(s.unoffered, p)
		p.resume()
	}
}

// leave forgets a transaction that is acknowledged.
func (s *Site) leave(p *prop) {
	p.move(Left)
	delete(s.props, p.guid)
	delete(s.acks, p.guid)
	s.gone[p.guid] = s.lists
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
	case s.listed:
		s.orphans(s.unread())
	}
}

func (s *Site) ack(guid string) {
	s.acks[guid] = true
	switch p := s.props[guid]; {
	case p != nil:
		p.advance()
	case s.listed:
		s.orphans(s.unread())
	}
}

// unread are those in the inbox that there was no room for.
func (s *Site) unread() map[string]bool {
	here := map[string]bool{}
	for _, e := range s.waiting {
		here[e.guid] = true
	}
	return here
}

// wound stops when it is closing and nothing is under way. What this site voted stands, and is found again.
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
		s.desk.do(recipe.Stop{Err: err})
	}
}
