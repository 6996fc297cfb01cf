package double

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// check reads the own znode and the round, and watches both. The own znode is listed: that watch is
// told of its end alone, which comes once.
func (m *Machine) check(rank int) {
	m.state, m.main = Waiting, 0
	m.place = place{name: m.place.name, rank: rank, watched: true}
	m.place.askOwn = m.list(m.own(), true)
	m.place.askRound = m.read(m.roundPath(), true)
}

func (m *Machine) onOwn(ev machine.Listed) {
	m.place.askOwn = 0
	switch {
	case ev.Code == machine.Refused:
		m.emit(machine.Stop{Err: ev.Err})
	case ev.Code != machine.Done || ev.Stat.Owner != m.session:
		m.ownGone()
	default:
		m.place.czxid = ev.Stat.Czxid
		m.judge()
	}
}

// ownGone: the own znode does not exist.
func (m *Machine) ownGone() {
	switch m.state {
	case Waiting:
		m.lose()
	case Counting, Deciding:
		m.place.ownGone = true
	case Ready:
		m.again()
		m.proceed()
	case Inside:
		m.emit(End{Claim: m.stay.claim})
		m.mark(m.stay.me)
	}
}

func (m *Machine) onRound(ev machine.Seen) {
	m.place.askRound = 0
	if ev.Code != machine.Done {
		m.emit(machine.Stop{Err: ev.Err})
		return
	}
	m.place.seen = &ev
	m.judge()
}

// lose: the own znode is gone, and the round is not released with this party in it. It arrives
// again.
func (m *Machine) lose() { m.proceed() }

// judge decides by the round's data what is next, when they and the own znode have been seen.
func (m *Machine) judge() {
	p := &m.place
	if m.state != Waiting || p.czxid == 0 || p.seen == nil {
		return
	}
	v := ParseVerdict(p.seen.Data)
	_, member := position(v.Names, p.name)
	switch {
	case !p.seen.Exists:
		m.look()
	case v.Kind == Open:
		m.version = p.seen.Stat.Version
		m.judgeOpen(v, Present(p.seen.Stat.Children))
	case v.Kind == Released && member:
		m.released(v.Names)
	case v.Kind == Released && has(v.Names, m.cfg.ID):
		m.turnedAway(ErrReplaced)
	case v.Kind == Released:
		m.turnedAway(ErrCrowd)
	default:
		m.turnedAway(broken(v))
	}
}

func (m *Machine) judgeOpen(v Verdict, standing int) {
	switch {
	case len(m.claims) == 0:
		m.withdraw()
	case !m.place.watched: // it was only set anew
		m.reread(true)
	case v.Parties != m.cfg.Parties && standing <= 1: // left over from when there were more parties, or fewer
		m.decide(Verdict{Kind: Open, Parties: m.cfg.Parties})
	case v.Parties != m.cfg.Parties: // the same, if all who stand agree: their names tell
		m.listParties()
	case m.place.rank >= m.cfg.Parties && standing >= m.cfg.Parties:
		m.count()
	}
}

// count lists the parties. They are released only if nobody has arrived since: that may be a
// process that was started anew, and its place must not go to the znode of its former life. So the
// number of arrivals has to be known before the listing. Mostly the answer to the own arrival has
// told it.
func (m *Machine) count() {
	if m.place.counted {
		m.listParties()
		return
	}
	m.state = Counting
	m.main = m.read(m.arrivals(), false)
}

func (m *Machine) listParties() {
	m.state = Counting
	m.main = m.list(m.roundPath(), false)
}

func (m *Machine) onArrivals(ev machine.Seen) {
	if ev.Code != machine.Done {
		m.emit(machine.Stop{Err: ev.Err})
		return
	}
	m.place.counted, m.place.arrived = true, ev.Stat.Version
	if !ev.Exists { // somebody deleted it, and nobody can arrive any more
		m.place.arrived = machine.Any
	}
	m.listParties()
}

// reread reads the round again. The watch that fired is armed only if there is still something to
// wait for, which the answer tells.
func (m *Machine) reread(watch bool) {
	m.state, m.main = Waiting, 0
	m.place.seen, m.place.stale, m.place.watched = nil, false, watch
	m.place.askRound = m.read(m.roundPath(), watch)
}

