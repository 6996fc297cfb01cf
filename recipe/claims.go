package recipe

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// ClaimsConfig describes an instance whose machine grants.
type ClaimsConfig struct {
	// What it is.
	Session *session.Session
	Kind    string                        // of recipe, shown in the live tree
	Machine func() machine.Machine        // a fresh one for each incarnation
	Process string                        // its name, as events and snapshots have it
	State   func(machine.Standing) string // its word for its state, of which the zero Standing is the first; nil: the phase's

	// Its znodes.
	Path   string        // the parent of the contenders; of the form Alone, the own znode itself
	Name   string        // how the own znode's name begins, after the GUID
	Form   Form          // of the own znode's name
	Data   []byte        // of the own znode
	ACL    []session.ACL // of the znodes that are made, parents included; nil: the session's
	Parent []byte        // data of the parent, should it be missing; then it is made a persistent znode. nil: a container without data

	// For those who wait, and the log.
	WarnAfter time.Duration                                // a possession that blocks others for longer is logged; 0: never
	Waiting   func(ctx context.Context) (n int, err error) // how many others wait for what is held; nil: that is not known

	// Holder reads the holder that others wait for. A wait of more than a second that fails has it
	// in its error. nil: the holder is not read.
	Holder func(ctx context.Context) (Holder, error)

	// What the face is told.
	Publish func(machine.Standing) // called by the actor at each change, must not block
	Ended   func(err error)        // called once when the instance has ended, before Done closes
}

// Claims is an instance whose machine grants possessions to those who claim them. P is what the
// face hands to the application for one: its grant, its term.
type Claims[P any] struct {
	core *core
	won  *notify.Handoff[P]
}

// core is the part of Claims that does not depend on P. It outlives the incarnations of the actor.
type core struct {
	cfg     ClaimsConfig
	host    *Host
	ledger  ledger
	endWait func() Holder             // of the standing intent's wait, nil: it does not wait; see readHolder
	ahead   atomic.Int32              // the contenders that are ahead, by the last listing
	lostAt  atomic.Pointer[time.Time] // when a possession was lost, the first since one was won or an intent withdrawn; nil: none was

	wrap  func(*Possession) any                    // what the application gets for a possession
	offer func(wrapped any, received func()) offer // on the channel Won
}

// NewClaims starts an instance; wrap makes what the application gets for a possession. It does no
// I/O. Errors are those of [New].
func NewClaims[P any](cfg ClaimsConfig, wrap func(*Possession) P) (*Claims[P], error) {
	won := notify.NewHandoff[P]()
	if cfg.State == nil {
		cfg.State = func(s machine.Standing) string { return s.Phase.String() }
	}
	i := &Claims[P]{won: won, core: &core{
		cfg: cfg, host: newHost(Config{Session: cfg.Session, Kind: cfg.Kind, Name: cfg.Process, Path: cfg.Path, ACL: cfg.ACL, Machine: cfg.Machine, Ended: cfg.Ended}),
		wrap:  func(p *Possession) any { return wrap(p) },
		offer: func(wrapped any, received func()) offer { return won.Offer(wrapped.(P), received) },
	}}
	i.core.host.core, i.core.host.state, i.core.ledger.host = i.core, cfg.State(machine.Standing{}), i.core.host
	if err := i.core.host.start(); err != nil {
		return nil, err
	}
	return i, nil
}

// Stand enters the standing intent: win, in every epoch and after every loss, until StandDown. It
// is idempotent.
func (i *Claims[P]) Stand(by Asked) {
	if in := i.core.ledger.add(false, false, by); in != nil {
		i.core.host.ref.Tell(wanted{in.id})
	}
}

// Held is the first possession that is held now and was received, of whichever intent; false if
// there is none.
func (i *Claims[P]) Held() (won P, has bool) {
	i.core.ledger.mu.Lock()
	defer i.core.ledger.mu.Unlock()
	for _, in := range i.core.ledger.intents {
		p := in.held
		if p == nil || p.Err() != nil {
			continue
		}
		if face, made := p.face.(P); made && p.isReceived() {
			return face, true
		}
	}
	return won, false
}

// Won delivers a possession for each time the standing intent wins.
func (i *Claims[P]) Won() <-chan P { return i.won.C() }

