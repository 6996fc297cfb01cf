package take

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
)

// pick is an item that is to be taken.
type pick struct {
	bucket  *bucket
	entry   entry
	path    string
	data    []byte
	version int32
	ready   bool // read
	dropped bool // somebody else was quicker
}

// fill picks items until there are as many as are wanted, in order, and reads them. What is not known is listed first: nothing behind it is picked.
func (m *Machine) fill() []recipe.Effect {
	need := m.wanted()
	if need <= 0 || len(m.line) > 0 || !m.root.listed || m.root.dirty || m.root.asked {
		return nil
	}
	var effects []recipe.Effect
	lists := 0
	for _, b := range m.order {
		if b.at.Lane.Later || need <= 0 || lists == mostLists {
			break
		}
		if !b.listed || b.stale || b.asked || b.dirty && len(b.free) < need {
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
func (m *Machine) read(b *bucket, e entry) []recipe.Effect {
	p := &pick{bucket: b, entry: e, path: znode.Join(b.path, e.name)}
	m.line = append(m.line, p)
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
		p.data, p.version, p.ready = s.Data, s.Stat.Version, true
		if m.overtried(int(p.version)) && !m.cfg.AutoAck {
			m.line = without(m.line, p)
			m.burials = append(m.burials, &burial{pick: p})
		}
		return nil
	})
	return []recipe.Effect{recipe.Read{Epoch: m.epoch, Ask: ask, Path: p.path}}
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
