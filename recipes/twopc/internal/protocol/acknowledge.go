package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// acknowledge deletes the site's znodes.
func (p *proposal) acknowledge() {
	if !p.decided() && !p.lost {
		delete(p.s.acks, p.rec.GUID)
		p.requests.Emit(Acked{GUID: p.rec.GUID, Err: ErrUndecided})
		p.terminate()
		return
	}
	p.busy = true
	p.move(Leaving)
	switch {
	case p.lost && p.s.acks[p.rec.GUID]:
		p.drop(nil)
	case p.lost:
		p.drop(ErrGone)
	default:
		d := &departure{view: &p.view, done: p.departed, own: []string{p.path(p.s.name), p.inboxEntry()}}
		other := p.neighbour()
		d.leave(other, other == p.mark())
	}
}

func (p *proposal) inboxEntry() string { return p.root.Inbox(p.s.name) + "/" + p.entry }

// neighbour returns the znode of a participant that may still be there: that of the next site, so
// that the sites do not all guess the same one.
func (p *proposal) neighbour() string {
	sites := p.rec.Sites
	if i := slices.Index(sites, p.s.name); i >= 0 && len(sites) > 1 {
		return p.path(sites[(i+1)%len(sites)])
	}
	return p.mark()
}

func (p *proposal) departed(code machine.Code, err error) {
	switch code {
	case machine.Done:
		p.acked(nil)
	case machine.NoNode: // done before, and the reply was lost; or another client deleted a part
		p.drop(nil)
	default:
		p.busy = false
		delete(p.s.acks, p.rec.GUID)
		p.move(Resolved)
		p.requests.Emit(Acked{GUID: p.rec.GUID, Err: err})
		p.advance()
	}
}

// drop deletes those of the site's znodes that exist.
func (p *proposal) drop(err error) {
	p.requests.remove(p.inboxEntry(), func() {
		p.requests.remove(p.path(p.s.name), func() { p.acked(err) })
	})
}

func (p *proposal) acked(err error) {
	p.busy = false
	p.requests.Emit(Acked{GUID: p.rec.GUID, Err: err})
	p.s.forget(p)
}
