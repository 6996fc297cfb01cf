package lock

import (
	"context"

	"github.com/troupe-go/troupe/internal/host"
)

// Acquire states the intent to hold the lock, and returns at once. The intent survives
// disconnection, expiry and loss: it stands, in every epoch, until [Lock.Release] or [Lock.Close].
// Stating it again changes nothing.
func (l *Lock) Acquire() { l.instance.Stand(host.Asked{At: host.Caller()}) }

// Acquired delivers one [Grant] for each time the standing intent wins. The channel is the same
// every time, unbuffered, and never closes: a grant belongs to the one receiver that gets it, and
// is withdrawn if it ends before anybody does. Watch [Lock.Done] beside it.
func (l *Lock) Acquired() <-chan *Grant { return l.instance.Won() }

// Release ends the standing intent, waiting or holding, and returns when ZooKeeper has confirmed
// that nothing of it is left. A grant that came of it ends with session.ErrReleased first. If ctx
// ends first its error is returned; the deletion then goes on in the background until the epoch
// ends. Without a standing intent it does nothing. Grants of [Lock.Lock] are not touched.
func (l *Lock) Release(ctx context.Context) error {
	return failed("release", l.path, l.instance.StandDown(ctx))
}
