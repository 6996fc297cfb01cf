package take

import (
	"bytes"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// pick is an item that is to be taken.
type pick struct {
	bucket  *bucket
	entry   *entry
	path    string
	data    []byte
	version int32
	own     bool // the data are in its own znode, which a claim has to write again
	seen    bool // its own znode was read
	ready   bool // its data are there

	// One that was claimed before is claimed again only after a listing that was asked for when its version had been read: so no claim is missed.
	confirming bool
	confirmed  bool
	dropped    bool // somebody else was quicker
}

// fill picks items until there are as many as are wanted, in order, and reads them. What is not known is listed first: nothing behind it is picked.
func (m *Machine) fill() []recipe.Effect {
	need := m.wanted()
	if need <= 0 || m.aside || len(m.line) > 0 || !m.root.listed || m.root.dirty || m.root.asked {
		return nil
	}
	var effects []recipe.Effect
	lists := 0
	for _, b := range m.order {
		if b.at.Lane.Later || need <= 0 || lists == mostLists {
			break
		}
		if !b.listed || b.stale || !b.last && !b.final || b.asked || b.dirty && len(b.free) < need {
			effects = append(effects, m.relist(b)...)
			lists++
			continue
		}
		if lists > 0 {
			continue // something before it has to be known first
		}
		n := min(need, len(b.free), most)
		for _, e := range b.free[:n] {
			effects = append(effects, m.read(b, e)...)
		}
		b.free = b.free[n:]
		if need -= n; len(m.line) >= most {
			break
		}
	}
	return effects
}

func (m *Machine) relist(b *bucket) []recipe.Effect {
	if m.cfg.Site.Flat != "" {
		return m.listFlat(b)
	}
	return m.list(b)
}

// read puts an item into line.
func (m *Machine) read(b *bucket, e *entry) []recipe.Effect {
	p := &pick{bucket: b, entry: e, path: znode.Join(b.path, e.name)}
	m.line = append(m.line, p)
	if e.body != "" && !b.wary && b.bodies[e.body] != nil && !b.bodies[e.body].bad {
		return m.readBody(b, e.body)
	}
	if e.read && (e.body == "" || !b.wary) {
		p.data, p.version, p.seen, p.own, p.ready = e.data, e.version, true, len(e.data) > 0, true
		b.stale = b.stale || p.version > 0
		return nil
	}
	return m.readItem(p)
}

// readItem reads an item's own znode.
func (m *Machine) readItem(p *pick) []recipe.Effect {
	b := p.bucket
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		s := ev.(recipe.Seen)
		switch {
		case s.Code != recipe.Done:
			return m.fail(s.Err)
		case p.dropped:
			return nil
		case !s.Exists:
			p.dropped = true
			m.line = without(m.line, p)
			b.dirty = true
			return nil
		}
		p.data, p.version, p.seen, p.own = s.Data, s.Stat.Version, true, len(s.Data) > 0
		p.entry.read, p.entry.data, p.entry.version = true, s.Data, s.Stat.Version
		if body := b.bodies[p.entry.body]; body != nil && !body.bad {
			if body.data == nil {
				return m.readBody(b, p.entry.body)
			}
			m.takeText(p, body)
		}
		p.ready = true
		if p.version > 0 && m.cfg.Site.Flat == "" {
			b.stale = true
		}
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: p.path}}
}

// readBody reads the data of items that were put together, once. They are taken not to have been claimed before: a claim finds out if they were.
func (m *Machine) readBody(b *bucket, name string) []recipe.Effect {
	body := b.bodies[name]
	if body.data != nil || body.bad {
		return m.readBodied(b, name, body)
	}
	if body.asked {
		return nil
	}
	body.asked = true
	ask := m.ask(func(ev recipe.Event) []recipe.Effect {
		body.asked = false
		s := ev.(recipe.Seen)
		if s.Code != recipe.Done {
			return m.fail(s.Err)
		}
		var ok bool
		if body.data, ok = place.Unpack(s.Data); !ok || !s.Exists {
			body.bad = true
		}
		return m.readBodied(b, name, body)
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: znode.Join(b.path, name)}}
}

// readBodied hands out what was read of a body.
func (m *Machine) readBodied(b *bucket, name string, body *text) []recipe.Effect {
	var effects []recipe.Effect
	for _, p := range slices.Clone(m.line) {
		switch {
		case p.bucket != b || p.entry.body != name || p.ready:
		case body.bad && !p.seen:
			effects = append(effects, m.readItem(p)...)
		default:
			m.takeText(p, body)
			p.ready = true
		}
	}
	return effects
}

// takeText takes an item's data out of a body. What has data of its own was put back, and keeps them.
func (m *Machine) takeText(p *pick, body *text) {
	if len(p.data) == 0 && p.entry.nth < len(body.data) {
		p.data = bytes.Clone(body.data[p.entry.nth])
	}
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
