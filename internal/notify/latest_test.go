package notify_test

// The newest state alone, for one receiver and for many; and a channel for a known number of
// values.

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

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
