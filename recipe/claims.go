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
	Publish func(machine.Standing) // called by the actor at each change, must not block
	Ended   func(err error)        // called once when the instance is over, before Done closes
}

// Claims is an instance whose machine grants possessions to those who claim them. P is what the
// face hands to the application for one: its grant, its term.
type Claims[P any] struct {
	claims *claims
	won    *notify.Handoff[P]
}

// claims is what of it does not depend on the possession's type.
type claims struct {
	cfg    ClaimsConfig
	host   *Host
	ledger ledger
	wait   *wait                     // see readHolder; the actor's
	lost   atomic.Pointer[time.Time] // when a possession was; nil: one was won or a claim given up

	wrap  func(*Possession) any                    // what the application gets for a possession
	offer func(wrapped any, received func()) offer // to whoever receives
}

// NewClaims starts an instance; wrap makes what the application gets for a possession. It does no
// I/O. Errors are those of [New].
func NewClaims[P any](cfg ClaimsConfig, wrap func(*Possession) P) (*Claims[P], error) {
	won := notify.NewHandoff[P]()
	i := &Claims[P]{won: won, claims: &claims{
		cfg: cfg, host: newHost(Config{Session: cfg.Session, Kind: cfg.Kind, Path: cfg.Path, ACL: cfg.ACL, Machine: cfg.Machine, Ended: cfg.Ended}),
		wrap:  func(p *Possession) any { return wrap(p) },
		offer: func(wrapped any, received func()) offer { return won.Offer(wrapped.(P), received) },
	}}
	i.claims.host.claims = i.claims
	if err := i.claims.host.start(); err != nil {
		return nil, err
	}
	return i, nil
}

// Stand states the standing intent: win, in every epoch and after every loss, until StandDown. It
// is idempotent.
func (i *Claims[P]) Stand(by Asked) {
	if c := i.claims.ledger.addStanding(by); c != nil {
		i.claims.cfg.Session.Start()
		i.claims.host.ref.Tell(wanted{c.id})
	}
}

// Held is what is held now, by whichever claim: the first of them that has got it. false: none has.
func (i *Claims[P]) Held() (won P, has bool) {
	i.claims.ledger.mu.Lock()
	defer i.claims.ledger.mu.Unlock()
	for _, c := range i.claims.ledger.claims {
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
	ctx, cancel := outlasting(ctx, i.claims.cfg.Session, i.claims.cfg.Path)
	defer cancel()
	c, fresh := i.claims.ledger.withdrawStanding()
	if c == nil {
		return nil
	}
	if fresh {
		i.claims.abandon(c, session.ErrReleased)
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
	c := i.claims.ledger.add(true, try, by)
	if c == nil {
		return none, i.claims.closedErr()
	}
	i.claims.cfg.Session.Start()
	i.claims.host.ref.Tell(wanted{c.id})
	w := newWait(ctx, &i.claims.cfg, try)
	var err error
	select {
	case o := <-c.answer:
		w.end()
		return i.answered(o)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-i.Done():
		err = i.Err()
	}
	holder := w.end()
	if !c.abandon() {
		return i.answered(<-c.answer) // the answer came first
	}
	i.claims.abandon(c, session.ErrReleased)
	if ctx.Err() != nil {
		err = withHolder(err, i.claims.cfg.Session, i.claims.cfg.Path, holder)
	}
	return none, err
}

// face makes what the application gets for a possession.
func (i *claims) face(p *Possession) any {
	face := i.wrap(p)
	i.ledger.mu.Lock()
	defer i.ledger.mu.Unlock()
	p.face = face
	return face
}

// answered is what a caller gets.
func (i *Claims[P]) answered(o outcome) (won P, err error) {
	if o.err == nil {
		won = o.won.face.(P)
	}
	return won, o.err
}

// abandon withdraws a claim: what it holds ends with the cause, and a loss before it is forgotten.
func (i *claims) abandon(c *claim, cause error) {
	i.lost.Store(nil)
	if p := i.ledger.withdraw(c); p != nil {
		i.host.End(p.Hold, cause)
		i.recall(p)
	}
	i.host.ref.Tell(withdrawn{c.id})
}

// recall takes a possession back if it is on offer and nobody has received it.
func (i *claims) recall(p *Possession) {
	i.ledger.mu.Lock()
	offer := p.offer
	i.ledger.mu.Unlock()
	if offer != nil {
		offer.Withdraw()
	}
}

// Done closes when the instance is over; Err then says why: session.ErrClosed after Close or with
// the session, the cause if it failed.
func (i *Claims[P]) Done() <-chan struct{} { return i.claims.host.Done() }

// Err is nil exactly while Done is open.
func (i *Claims[P]) Err() error { return i.claims.host.Err() }

// Close withdraws every claim, releases what is held and ends the instance. If ctx ends before
// ZooKeeper has confirmed it, the instance is ended all the same and the session deletes what is
// left in the background; ctx's error is returned. If it ends otherwise meanwhile, its Err is. Of
// one that is over already there is nothing to report.
func (i *Claims[P]) Close(ctx context.Context) error {
	ctx, cancel := outlasting(ctx, i.claims.cfg.Session, i.claims.cfg.Path)
	defer cancel()
	if i.Err() != nil {
		return i.claims.host.Close(ctx)
	}
	for _, c := range i.claims.ledger.close() {
		if c.once && c.abandon() {
			c.answer <- outcome{err: i.claims.closedErr()}
		}
		i.claims.abandon(c, errGivenUp)
	}
	return i.claims.host.finish(ctx)
}

func (i *claims) closedErr() error {
	if err := i.host.Err(); err != nil {
		return err
	}
	return i.host.failed(session.ErrClosed)
}

// ended ends what the claims of an instance that is over have, and wait for. err says why it is.
func (i *claims) ended(err error) {
	i.readHolder(machine.Idle)
	i.ledger.close()
	for _, c := range i.ledger.all() {
		c.reply(outcome{err: err})
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
func (i *claims) endHolds(cause error) {
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
