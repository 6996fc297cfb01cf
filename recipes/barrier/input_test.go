package barrier_test

// What the servers refuse, and what is logged of passages that are forgotten.

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

// Whoever may not write is told so.
func TestARefusalIsReported(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(w, err)
		d := w.double(h, 2)
		_, err = d.Enter(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		d.Arrive()
		bubble.Within(w, time.Second, d.Done())
		require.ErrorIs(w, d.Err(), session.ErrNoAuth)
	})
}

// A passage that nobody receives, or that is never left, is logged, with the place where it
// was asked for: the others wait for it.
func TestAForgottenPassageIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		log := new(bubble.Log)
		d := w.double(w.Host("a", log.Option()), 1, barrier.WithWarnAfter(3*time.Second))
		at := bubble.After(1)
		d.Arrive()
		time.Sleep(3*time.Second - time.Millisecond)
		synctest.Wait()
		require.Empty(w, log.Warnings(path))
		time.Sleep(2 * time.Minute)
		require.Len(w, log.Warnings(path), 3, "after three seconds, ten, and a minute")
		require.Contains(w, log.Warnings(path)[0], "received")
		require.Contains(w, log.Warnings(path)[0], at)
		leave(w, <-d.Entered())

		p, err := d.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(11 * time.Minute)
		require.Len(w, log.Warnings(path), 7, "the fourth after ten minutes")
		require.Contains(w, log.Warnings(path)[3], "a party has not departed, and the others go no further")
		leave(w, p)
	})
}
