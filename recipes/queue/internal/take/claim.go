package take

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// claim is a transaction that takes items.
type claim struct {
	picks []*pick
	runs  []*run
	ops   []recipe.Op
	of    []*pick // of each operation; nil: the receipt's or the room's
	gives []room.Use
	doubt bool // the answer is lost with its epoch
}

func (c *claim) add(p *pick, ops ...recipe.Op) {
	for _, op := range ops {
		c.ops = append(c.ops, op)
		c.of = append(c.of, p)
	}
}

// take claims what is in line, when all of it is read.
func (m *Machine) take() []recipe.Effect {
	switch {
	case m.claiming != nil && m.claiming.doubt:
		return m.askReceipt()
	case m.claiming != nil || len(m.line) == 0 || m.closing || m.aside:
		return nil
	}
	for _, p := range m.line {
		if !p.ready {
			return nil
		}
	}
	var effects []recipe.Effect
	for _, p := range m.line {
		if p.bucket.stale || p.bucket.asked || p.version > 0 && !p.confirmed && m.cfg.Site.Flat == "" {
			effects = append(effects, m.relist(p.bucket)...)
		}
	}
	if len(effects) > 0 || slices.ContainsFunc(m.line, func(p *pick) bool { return p.bucket.asked }) {
		return effects
	}
	c := &claim{}
	m.line = slices.DeleteFunc(m.line, func(p *pick) bool {
		over := m.overtried(int(p.version)) && !m.cfg.AutoAck
		if over {
			m.burials = append(m.burials, &burial{pick: p})
		}
		return over
	})
	if len(m.line) == 0 {
		return m.bury()
	}
	if m.cfg.AutoAck {
		if setUp := m.setUpReceipt(); setUp != nil || !m.receipt.made {
			return setUp
		}
	}
	size := 0
	for len(m.line) > 0 && (len(c.picks) == 0 || len(c.picks) < most && size+len(m.line[0].data) <= mostBytes) {
		p := m.line[0]
		m.line = m.line[1:]
		size += len(p.data)
		c.picks = append(c.picks, p)
	}
	if m.cfg.AutoAck {
		return m.sendTaking(c)
	}
	c.runs = m.divide(c.picks)
	for _, r := range c.runs {
		for _, h := range r.items {
			p := h.pick
			var same []byte
			if p.own {
				same = p.data
			}
			c.add(p, recipe.Op{Do: recipe.Set, Path: p.path, Data: same, Version: p.version})
		}
		c.add(r.items[0].pick, recipe.Op{Do: recipe.Create, Path: r.path, Data: []byte(m.cfg.GUID), Ephemeral: true})
	}
	m.claiming = c
	ask := m.ask(func(ev recipe.Event) []recipe.Effect { return m.claimed(c, ev.(recipe.Transacted)) })
	return []recipe.Effect{recipe.Transact{Epoch: m.epoch, Ask: ask, Ops: c.ops}}
}

// claimed takes in what became of the claims.
func (m *Machine) claimed(c *claim, t recipe.Transacted) []recipe.Effect {
	switch t.Code {
	case recipe.Done:
		m.claiming, m.bumps = nil, 0
		for _, p := range c.picks {
			delete(p.bucket.doubted, p.entry.name)
		}
		return m.hold(c, t.Results[0].Stat.Mzxid)
	case recipe.Unknown:
		return m.askClaim(c)
	}
	m.claiming = nil
	if t.Failed < 0 || t.Failed >= len(c.of) || t.Code == recipe.Refused {
		return m.fail(t.Err)
	}
	return m.quicker(c, c.of[t.Failed], t.Code)
}

// afresh takes back what was picked: what is known of the buckets is wrong, and nothing may be claimed before what comes before it.
func (m *Machine) afresh(picks []*pick) {
	for _, p := range append(picks, m.line...) {
		p.dropped, p.bucket.stale = true, true
	}
	m.line = nil
}

// quicker takes in that somebody else has an item, or has had it.
func (m *Machine) quicker(c *claim, p *pick, code recipe.Code) []recipe.Effect {
	p.entry.read = false
	m.bumps++
	if code == recipe.BadVersion && !p.seen {
		if p.bucket.doubted == nil {
			p.bucket.doubted = make(map[string]bool)
		}
		p.bucket.doubted[p.entry.name] = true
	}
	m.afresh(c.picks)
	return m.stepAside()
}

