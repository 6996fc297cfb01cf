package take

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// run is a claim and the items under it: neighbours in a bucket.
type run struct {
	path    string
	tag     string
	bucket  *bucket
	items   []*held  // that are not settled
	marks   []string // paths of the marks of those that were given back
	watched bool
	gone    bool // it is deleted, or being deleted
}

// divide makes runs of what is to be claimed: a claim covers all that lies between its ends, so
// nothing may lie there that is not to be claimed with it. In another layout each item has a claim
// of its own.
func (m *Machine) divide(picks []*pick) []*run {
	var runs []*run
	var last *pick
	for _, p := range picks {
		h := &held{pick: p, version: p.version + 1}
		if p.pack != nil {
			h.version = 0
		}
		if last == nil || m.cfg.Site.Flat != "" || p.bucket != last.bucket || between(p.bucket.living, last.entry.Place, p.entry.Place) {
			runs = append(runs, &run{bucket: p.bucket})
		}
		r := runs[len(runs)-1]
		r.items = append(r.items, h)
		h.run, last = r, p
	}
	for _, r := range runs {
		m.name(r)
	}
	return runs
}

// between tells whether anything lies between two others that are next to each other in line.
func between(living []place.Place, from, to place.Place) bool {
	n, found := slices.BinarySearchFunc(living, from, place.Place.Compare)
	if found {
		n++
	}
	return n < len(living) && living[n].Compare(to) < 0
}

// name gives a run its path.
func (m *Machine) name(r *run) {
	first, last := r.items[0].pick, r.items[len(r.items)-1].pick
	if m.cfg.Site.Flat != "" {
		r.path = znode.Join(m.cfg.Taken, first.entry.name)
		return
	}
	m.tags++
	r.tag = fmt.Sprintf("%.16s%x", strings.ReplaceAll(m.cfg.GUID, "-", ""), m.tags)
	r.path = znode.Join(r.bucket.path, place.Claim{From: first.entry.Place, To: last.entry.Place, Tag: r.tag}.Name())
}

// mark is the path of the mark of an item that is given back.
func (r *run) mark(h *held) string {
	return znode.Join(r.bucket.path, place.Back{Tag: r.tag, At: h.pick.entry.Place}.Name())
}

// leave takes an item out of its run. When none is left, the claim goes, if it has not gone with
// the last.
func (m *Machine) leave(h *held) []machine.Effect {
	r := h.run
	if r == nil {
		return nil
	}
	r.items = slices.DeleteFunc(r.items, func(g *held) bool { return g == h })
	if len(r.items) > 0 || r.gone || m.epoch == 0 {
		return nil
	}
	return m.closeRun(r)
}

// closeRun deletes a claim, and then the marks under it, which say nothing without it.
func (m *Machine) closeRun(r *run) []machine.Effect {
	r.gone = true
	delete(m.runs, r.path)
	if m.epoch == 0 {
		return nil
	}
	ask := m.ask(func(machine.Event) []machine.Effect {
		r.bucket.stale = true
		return m.unmark(r)
	})
	return []machine.Effect{machine.Remove{Epoch: m.epoch, Ask: ask, Path: r.path}}
}

// unmark deletes the marks of a claim that is gone.
func (m *Machine) unmark(r *run) []machine.Effect {
	var effects []machine.Effect
	for _, path := range r.marks {
		effects = append(effects, machine.Remove{Epoch: m.epoch, Ask: m.ask(func(machine.Event) []machine.Effect { return nil }), Path: path})
	}
	r.marks = nil
	return effects
}

// watchRuns watches the claims that stand for longer, so that one that somebody deletes is known to
// be gone.
func (m *Machine) watchRuns() []machine.Effect {
	m.watching = false
	var effects []machine.Effect
	for _, h := range m.inTurn() {
		if h.run != nil && !h.run.watched {
			effects = append(effects, m.watchRun(h.run))
		}
	}
	return effects
}

func (m *Machine) watchRun(r *run) machine.Effect {
	r.watched = true
	ask := m.ask(func(ev machine.Event) []machine.Effect {
		s := ev.(machine.Seen)
		if r.gone || s.Code != machine.Done || s.Exists && s.Stat.Owner == m.session {
			return nil
		}
		return m.runDeleted(r)
	})
	return machine.Read{Epoch: m.epoch, Ask: ask, Path: r.path, Watch: true}
}

// onRunFired takes in that something has happened to a claim.
func (m *Machine) onRunFired(r *run, ev machine.Fired) []machine.Effect {
	switch {
	case r.gone:
		return nil
	case ev.Change == machine.Deleted:
		return m.runDeleted(r)
	default:
		return []machine.Effect{m.watchRun(r)}
	}
}

// runDeleted takes in that somebody has deleted a claim: its items are lost, but for those whose
// settlement may have been quicker.
func (m *Machine) runDeleted(r *run) []machine.Effect {
	r.gone, r.bucket.stale = true, true
	delete(m.runs, r.path)
	var effects []machine.Effect
	for _, h := range append([]*held(nil), r.items...) {
		if h.how == 0 {
			effects = append(effects, Drop{No: h.no, Cause: ErrDeleted})
			effects = append(effects, m.forget(h)...)
		}
	}
	return append(effects, m.unmark(r)...)
}
