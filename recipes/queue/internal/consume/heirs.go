package consume

import (
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// heirs returns what consumers had claimed that are dead: their journals have no ephemeral znode
// beside them any more. Tags are not used twice, so that this is for good.
type heirs struct {
	own      *own
	journals []string                // tags; nil: not known
	alive    map[string]bool         // nil: not known
	dealt    map[string][]machine.Op // the transaction, by tags that are being dealt with, or were
	named    map[string]bool         // paths of entries that are there already
	vetted   map[string]bool         // tags whose ephemeral znode was looked at
}

// renew begins anew.
func (h *heirs) renew() {
	*h = heirs{own: h.own, dealt: make(map[string][]machine.Op), named: make(map[string]bool), vetted: make(map[string]bool)}
}

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
	maps.DeleteFunc(h.dealt, func(tag string, _ []machine.Op) bool { return !h.busy(tag) && !slices.Contains(h.journals, tag) })
}

// onCalled takes in who lives, if that was asked for behind the journals: otherwise one that began
// in between would be taken for dead.
func (h *heirs) onCalled(ev machine.Listed) {
	if h.journals == nil {
		return
	}
	h.alive = make(map[string]bool)
	for _, name := range ev.Names {
		h.alive[name] = true
	}
}

func (h *heirs) inherit() {
	for _, tag := range h.journals {
		if _, dealt := h.dealt[tag]; tag == h.own.tag || h.lives(tag) || dealt {
			continue
		}
		h.dealt[tag] = nil
		h.own.Ask(machine.Read{Path: h.own.root.Journal(tag)}, key{opening, tag})
	}
}

// lives tells whether a consumer has its znode. One that turned out not to be ephemeral is
// nobody's.
func (h *heirs) lives(tag string) bool {
	return h.alive[tag] && !h.own.told[h.own.root.Alive(tag)]
}

// vet looks at the znodes of those that live, each once: one that was made by hand, or restored,
// would keep a journal for ever.
func (h *heirs) vet() {
	for _, tag := range h.journals {
		if tag != h.own.tag && h.alive[tag] && !h.vetted[tag] {
			h.vetted[tag] = true
			h.own.Ask(machine.Read{Path: h.own.root.Alive(tag)}, key{vetting, tag})
		}
	}
}

func (h *heirs) onVetted(ev machine.Seen) {
	if ev.Exists && ev.Stat.Owner == 0 {
		h.own.foreign(ev.Path)
	}
}

// retry deals again with what could not be read or deleted.
func (h *heirs) retry() {
	for tag := range h.dealt {
		if !h.busy(tag) {
			delete(h.dealt, tag)
		}
	}
}

// done tells whether everything is known, and dealt with.
func (h *heirs) done() bool {
	if h.journals == nil || h.alive == nil {
		return false
	}
	for tag := range h.dealt {
		if h.busy(tag) {
			return false
		}
	}
	return true
}

func (h *heirs) busy(tag string) bool {
	return h.own.Pending(key{opening, tag}) || h.own.Pending(key{inheriting, tag})
}

func (h *heirs) onOpened(tag string, ev machine.Seen) {
	j, ok := layout.ParseJournal(ev.Data)
	switch {
	case ev.Code != machine.Done:
		h.own.skip(ev.Path, ev.Err)
	case !ev.Exists: // somebody else was faster
	case !ok:
		h.own.foreign(ev.Path)
	default:
		h.dealt[tag] = h.takeOver(ev.Path, j, ev.Stat.Version)
		h.own.Ask(machine.Transact{Ops: h.dealt[tag]}, key{inheriting, tag})
	}
}

// takeOver returns what a journal names, or as much of it as a transaction may be large.
func (h *heirs) takeOver(path string, j layout.Journal, version int32) []machine.Op {
	ops := []machine.Op{{Do: machine.Delete, Path: path, Version: version}}
	for n, c := range j.Claims {
		if len(ops) > most {
			rest := layout.Journal{Number: j.Number, Claims: j.Claims[n:]}
			ops[0] = machine.Op{Do: machine.Set, Path: path, Data: rest.Bytes(), Version: version}
			break
		}
		if back := h.own.root.Back(c.Back()); !h.named[back] {
			ops = append(ops, machine.Op{Do: machine.Create, Path: back})
		}
	}
	return ops
}

func (h *heirs) onInherited(tag string, ev machine.Transacted) {
	ops := h.dealt[tag]
	switch {
	case len(ops) == 0: // it began anew meanwhile
		return
	case ev.Code == machine.Done && ops[0].Do == machine.Delete, ev.Code == machine.NoNode && ev.Failed == 0:
		return // it is gone
	case ev.Code == machine.Refused:
		h.own.skip(h.own.root.Journal(tag), ev.Err)
		return
	case ev.Code == machine.Done: // the rest of it comes next
	case ev.Code == machine.NoNode:
		h.own.prepare()
	case ev.Code == machine.NodeExists && ev.Failed > 0:
		h.named[ops[ev.Failed].Path] = true
	default: // somebody else was faster, or the answer was lost: look again
		h.own.pause()
	}
	delete(h.dealt, tag)
}