// stepAside pauses, for longer each time in a row that somebody else was quicker: several consumers that go for the same items one after the other get more
// done than all at once.
func (m *Machine) stepAside() []recipe.Effect {
	if m.bumps < 2 || m.aside {
		return nil
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, m.cfg.GUID, m.bumps, m.items) // never fails
	m.aside = true
	ask := m.ask(func(recipe.Event) []recipe.Effect {
		m.aside = false
		return nil
	})
	return []recipe.Effect{recipe.Wake{Ask: ask, After: 1 + int64(h.Sum32())%(1<<min(m.bumps, 3))}}
}

// askClaim looks whether claims whose answer was lost stand. They were made together, so one of them tells of all.
func (m *Machine) askClaim(c *claim) []recipe.Effect {
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		s := ev.(recipe.Seen)
		if s.Code != recipe.Done {
			return m.fail(s.Err)
		}
		m.claiming = nil
		if s.Exists && s.Stat.Owner == m.session && string(s.Data) == m.cfg.GUID {
			return m.hold(c, s.Stat.Czxid)
		}
		m.afresh(c.picks)
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: c.runs[0].path}}
}

// receipt is what is believed of the receipt for items that are taken with AutoAck: see package give.
type receipt struct {
	made    bool
	alive   bool
	known   bool
	asked   bool
	version int32
}

func (m *Machine) receiptPath() string {
	site := m.cfg.Site
	return site.Receipt(m.cfg.Producer)
}

// setUpReceipt makes the receipt, if it is not there yet.
func (m *Machine) setUpReceipt() []recipe.Effect {
	if m.receipt.made || m.receipt.asked {
		return nil
	}
	m.receipt.asked = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		m.receipt.asked = false
		if e := ev.(recipe.Ensured); e.Code != recipe.Done {
			return m.fail(e.Err)
		}
		m.receipt.made = true
		return nil
	})
	return []recipe.Effect{recipe.Ensure{Epoch: m.epoch, Ask: ask, Path: m.receiptPath(), Container: true}}
}

// sendTaking deletes items, and so takes them.
func (m *Machine) sendTaking(c *claim) []recipe.Effect {
	if m.bounded {
		if ask, known := m.askHome(); !known {
			m.line = append(c.picks, m.line...)
			return ask
		}
	}
	c.add(nil, recipe.Op{Do: recipe.Set, Path: m.receiptPath(), Data: []byte(m.cfg.GUID), Version: m.receipt.version})
	if !m.receipt.alive {
		c.add(nil, recipe.Op{Do: recipe.Create, Path: fmt.Sprintf("%s/alive-%x", m.receiptPath(), uint64(m.session)), Ephemeral: true})
	}
	if m.bounded {
		u := m.room.Give(len(c.picks))
		c.gives = []room.Use{u}
		c.add(nil, u.Op)
	}
	for _, p := range c.picks {
		c.add(p, recipe.Op{Do: recipe.Delete, Path: p.path, Version: p.version})
		if p.entry.ID != "" && m.cfg.Site.Flat == "" && !p.entry.orphan {
			c.add(p, recipe.Op{Do: recipe.Delete, Path: m.cfg.Site.Root.ID(p.entry.ID), Version: recipe.Any})
		}
	}
	m.claiming = c
	ask := m.ask(func(ev recipe.Event) []recipe.Effect { return m.taken(c, ev.(recipe.Transacted)) })
	return []recipe.Effect{recipe.Transact{Epoch: m.epoch, Ask: ask, Ops: c.ops}}
}

// taken takes in what became of the deletions.
func (m *Machine) taken(c *claim, t recipe.Transacted) []recipe.Effect {
	switch t.Code {
	case recipe.Done:
		for _, u := range c.gives {
			m.room.Used(u)
		}
		m.receipt.alive = true
		m.receipt.version++
		return m.carriedOut(c)
	case recipe.Unknown:
		c.doubt = true
		return nil
	}
	m.claiming = nil
	if t.Failed < 0 || t.Failed >= len(c.of) || t.Code == recipe.Refused {
		return m.fail(t.Err)
	}
	switch p := c.of[t.Failed]; {
	case p == nil && len(c.gives) > 0 && c.ops[t.Failed].Path == c.gives[0].Op.Path:
		m.room.Forget(c.gives[0].Part)
		m.line = append(c.picks, m.line...)
	case p == nil && t.Code == recipe.NodeExists:
		m.receipt.alive = true
		m.line = append(c.picks, m.line...)
	case p == nil: // the receipt is gone; nobody else writes it
		m.receipt = receipt{}
		m.line = append(c.picks, m.line...)
	case c.ops[t.Failed].Path != p.path: // only its id is gone
		p.entry.orphan = true
		m.line = append(c.picks, m.line...)
	default:
		return m.quicker(c, p, t.Code)
	}
	return nil
}

