package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Window is the number of transactions that a site handles at a time. Others stay in its inbox.
const Window = 256

// Site is the machine that votes.
type Site struct {
	participant
	name      string
	inbox     inbox
	proposals []*proposal // the transactions that the site handles, oldest first
}

// NewSite returns a new machine. guid is the GUID of the instance.
func NewSite(root Root, name, guid string) *Site {
	s := &Site{name: name}
	s.participant = participant{role: s, zk: &dispatcher{}, root: root, path: root.alive(name), guid: guid}
	s.inbox.s = s
	return s
}

func (s *Site) handle(ev machine.Event) {
	switch ev := ev.(type) {
	case Propose:
		s.open(entry{name: ev.Entry, guid: ev.GUID, id: ev.ID}).offered = true
	case Cast:
		if p := s.proposal(ev.GUID); p != nil && p.cast == nil {
			p.cast = &ev
			p.advance()
		}
	case Ack:
		if p := s.proposal(ev.GUID); p != nil {
			p.ack = true
			p.advance()
		}
	}
}

// needed reports whether the site is open, or has a vote, an acknowledgement or decision to write.
func (s *Site) needed() bool {
	return !s.closing || s.find(func(p *proposal) bool { return p.busy || p.cast != nil || p.ack }) != nil
}

func (s *Site) reset() {
	s.inbox = inbox{s: s}
	for _, p := range s.proposals {
		p.reset()
	}
}

func (s *Site) registered() {
	for _, p := range slices.Clone(s.proposals) {
		p.resume()
	}
	if s.inbox.data == nil {
		s.inbox.follow()
	}
}

// hasRoom reports whether the application may get another transaction.
func (s *Site) hasRoom() bool { return len(s.proposals) < Window && !s.closing && !s.stopped }

// open adds a transaction to those that the site handles.
func (s *Site) open(e entry) *proposal {
	p := &proposal{s: s, entry: e.name}
	p.view = view{zk: s.zk, side: p, root: s.root, id: e.id, rec: Record{GUID: e.guid}}
	s.proposals = append(s.proposals, p)
	return p
}

// find returns the first transaction that satisfies is, or nil.
func (s *Site) find(is func(*proposal) bool) *proposal {
	if i := slices.IndexFunc(s.proposals, is); i >= 0 {
		return s.proposals[i]
	}
	return nil
}

func (s *Site) proposal(guid string) *proposal {
	return s.find(func(p *proposal) bool { return p.rec.GUID == guid })
}

// nextToOffer is the oldest transaction that the application does not have yet.
func (s *Site) nextToOffer() *proposal { return s.find(func(p *proposal) bool { return !p.offered }) }

func (s *Site) forget(p *proposal) {
	s.proposals = slices.DeleteFunc(s.proposals, func(o *proposal) bool { return o == p })
	if s.inbox.listing {
		s.inbox.acknowledged[p.rec.GUID] = true
	}
	s.inbox.take()
}

// inbox is a site's inbox. The begin of a transaction writes to the inbox's data, which fires the
// site's watch; the site's own deletions do not. The site lists its inbox when it has taken all
// known entries, has room for more, and the inbox was written to since the last listing. So waiting
// entries are listed once per window, and acknowledgements cause no listings.
type inbox struct {
	s            *Site
	data         *subscription
	unread       bool            // the inbox was written to since the last listing, or not listed yet
	listing      bool            // the inbox is being listed
	waiting      []entry         // listed, but there was no room for them yet
	acknowledged map[string]bool // the GUIDs of transactions acknowledged since the listing was requested, which it may contain
}

func (b *inbox) follow() {
	b.data = b.s.zk.follow(follower{path: b.s.root.inbox(b.s.name), create: true}, b.s.stop, func(machine.Seen) {
		b.unread = true
		b.take()
	})
}

// take takes waiting entries, oldest first, while there is room. Then it lists a changed inbox.
func (b *inbox) take() {
	s := b.s
	for len(b.waiting) > 0 && s.hasRoom() {
		e := b.waiting[0]
		if b.waiting = b.waiting[1:]; s.proposal(e.guid) != nil { // another client has created a second entry
			continue
		}
		s.open(e).resume()
	}
	if !b.unread || b.listing || len(b.waiting) > 0 || !s.hasRoom() {
		return
	}
	b.listing, b.unread, b.acknowledged = true, false, map[string]bool{}
	s.zk.list(b.data.path, func(ev machine.Listed) {
		switch b.listing = false; ev.Code {
		case machine.Done:
			for _, e := range entries(ev.Names) {
				if !b.acknowledged[e.guid] && s.proposal(e.guid) == nil {
					b.waiting = append(b.waiting, e)
				}
			}
			b.take()
		case machine.NoNode:
			b.data.readNow()
		default:
			s.stop(ev.Err)
		}
	})
}
