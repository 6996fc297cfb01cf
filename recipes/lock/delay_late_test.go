package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// lingering makes the end of a grant take time: Done is closed a while before the lock's actor
// hears of the loss, since every context that descends from the grant's is ended first.
func lingering(g *session.Hold) {
	for range 20_000 {
		context.AfterFunc(g.Context(), func() {})
	}
}

// tooLate are the ways to give a lock up in the moment when its loss is known.
var tooLate = []struct {
	name   string
	take   func(w *world, l *lock.Lock) *lock.Grant
	giveUp func(w *world, l *lock.Lock)
}{
	{"released", (*world).granted, func(w *world, l *lock.Lock) { require.NoError(w, l.Release(w.Context())) }},
	{"closed", (*world).granted, func(w *world, l *lock.Lock) { require.NoError(w, l.Close(w.Context())) }},
	{"closed under a caller's grant", (*world).held, func(w *world, l *lock.Lock) { require.NoError(w, l.Close(w.Context())) }},
	{"released, and not waited for", (*world).granted, func(w *world, l *lock.Lock) {
		require.ErrorIs(w, l.Release(ended(w)), context.Canceled)
	}},
	{"closed, and not waited for", (*world).granted, func(w *world, l *lock.Lock) {
		require.ErrorIs(w, l.Close(ended(w)), context.Canceled)
	}},
}

func ended(w *world) context.Context {
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	return ctx
}

// However quick the holder is to give up what it has just lost: that is no release, and the next
// one waits for the delay.
func TestDelayAfterALossThatIsReleased(t *testing.T) {
	t.Parallel()
	for _, c := range tooLate {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				ha := w.Host("a")
				a, b := w.delayed(ha), w.delayed(w.Host("b"))
				g := c.take(w, a)
				w.queued(b)
				lingering(g.Hold)
				heal := ha.Machine.Partition()
				<-g.Done()
				began := time.Now()
				heal()
				c.giveUp(w, a)
				require.ErrorIs(w, g.Err(), session.ErrUntrusted)
				next := bubble.Within(w, time.Minute, b.Acquired())
				require.GreaterOrEqual(w, time.Since(began), lockDelay)
				require.NoError(w, next.Release(w.Context()))
			})
		})
	}
}
