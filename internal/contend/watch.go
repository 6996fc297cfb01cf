package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// watch is what the machine knows of a one-shot watch that it asked for in this epoch. It outlives
// a look, since watches do: a path whose read is under way is not read a second time, and an event
// that comes while it is under way is not forgotten over the answer.
type watch struct {
	path  string
	ask   uint64 // of the read under way, 0: none
	armed bool   // an answered read armed it and it has not fired since
	dirty bool   // it fired, or had to be read anew, while the read was under way
}

// watches are those of a machine: two, but for the remains of earlier looks. So a slice is small
// and quick.
type watches []*watch

func (ws watches) of(path string) *watch {
	for _, w := range ws {
		if w.path == path {
			return w
		}
	}
	return nil
}

func (ws *watches) drop(path string) {
	*ws = slices.DeleteFunc(*ws, func(w *watch) bool { return w.path == path })
}

// armed: the path stands as far as is known, and its end will be heard of.
func (m *Machine) armed(path string) bool {
	w := m.watches.of(path)
	return w != nil && w.armed
}

// watch reads a path and watches it. If such a read is under way already, its answer will do.
func (m *Machine) watch(path string) {
	w := m.watches.of(path)
	if w == nil {
		w = &watch{path: path}
		m.watches = append(m.watches, w)
	}
	w.armed = false
	if w.ask != 0 {
		return
	}
	w.ask = m.ask()
	m.do(machine.Read{Epoch: m.epoch, Path: path, Ask: w.ask, Watch: !ownUnwatched || path != m.place.path})
}

// rewatch is watch for when an answer under way will not do.
func (m *Machine) rewatch(path string) {
	if w := m.watches.of(path); w != nil && w.ask != 0 {
		w.dirty = true
		return
	}
	m.watch(path)
}

// unwatch gives the watch of a path back that nobody waits for any more: it may stand for as long
// as whoever is there.
func (m *Machine) unwatch(path string) {
	if m.watches.of(path) != nil {
		m.watches.drop(path)
		m.do(machine.Unwatch{Epoch: m.epoch, Path: path})
	}
}

func (m *Machine) onSeen(e machine.Seen) {
	if m.foreign(e.Epoch) || m.onCzxid(e) || m.onLimitRead(e) {
		return
	}
	w := m.watches.of(e.Path)
	if w == nil || w.ask != e.Ask {
		return
	}
	dirty := w.dirty
	w.ask, w.dirty = 0, false
	if e.Err != nil || !e.Exists {
		m.watches.drop(e.Path) // nothing is armed
	}
	isOwn := m.state.placed() && e.Path == m.place.path
	isPred := (m.state == Checking || m.state == Waiting) && e.Path == m.look.pred
	stands := e.Err == nil && e.Exists
	w.armed = stands && !dirty
	first := isOwn && m.place.fresh
	if isOwn {
		m.place.fresh = false
	}
	switch {
	case dirty && stands && (isOwn || isPred):
		m.watch(e.Path) // what was read may be old, and the watch spent
		m.recheck()
	case isOwn:
		m.onOwnSeen(e, first)
	case isPred:
		m.onPredSeen(e)
	case m.ofLimit(e.Path) && dirty && stands:
		m.onLimitChanged()
	case m.ofLimit(e.Path):
		m.onLimitSeen(e)
	}
}

// note keeps what was read of the own znode.
func (m *Machine) note(e machine.Seen) {
	if !m.place.taken {
		m.place.czxid = e.Czxid
	}
	notes, own := znode.ParseNotes(e.Data)
	m.place.revoked = m.place.revoked || notes.Unlock
	if m.permits == nil || e.Version < m.place.version {
		return
	}
	m.place.known, m.place.version, m.place.data = true, e.Version, own
	m.place.held = m.place.held || notes.Held && m.place.marks
	m.place.bare = !notes.Held
	m.remark()
}

func (m *Machine) onFired(e machine.Fired) {
	if m.foreign(e.Epoch) {
		return
	}
	if e.Children {
		m.onCrowd()
		return
	}
	isOwn := m.state.placed() && e.Path == m.place.path
	isPred := (m.state == Checking || m.state == Waiting) && e.Path == m.look.pred
	reading := false
	if w := m.watches.of(e.Path); w != nil {
		if reading = w.ask != 0; reading {
			w.armed, w.dirty = false, true
		} else {
			m.watches.drop(e.Path)
		}
	}
	switch {
	case isOwn && e.Deleted:
		m.lost()
	case isPred && e.Deleted:
		m.predGone()
	case (isOwn || isPred) && !reading:
		m.watch(e.Path)
		m.recheck()
	case m.ofLimit(e.Path) && !reading:
		m.onLimitChanged()
	}
}

// recheck: a watch that a place rests on is being armed again.
func (m *Machine) recheck() {
	if m.state == Waiting || m.state == Ready {
		m.state = Checking
	}
}
