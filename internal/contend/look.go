package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// look is one look at the line.
type look struct {
	ask    uint64          // number of its listing
	early  bool            // the listing went with the Join: it may have been answered from before the znode stood
	answer *machine.Listed // that came before Joined

	line  []contender       // whose Czxids are being read
	gone  bool              // one of them was gone by then
	pred  string            // path of the one to wait for, "" if there is none
	alone bool              // it alone is waited for, and nothing can stand in its place when it is gone
	torn  bool              // the connection went down since it began
	own   znode.Contender   // of a semaphore: the order, once it is known
	queue []znode.Contender // those ahead
	seen  bool              // what the one ahead says was read in this look
	crowd bool              // the listing armed a watch on who comes and goes
	stale bool              // which fired while the listing was under way
	doubt error             // the listing failed; the own znode is being read to see whether it stands at all
}

// list looks at the line anew.
func (m *Machine) list() {
	m.state = Listing
	m.look = look{ask: m.ask(), crowd: m.place.head}
	m.do(machine.List{Epoch: m.epoch, Ask: m.look.ask, Watch: m.look.crowd})
}

func (m *Machine) onListed(e machine.Listed) {
	if m.foreign(e.Epoch) || e.Ask != m.look.ask {
		return
	}
	switch m.state {
	case Joining:
		m.look.answer = &e
	case Listing:
		m.digest(e)
	}
}

// digest makes sense of a listing once the own znode's path is known.
func (m *Machine) digest(e machine.Listed) {
	missing := e.Err == nil && !slices.Contains(e.Names, m.place.name)
	switch {
	case m.look.early && (missing || e.Err != nil):
		m.list() // it may be from before the znode stood, perhaps from before its parent did
	case missing:
		m.lost()
	case m.look.stale:
		m.list()
	case len(m.claims) == 0:
		m.leave() // recovered, and nobody wants it any more
	case e.Err != nil:
		m.verify(e.Err)
	default:
		m.arrange(e.Names)
	}
}

// verify asks whether the own znode stands, because the line could not be listed.
func (m *Machine) verify(err error) {
	m.state = Checking
	m.look.doubt = err
	m.rewatch(m.place.path)
}

// judge draws the conclusion from the order: those ahead, first to last.
func (m *Machine) judge(own znode.Contender, ahead []znode.Contender) {
	if m.permits != nil {
		m.look.own, m.look.queue = own, ahead
		m.state = Checking
		if m.look.stale {
			m.list()
			return
		}
		m.weigh()
		return
	}
	blockers := m.cfg.Rule.Before(own, ahead)
	m.ahead = len(blockers)
	m.state = Checking
	if len(blockers) > 0 && m.claims[0].try {
		if m.look.ask <= m.claims[0].since {
			m.list() // asked before the try: whoever is in it may be gone since
			return
		}
		m.refuse()
		if m.state == Leaving {
			return
		}
	}
	if !m.armed(m.place.path) {
		m.watch(m.place.path)
	}
	if len(blockers) > 0 {
		last := blockers[len(blockers)-1]
		m.look.pred = znode.Join(m.cfg.Parent, last.Name)
		// An event of a watch that was armed before this look might be about a namesake. One that
		// went during this look may have been a writer that goes on as a reader, which the listing
		// did not show.
		m.look.alone = len(blockers) == 1 && !m.look.gone && !m.cfg.Rule.Remains(own, last) && m.watches.of(m.look.pred) == nil
		m.watch(m.look.pred)
	}
	m.advance()
}
