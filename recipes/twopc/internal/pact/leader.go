package pact

import "github.com/troupe-go/troupe/machine"

// leader is a coordinator whose death matters because transactions wait for its decision.
type leader struct {
	*follower
	dead    bool
	refused int // number of refused reads in a row
	waiting map[string]*prop
}

// attend watches a coordinator's presence. All its transactions share one watch. No coordinator
// begins anything before its presence exists, so one without a presence has died.
func (s *Site) attend(guid string, p *prop) {
	l := s.leaders[guid]
	if l == nil {
		l = &leader{waiting: map[string]*prop{}}
		s.leaders[guid] = l
		l.follower = s.desk.follow(s.root.Coordinator(guid), func(ev machine.Seen) { s.onLeader(guid, l, ev) })
	}
	l.waiting[p.guid] = p
	p.orphaned = false
	if l.dead { // at the last read
		l.look()
	}
}

func (s *Site) unattend(guid string, p *prop) {
	l := s.leaders[guid]
	if l == nil || l.waiting[p.guid] != p {
		return
	}
	delete(l.waiting, p.guid)
	if len(l.waiting) == 0 {
		l.stop()
		delete(s.leaders, guid)
	}
}

func (s *Site) onLeader(guid string, l *leader, ev machine.Seen) {
	if ev.Code == machine.Refused {
		l.refused++
		s.desk.retry(l.refused, func() {
			if s.leaders[guid] == l {
				l.look()
			}
		})
		return
	}
	l.dead, l.refused = !ev.Exists, 0
	for _, p := range s.inOrder() {
		if l.waiting[p.guid] == p {
			p.orphaned = l.dead
			p.advance()
		}
	}
}
