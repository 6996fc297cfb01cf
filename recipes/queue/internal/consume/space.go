package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
)

// space is the room of a bounded queue: what is settled gives back what it took.
type space struct {
	*wire
	room *room.Room
	none bool // there is none for the next transaction: an administrator has deleted it
}

func newSpace(w *wire, cfg Config) space {
	return space{wire: w, room: room.New(place.Root(cfg.Root), cfg.Home)}
}

// known tells whether room can be given back, and asks for what is missing.
func (s *space) known() bool {
	part, known := s.room.Home()
	if !known && !s.none {
		s.once(machine.Read{Path: place.Root(s.root).Stripe(part)}, key{purpose: rooming})
		return false
	}
	return true
}

func (s *space) onRoom(ev machine.Seen) {
	part, _ := s.room.Home()
	switch {
	case ev.Code != machine.Done:
		s.refused(ev.Path, ev.Err)
	case !ev.Exists:
		s.none = true
	default:
		s.room.Saw(part, ev.Data, ev.Stat.Version)
	}
}
