package election

import (
	"context"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/machine"
)

// Phase is the state of a candidate.
type Phase int

// The phases of a candidate.
const (
	Idle        Phase = iota // no intent and no caller
	Offering                 // its znode is being created, or it waits for a connection
	Determining              // the znode exists; the candidates are being listed
	Waiting                  // another candidate is ahead
	Leading                  // it leads
	Failed                   // ended by an error: see [Election.Err]
	Stopped                  // ended by Close or with the session
)

// String returns the phase's name.
func (p Phase) String() string {
	return enum.Name("Phase", p, "idle", "offering", "determining", "waiting", "leading", "failed", "stopped")
}

// Standing is a candidate's own position in the queue.
type Standing struct {
	Phase Phase
	Ahead int  // candidates ahead at the last listing; not every departure ahead is followed, so there may be fewer
	Stale bool // the connection is down or the session is not trusted: this is the last known state
}

// Standing subscribes to this candidate's position: the current one first, then each change; the
// newest replaces one that was not received. The channel closes when ctx ends, or after Failed or
// Stopped.
func (e *Election) Standing(ctx context.Context) <-chan Standing { return e.standing.Subscribe(ctx) }

func standingOf(m machine.Standing) Standing {
	s := Standing{Ahead: m.Ahead, Stale: m.Stale}
	switch m.Phase {
	case machine.Idle:
		s.Phase = Idle
	case machine.Offering:
		s.Phase = Offering
	case machine.Determining:
		s.Phase = Determining
	case machine.Waiting:
		s.Phase = Waiting
	case machine.Holding:
		s.Phase = Leading
	}
	return s
}
