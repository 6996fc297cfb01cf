package consume

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// claim is an entry of the own journal.
type claim struct {
	layout.Claim              // as the journal has it
	name         string       // of the znode; "": not known
	znode        layout.Znode // that its name says
	items        []*item      // nil: not read
	version      int32        // of the znode, as it was read
	stale        bool         // it has another one by now: an item of it was removed
	removed      uint64       // items that were
	token        int64
	gone         bool // the znode does not exist: it was removed
	strange      bool // its data make no sense
	foreign      bool // it cannot be read, or makes no sense: it is passed over
}

// item is one of a claim that is not settled.
type item struct {
	claim  *claim
	index  int
	record layout.Record
	no     uint64 // 0: not handed out yet
	taken  bool   // it has found its receiver
	how    How    // what is wished; 0: nothing
	after  int64  // of Nack: the pause
	due    int64  // when that is over, on the servers' clock; 0: not known
	rest   int64  // of the time to settle it in, when the timer that runs is over
	freed  bool   // its id is free
	gains  int    // when it was handed out
	told   bool   // the wish is answered with Settled
	auto   bool   // it is acknowledged in order to be handed out
}

func (i *item) bit() uint64 { return 1 << i.index }

// path is that of the claimed znode.
func (m *Machine) path(c *claim) string {
	return znode.Join(m.cfg.Root.Bucket(c.Bucket), c.name)
}

// unread: nothing is known of its items yet.
func (c *claim) unread() bool { return c.items == nil && !c.gone && !c.foreign }

// read reads what is claimed.
func (m *Machine) read() {
	for _, c := range m.claims {
		at := c.Position.String()
		switch {
		case c.stale && !c.foreign && !c.gone:
			m.once(machine.Read{Path: m.path(c)}, key{reading, at})
		case c.items != nil, c.gone, c.foreign, m.closing:
		case c.name == "":
			m.once(machine.List{Path: m.cfg.Root.Bucket(c.Bucket)}, key{finding, c.Bucket.Name()})
		default:
			m.once(machine.Read{Path: m.path(c)}, key{reading, at})
		}
	}
}

func (m *Machine) claimAt(at string) *claim {
	for _, c := range m.claims {
		if c.Position.String() == at {
			return c
		}
	}
	return nil
}

func (m *Machine) onFound(bucket string, ev machine.Listed) {
	for _, c := range m.claims {
		if c.name != "" || c.gone || c.Bucket.Name() != bucket {
			continue
		}
		if z, ok := c.Find(ev.Names); ok {
			c.name, c.znode = z.Name(), z
		} else {
			c.gone = true
		}
	}
}

func (m *Machine) onRead(at string, ev machine.Seen) {
	c := m.claimAt(at)
	switch {
	case c == nil, !c.stale && (c.items != nil || m.closing):
		return
	case ev.Code != machine.Done:
		m.passOver(c, ev)
		return
	case !ev.Exists:
		c.gone = true
		return
	}
	records, ok := layout.Unpack(ev.Data, c.znode.Count)
	if !ok {
		c.foreign, c.strange = true, true
		m.requests.Emit(Skipped{Path: ev.Path, Err: errForeign})
		m.handOut()
		return
	}
	m.retries = 0
	m.takeIn(c, records, ev.Stat.Version)
	m.handOut()
}

// takeIn takes in what was read of a claim, perhaps again. An item that was removed meanwhile is
// lost.
func (m *Machine) takeIn(c *claim, records []layout.Record, version int32) {
	first := c.items == nil
	c.stale, c.version = false, version
	if first {
		c.items = []*item{}
	}
	for n, r := range records {
		if c.Left()&(1<<n) == 0 {
			continue
		}
		switch {
		case r.Removed:
			c.removed |= 1 << n
		case first:
			c.items = append(c.items, &item{claim: c, index: n, record: r})
		}
	}
	for _, i := range c.items {
		if c.removed&i.bit() != 0 {
			m.drop(i, ErrGone)
			c.forget(i)
		}
	}
}

// passOver goes on without a claim that may not be read, and tries again later.
func (m *Machine) passOver(c *claim, ev machine.Seen) {
	c.foreign = true
	m.skipForNow(ev.Path, ev.Err)
	m.handOut()
}

// handOut delivers what the journal says may be.
func (m *Machine) handOut() {
	if m.cfg.Auto || m.untrusted || m.closing {
		return
	}
	for _, c := range m.claims {
		if c.unread() {
			return // what was claimed behind it comes behind it
		}
		for _, i := range c.items {
			if i.no == 0 && i.how == 0 && c.Offered&i.bit() != 0 {
				m.deliver(i)
			}
		}
	}
}

func (m *Machine) deliver(i *item) {
	c := i.claim
	m.last++
	i.no, i.gains = m.last, m.gains
	d := Deliver{
		No: i.no, ID: i.record.ID, Record: i.record, Priority: c.Bucket.Lane.Priority, Attempt: c.Attempts(i.index) + 1,
	}
	if d.ID == "" {
		d.ID = c.znode.Item(i.index)
	}
	if m.cfg.Auto {
		m.window.out++
	} else {
		m.items[i.no] = i
		d.Epoch, d.Path, d.Token = m.requests.Epoch(), m.cfg.Root.Alive(m.own.tag), c.token
		if m.cfg.Visibility > 0 {
			m.expire(i, m.cfg.Visibility)
		}
		if !m.requests.Pending(key{purpose: judging}) {
			m.window.quick = true
			m.requests.Ask(machine.Wake{After: slow}, key{purpose: judging})
		}
	}
	i.taken = !m.cfg.Stream
	if m.cfg.Auto && i.taken {
		m.window.out--
	}
	m.window.delivered++
	m.requests.Emit(d)
}

// unsettled is how many items are claimed and not settled, and ahead how many of them have no
// receiver yet.
func (m *Machine) unsettled() (all, ahead int) {
	for _, c := range m.claims {
		if c.foreign {
			continue
		}
		all += c.Len()
		ahead += c.Len()
		for _, i := range c.items {
			switch {
			case i.taken || i.how != 0:
				ahead--
			case m.graves.refused && m.graves.spent(c.Attempts(i.index)): // nobody gets it
				all--
				ahead--
			}
		}
	}
	return all, ahead
}

// free is how many more items can be claimed.
func (m *Machine) free() int {
	if m.closing {
		return 0
	}
	all, ahead := m.unsettled()
	if !m.cfg.Stream {
		return max(m.window.waiting()-ahead, 0)
	}
	return max(m.window.size-all, 0)
}

// spare is how many more items may be handed out.
func (m *Machine) spare() int {
	offered := m.window.out
	for _, c := range m.claims {
		for _, i := range c.items {
			if i.no != 0 && !i.taken && i.how == 0 {
				offered++
			}
		}
		if c.items == nil && !c.foreign { // otherwise nobody gets them
			offered += ones(c.Offered)
		}
	}
	if !m.cfg.Stream {
		return max(m.window.waiting()-offered, 0)
	}
	return max(1+m.window.received-offered, 0)
}
