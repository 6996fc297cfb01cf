package notify_test

// Latches, ends with a reason, offers that are received or withdrawn, the newest state alone,
// streams: how each hands over what it has.

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/notify"
)

func TestLatestGivesTheNewest(t *testing.T) {
	t.Parallel()
	l := notify.NewLatest[int]()
	for i := range 10 {
		l.Publish(i)
	}
	require.Equal(t, 9, <-l.C())
	l.Publish(10)
	l.Close()
	l.Close()
	l.Publish(11)
	require.Equal(t, 10, <-l.C(), "what was not received can still be")
	_, open := <-l.C()
	require.False(t, open)
}

func TestLatestNeverGoesBackNorLosesTheLast(t *testing.T) {
	t.Parallel()
	l := notify.NewLatest[int]()
	const n = 10_000
	var all sync.WaitGroup
	all.Go(func() {
		for i := 1; i <= n; i++ {
			l.Publish(i)
		}
		l.Close()
	})
	last := 0
	for v := range l.C() {
		require.Greater(t, v, last)
		last = v
	}
	require.Equal(t, n, last)
	all.Wait()
}

func TestTopicGivesThePresentStateFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		topic := notify.NewTopic[string]()
		early := topic.Subscribe(t.Context())
		select {
		case v := <-early:
			t.Fatalf("received %q before there was a state", v)
		default:
		}
		topic.Publish("a")
		require.Equal(t, "a", <-early)
		late := topic.Subscribe(t.Context())
		require.Equal(t, "a", <-late)
		topic.Publish("b")
		topic.Publish("c")
		require.Equal(t, "c", <-early)
		require.Equal(t, "c", <-late)
		require.Equal(t, 2, topic.Len())

		topic.Publish("end")
		topic.Close()
		topic.Close()
		topic.Publish("too late")
		for _, sub := range []<-chan string{early, late, topic.Subscribe(t.Context())} {
			require.Equal(t, "end", <-sub)
			_, open := <-sub
			require.False(t, open)
		}
		require.Zero(t, topic.Len())
	})
}

func TestASubscriptionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var topic notify.Topic[int]
		ctx, cancel := context.WithCancel(t.Context())
		ends, stays := topic.Subscribe(ctx), topic.Subscribe(t.Context())
		topic.Publish(1)
		cancel()
		synctest.Wait()
		require.Equal(t, 1, topic.Len())
		require.Equal(t, 1, <-ends)
		_, open := <-ends
		require.False(t, open)
		topic.Publish(2)
		require.Equal(t, 2, <-stays)

		over := topic.Subscribe(ctx)
		require.Equal(t, 2, <-over, "even one without a future has the present")
		_, open = <-over
		require.False(t, open)
		require.Equal(t, 1, topic.Len())
		topic.Close()
	})
}

// TestATopicAndItsContextsMayEndAtOnce is for the race detector, and for a channel that would be
// closed twice.
func TestATopicAndItsContextsMayEndAtOnce(t *testing.T) {
	t.Parallel()
	for range 200 {
		topic := notify.NewTopic[int]()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for range topic.Subscribe(ctx) {
				}
			})
			all.Go(func() { topic.Publish(i) })
		}
		all.Go(cancel)
		all.Go(topic.Close)
		all.Wait()
	}
}

func TestFiniteLosesNothingAtItsEnd(t *testing.T) {
	t.Parallel()
	f := notify.NewFinite[int](2)
	require.True(t, f.Send(1))
	require.True(t, f.Send(2))
	require.False(t, f.Send(3), "beyond the known number")
	f.Close()
	f.Close()
	require.False(t, f.Send(4))
	var got []int
	for v := range f.C() {
		got = append(got, v)
	}
	require.Equal(t, []int{1, 2}, got)
}

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

func TestAnOfferIsReceivedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := notify.NewHandoff[int]()
		taken := 0
		o := h.Offer(7, func() { taken++ })
		synctest.Wait()
		require.Zero(t, taken)
		require.Equal(t, 7, <-h.C())
		synctest.Wait()
		require.Equal(t, 1, taken)
		require.False(t, o.Withdraw())
		require.False(t, o.Withdraw())
		select {
		case v := <-h.C():
			t.Fatalf("received %d again", v)
		default:
		}
	})
}

func TestAWithdrawnOfferIsNeverReceived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := notify.NewHandoff[int]()
		o := h.Offer(7, func() { t.Error("taken") })
		require.True(t, o.Withdraw())
		require.True(t, o.Withdraw())
		select {
		case v := <-h.C():
			t.Fatalf("received %d", v)
		case <-time.After(time.Hour):
		}
	})
}

// TestB38_AWithdrawalAndAReceiveAgree: whichever comes first, the offer is received or withdrawn,
// never both and never neither.
func TestB38_AWithdrawalAndAReceiveAgree(t *testing.T) {
	t.Parallel()
	h := notify.NewHandoff[int]()
	var received, withdrawn int
	for i := range 5000 {
		start := make(chan struct{})
		var taken atomic.Int32
		took := make(chan struct{})
		o := h.Offer(i, func() { taken.Add(1); close(took) })
		var all sync.WaitGroup
		got, stop := -1, make(chan struct{})
		all.Go(func() {
			<-start
			select {
			case got = <-h.C():
			case <-stop:
			}
		})
		var back bool
		all.Go(func() {
			<-start
			for range i % 8 { // a head start for the receiver, or none
				runtime.Gosched()
			}
			back = o.Withdraw()
			close(stop)
		})
		close(start)
		all.Wait()
		if back {
			withdrawn++
			require.Equal(t, -1, got, "withdrawn, and yet received")
			require.Zero(t, taken.Load())
			continue
		}
		received++
		require.Equal(t, i, got, "neither withdrawn nor received")
		<-took
		require.EqualValues(t, 1, taken.Load())
	}
	t.Logf("%d received, %d withdrawn", received, withdrawn)
}

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
