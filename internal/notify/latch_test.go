package notify_test

// Latches, and ends with a reason.

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
)

func TestLatchClosesOnce(t *testing.T) {
	t.Parallel()
	l := notify.NewLatch()
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
	for name, end := range map[string]*notify.End{"made": notify.NewEnd(), "zero": {}} {
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

func TestEndWithoutAListener(t *testing.T) {
	t.Parallel()
	var end notify.End
	require.True(t, end.Set(errFirst))
	<-end.Done()
	require.ErrorIs(t, end.Err(), errFirst)
}