func (m *Machine) onParties(ev machine.Listed) {
	p := &m.place
	p.found, p.births = byID(ev.Names), make(map[string]int64)
	switch {
	case ev.Code == machine.Refused:
		m.emit(machine.Stop{Err: ev.Err})
	case ev.Code != machine.Done || !slices.Contains(ev.Names, p.name):
		m.settleNews()
	case ParseVerdict(p.seen.Data).Parties != m.cfg.Parties && agreed(ev.Names, m.cfg.Parties):
		m.decide(Verdict{Kind: Open, Parties: m.cfg.Parties})
	case ParseVerdict(p.seen.Data).Parties != m.cfg.Parties:
		m.decide(Verdict{Kind: Broken, Parties: ParseVerdict(p.seen.Data).Parties, Why: Differing})
	case len(p.found) > m.cfg.Parties:
		m.decide(Verdict{Kind: Broken, Parties: m.cfg.Parties, Why: Crowd})
	case len(p.found) == m.cfg.Parties:
		m.single()
	default: // some of the znodes are no parties', or several are one's; whoever comes next counts again
		p.rank = 0
		m.settleNews()
	}
}

// single sees to it that each id has one znode. Where it has several, the latest counts: the others
// are of processes that have died, as far as their successors know.
func (m *Machine) single() {
	p := &m.place
	for _, id := range slices.Sorted(maps.Keys(p.found)) {
		if len(p.found[id]) == 1 {
			continue
		}
		for _, name := range p.found[id] {
			if p.births[name] == 0 {
				m.main = m.read(znode.Join(m.roundPath(), name), false)
				return
			}
		}
	}
	var names []string
	for _, twins := range p.found {
		names = append(names, slices.MaxFunc(twins, func(a, b string) int { return cmp.Compare(p.births[a], p.births[b]) }))
	}
	slices.Sort(names)
	m.decide(Verdict{Kind: Released, Parties: m.cfg.Parties, Names: names})
}

func (m *Machine) onTwin(ev machine.Seen) {
	_, name := znode.Split(ev.Path)
	switch {
	case ev.Code != machine.Done:
		m.emit(machine.Stop{Err: ev.Err})
	case ev.Exists:
		m.place.births[name] = ev.Stat.Czxid
		m.single()
	default:
		m.place.births[name] = -1
		m.single()
	}
}

// settleNews goes back to waiting, and takes up what happened during a decision.
func (m *Machine) settleNews() {
	m.state, m.main = Waiting, 0
	switch {
	case m.place.ownGone:
		m.lose()
	case m.place.stale:
		m.reread(false)
	default:
		m.judge()
	}
}

// decide writes a verdict if the round is still as it was seen.
func (m *Machine) decide(v Verdict) {
	m.state, m.place.decision = Deciding, v
	var ops []machine.Op
	round := m.roundPath()
	if v.Kind == Released {
		if m.place.arrived != machine.Any {
			ops = append(ops, machine.Op{Do: machine.Check, Path: m.arrivals(), Version: m.place.arrived})
		}
		for _, name := range v.Names {
			ops = append(ops, machine.Op{Do: machine.Check, Path: round + "/" + name, Version: machine.Any})
		}
	}
	ops = append(ops, machine.Op{Do: machine.Set, Path: round, Data: v.Bytes(), Version: m.version})
	if v.Kind != Open && !m.place.next {
		ops = append(ops, Opening(m.cfg.Path, m.round+1, m.cfg.Parties)...)
	}
	m.transact(ops...)
}

func (m *Machine) onDecided(ev machine.Transacted) {
	v := m.place.decision
	switch {
	case ev.Code == machine.Done && v.Kind == Released:
		m.released(v.Names)
	case ev.Code == machine.Done && v.Kind == Broken:
		m.turnedAway(broken(v))
	case ev.Code == machine.Refused:
		m.emit(machine.Stop{Err: ev.Err})
	case m.place.ownGone:
		m.lose()
	default: // somebody else has decided, arrived or died, or it is not known
		m.place.next = m.place.next || ev.Code == machine.NodeExists
		m.place.counted = m.place.counted && ev.Code != machine.BadVersion
		m.reread(true)
	}
}

// released: this party is in.
func (m *Machine) released(names []string) {
	me, _ := position(names, m.place.name)
	m.stay = &stay{round: m.round, names: names, me: me, own: m.place.czxid}
	m.round, m.version = m.round+1, 0
	if len(m.claims) == 0 {
		m.proceed() // nobody wants it any more: it leaves
		return
	}
	m.stay.claim, m.stay.once = m.claims[0].Claim, m.claims[0].Once
	m.claims = m.claims[1:]
	if m.place.ownGone {
		m.again()
		m.proceed()
		return
	}
	m.enter()
}
