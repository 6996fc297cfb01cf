package election

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/troupe-go/troupe/internal/enum"
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
	name     string
	data     []byte
	by       json.RawMessage // see envelope
	layout   Layout
	instance *recipe.Claims[*Term]
	status   *notify.Topic[Status]
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
		session: s, path: path, name: o.name, data: o.data, by: o.by, layout: o.layout,
		status: notify.NewTopic[Status](), runs: &runs{active: make(map[*notify.Latch]context.CancelCauseFunc)},
	}
	e.status.Publish(Status{})
	cfg := o.claims
	cfg.Session, cfg.Kind, cfg.Path, cfg.Process, cfg.Holding = s, "election", path, o.name, "leading"
	cfg.Name, cfg.Form = layouts[o.layout].mark, layouts[o.layout].form
	cfg.Machine = func() machine.Machine { return contend.New(contend.Config{Parent: path, Rule: contend.Exclusive()}) }
	cfg.Waiting = e.waiting
	cfg.Holder = func(ctx context.Context) (recipe.Holder, error) {
		return contenders.Holder(ctx, s, path, func(e contenders.Entry) session.Identity { return interpret(e.Data).owner() })
	}
	cfg.Publish = func(m machine.Standing) { e.status.Publish(statusOf(m)) }
	cfg.Ended = e.ended
	if e.instance, err = recipe.NewClaims(cfg, e.wrap); err != nil {
		e.status.Close()
		return nil, recipe.Failed(s, "election.New", path, err)
	}
	return e, nil
}

// Name is this candidate's name: see [WithName].
func (e *Election) Name() string { return e.name }

// Done closes when the candidate has ended: by Close, with its session, or by an error that
// campaigning again would not fix. Err then says why.
func (e *Election) Done() <-chan struct{} { return e.instance.Done() }

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed after Close or with the
// session, otherwise the error that ended the candidate, for example session.ErrNoAuth.
func (e *Election) Err() error { return e.instance.Err() }

// Close ends the candidate. It first cancels the contexts of the functions of [Election.Run] and
// waits for them. It withdraws every intent and every waiting call (session.ErrClosed), ends a
// term that is held (its Done closes with session.ErrClosed), and returns when ZooKeeper has
// confirmed the deletions. If ctx ends earlier, its error is returned; remaining terms are ended,
// and the deletions go on in the background until the epoch ends. It is idempotent. A function of
// Run calls Close with its own context, and is not waited for then; with another one, it would
// wait for itself until ctx or the session ends. Better, it returns an error.
func (e *Election) Close(ctx context.Context) error {
	within := e.instance.HeldIn(ctx) // then a function of Run is the caller: it cannot return before
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

// ended publishes how the candidate ended, as its last status.
func (e *Election) ended(err error) {
	last := Status{State: Failed}
	if errors.Is(err, session.ErrClosed) {
		last.State = Stopped
	}
	e.status.Publish(last)
	e.status.Close()
}

var (
	// ErrNoLeader means that there is no candidate at this moment.
	ErrNoLeader = errors.New("no leader")

	// ErrDeadlock refuses a wait that could never end: the context descends from the context of a
	// term on the same path.
	ErrDeadlock = errors.New("already led by the caller's own context")
)

// Campaign states the intent to lead, and returns at once. The intent survives disconnection,
// expiry and lost terms: it lasts, in every epoch, until [Election.Withdraw] or [Election.Close].
// Calling it again has no effect.
func (e *Election) Campaign() { e.instance.Stand(recipe.Asked{At: recipe.Caller(), Lasts: true}) }

// Term is the term that this candidate leads in now, from any of its calls; nil if it does not
// lead, or as long as the term that was won has not been received. Term never blocks, and only
// reads: the possession stays with its receiver.
func (e *Election) Term() *Term {
	t, _ := e.instance.Held()
	return t
}

// Leader delivers one [Term] each time the intent of [Election.Campaign] wins. The channel is the
// same every time and unbuffered. It never closes: select on [Election.Done] as well. A term goes
// to exactly one receiver, and is withdrawn if it ends before it is received.
func (e *Election) Leader() <-chan *Term { return e.instance.Won() }

// Withdraw ends the intent of [Election.Campaign], whether it waits or leads, and returns when
// ZooKeeper has confirmed that its znode is deleted. A term of the intent ends first, with
// session.ErrReleased: stop leading before you call Withdraw, or use [Election.Run], which ensures
// that. If ctx ends first its error is returned, and the deletion goes on in the background until
// the epoch ends. Without an intent Withdraw does nothing. It does not affect the terms of
// [Election.Lead] and [Election.Run]; to end a single term, call [Term.Resign].
func (e *Election) Withdraw(ctx context.Context) error {
	return recipe.Failed(e.session, "withdraw", e.path, e.instance.StandDown(ctx))
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

// State is the state of a candidate.
type State int

// The states of a candidate.
const (
	Idle        State = iota // no intent and no caller
	Offering                 // its znode is being created, or it waits for a connection
	Determining              // the znode exists; the candidates are being listed
	Waiting                  // another candidate is ahead
	Leading                  // it leads
	Stopped                  // ended by Close or with the session
	Failed                   // ended by an error: see [Election.Err]
)

// String is the state's name, in lower case.
func (s State) String() string {
	return enum.Name("State", s, "idle", "offering", "determining", "waiting", "leading", "stopped", "failed")
}

// Status is this candidate's own place in the election.
type Status struct {
	State State
	Ahead int  // candidates ahead when they were last listed; there may be fewer now, since not every departure is followed
	Stale bool // the connection is down or the session is not trusted: this is the last known state
}

// ObserveStatus subscribes to this candidate's status: the current one first, then each change; the
// newest replaces one that was not received. The package closes the channel when ctx ends, or after
// it has delivered Stopped or Failed, which may come a moment before Done closes.
func (e *Election) ObserveStatus(ctx context.Context) <-chan Status { return e.status.Subscribe(ctx) }

func statusOf(m machine.Standing) Status {
	s := Status{Ahead: m.Ahead, Stale: m.Stale}
	switch m.Phase {
	case machine.Idle:
		s.State = Idle
	case machine.Offering:
		s.State = Offering
	case machine.Determining:
		s.State = Determining
	case machine.Waiting:
		s.State = Waiting
	case machine.Holding:
		s.State = Leading
	}
	return s
}
