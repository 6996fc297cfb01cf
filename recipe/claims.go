package recipe

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// ClaimsConfig describes an instance whose machine grants. P is what the face hands to the
// application: its grant, its term.
type ClaimsConfig[P any] struct {
	Session *session.Session
	Kind    string        // of recipe, shown in the live tree
	Path    string        // the parent of the contenders; of the form Alone, the znode itself
	Name    string        // what the own znode's name begins with, the protection aside
	Form    Form          // of its name
	Data    []byte        // of the own znode
	ACL     []session.ACL // of the znodes that are made, parents included; nil: the session's
	Parent  []byte        // data of the parent, should it be missing; then it is made a persistent znode. nil: a container without data

	WarnAfter time.Duration                                // after which a possession that blocks others is logged; 0: never
	Waiting   func(ctx context.Context) (n int, err error) // how many others wait for what is held; nil: that is not known

	// Holder reads who has what others wait for. Of a wait of more than a second that ends in vain
	// it is in the error; nil: it is not.
	Holder func(ctx context.Context) (Holder, error)

	Machine func() machine.Machine // a fresh one for each incarnation
	Wrap    func(*Possession) P    // what the application gets for a possession
	Publish func(machine.Standing) // called by the actor at each change, must not block
	Ended   func(err error)        // called once when the instance is over, before Done closes
}

// Claims is an instance whose machine grants possessions to those who claim them.
type Claims[P any] struct {
	cfg    ClaimsConfig[P]
	host   *Host
	ledger ledger[P]
	won    *notify.Handoff[P]
	wait   *wait                     // see look; the actor's
	lost   atomic.Pointer[time.Time] // when a possession was; nil: one was won or a claim given up
}

// NewClaims starts an instance. It does no I/O. Errors are those of [New].
func NewClaims[P any](cfg ClaimsConfig[P]) (*Claims[P], error) {
	i := &Claims[P]{cfg: cfg, won: notify.NewHandoff[P]()}
	i.host = newHost(Config{Session: cfg.Session, Kind: cfg.Kind, Path: cfg.Path, ACL: cfg.ACL, Machine: cfg.Machine, Ended: cfg.Ended})
	i.host.claims = i
	if err := i.host.start(); err != nil {
		return nil, err
	}
	return i, nil
}

// Stand states the standing intent: win, in every epoch and after every loss, until StandDown. It
// is idempotent.
func (i *Claims[P]) Stand(by Asked) {
	if c := i.ledger.addStanding(by); c != nil {
		i.cfg.Session.Start()
		i.host.ref.Tell(wanted{c.id})
	}
}

// wrap makes what the application gets for a possession.
func (i *Claims[P]) wrap(p *Possession) P {
	won := i.cfg.Wrap(p)
	i.ledger.mu.Lock()
	defer i.ledger.mu.Unlock()
	p.face = won
	return won
}

// Held is what is held now, by whichever claim: the first of them that has got it. false: none has.
func (i *Claims[P]) Held() (won P, has bool) {
	i.ledger.mu.Lock()
	defer i.ledger.mu.Unlock()
	for _, c := range i.ledger.claims {
		if p := c.held; p != nil && p.Err() == nil && (p.received.Load() || p.offer != nil && p.offer.Received()) {
			if won, has = p.face.(P); has {
				return won, true
			}
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
	ctx, cancel := outlasting(ctx, i.cfg.Session, i.cfg.Path)
	defer cancel()
	c, fresh := i.ledger.withdrawStanding()
	if c == nil {
		return nil
	}
	if fresh {
		i.abandon(c, session.ErrReleased)
	}
	if err := notify.Wait(ctx, c.settled.C()); err != nil {
		return err
	}
	if c.unconfirmed.Load() {
		return i.Err()
	}
	return nil
}

// Claim wins one possession for its caller. With try, it fails with machine.ErrHeld as soon as
// somebody is known to be ahead.
func (i *Claims[P]) Claim(ctx context.Context, try bool, by Asked) (P, error) {
	var none P
	if err := context.Cause(ctx); err != nil {
		return none, err
	}
	c := i.ledger.add(true, try, by)
	if c == nil {
		return none, i.closedErr()
	}
	i.cfg.Session.Start()
	i.host.ref.Tell(wanted{c.id})
	w := newWait(ctx, &i.cfg, try)
	var err error
	select {
	case o := <-c.answer:
		w.end()
		return o.won, o.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-i.Done():
		err = i.Err()
	}
	holder := w.end()
	if !c.abandon() {
		o := <-c.answer // the answer came first
		return o.won, o.err
	}
	i.abandon(c, session.ErrReleased)
	if ctx.Err() != nil {
		err = withHolder(err, i.cfg.Session, i.cfg.Path, holder)
	}
	return none, err
}

// abandon withdraws a claim: what it holds ends with the cause, and a loss before it is forgotten.
func (i *Claims[P]) abandon(c *claim[P], cause error) {
	i.lost.Store(nil)
	if p := i.ledger.withdraw(c); p != nil {
		i.host.End(p.Hold, cause)
		i.recall(p)
	}
	i.host.ref.Tell(withdrawn{c.id})
}

// recall takes a possession back if it is on offer and nobody has received it.
func (i *Claims[P]) recall(p *Possession) {
	i.ledger.mu.Lock()
	offer := p.offer
	i.ledger.mu.Unlock()
	if offer != nil {
		offer.Withdraw()
	}
}

// Done closes when the instance is over; Err then says why: session.ErrClosed after Close or with
// the session, the cause if it failed.
func (i *Claims[P]) Done() <-chan struct{} { return i.host.Done() }

// Err is nil exactly while Done is open.
func (i *Claims[P]) Err() error { return i.host.Err() }

// Close withdraws every claim, releases what is held and ends the instance. If ctx ends before
// ZooKeeper has confirmed it, the instance is ended all the same and the session deletes what is
// left in the background; ctx's error is returned. If it ends otherwise meanwhile, its Err is. Of
// one that is over already there is nothing to report.
func (i *Claims[P]) Close(ctx context.Context) error {
	ctx, cancel := outlasting(ctx, i.cfg.Session, i.cfg.Path)
	defer cancel()
	if i.Err() != nil {
		return i.host.Close(ctx)
	}
	for _, c := range i.ledger.close() {
		if c.once && c.abandon() {
			c.answer <- outcome[P]{err: i.closedErr()}
		}
		i.abandon(c, errGivenUp)
	}
	return i.host.finish(ctx)
}

func (i *Claims[P]) closedErr() error {
	if err := i.Err(); err != nil {
		return err
	}
	return i.host.failed(session.ErrClosed)
}

// ended ends what the claims of an instance that is over have, and wait for. err says why it is.
func (i *Claims[P]) ended(err error) {
	i.look(machine.Idle)
	i.ledger.close()
	for _, c := range i.ledger.all() {
		c.reply(outcome[P]{err: err})
		c.unconfirmed.Store(true)
		c.settled.Close()
		i.ledger.remove(c)
	}
	for _, p := range i.ledger.takeGranted() {
		p.unconfirmed.Store(&err)
		p.freed.Close()
	}
}

// endHolds ends every possession of this instance, and takes back what was offered.
func (i *Claims[P]) endHolds(cause error) {
	for _, c := range i.ledger.all() {
		i.ledger.mu.Lock()
		p := c.held
		i.ledger.mu.Unlock()
		if p != nil {
			i.host.End(p.Hold, cause)
			i.ledger.failDowngrade(p, cause)
			i.recall(p)
		}
	}
}
