package queue_test

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
)

// The context of an item ends with it, and does not end the wait for what came of its settlement.
func settledInside(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	put(t, q, "a")
	i := take(t, q)
	require.NoError(t, i.Nack(i.Context()))
	i = take(t, q)
	require.Equal(t, 2, i.Attempt())
	ctx, cancel := context.WithCancel(i.Context())
	defer cancel()
	require.NoError(t, i.Ack(ctx))
	require.Error(t, ctx.Err())
	require.Equal(t, 0, length(t, q))
}
