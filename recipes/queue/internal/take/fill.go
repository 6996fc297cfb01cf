package take

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// pick is an item that is to be taken.
type pick struct {
	bucket  *bucket
	entry   *entry
	path    string
	data    []byte
	version int32
	pack    *entry // that it is in; nil: it has a znode of its own
	text    *text  // of the pack, that the data are from
	seen    bool   // its own znode was read
	ready   bool   // its data are there

	// One with a znode of its own that was claimed before is claimed again only after a listing
	// that was asked for when its version had been read: so no claim is missed.
	confirming bool
	confirmed  bool
	dropped    bool // somebody else was quicker
}

// fill picks items until there are as many as are wanted, in order, and reads them. What is not
// known is listed first: nothing behind it is picked.
func (m *Machine) fill() []machine.Effect {
	need := m.wanted()
	if need <= 0 || m.aside || len(m.line) > 0 || !m.root.listed || m.root.dirty || m.root.asked {
		return nil
	}
	var effects []machine.Effect
	lists := 0
	for _, b := range m.order {
		if b.at.Lane.Later || need <= 0 || lists == mostLists {
			break
		}
		if !b.listed || b.stale || !b.last && !b.final || b.asked || b.dirty && (b.items(need) < need || b.used >= most) {
			effects = append(effects, m.relist(b)...)
			lists++
			continue
		}
		if lists > 0 {
			continue // something before it has to be known first
		}
		for need > 0 && len(b.free) > 0 && len(m.line) < m.reach {
			n := min(need, b.free[0].len(), m.reach-len(m.line))
			effects = append(effects, m.read(b, n)...)
			need -= n
		}
		if len(m.line) >= m.reach {
			break
		}
	}
	return effects
}

// items counts what is free, as far as is asked.
func (b *bucket) items(enough int) int {
	n := 0
	for _, e := range b.free {
		if n += e.len(); n >= enough {
			break
		}
	}
	return n
}

func (m *Machine) relist(b *bucket) []machine.Effect {
	if m.cfg.Site.Flat != "" {
		return m.listFlat(b)
	}
	return m.list(b)
}

// read puts the first item of a bucket into line, or n items of its first pack.
func (m *Machine) read(b *bucket, n int) []machine.Effect {
	e := b.free[0]
	b.used += n
	if e.pack != nil && n < e.len() {
		b.free[0] = e.from(e.pack.First + n)
	} else {
		b.free = b.free[1:]
	}
	if e.pack != nil {
		return m.readPack(b, e, n)
	}
	p := &pick{bucket: b, entry: e, path: znode.Join(b.path, e.name)}
	m.line = append(m.line, p)
	if e.read {
		m.saw(p)
		return nil
	}
	return m.readItem(p)
}

// saw takes in what an item's own znode says. One that was claimed before is to be listed again.
func (m *Machine) saw(p *pick) {
	e := p.entry
	p.data, p.version, p.seen, p.ready = e.data, e.version, true, true
	p.bucket.stale = p.bucket.stale || p.version > 0 && m.cfg.Site.Flat == ""
}

// attempts is how often an item was claimed before.
func (p *pick) attempts() int {
	if p.pack != nil {
		return p.pack.pack.Tries
	}
	return int(p.version)
}

// readItem reads an item's own znode.
func (m *Machine) readItem(p *pick) []machine.Effect {
	b := p.bucket
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		s := ev.(machine.Seen)
		switch {
		case s.Code != machine.Done:
			return m.fail(s.Err)
		case p.dropped:
			return nil
		case !s.Exists:
			p.dropped = true
			m.line = without(m.line, p)
			b.dirty = true
			return nil
		}
		p.entry.read, p.entry.data, p.entry.version = true, s.Data, s.Stat.Version
		m.saw(p)
		return nil
	})
	return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: ask, Path: p.path}}
}

// overtried tells whether an item has had all its attempts.
func (m *Machine) overtried(attempts int) bool {
	return m.cfg.MaxAttempts > 0 && attempts >= m.cfg.MaxAttempts
}

func without(line []*pick, p *pick) []*pick {
	for i, q := range line {
		if q == p {
			return append(line[:i:i], line[i+1:]...)
		}
	}
	return line
}
