package barrier_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
)

func TestWaitsThatEndedLeaveNoWatch(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		watches := func() int {
			synctest.Wait()
			info, found := w.Server.Session(h.Status().SessionID)
			require.True(w, found)
			return info.Watches
		}
		ctx, cancel := context.WithCancel(w.Context())
		var passed []<-chan error
		for i := range 200 {
			b, err := barrier.New(h.Session, fmt.Sprintf("/gates/%d", i))
			require.NoError(w, err)
			require.NoError(w, b.Raise(w.Context()))
			done := make(chan error, 1)
			go func() { done <- b.Wait(ctx) }()
			passed = append(passed, done)
			synctest.Wait()
			if i%2 == 0 {
				require.NoError(w, b.Lower(w.Context()))
				require.NoError(w, bubble.Now(w, passed[i]))
			}
		}
		require.Equal(w, 100, watches(), "of what was lowered nobody watches the next birth")
		cancel()
		for i := 1; i < 200; i += 2 {
			require.ErrorIs(w, bubble.Now(w, passed[i]), context.Canceled)
		}
		require.Zero(w, watches())
	})
}
