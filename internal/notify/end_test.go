package notify_test

// Latches, ends with a reason, and waiting for one.

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
)

func TestLatchClosesOnce(t *testing.T) {
	t.Parallel()
	var l notify.Latch
	require.False(t, l.Closed())
	c := l.C()
	require.Equal(t, c, l.C())
	var firsts atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if l.Close() {
				firsts.Add(1)
			}
		})
	}
	<-l.C()
	require.True(t, l.Closed())
	all.Wait()
	require.EqualValues(t, 1, firsts.Load())
}

func TestEndHasItsReasonBeforeItCloses(t *testing.T) {
	t.Parallel()
	var unheard notify.End
	require.True(t, unheard.Set(errFirst))
	<-unheard.Done()
	for name, end := range map[string]*notify.End{"made": new(notify.End), "zero": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := end.Done()
			require.NoError(t, end.Err())
			select {
			case <-done:
				t.Fatal("it has not ended")
			default:
			}
			var all sync.WaitGroup
			for range 20 { // every one sees the reason as soon as the close
				all.Go(func() {
					<-end.Done()
					require.ErrorIs(t, end.Err(), errFirst)
				})
			}
			require.True(t, end.Set(errFirst))
			require.False(t, end.Set(errors.New("second")))
			all.Wait()
			<-done
			require.ErrorIs(t, end.Err(), errFirst)
		})
	}
}

var errFirst = errors.New("first")

func TestWaitingEndsWithTheEndOrTheContext(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	var l notify.Latch
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
