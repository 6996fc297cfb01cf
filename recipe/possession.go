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
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Possession is what came of a claim: a hold, the revocation that may be asked of it, and its
// release.
type Possession struct {
	*session.Hold
	claim       machine.Claim
	session     int64
	revoked     notify.Latch
	freed       notify.Latch          // its znode is gone, or the instance has ended
	unconfirmed atomic.Pointer[error] // that was it, and so it ended; set before
	release     func(word message)    // ends the hold and tells the host; nothing if the hold is over
	forfeited   atomic.Bool           // see Forfeit
	downgrade   *downgrade            // for a reader's, if that is what it was ended for; guarded by the ledger's mutex
	offer       offer                 // to whoever receives, nil if it was given to a caller; guarded by the ledger's mutex

	asked    Asked
	since    time.Time
	without  time.Duration // since the instance's last was lost; 0: that was not lost
	line     string        // its absolute path
	offered  bool          // to whoever receives
	received atomic.Bool   // by then; or given to its caller
	face     any           // what the application gets for it; set once under the ledger's mutex, before the claim is answered
	warning  atomic.Pointer[time.Timer]
}

// offer is a possession on its way to whoever receives.
type offer interface {
	Withdraw() bool
	Received() bool
}

// Revoked closes when somebody asks the holder to give up.
func (p *Possession) Revoked() <-chan struct{} { return p.revoked.C() }

// Won is how a possession is logged that was won: as usual, or as the end of the warning of a loss.
func (p *Possession) Won(log *slog.Logger, usual slog.Level) (*slog.Logger, slog.Level) {
	if p.without == 0 {
		return log, usual
	}
	return logs.Ends(log).With("after", p.without.Round(time.Millisecond)), slog.LevelInfo
}

// SessionID is that of the ZooKeeper session that the possession belongs to.
func (p *Possession) SessionID() int64 { return p.session }

// lost tells of a possession that is over whether it ended by itself: whoever withdraws its claim
// then does not give it up, however soon.
func (p *Possession) lost() bool {
	return p.forfeited.Load() || !isReleased(p.Err()) && !errors.Is(p.Err(), errGivenUp)
}

// errGivenUp is session.ErrClosed for whoever holds what is closed: it has given that up, as one
// whose session is closed has not.
var errGivenUp = fmt.Errorf("%w", session.ErrClosed)

// GiveUp is Release for those who do not wait for the confirmation. It does not block.
func (p *Possession) GiveUp() { p.release(released{p}) }

// Lose is GiveUp for a possession that ends because its holder has lost another that belongs to
// it. It ends with session.ErrReleased, but where a delay is kept, that applies.
func (p *Possession) Lose() {
	p.forfeited.Store(true)
	p.release(lost{p})
}

// Release gives the possession up: Done closes first, then the znode is deleted. It returns nil
// once ZooKeeper has confirmed that, the loss if it had been lost before, the end of the instance,
// if that came first, or ctx's error; then the deletion goes on by itself until the epoch ends.
func (p *Possession) Release(ctx context.Context) error {
	parent, _ := znode.Split(p.Path())
	ctx, cancel := outlasting(ctx, p.Session(), parent)
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
