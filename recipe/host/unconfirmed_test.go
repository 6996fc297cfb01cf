package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// An end that nobody confirmed is not reported as one because somebody else has lost patience, with the instance or with the session.
func TestAnEndThatNobodyConfirmed(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(g *ground, ctx context.Context) error{
		"instance": func(g *ground, ctx context.Context) error { return g.h.Close(ctx) },
		"session":  func(g *ground, ctx context.Context) error { return g.sess.Close(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				g.plant("red")
				g.srv.Partition(g.sess.Status().SessionID)
				ended := make(chan error, 1)
				go func() { ended <- g.h.Close(g.ctx) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(g.ctx, time.Second)
				defer cancel()
				require.ErrorIs(g, lose(g, ctx), context.DeadlineExceeded)
				require.ErrorIs(g, <-ended, session.ErrClosed)
				require.NoError(g, g.h.Close(g.ctx), "it is over")
			})
		})
	}
}
