package protocol

import (
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Window is the maximum number of transactions that a site handles at a time. The others wait in
// its inbox.
const Window = 256

// Site is the machine that votes.
type Site struct {
	participant
	name string

	inbox     inbox
	proposals map[string]*proposal // by GUID
	unoffered []*proposal          // those that the application does not have yet, oldest first
	started   uint64               // number of transactions so far
}

// NewSite returns a new machine. guid is the GUID of the instance.
func NewSite(root Root, name, guid string) *Site {
	r := &requests{}
	s := &Site{
		participant: participant{requests: r, root: root}, name: name, proposals: map[string]*proposal{},
	}
	s.inbox.s = s
	s.presence = &presence{
		requests: r, path: root.alive(name), guid: guid, ready: s.registered,
		duplicate: func() { s.stop(ErrTaken) }, fail: s.stop,
	}
	return s
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
		if !s.closing || s.pending() {
			s.presence.create()
		}
	case machine.EpochEnded:
		s.requests.end()
		s.reset()
	case Reopen:
		s.open(entry{name: ev.Entry, guid: ev.GUID, id: ev.ID}).offered = true
	case Cast:
		if p := s.proposals[ev.GUID]; p != nil && p.cast == nil {
			p.cast = &ev
			p.advance()
		}
	case Ack:
		if p := s.proposals[ev.GUID]; p != nil {
			p.ack = &ev
			p.advance()
		}
	case machine.Closing:
		s.closing = true
	default:
		s.requests.answer(ev)
	}
	if s.closing && !s.pending() {
		s.windUp() // the votes remain, and are found again
	}
	return s.requests.Flush()
}

// pending reports whether a vote, an acknowledgement or a decision is to be written.
func (s *Site) pending() bool {
	for _, p := range s.proposals {
		if p.busy || p.cast != nil || p.ack != nil {
			return true
		}
	}
	return false
}

// reset forgets the state of the epoch.
func (s *Site) reset() {
	s.presence.reset()
	s.inbox = inbox{s: s}
	for _, p := range s.proposals {
		p.reset()
	}
}

// registered is called when the site's presence exists.
func (s *Site) registered() {
	for _, p := range slices.SortedFunc(maps.Values(s.proposals), func(a, b *proposal) int { return int(a.number) - int(b.number) }) {
		p.resume()
	}
	if s.inbox.data == nil {
		s.inbox.follow()
	}
}

// room reports whether the application may get another transaction.
func (s *Site) room() bool { return len(s.proposals) < Window && !s.closing && !s.stopped }

// open adds a transaction to those that the site handles.
func (s *Site) open(e entry) *proposal {
	s.started++
	p := &proposal{view: view{requests: s.requests, root: s.root, id: e.id, rec: Record{GUID: e.guid}}, s: s, entry: e.name, number: s.started}
	s.proposals[e.guid] = p
	return p
}

// forget forgets an acknowledged transaction.
func (s *Site) forget(p *proposal) {
	delete(s.proposals, p.rec.GUID)
	if s.inbox.busy {
		s.inbox.left[p.rec.GUID] = true
	}
	s.inbox.look()
}

// inbox is a site's inbox. The begin of a transaction writes to the inbox's data, which fires the
// site's watch; the site's own deletions do not. The site lists its inbox when it has taken all
// known entries, has room for more, and the inbox was written to since the last listing. So waiting
// entries are listed once per window, and acknowledging some does not list the others again.
type inbox struct {
	s       *Site
	data    *following
	unread  bool            // written to since the last listing, or not listed yet
	busy    bool            // it is being listed
	waiting []entry         // found, but there was no room yet
	left    map[string]bool // acknowledged since that listing was requested, which may contain them
}

// follow watches the inbox, or creates it.
func (b *inbox) follow() {
	path := b.s.root.inbox(b.s.name)
	b.data = b.s.requests.follow(follower{path: path}, b.s.stop, func(ev machine.Seen) {
		if ev.Exists {
			b.unread = true
			b.look()
			return
		}
		b.s.requests.ensure(path, func(err error) {
			if err != nil {
				b.s.stop(err)
				return
			}
			b.data.look()
		})
	})
}

// look takes what there is room for, oldest first, and lists the inbox if that is due.
func (b *inbox) look() {
	s := b.s
	for len(b.waiting) > 0 && s.room() {
		e := b.waiting[0]
		if b.waiting = b.waiting[1:]; s.proposals[e.guid] != nil { // another client has made a second entry
			continue
		}
		p := s.open(e)
		s.unoffered = append(s.unoffered, p)
		p.resume()
	}
	if !b.unread || b.busy || len(b.waiting) > 0 || !s.room() {
		return
	}
	b.busy, b.unread, b.left = true, false, map[string]bool{}
	s.requests.list(b.data.path, func(ev machine.Listed) {
		switch b.busy = false; ev.Code {
		case machine.Done:
			for _, e := range entries(ev.Names) {
				if !b.left[e.guid] && s.proposals[e.guid] == nil {
					b.waiting = append(b.waiting, e)
				}
			}
			b.look()
		case machine.NoNode:
			b.data.look()
		default:
			s.stop(ev.Err)
		}
	})
}
