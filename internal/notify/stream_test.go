package notify_test

// A bounded stream: order, bound, and what was not received.

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	synctest.Test(t, func(t *testing.T) {
		s := notify.NewStream[int](10)
		for i := range 5 {
			s.Send(i)
		}
		require.Equal(t, 0, <-s.C())
		require.Equal(t, []int{1, 2, 3, 4}, s.Close())
		require.Nil(t, s.Close())
		require.False(t, s.Send(5))
		_, open := <-s.C()
		require.False(t, open)
	})
}

func TestStreamClosedUnused(t *testing.T) {
	t.Parallel()
	s := notify.NewStream[int](0)
	require.Empty(t, s.Close())
	_, open := <-s.C()
	require.False(t, open)
}

func TestStreamHasRoomForOneAtLeast(t *testing.T) {
	t.Parallel()
	s := notify.NewStream[int](-1)
	require.True(t, s.Send(1))
	require.False(t, s.Send(2))
	require.Equal(t, []int{1}, s.Close())
}

func TestStreamWaitsForAReceiverWithoutATimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := notify.NewStream[int](1)
		time.AfterFunc(time.Hour, func() { s.Send(1) })
		began := time.Now()
		require.Equal(t, 1, <-s.C())
		require.Equal(t, time.Hour, time.Since(began))
		s.Close()
	})
}

// TestStreamLosesNothing: whatever receivers and Close do at the same time, each value is received
// once or handed back, in order.
func TestStreamLosesNothing(t *testing.T) {
	t.Parallel()
	for range 500 {
		s := notify.NewStream[int](8)
		var all sync.WaitGroup
		var mu sync.Mutex
		var received, back []int
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
					sent++
				}
			}
			back = s.Close()
		})
		all.Wait()
		require.True(t, slices.IsSorted(back))
		both := slices.Concat(received, back)
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

// However a receive and a withdrawal race, each value is received or withdrawn, once.
func TestStreamReceivedOrWithdrawn(t *testing.T) {
	t.Parallel()
	const n = 2000
	s := notify.NewStream[int](n)
	seen := make(chan []int)
	go func() { // owned by the test; ends with the stream
		var got []int
		for v := range s.C() {
			got = append(got, v)
		}
		seen <- got
	}()
	var back []int
	for v := range n {
		require.True(t, s.Send(v))
		if v%3 == 0 {
			back = append(back, s.Withdraw(func(w int) bool { return w == v })...)
		}
	}
	back = append(back, s.Close()...)
	require.Len(t, append(back, <-seen...), n)
}
