package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// space is the room of a bounded queue: what is settled gives back what it took.
type space struct {
	*room.Room
	none bool // there is none: an administrator has deleted it
}

func newSpace(cfg Config) space {
	return space{Room: room.New(place.Root(cfg.Root), cfg.Home)}
}

// spaceKnown tells whether room can be given back, and asks for what is missing.
func (m *Machine) spaceKnown() bool {
	part, known := m.room.Home()
	if !known && !m.room.none {
		m.once(machine.Read{Path: place.Root(m.cfg.Root).Stripe(part)}, key{purpose: rooming})
		return false
	}
	return true
}

func (m *Machine) onRoom(ev machine.Seen) {
	part, _ := m.room.Home()
	switch {
	case ev.Code != machine.Done:
		m.refused(ev.Path, ev.Err)
	case !ev.Exists:
		m.room.none = true
	default:
		m.room.Saw(part, ev.Data, ev.Stat.Version)
	}
}

// roomIn gives back what the items took that are gone with the transaction.
func (m *Machine) roomIn(t *txn) {
	if t.frees == 0 || m.room.none {
		return
	}
	t.use = m.room.Give(t.frees)
	t.add(part{kind: ofRoom}, t.use.Op)
}

// freeIn frees the id of an item that is gone, and its room.
func (m *Machine) freeIn(t *txn, i *item) {
	if i.claim.znode.Room {
		t.frees++
	}
	if i.record.ID != "" && !i.freed {
		t.add(part{kind: ofID, item: i}, machine.Op{Do: machine.Delete, Path: m.cfg.Root.ID(i.record.ID), Version: machine.Any})
	}
}
