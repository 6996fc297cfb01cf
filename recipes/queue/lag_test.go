package queue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B75: one whose server lags behind is told what was settled before it asked.
func TestB75_LooksAreUpToDate(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		on := func(i int) *queue.Queue {
			s, err := session.Open(bubble.Minute(t), t.Server.Hosts()[i:i+1], session.WithDialer(t.Server.Dialer()))
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close(bubble.Minute(t)) })
			return newQueue(t, s)
		}
		q, watcher := on(1), on(0)
		t.Server.Lag(0, 50)
		put(t, q, "a", queue.WithID("red"))
		require.Equal(t, 1, length(t, watcher))
		put(t, q, "b", queue.WithPriority(-1))
		require.Equal(t, "b", string(mustPeek(t, watcher).Data))
		put(t, q, "c", queue.WithID("blue"))
		require.NoError(t, watcher.Remove(bubble.Minute(t), "blue"))
		require.Equal(t, []string{"b", "a"}, takes(t, q, 2))
		require.Equal(t, 0, length(t, watcher))
	}, zktest.WithServers(2))
}
