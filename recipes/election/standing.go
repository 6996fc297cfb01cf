package election

import (
	"context"
	"fmt"

	"github.com/troupe-go/troupe/internal/machine"
)

// Phase is how far a candidate has come.
type Phase int

// The phases of a candidate.
const (
	Idle        Phase = iota // does not stand
	Offering                 // stands, and its znode is being made, or there is no connection to make it on
	Determining              // the znode is there; its place is being looked up
	Waiting                  // somebody is ahead
	Leading                  // leads
	Failed                   // over, by an error: see [Election.Err]
	Stopped                  // over, by Close or with the session
)

var phases = [...]string{
	Idle: "idle", Offering: "offering", Determining: "determining", Waiting: "waiting", Leading: "leading", Failed: "failed", Stopped: "stopped",
}

// String returns the phase's name.
func (p Phase) String() string {
	if p < 0 || int(p) >= len(phases) {
		return fmt.Sprintf("Phase(%d)", int(p))
	}
	return phases[p]
}

// Standing is a candidate's own place.
type Standing struct {
	Phase Phase
	Ahead int  // candidates ahead when last looked; those who leave ahead are not followed one by one, so it may be fewer
	Stale bool // the connection is down or the session is not trusted: this was so when last seen
}

// Standing is a subscription to this candidate's place: the present one first, then each change,
// the newest replacing one that was not received. It closes when ctx ends, or after Failed or
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
