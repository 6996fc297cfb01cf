package host

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Config describes an instance. P is what the face hands to the application: its grant, its term.
type Config[P any] struct {
	Session *session.Session
	Kind    string     // of recipe, shown in the live tree
	Path    string     // the parent of the line; of the form Alone, the znode itself
	Name    string     // what the own znode's name begins with, the protection aside
	Form    znode.Form // of its name
	Data    []byte     // of the own znode
	Parent  []byte     // data of the parent, should it be missing; then it is made a persistent znode. nil: a container without data

	WarnAfter time.Duration // after which a possession that blocks others is logged; 0: never

	Machine func() machine.Machine // a fresh one for each incarnation
	Wrap    func(*Possession) P    // what the application gets for a possession
	Publish func(machine.Standing) // called by the actor at each change, must not block
	Ended   func(err error)        // called once when the instance is over, before Done closes
}

// Instance is one recipe instance: what a face is built on.
type Instance[P any] struct {
	cfg    Config[P]
	ledger ledger[P]
	won    *notify.Handoff[P]
	end    *notify.End
	ref    actors.Ref[message]
	client *session.Client
}

// New starts an instance. It does no I/O.
func New[P any](cfg Config[P]) (*Instance[P], error) {
	i := &Instance[P]{cfg: cfg, won: notify.NewHandoff[P](), end: notify.NewEnd()}
	i.ledger.mu.Lock() // held until the client is known, so that the actor cannot look for it before
	defer i.ledger.mu.Unlock()
	name := cfg.Kind + ":" + cfg.Path
	ref, err := actors.Spawn(cfg.Session.Scope(), actors.Spec[message]{
		Name: name, Kind: cfg.Kind,
		New:   func(self actors.Self[message]) actors.Receiver[message] { return newHost(i, self) },
		Ended: i.ended,
	})
	if err != nil {
		return nil, errors.Join(session.ErrClosed, err)
	}
	i.ref = ref
	i.client, err = cfg.Session.Client(name, i.hear)
	if err != nil {
		ref.Stop()
		return nil, err
	}
	return i, nil
}

// Stand states the standing intent: win, in every epoch and after every loss, until StandDown. It
// is idempotent.
func (i *Instance[P]) Stand(by Asked) {
	if c := i.ledger.stand(by); c != nil {
		i.cfg.Session.Start()
		i.ref.Tell(wanted{c.id})
	}
}

// Won delivers a possession for each time the standing intent wins.
func (i *Instance[P]) Won() <-chan P { return i.won.C() }

// StandDown withdraws the standing intent, waiting or holding, and returns when nothing of it is
// left in ZooKeeper. If ctx ends first, the deletion goes on by itself until the epoch ends. If the
// instance ends first, its Err is returned.
func (i *Instance[P]) StandDown(ctx context.Context) error {
	ctx, cancel := beyond(ctx, i.cfg.Session, i.cfg.Path)
	defer cancel()
	c, fresh := i.ledger.withdrawStanding()
	if c == nil {
		return nil
	}
	if fresh {
		i.abandon(c, session.ErrReleased)
	}
	if err := confirmed(ctx, c.settled.C()); err != nil {
		return err
	}
	if c.unconfirmed.Load() {
		return i.Err()
	}
	return nil
}

// Claim wins one possession for its caller. With try, it fails with machine.ErrHeld as soon as
// somebody is known to be ahead.
func (i *Instance[P]) Claim(ctx context.Context, try bool, by Asked) (P, error) {
	var none P
	if err := context.Cause(ctx); err != nil {
		return none, err
	}
	c := i.ledger.add(true, try, by)
	if c == nil {
		return none, i.closedErr()
	}
	i.cfg.Session.Start()
	i.ref.Tell(wanted{c.id})
	var err error
	select {
	case o := <-c.answer:
		return o.won, o.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-i.Done():
		err = i.Err()
	}
	if !c.abandon() {
		o := <-c.answer // the answer came first
		return o.won, o.err
	}
	i.abandon(c, session.ErrReleased)
	if ctx.Err() != nil {
		err = inVain(err, i.cfg.Session, i.cfg.Path)
	}
	return none, err
}

// abandon withdraws a claim: what it holds ends with the cause, and the actor is told.
func (i *Instance[P]) abandon(c *claim[P], cause error) {
	if p := i.ledger.withdraw(c); p != nil {
		i.client.End(p.Hold, cause)
		i.recall(p)
	}
	i.ref.Tell(withdrawn{c.id})
}

// recall takes a possession back if it is on offer and nobody has received it.
func (i *Instance[P]) recall(p *Possession) {
	i.ledger.mu.Lock()
	offer := p.offer
	i.ledger.mu.Unlock()
	if offer != nil {
		offer.Withdraw()
	}
}

// Done closes when the instance is over; Err then says why: session.ErrClosed after Close or with
// the session, the cause if it failed.
func (i *Instance[P]) Done() <-chan struct{} { return i.end.Done() }

// Err is nil exactly while Done is open.
func (i *Instance[P]) Err() error { return i.end.Err() }

// Close withdraws every claim, releases what is held and ends the instance. If ctx ends before
// ZooKeeper has confirmed it, the instance is ended all the same and the session deletes what is
// left in the background; ctx's error is returned. If it ends otherwise meanwhile, its Err is. Of
// one that is over already there is nothing to report.
func (i *Instance[P]) Close(ctx context.Context) error {
	ctx, cancel := beyond(ctx, i.cfg.Session, i.cfg.Path)
	defer cancel()
	over := i.Err() != nil
	if claims, first := i.ledger.close(); first {
		for _, c := range claims {
			if c.once && c.abandon() {
				c.answer <- outcome[P]{err: i.closedErr()}
			}
			i.abandon(c, errGivenUp)
		}
		i.ref.Tell(closing{})
	}
	err := confirmed(ctx, i.ref.Done())
	if err != nil {
		i.ref.Stop()
		<-i.ref.Done() // prompt: stopping an actor waits for nothing
		return err
	}
	if !over && !i.ledger.confirmed() {
		return i.Err()
	}
	return nil
}

// confirmed waits for something to be done, or ctx. What is done is done, whatever has become of
// ctx.
func confirmed(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return nil
	default:
		return context.Cause(ctx)
	}
}

func (i *Instance[P]) closedErr() error {
	if err := i.Err(); err != nil {
		return err
	}
	return i.failed(session.ErrClosed)
}

// failed wraps the end of the instance with what it was.
func (i *Instance[P]) failed(err error) error {
	return &session.OpError{Op: i.cfg.Kind, Path: i.cfg.Path, Err: err}
}

// Panic makes the actor panic with the value: for tests of supervision.
func (i *Instance[P]) Panic(value any) { i.ref.Tell(poked{func() { panic(value) }}) }
