package lock

import (
	"context"
	"fmt"

	"github.com/troupe-go/troupe/internal/machine"
)

// Phase is how far an instance has come.
type Phase int

// The phases of an instance.
const (
	Idle   Phase = iota // nothing is wanted
	Queued              // wanted, and in line or about to be
	Held                // held by the standing intent or by a caller
)

// String returns the phase's name.
func (p Phase) String() string {
	switch p {
	case Idle:
		return "idle"
	case Queued:
		return "queued"
	case Held:
		return "held"
	}
	return fmt.Sprintf("Phase(%d)", int(p))
}

// Standing is an instance's own place in the line.
type Standing struct {
	Phase Phase
	Ahead int  // contenders ahead when last looked; each release ahead is not followed, so it may be fewer
	Stale bool // the connection is down or the session is not trusted: this was so when last seen
}

// Standing is a subscription to this instance's place: the present one first, then each change, the
// newest replacing one that was not received. It closes when ctx ends or the lock is done.
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
