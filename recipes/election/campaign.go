package election

import (
	"context"

	"github.com/troupe-go/troupe/recipe"
)

// Campaign states the intent to lead, and returns at once. The intent survives disconnection,
// expiry and lost terms: it lasts, in every epoch, until [Election.Resign] or [Election.Close].
// Calling it again has no effect.
func (e *Election) Campaign() { e.instance.Stand(recipe.Asked{At: recipe.Caller(), Lasts: true}) }

// Term is the term that this candidate leads in now, by whichever call; nil if it does not lead, or
// as long as the term that was won has not been received. It never
// blocks, and is a reading only: the possession stays with whoever received it.
func (e *Election) Term() *Term {
	t, _ := e.instance.Held()
	return t
}

// Leader delivers one [Term] each time the standing intent wins. The channel is the same every
// time, unbuffered, and never closes. A term goes to exactly one receiver, and is withdrawn if it
// ends before it is received. Select on [Election.Done] as well.
func (e *Election) Leader() <-chan *Term { return e.instance.Won() }

// Resign ends the standing intent, whether it waits or leads, and returns when ZooKeeper has
// confirmed that none of its znodes is left. A term of the intent ends first, with
// session.ErrReleased: stop leading before you call Resign, or use [Election.Run], which ensures
// that. If ctx ends first its error is returned, and the deletion goes on in the background until
// the epoch ends. Without a standing intent Resign does nothing. Terms of [Election.Lead] and
// [Election.Run] are not affected.
func (e *Election) Resign(ctx context.Context) error {
	return recipe.Failed(e.session, "resign", e.path, e.instance.StandDown(ctx))
}

// Lead waits until this candidate leads and returns a term of the caller's own, which is not
// renewed after a loss. ctx bounds the wait, not the term. If it ends first, the candidacy is
// withdrawn, no term comes of it later, and ctx's cause is returned. Other errors: [ErrDeadlock],
// session.ErrClosed, and those of ZooKeeper (session.ErrNoAuth, session.ErrTooLarge, …).
func (e *Election) Lead(ctx context.Context) (*Term, error) {
	return e.lead(ctx, recipe.Asked{At: recipe.Caller(), Lasts: true})
}

func (e *Election) lead(ctx context.Context, by recipe.Asked) (*Term, error) {
	if e.instance.HeldIn(ctx) {
		return nil, recipe.Failed(e.session, "lead", e.path, ErrDeadlock)
	}
	t, err := e.instance.Claim(ctx, false, by)
	if err != nil {
		return nil, recipe.Failed(e.session, "lead", e.path, err)
	}
	return t, nil
}