// StandDown withdraws the standing intent, waiting or holding, and returns when nothing of it is
// left in ZooKeeper. If ctx ends first, the deletion goes on by itself until the epoch ends. If the
// instance ends first, its Err is returned.
func (i *Claims[P]) StandDown(ctx context.Context) error {
	ctx, cancel := confirmationContext(ctx, i.core.cfg.Session, i.core.cfg.Path)
	defer cancel()
	in := i.core.ledger.lastStanding()
	if in == nil {
		return nil
	}
	i.core.abandon(in, session.ErrReleased, nil)
	if err := notify.Wait(ctx, in.settled.C()); err != nil {
		return err
	}
	if in.unconfirmed.Load() {
		return i.Err()
	}
	return nil
}

// Claim wins one possession for its caller. With try, it fails with machine.ErrHeld as soon as
// another contender is known to be ahead.
func (i *Claims[P]) Claim(ctx context.Context, try bool, by Asked) (P, error) {
	var none P
	if err := context.Cause(ctx); err != nil {
		return none, err
	}
	in := i.core.ledger.add(true, try, by)
	if in == nil {
		return none, i.core.closedErr()
	}
	i.core.host.ref.Tell(wanted{in.id})
	endWait := beginWait(ctx, &i.core.cfg, try)
	var err error
	select {
	case o := <-in.caller.outcome:
		endWait()
		return i.result(o)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-i.Done():
		err = i.Err()
	}
	holder := endWait()
	if !in.caller.abandon() {
		return i.result(<-in.caller.outcome) // it came first
	}
	if ctx.Err() != nil {
		err = withHolder(err, i.core.cfg.Session, i.core.cfg.Path, holder)
	}
	i.core.abandon(in, session.ErrReleased, err)
	return none, err
}

// result is the outcome as the application gets it.
func (i *Claims[P]) result(o outcome) (won P, err error) {
	if o.err == nil {
		won = o.won.face.(P)
	}
	return won, o.err
}

// Done closes when the instance has ended; Err then says why: session.ErrClosed after Close or with
// the session, the cause if it failed.
func (i *Claims[P]) Done() <-chan struct{} { return i.core.host.Done() }

// Err is nil exactly while Done is open.
func (i *Claims[P]) Err() error { return i.core.host.Err() }

// Close withdraws every intent, releases what is held and ends the instance. If ctx ends before
// ZooKeeper has confirmed it, the instance ends all the same, the session deletes what is left in
// the background, and ctx's error is returned. If the instance ends otherwise meanwhile, its Err is
// returned. If it has ended before, Close returns nil.
func (i *Claims[P]) Close(ctx context.Context) error {
	ctx, cancel := confirmationContext(ctx, i.core.cfg.Session, i.core.cfg.Path)
	defer cancel()
	if i.Err() != nil {
		return i.core.host.Close(ctx)
	}
	for _, in := range i.core.ledger.close() {
		in.caller.reply(outcome{err: i.core.closedErr()})
		i.core.abandon(in, errGivenUp, i.core.closedErr())
	}
	return i.core.host.finish(ctx)
}

// face makes what the application gets for a possession.
func (c *core) face(p *Possession) any {
	face := c.wrap(p)
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	p.face = face
	return face
}

// abandon withdraws an intent, and tells why. Its possession ends with the cause, and an earlier
// loss is forgotten.
func (c *core) abandon(in *intent, cause, why error) {
	c.lostAt.Store(nil)
	if p := c.ledger.withdraw(in, why); p != nil {
		c.host.End(p.Hold, cause)
		c.recall(p)
	}
	c.host.ref.Tell(withdrawn{in.id})
}

// recall takes back a possession that was offered and is not received yet.
func (c *core) recall(p *Possession) {
	c.ledger.mu.Lock()
	offer := p.offer
	c.ledger.mu.Unlock()
	if offer != nil {
		offer.Withdraw()
	}
}

func (c *core) closedErr() error {
	if err := c.host.Err(); err != nil {
		return err
	}
	return c.host.failed(session.ErrClosed)
}

// ended settles every intent when the instance has ended, with the reason.
func (c *core) ended(err error) {
	c.readHolder(machine.Idle)
	c.ledger.close()
	for _, in := range c.ledger.all() {
		in.wait.Withdraw(err)
		in.caller.reply(outcome{err: err})
		in.unconfirmed.Store(true)
		in.settled.Close()
		c.ledger.remove(in)
	}
	for _, p := range c.ledger.takeGranted() {
		p.unconfirmed.Store(&err)
		p.freed.Close()
	}
}

// endHolds follows the end of every possession of the instance: it takes back those that were
// offered.
func (c *core) endHolds(cause error) {
	for _, in := range c.ledger.all() {
		c.ledger.mu.Lock()
		p := in.held
		c.ledger.mu.Unlock()
		if p != nil {
			c.ledger.failDowngrade(p, cause)
			c.recall(p)
		}
	}
}
