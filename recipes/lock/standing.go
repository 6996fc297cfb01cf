package lock

import (
	"context"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/machine"
)

// Phase is the state of an instance.
type Phase int

// The phases of an instance.
const (
	Idle   Phase = iota // no intent and no caller
	Queued              // in the queue, or about to be
	Held                // granted to the standing intent or to a caller
)

// String returns the phase's name.
func (p Phase) String() string {
	return enum.Name("Phase", p, "idle", "queued", "held")
}

// Standing is an instance's own position in the queue.
type Standing struct {
	Phase Phase
	Ahead int  // contenders that it waits for, at the last listing; not every release is followed, so there may be fewer
	Stale bool // the connection is down or the session is not trusted: this is the last known state
}

// Standing subscribes to this instance's position: the current one first, then each change; the
// newest replaces one that was not received. The channel closes when ctx ends or the lock is done.
func (l *Lock) Standing(ctx context.Context) <-chan Standing { return l.standing.Subscribe(ctx) }

func standingOf(m machine.Standing) Standing {
	s := Standing{Ahead: m.Ahead, Stale: m.Stale}
	switch m.Phase {
	case machine.Idle:
	case machine.Holding:
		s.Phase = Held
	default:
		s.Phase = Queued
	}
	return s
}
