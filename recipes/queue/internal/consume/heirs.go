package consume

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// heirs returns what consumers had claimed that are dead: their journals have no ephemeral znode
// beside them any more. Tags are not used twice, so that this is for good.
type heirs struct {
	own      *own
	journals []string        // tags; nil: not known
	alive    map[string]bool // nil: not known
	dealt    map[string]bool // tags that are being dealt with, or were
}

// renew begins anew.
func (h *heirs) renew() { *h = heirs{own: h.own, dealt: make(map[string]bool)} }

// leave forgets what the watches do not keep true any more.
func (h *heirs) leave() { h.journals, h.alive = nil, nil }

// look asks for what is not known, and takes over what is dead.
func (h *heirs) look() {
	o := h.own
	switch {
	case o.busy(counting), o.busy(calling):
	case h.journals == nil: // before those that live: a journal is never older than its consumer
		o.once(machine.List{Path: o.root.Journals()}, key{purpose: counting})
	case h.alive == nil:
		o.once(machine.List{Path: o.root.Living(), Watch: true}, key{purpose: calling})
	default:
		h.inherit()
	}
}

func (h *heirs) onCounted(ev machine.Listed) {
	h.journals = append([]string{}, ev.Names...)
	slices.Sort(h.journals)
}

func (h *heirs) onCalled(ev machine.Listed) {
	h.alive = make(map[string]bool)
	for _, name := range ev.Names {
		h.alive[name] = true
	}
}

func (h *heirs) inherit() {
	for _, tag := range h.journals {
		if tag == h.own.tag || h.alive[tag] || h.dealt[tag] {
			continue
		}
		h.dealt[tag] = true
		h.own.Ask(machine.Read{Path: h.own.root.Journal(tag)}, key{opening, tag})
	}
}

func (h *heirs) onOpened(tag string, ev machine.Seen) {
	j, ok := layout.ParseJournal(ev.Data)
	switch {
	case ev.Code != machine.Done:
		delete(h.dealt, tag)
		h.own.refused(ev.Path, ev.Err)
		return
	case !ev.Exists:
		return // somebody else was faster
	case !ok:
		h.own.report(h.own.root.Journals(), []string{tag}, func(string) bool { return false })
		return
	}
	ops := []machine.Op{{Do: machine.Delete, Path: ev.Path, Version: ev.Stat.Version}}
	for _, c := range j.Claims {
		ops = append(ops, machine.Op{Do: machine.Create, Path: h.own.root.Back(c.Back())})
	}
	h.own.Ask(machine.Transact{Ops: ops}, key{inheriting, tag})
}

func (h *heirs) onInherited(tag string, ev machine.Transacted) {
	switch ev.Code {
	case machine.Done, machine.NoNode:
	case machine.Refused:
		delete(h.dealt, tag)
		h.own.refused(h.own.root.Journal(tag), ev.Err)
	default: // somebody else was faster, or the answer was lost: look again
		delete(h.dealt, tag)
		h.own.pause()
	}
}
