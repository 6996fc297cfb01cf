package lock

import (
	"context"

	"github.com/troupe-go/troupe/recipe"
)

// Acquire states the intent to hold the lock, and returns at once. The intent survives
// disconnection, expiry and loss: it lasts, in every epoch, until [Lock.Release] or [Lock.Close].
// Calling it again has no effect.
func (l *Lock) Acquire() { l.instance.Stand(recipe.Asked{At: recipe.Caller(), Lasts: !l.warns}) }

// Grant is the grant that is held now, by whichever call of this Lock; nil if none is, or as long
// as the one that was won has not been received. Of several, as a
// semaphore may have, it is the one that was asked for first. It never blocks, and is a reading
// only: the possession stays with whoever received it.
func (l *Lock) Grant() *Grant {
	g, _ := l.instance.Held()
	return g
}

// Acquired delivers one [Grant] each time the standing intent wins. The channel is the same every
// time, unbuffered, and never closes. A grant goes to exactly one receiver, and is withdrawn if it
// ends before it is received. Select on [Lock.Done] as well.
func (l *Lock) Acquired() <-chan *Grant { return l.instance.Won() }

// Release ends the standing intent, whether it waits or holds, and returns when ZooKeeper has
// confirmed that none of its znodes is left. A grant of the intent ends first, with
// session.ErrReleased. If ctx ends first its error is returned, and the deletion goes on in the
// background until the epoch ends. Without a standing intent Release does nothing. Grants of
// [Lock.Lock] are not affected.
func (l *Lock) Release(ctx context.Context) error {
	return failed(l.session, "release", l.path, l.instance.StandDown(ctx))
}
