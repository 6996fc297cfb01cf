package take

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// claim is a transaction that takes items.
type claim struct {
	picks []*pick
	runs  []*run
	ops   []machine.Op
	of    []*pick // of each operation; nil: the receipt's or the room's
	gives []room.Use
	stamp int  // the operation, a Set, whose answer tells which transaction this is
	doubt bool // the answer is lost with its epoch
}

func (c *claim) add(p *pick, ops ...machine.Op) {
	for _, op := range ops {
		c.ops = append(c.ops, op)
		c.of = append(c.of, p)
	}
}

// take claims what is in line, when all of it is read.
func (m *Machine) take() []machine.Effect {
	switch {
	case m.claiming != nil && m.claiming.doubt:
		return m.askReceipt()
	case m.claiming != nil || len(m.line) == 0 || m.closing || m.aside || m.backing || m.unsure:
		return nil
	}
	for _, p := range m.line {
		if !p.ready {
			return nil
		}
	}
	var effects []machine.Effect
	for _, p := range m.line {
		if p.bucket.stale || p.bucket.asked || p.version > 0 && !p.confirmed && m.cfg.Site.Flat == "" {
			effects = append(effects, m.relist(p.bucket)...)
		}
	}
	if len(effects) > 0 || slices.ContainsFunc(m.line, func(p *pick) bool { return p.bucket.asked }) {
		return effects
	}
	c := &claim{stamp: -1}
	if m.siftOut(); len(m.line) == 0 {
		effects := append(m.bury(), m.fill()...)
		return append(effects, m.take()...)
	}
	if m.cfg.AutoAck {
		if setUp, ready := m.setUpReceipt(); !ready {
			return setUp
		}
	}
	m.gather(c)
	if m.cfg.AutoAck {
		return m.sendTaking(c)
	}
	c.runs = m.divide(c.picks)
	for _, r := range c.runs {
		m.claim(c, r)
	}
	if c.stamp < 0 {
		r := c.runs[0]
		c.stamp = len(c.ops)
		c.add(r.items[0].pick, machine.Op{Do: machine.Set, Path: r.path, Data: []byte(m.cfg.GUID), Version: 0})
	}
	m.claiming = c
	ask := m.ask(func(ev machine.Event) []machine.Effect { return m.claimed(c, ev.(machine.Transacted)) })
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: ask, Ops: c.ops}}
}

// claim adds the operations that claim the items of a run. Those from a pack become a pack of their
// own.
func (m *Machine) claim(c *claim, r *run) {
	var picks []*pick
	for _, h := range r.items {
		picks = append(picks, h.pick)
	}
	n := 0
	for _, b := range batches(picks) {
		if p := b[0]; p.pack == nil {
			c.stamp = len(c.ops)
			c.add(p, machine.Op{Do: machine.Set, Path: p.path, Data: p.data, Version: p.version})
			n++
			continue
		}
		s := newSpan(r, b, r.items[n:n+len(b)])
		n += len(b)
		c.add(b[0], b.unpack()...)
		c.add(b[0], s.text.create(r.bucket.path, s.pack))
	}
	c.add(picks[0], machine.Op{Do: machine.Create, Path: r.path, Data: []byte(m.cfg.GUID), Ephemeral: true})
}

// siftOut takes out of line what has had all its attempts.
func (m *Machine) siftOut() {
	m.line = slices.DeleteFunc(m.line, func(p *pick) bool {
		over := m.overtried(p.attempts()) && !m.cfg.AutoAck
		if over {
			m.burials = append(m.burials, &burial{pick: p})
		}
		return over
	})
}

// gather takes from the line what fits into one transaction.
func (m *Machine) gather(c *claim) {
	size := 0
	for len(m.line) > 0 && (len(c.picks) == 0 || len(c.picks) < most && size+len(m.line[0].data) <= mostBytes) {
		p := m.line[0]
		m.line = m.line[1:]
		size += len(p.data)
		c.picks = append(c.picks, p)
	}
}

// claimed takes in what became of the claims.
func (m *Machine) claimed(c *claim, t machine.Transacted) []machine.Effect {
	switch t.Code {
	case machine.Done:
		m.claiming = nil
		m.got()
		return m.hold(c, t.Results[c.stamp].Stat.Mzxid)
	case machine.Unknown:
		return m.askClaim(c)
	}
	m.claiming = nil
	if t.Failed < 0 || t.Failed >= len(c.of) || t.Code == machine.Refused {
		return m.fail(t.Err)
	}
	return m.quicker(c, c.of[t.Failed])
}

// afresh takes back what was picked: what is known of the buckets is wrong, and nothing may be
// claimed before what comes before it.
func (m *Machine) afresh(picks []*pick) {
	for _, p := range append(picks, m.line...) {
		p.dropped, p.bucket.stale = true, true
	}
	m.line = nil
}

// quicker takes in that somebody else has an item, or has had it.
func (m *Machine) quicker(c *claim, p *pick) []machine.Effect {
	p.entry.read = false
	return m.overtaken(c.picks)
}

// overtaken takes in that what was picked is not there any more.
func (m *Machine) overtaken(picks []*pick) []machine.Effect {
	m.bumps++
	m.reach = max(m.reach/2, least)
	m.afresh(picks)
	return m.stepAside()
}

// got takes in that a claim was made: nobody was quicker.
func (m *Machine) got() { m.bumps, m.reach = 0, min(2*m.reach, most) }

// stepAside pauses, for longer each time in a row that somebody else was quicker: several consumers
// that go for the same items one after the other get more done than all at once.
func (m *Machine) stepAside() []machine.Effect {
	if m.bumps < 2 || m.aside {
		return nil
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, m.cfg.GUID, m.bumps, m.items) // never fails
	m.aside = true
	ask := m.ask(func(machine.Event) []machine.Effect {
		m.aside = false
		return nil
	})
	return []machine.Effect{machine.Wake{Ask: ask, After: 1 + int64(h.Sum32())%(1<<min(m.bumps, 3))}}
}

// askClaim looks whether claims whose answer was lost stand. They were made together, so one of
// them tells of all.
func (m *Machine) askClaim(c *claim) []machine.Effect {
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		s := ev.(machine.Seen)
		if s.Code != machine.Done {
			return m.fail(s.Err)
		}
		m.claiming = nil
		if s.Exists && s.Stat.Owner == m.session && string(s.Data) == m.cfg.GUID {
			return m.hold(c, s.Stat.Czxid)
		}
		m.afresh(c.picks)
		return nil
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: c.runs[0].path}}
}
