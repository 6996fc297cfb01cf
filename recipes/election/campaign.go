package election

import (
	"context"

	"github.com/troupe-go/troupe/internal/host"
)

// Campaign states the intent to lead, and returns at once. The intent survives disconnection,
// expiry and lost terms: it stands, in every epoch, until [Election.Resign] or [Election.Close].
// Stating it again changes nothing.
func (e *Election) Campaign() { e.instance.Stand(host.Asked{At: host.Caller(), Lasts: true}) }

// Leader delivers one [Term] for each time the standing intent wins. The channel is the same every
// time, unbuffered, and never closes: a term belongs to the one receiver that gets it, and is
// withdrawn if it ends before anybody does. Watch [Election.Done] beside it.
func (e *Election) Leader() <-chan *Term { return e.instance.Won() }

// Resign ends the standing intent, waiting or leading, and returns when ZooKeeper has confirmed
// that nothing of it is left. A term that came of it ends with session.ErrReleased first: whoever
// leads should have stopped by then, or use [Election.Run], which sees to that. If ctx ends first
// its error is returned; the deletion then goes on in the background until the epoch ends. Without
// a standing intent it does nothing. Terms of [Election.Lead] and [Election.Run] are not touched.
func (e *Election) Resign(ctx context.Context) error {
	return failed("resign", e.path, e.instance.StandDown(ctx))
}

// Lead waits until this candidate leads, for one term of the caller's own: it does not stand again
// when it is lost. ctx bounds the wait, not the term; if it ends first, the candidacy is withdrawn,
// no term comes of it later, and ctx's cause is returned. Other errors: [ErrDeadlock],
// session.ErrClosed, and what ZooKeeper refuses (session.ErrNoAuth, session.ErrTooLarge, …).
func (e *Election) Lead(ctx context.Context) (*Term, error) {
	return e.lead(ctx, host.Asked{At: host.Caller(), Lasts: true})
}

func (e *Election) lead(ctx context.Context, by host.Asked) (*Term, error) {
	if e.instance.Inside(ctx) {
		return nil, failed("lead", e.path, ErrDeadlock)
	}
	t, err := e.instance.Claim(ctx, false, by)
	if err != nil {
		return nil, failed("lead", e.path, err)
	}
	return t, nil
}
