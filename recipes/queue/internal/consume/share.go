package consume

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// sharing asks other consumers to give back what nobody has received there, if a dispatcher finds
// nothing. Only dispatchers claim: so what others have too much of is there when it looks for the
// first time, or will never be, and a queue at rest causes no requests.
type sharing struct {
	own   *own
	from  int              // how many journals were read
	tries int              // how often they were, one after the other
	over  bool             // everybody was asked who has something
	asked map[string]int32 // by tag: the version of the journal for which its consumer was asked
}

// starves is how long a dispatcher waits before it asks for the first time, in milliseconds. What
// it is asked twice for by the same consumer has changed since.
const (
	starves     = 100
	mostSharing = 6 // times that is doubled
)

// rest begins anew: something was found.
func (s *sharing) rest() {
	s.own.Cancel(key{purpose: starving})
	s.own.Forget(key{purpose: surveying})
	*s = sharing{own: s.own, asked: s.asked}
}

// leave takes in that this consumer does not look any more.
func (s *sharing) leave() {
	s.rest()
	s.asked = nil
}

// starve waits before the journals are read, again and again, unless that is of no use.
func (s *sharing) starve() {
	if !s.over && !s.own.busy(surveying) {
		s.own.once(machine.Wake{After: starves << min(s.tries, mostSharing)}, key{purpose: starving})
	}
}

// survey reads the journals of those who live, some at a time.
func (s *sharing) survey(h *heirs) {
	if h.journals == nil || h.alive == nil {
		return // the next time
	}
	var queries []machine.Query
	for s.from < len(h.journals) && len(queries) < most {
		if tag := h.journals[s.from]; tag != s.own.tag && h.alive[tag] {
			queries = append(queries, machine.Query{Path: s.own.root.Journal(tag)})
		}
		s.from++
	}
	if s.over = len(queries) == 0; !s.over {
		s.own.Ask(machine.Look{Queries: queries}, key{purpose: surveying})
	}
}

// onSurveyed asks the one that has most.
func (s *sharing) onSurveyed(ev machine.Looked, h *heirs) {
	var tag string
	var version int32
	most, failed := 0, false
	for _, a := range ev.Answers {
		seen, ok := a.(machine.Seen)
		if !ok || seen.Code != machine.Done {
			failed = true
			continue
		}
		j, _ := layout.ParseJournal(seen.Data)
		_, name := znode.Split(seen.Path)
		if before, asked := s.asked[name]; asked && before == seen.Stat.Version {
			continue
		}
		if n := j.Idle(); n > most {
			tag, version, most = name, seen.Stat.Version, n
		}
	}
	switch {
	case most > 0:
		if s.asked == nil {
			s.asked = make(map[string]int32)
		}
		s.asked[tag] = version
		s.own.Ask(machine.Transact{Ops: []machine.Op{
			{Do: machine.Set, Path: s.own.root.Alive(tag), Version: machine.Any},
		}}, key{asking, tag})
	case failed:
	case s.from < len(h.journals):
		s.survey(h)
		return
	default:
		s.over = true
	}
	s.from = 0
	s.tries++
}

// onAsked takes in whether somebody was asked.
func (s *sharing) onAsked(tag string, ev machine.Transacted) {
	if ev.Code != machine.Done && ev.Code != machine.NoNode {
		delete(s.asked, tag)
		s.over = false
	}
}

// starves tells whether a dispatcher has nothing to do, and nothing to claim.
func (m *Machine) starves(p pick) bool {
	all, ahead := m.book.unsettled()
	return m.line.first && !m.closing && m.view.known() && m.heirs.done() && len(p.found)+len(p.need)+len(p.open) == 0 &&
		m.book.window.free(all, ahead) > 0 && ahead == 0
}

// share gives back what somebody else waits for: without a stream what nobody waits for here; with
// one, the half of what has no receiver yet that comes last. What may have been handed out stays.
func (m *Machine) share() {
	b := &m.book
	if !m.own.asked || m.closing {
		return
	}
	var spare []*item
	for _, c := range b.claims {
		if c.unread() {
			return // until it is known
		}
		for _, i := range c.items {
			if i.no == 0 && i.how == 0 && c.Offered&i.bit() == 0 && !c.foreign && !b.graves.spent(i.attempts()) {
				spare = append(spare, i)
			}
		}
	}
	m.own.asked = false
	all, ahead := b.unsettled()
	n := b.window.share(len(spare)-b.spare(), all, ahead)
	for _, i := range spare[len(spare)-n:] {
		b.goBack(i)
	}
}