// carriedOut delivers what was taken.
func (m *Machine) carriedOut(c *claim) []recipe.Effect {
	m.claiming, m.bumps = nil, 0
	var effects []recipe.Effect
	for _, p := range c.picks {
		if m.closing {
			m.backs = append(m.backs, p)
			continue
		}
		m.items++
		m.delivered++
		m.held[m.items] = &held{no: m.items, pick: p}
		effects = append(effects, m.deliver(m.held[m.items]))
	}
	return effects
}

// askReceipt looks whether items whose answer was lost were taken. Without a receipt, which only a long outage explains, they count as taken: at most once.
func (m *Machine) askReceipt() []recipe.Effect {
	if m.receipt.asked {
		return nil
	}
	m.receipt.asked = true
	c := m.claiming
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		m.receipt.asked = false
		s := ev.(recipe.Seen)
		if s.Code != recipe.Done {
			return m.fail(s.Err)
		}
		m.room.ForgetAll()
		carried := s.Exists && s.Stat.Version == m.receipt.version+1
		m.receipt.made, m.receipt.version = s.Exists, s.Stat.Version
		if carried {
			return m.carriedOut(c)
		}
		m.claiming = nil
		m.afresh(c.picks)
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: m.receiptPath()}}
}

// askHome reads the part of the room to which is given back, if it is not known.
func (m *Machine) askHome() (effects []recipe.Effect, known bool) {
	part, known := m.room.Home()
	if known {
		return nil, true
	}
	if m.homeAsked {
		return nil, false
	}
	m.homeAsked = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		m.homeAsked = false
		s := ev.(recipe.Seen)
		switch {
		case s.Code != recipe.Done:
			return m.fail(s.Err)
		case !s.Exists:
			return m.fail(give.ErrCapacity)
		}
		m.room.Saw(part, s.Data, s.Stat.Version)
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: m.cfg.Site.Root.Stripe(part)}}, false
}

// sendBack puts items that were taken with AutoAck, and that nobody has received, back to where they were.
func (m *Machine) sendBack() []recipe.Effect {
	if m.backing || len(m.backs) == 0 {
		return nil
	}
	p := m.backs[0]
	if m.bounded {
		if ask, known := m.askHome(); !known {
			return ask
		}
	}
	var ops []recipe.Op
	var use room.Use
	if m.bounded {
		use = m.room.Give(-1)
		ops = append(ops, use.Op)
	}
	if p.bucket.gone && m.cfg.Site.Flat == "" { // it was retired: it comes back sealed
		ops = append(ops, recipe.Op{Do: recipe.Create, Path: p.bucket.path}, recipe.Op{Do: recipe.Set, Path: p.bucket.path, Version: 0})
	}
	if p.entry.ID != "" && m.cfg.Site.Flat == "" && !p.entry.orphan {
		ops = append(ops, recipe.Op{Do: recipe.Create, Path: m.cfg.Site.Root.ID(p.entry.ID), Data: []byte(p.entry.GUID)})
	}
	ops = append(ops, recipe.Op{Do: recipe.Create, Path: p.path, Data: p.data})
	m.backing = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect { return m.back(p, use, ops, ev.(recipe.Transacted)) })
	return []recipe.Effect{recipe.Transact{Epoch: m.epoch, Ask: ask, Ops: ops}}
}

func (m *Machine) back(p *pick, use room.Use, ops []recipe.Op, t recipe.Transacted) []recipe.Effect {
	m.backing = false
	failed := ""
	if t.Failed >= 0 && t.Failed < len(ops) {
		failed = ops[t.Failed].Path
	}
	switch {
	case t.Code == recipe.Done, failed == p.path && t.Code == recipe.NodeExists:
		if t.Code == recipe.Done && m.bounded {
			m.room.Used(use)
		}
		m.backs = m.backs[1:]
		p.bucket.stale = true
	case t.Code == recipe.Unknown:
		m.room.ForgetAll()
	case failed == p.path: // NoNode
		p.bucket.gone = true
	case failed == p.bucket.path:
		p.bucket.gone = t.Code != recipe.NodeExists
	case m.bounded && failed == use.Op.Path:
		m.room.Forget(use.Part)
	case failed != "": // its id is somebody else's by now
		p.entry.orphan = true
	default:
		m.backs = m.backs[1:] // ZooKeeper refuses it: with AutoAck that is the end of it
	}
	return nil
}
