package notify_test

// A bounded stream: order, bound, and what was not received.

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/notify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStreamKeepsTheOrderAndItsBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := notify.NewStream[int](3)
		for i := range 3 {
			require.True(t, s.Send(i))
		}
		require.False(t, s.Send(3), "full")
		require.Equal(t, 0, <-s.C())
		synctest.Wait()
		require.True(t, s.Send(3), "there is room again")
		for i := 1; i <= 3; i++ {
			require.Equal(t, i, <-s.C())
		}
		synctest.Wait() // its goroutine has ended
		require.True(t, s.Send(4))
		require.Equal(t, 4, <-s.C())
		require.Empty(t, s.Close())
	})
}

func TestStreamHandsBackWhatWasNotReceived(t *testing.T) {
	t.Parallel()
	for room, back := range map[int][]int{10: {1, 2, 3, 4}, 1: {1}, -1: {1}} { // for one at least
		s := notify.NewStream[int](room)
		s.Send(0)
		require.Equal(t, 0, <-s.C())
		for i := range 4 {
			require.Equal(t, i < len(back), s.Send(i+1))
		}
		require.Equal(t, back, s.Close())
		require.Nil(t, s.Close())
		require.False(t, s.Send(5))
		_, open := <-s.C()
		require.False(t, open)
	}
	require.Empty(t, notify.NewStream[int](1).Close(), "unused")
}

// TestStreamLosesNothing: whatever receivers, Withdraw and Close do at the same time, each value is
// received once or handed back, in order.
func TestStreamLosesNothing(t *testing.T) {
	t.Parallel()
	for range 500 {
		s := notify.NewStream[int](8)
		var all sync.WaitGroup
		var mu sync.Mutex
		var received, withdrawn, back []int
		sent := 0
		for range 3 {
			all.Go(func() {
				for v := range s.C() {
					mu.Lock()
					received = append(received, v)
					mu.Unlock()
				}
			})
		}
		all.Go(func() {
			for range 20 {
				if s.Send(sent) {
					withdrawn = append(withdrawn, s.Withdraw(func(v int) bool { return v == sent && v%3 == 0 })...)
					sent++
				}
			}
			back = s.Close()
		})
		all.Wait()
		require.True(t, slices.IsSorted(back))
		both := slices.Concat(received, withdrawn, back)
		slices.Sort(both)
		require.Len(t, both, sent)
		for i, v := range both {
			require.Equal(t, i, v)
		}
	}
}

func TestStreamTellsOfEachReceive(t *testing.T) {
	t.Parallel()
	received := make(chan int, 3)
	s := notify.NewTracedStream(3, func(v int) { received <- v })
	for v := range 3 {
		require.True(t, s.Send(v))
	}
	for v := range 3 {
		require.Equal(t, v, <-s.C())
		require.Equal(t, v, <-received)
	}
	require.Empty(t, s.Close())
}

func TestStreamWithdraws(t *testing.T) {
	t.Parallel()
	s := notify.NewStream[int](5)
	for v := range 5 {
		require.True(t, s.Send(v))
	}
	even := func(v int) bool { return v%2 == 0 }
	require.Equal(t, []int{0, 2, 4}, s.Withdraw(even), "the one on offer among them")
	require.Empty(t, s.Withdraw(even))
	require.Equal(t, 1, <-s.C())
	require.True(t, s.Send(6))
	require.Equal(t, 3, <-s.C())
	require.Equal(t, []int{6}, s.Withdraw(even))
	require.Empty(t, s.Close())
	require.Empty(t, s.Withdraw(even))
}
