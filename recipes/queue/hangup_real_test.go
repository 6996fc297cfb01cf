package queue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// A real server with a small jute.maxbuffer.
func TestAPutThatIsTooLargeForARealServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	zk := ensemble.Start(t, 1, ensemble.WithJVM("-Djute.maxbuffer=10240"))
	s, err := session.Open(bubble.Minute(t), zk.Servers())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(bubble.Minute(t))) })
	q := newQueue(t, s)
	put(t, q, "before")
	_, err = q.Put(bubble.Minute(t), make([]byte, 30_000))
	require.ErrorIs(t, err, session.ErrTooLarge)
	put(t, q, "after")
	require.Equal(t, "before", string(take(t, q).Data()))
	require.EqualValues(t, 1, s.Status().Epoch)
}
