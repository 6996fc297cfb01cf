// What a lock says of paths on a session with a namespace, and of a wait without a connection.

package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
)

// The path of an error is the caller's. Its text, and the log, have that in ZooKeeper.
func TestErrorsAndTheLogShowAbsolutePaths(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var log bubble.Log
		l := w.lock(w.Host("a", session.WithNamespace("/app"), log.Option()))
		g := w.held(l)
		ctx, cancel := context.WithTimeout(w.Context(), 11*time.Second)
		defer cancel()
		_, err := w.lock(w.Host("b", session.WithNamespace("/app"))).Lock(ctx)
		require.ErrorContains(w, err, "lock /app"+path+": ")
		var oe *session.OpError
		require.ErrorAs(w, err, &oe)
		require.Equal(w, path, oe.Path)
		require.Len(w, log.Warnings("/app"+path), 1)
		require.NoError(w, l.Close(w.Context()))
		require.ErrorContains(w, l.Err(), "lock /app"+path+": ")
		require.ErrorIs(w, g.Err(), session.ErrLost)
	})
}

// A wait that ends while there is no connection says that, not only that its time is up.
func TestAWaitInAnOutageSaysSo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		l := w.lock(w.Host("a"))
		w.held(w.lock(w.Host("b")))
		w.Server.Kill(0)
		ctx, cancel := context.WithTimeout(w.Context(), 40*time.Second)
		defer cancel()
		_, err := l.Lock(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Regexp(w, "^lock "+path+`: no connection to ZooKeeper for 40(\.\d)?s: 192.0.2.1:2181: connection refused: context deadline exceeded`, err.Error())
		require.NoError(w, w.Server.Restart(0))
	})
}
