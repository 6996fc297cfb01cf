package recipe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Possession is what an intent wins: a hold, with the revocation that may be asked of it, and its
// release.
type Possession struct {
	*session.Hold

	// What it is, set once.
	claim   machine.Claim
	asked   Asked
	tenure  Tenure
	without time.Duration // since the instance's last possession was lost; 0: that was not lost

	// How the application gets it: from the channel Won, or as the result of a call.
	face     any         // what the application gets; set once under the ledger's mutex, before it does
	offered  bool        // on Won
	offer    offer       // on Won, nil for a call; guarded by the ledger's mutex
	received atomic.Bool // by the receiver from Won, or by the caller

	// How it ends.
	revoked     notify.Latch
	forfeited   atomic.Bool           // see Lose
	downgrade   *caller               // the caller of Downgrade that it was ended for; guarded by the ledger's mutex
	freed       notify.Latch          // closes when its znode is gone, or the instance has ended
	unconfirmed atomic.Pointer[error] // the error with which the instance ended before the znode was gone; set before freed closes
}

// offer is a possession on the channel Won.
type offer interface {
	Withdraw() bool
	Received() bool
}

// Revoked closes when another client asks the holder to release.
func (p *Possession) Revoked() <-chan struct{} { return p.revoked.C() }

// Won is how to log a possession that was won: at the usual level, or, after a loss, as the end of
// that warning.
func (p *Possession) Won(log *slog.Logger, usual slog.Level) (*slog.Logger, slog.Level) {
	if p.without == 0 {
		return log, usual
	}
	return logs.Ends(log).With("after", p.without.Round(time.Millisecond)), slog.LevelInfo
}

// isReceived tells whether the application has received it. With the ledger's mutex.
func (p *Possession) isReceived() bool {
	return p.received.Load() || p.offer != nil && p.offer.Received() // which knows of it first
}

// SessionID is that of the ZooKeeper session that the possession belongs to.
func (p *Possession) SessionID() int64 { return p.tenure.of.SessionID }

// lost tells whether a possession that has ended by that cause was lost rather than released. A
// withdrawal of its intent afterwards does not make it a release.
func (p *Possession) lost(cause error) bool {
	return p.forfeited.Load() || !isReleased(cause) && !errors.Is(cause, errGivenUp)
}

// errGivenUp is the session.ErrClosed of a possession whose instance is closed: the application has
// given it up. A possession whose session is closed ends with another, and is lost.
var errGivenUp = fmt.Errorf("%w", session.ErrClosed)

// release ends the hold and tells the actor; nothing if the hold has ended.
func (p *Possession) release(m message) {
	if h := p.tenure.host; h.End(p.Hold, session.ErrReleased) {
		h.core.recall(p)
		h.ref.Tell(m)
	}
}

// GiveUp is Release without the wait for the confirmation. It does not block.
func (p *Possession) GiveUp() { p.release(released{p}) }

// Lose is GiveUp for a possession whose holder has lost another one that belongs to it. The hold
// ends with session.ErrReleased, but counts as lost: the next holder of a lock with a delay waits
// for it.
func (p *Possession) Lose() {
	p.forfeited.Store(true)
	p.release(lost{p})
}

// Release gives the possession up: Done closes first, then the znode is deleted. It returns nil
// when ZooKeeper has confirmed the deletion. If the possession was lost before, it returns its Err;
// if the instance ends first, the error of that. If ctx ends first, it returns ctx's error, and the
// deletion goes on by itself until the epoch ends.
func (p *Possession) Release(ctx context.Context) error {
	parent, _ := znode.Split(p.Path())
	ctx, cancel := confirmationContext(ctx, p.Session(), parent)
	defer cancel()
	p.GiveUp()
	if err := p.Err(); !isReleased(err) {
		return err
	}
	if err := notify.Wait(ctx, p.freed.C()); err != nil {
		return err
	}
	if end := p.unconfirmed.Load(); end != nil {
		return *end
	}
	return nil
}

// HeldIn tells whether ctx descends from the context of a possession of this recipe's path: a
// caller that waits in it for another one would wait for itself.
func (i *Claims[P]) HeldIn(ctx context.Context) bool { return i.HoldIn(ctx) != nil }

// HoldIn is the innermost possession of this recipe's path whose context ctx descends from; nil if
// there is none that is held.
func (i *Claims[P]) HoldIn(ctx context.Context) *session.Hold {
	return innermostHold(ctx, i.core.cfg.Session, i.core.cfg.Path)
}

func innermostHold(ctx context.Context, s *session.Session, path string) *session.Hold {
	for _, h := range HoldsFrom(ctx) {
		if h.Err() == nil && isOf(h, s.Path(path)) && seam.Reaches.(func(a, b *session.Session) bool)(h.Session(), s) {
			return h
		}
	}
	return nil
}

// isOf tells whether the znode of a possession is the one at an absolute path, or a child of it.
func isOf(h *session.Hold, path string) bool {
	parent, _ := znode.Split(h.Path())
	return h.Session().Path(parent) == path || h.Session().Path(h.Path()) == path
}

// confirmationContext is the context in which a caller waits until the end of a possession is
// confirmed. If ctx descends from that possession, it ends with it, and the wait would end before
// it has begun. So the session's timeout bounds the wait instead: the znode is gone by then in any
// case.
func confirmationContext(ctx context.Context, s *session.Session, path string) (context.Context, context.CancelFunc) {
	if innermostHold(ctx, s, path) == nil {
		return ctx, func() {}
	}
	return Afterwards(ctx, s)
}

// Afterwards is a context for the release of a possession when the work under it is done. It does
// not end with ctx, the context of the work: the session's timeout bounds it.
func Afterwards(ctx context.Context, s *session.Session) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.Status().Timeout)
}
