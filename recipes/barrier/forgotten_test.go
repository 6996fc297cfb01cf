package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

// alone is the only party of a barrier, and what is logged of it.
func (w *world) alone(opts ...barrier.Option) (*barrier.Double, *bubble.Log) {
	w.Helper()
	log := new(bubble.Log)
	return w.double(w.Host("a", log.Option()), 1, opts...), log
}

// A passage that is never left is logged once, with the place where it was asked for: the others
// wait for it.
func TestAForgottenPassageIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d, log := w.alone()
		at := bubble.After(1)
		p, err := d.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		require.Empty(w, log.Warnings(path))
		time.Sleep(time.Hour)
		require.Len(w, log.Warnings(path), 1)
		require.Contains(w, log.Warnings(path)[0], "forgotten")
		require.Contains(w, log.Warnings(path)[0], "other parties")
		require.Contains(w, log.Warnings(path)[0], at)
		leave(w, p)
	})
}

// So is one that nobody receives; and one that was received then, and not left, is not taken for
// that.
func TestAPassageThatNobodyReceivesIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d, log := w.alone(barrier.WithWarnAfter(3 * time.Second))
		at := bubble.After(1)
		d.Arrive()
		time.Sleep(3100 * time.Millisecond)
		require.Len(w, log.Warnings(path), 1)
		require.Contains(w, log.Warnings(path)[0], "received")
		require.Contains(w, log.Warnings(path)[0], at)
		leave(w, <-d.Entered())

		d.Arrive()
		p := bubble.Within(w, time.Second, d.Entered())
		time.Sleep(time.Minute)
		require.Len(w, log.Warnings(path), 2)
		require.Contains(w, log.Warnings(path)[1], "forgotten")
		leave(w, p)
	})
}

// What was left in time, what was lost, and what is meant to last, is not logged. A party that
// waits for others is not either: nobody waits for it.
func TestNothingIsLoggedOfAPassageThatIsNotForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d, log := w.alone()
		p, err := d.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(9 * time.Second)
		require.NoError(w, p.Leave(w.Context()))
		p, err = d.Enter(w.Context())
		require.NoError(w, err)
		require.NoError(w, d.Close(w.Context()))
		require.ErrorIs(w, p.Err(), session.ErrClosed)
		time.Sleep(time.Minute)
		require.Empty(w, log.Warnings(path))

		lasting, log := w.alone(barrier.WithWarnAfter(0))
		p, err = lasting.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(time.Hour)
		leave(w, p)
		require.Empty(w, log.Warnings(path))

		h := w.Host("c", log.Option())
		w.asks(w.double(h, 2))
		time.Sleep(time.Hour)
		require.Empty(w, log.Warnings(path))
		_, err = barrier.NewDouble(h.Session, path, 2, barrier.WithWarnAfter(-1))
		require.ErrorContains(w, err, "WithWarnAfter")
	})
}
