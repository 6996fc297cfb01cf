package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// leave deletes the site's znodes.
func (p *prop) leave() {
	switch {
	case p.lost:
		p.busy = true
		p.move(Leaving)
		if p.s.acks[p.guid] {
			p.drop(nil)
		} else {
			p.drop(ErrGone)
		}
		return
	case !p.decided:
		delete(p.s.acks, p.guid)
		p.s.desk.do(Acked{GUID: p.guid, Err: ErrUndecided})
		p.finish()
		return
	}
	p.busy = true
	p.move(Leaving)
	root := p.s.root
	d := &departure{
		desk: p.s.desk, root: root, id: p.id, guid: p.guid, done: p.departed, guess: p.neighbour(),
		own: []string{root.Vote(p.id, p.guid, p.s.name), root.Inbox(p.s.name) + "/" + p.name},
	}
	d.begin()
}

// neighbour returns the znode of a participant that may still be there: that of the next site, so
// that the sites do not all guess the same one.
func (p *prop) neighbour() string {
	sites := p.rec.Sites
	if i := slices.Index(sites, p.s.name); i >= 0 && len(sites) > 1 {
		return p.s.root.Vote(p.id, p.guid, sites[(i+1)%len(sites)])
	}
	return p.s.root.Open(p.id, p.guid)
}

func (p *prop) departed(code machine.Code, err error) {
	switch code {
	case machine.Done:
		p.acked(nil)
	case machine.NoNode: // done before, and the reply was lost; or another client deleted a part
		p.drop(nil)
	default:
		p.busy = false
		delete(p.s.acks, p.guid)
		p.move(Resolved)
		p.s.desk.do(Acked{GUID: p.guid, Err: err})
		p.advance()
	}
}

// drop deletes those of the site's znodes that exist.
func (p *prop) drop(err error) {
	p.s.desk.remove(p.s.root.Inbox(p.s.name)+"/"+p.name, func() {
		p.s.desk.remove(p.s.root.Vote(p.id, p.guid, p.s.name), func() { p.acked(err) })
	})
}

func (p *prop) acked(err error) {
	p.busy = false
	p.s.desk.do(Acked{GUID: p.guid, Err: err})
	p.s.leave(p)
}
