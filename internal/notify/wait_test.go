package notify_test

// Waiting for an end or for a context.

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
)

func TestWaitingEndsWithTheEndOrTheContext(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	l := notify.NewLatch()
	result := make(chan error, 1)
	go func() { result <- notify.Wait(ctx, l.C()) }() // ends with the context
	cancel(why)
	require.Equal(t, why, <-result)

	l.Close()
	for range 100 {
		require.NoError(t, notify.Wait(ctx, l.C()), "it is done, and the context has ended as well")
	}
	require.NoError(t, notify.Wait(context.Background(), l.C()))
}
