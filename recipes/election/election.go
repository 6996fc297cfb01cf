package election

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/contend"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
)

// Election is one candidate on a path, and an observer of the election. It is safe for concurrent
// use, and cheap while it waits: it has no goroutine of its own.
type Election struct {
	session  *session.Session
	path     string
	id       string
	data     []byte
	by       json.RawMessage // see envelope
	layout   Layout
	instance *recipe.Claims[*Term]
	standing *notify.Topic[Standing]
	runs     *runs
}

// New creates a candidate. The path is the parent of the candidates' znodes. New does no I/O: the
// path is created when a candidate first campaigns, as a container znode if the servers support
// them. Errors name the invalid argument; for a closed session the error is session.ErrClosed.
func New(s *session.Session, path string, opts ...Option) (*Election, error) {
	if err := recipe.CheckNew("election.New", s, "path", path); err != nil {
		return nil, err
	}
	o, err := newOptions(recipe.Identity(s), opts)
	if err != nil {
		return nil, recipe.Failed(s, "election.New", path, err)
	}
	e := &Election{
		session: s, path: path, id: o.id, data: o.data, by: o.by, layout: o.layout,
		standing: notify.NewTopic[Standing](), runs: &runs{active: make(map[*notify.Latch]context.CancelCauseFunc)},
	}
	e.standing.Publish(Standing{})
	cfg := o.claims
	cfg.Session, cfg.Kind, cfg.Path = s, "election", path
	cfg.Name, cfg.Form = layouts[o.layout].mark, layouts[o.layout].form
	cfg.Machine = func() machine.Machine { return contend.New(contend.Config{Parent: path, Rule: contend.Exclusive()}) }
	cfg.Wrap = e.wrap
	cfg.Waiting = e.waiting
	cfg.Holder = func(ctx context.Context) (recipe.Holder, error) {
		return contenders.Holder(ctx, s, path, func(e contenders.Entry) session.Identity { return interpret(e.Data).owner() })
	}
	cfg.Publish = func(m machine.Standing) { e.standing.Publish(standingOf(m)) }
	cfg.Ended = e.ended
	if e.instance, err = recipe.NewClaims(cfg); err != nil {
		e.standing.Close()
		return nil, recipe.Failed(s, "election.New", path, err)
	}
	return e, nil
}

// ID is this candidate's name: see [WithID].
func (e *Election) ID() string { return e.id }

// Done closes when the candidate has ended: by Close, with its session, or because of a permanent
// failure. Err then says why.
func (e *Election) Done() <-chan struct{} { return e.instance.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed, after Close or with
// the session, or the cause of the failure.
func (e *Election) Err() error { return e.instance.Err() }

// Close ends the candidate. It first cancels the contexts of the functions of [Election.Run] and
// waits for them. It withdraws every intent and every waiting call (session.ErrClosed), ends a
// term that is held (its Done closes with session.ErrClosed), and returns when ZooKeeper has
// confirmed the deletions. If ctx ends earlier, its error is returned; remaining terms are ended,
// and the deletions go on in the background until the epoch ends. It is idempotent. A function of
// Run calls Close with its own context, and is not waited for then; with another one, it would
// wait for itself until ctx or the session ends. Better, it returns an error.
func (e *Election) Close(ctx context.Context) error {
	within := e.instance.HeldIn(ctx) // then a function is the caller, and cannot end before
	ended := e.runs.close(recipe.Failed(e.session, "run", e.path, session.ErrClosed))
	if !within {
		select {
		case <-ended:
		case <-ctx.Done():
		case <-e.session.Done():
		}
	}
	return recipe.Failed(e.session, "close", e.path, e.instance.Close(ctx))
}

// ended publishes how it ended, as the last standing.
func (e *Election) ended(err error) {
	last := Standing{Phase: Failed}
	if errors.Is(err, session.ErrClosed) {
		last.Phase = Stopped
	}
	e.standing.Publish(last)
	e.standing.Close()
}
