// Pause and Resume: who stops, when, and what that costs; what Stats and Entry tell of it.
// Helpers: world_test.go.

package queue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// comes waits until the queue has so many items of a state.
func comes(t testing.TB, q *queue.Queue, want int, of func(queue.Stats) int) {
	t.Helper()
	ctx := bubble.Minute(t)
	for of(must(q.Stats(ctx))) != want {
		time.Sleep(10 * time.Millisecond)
	}
}

func claimed(s queue.Stats) int { return s.Claimed }

// rests fails if a consumer gets an item within a while.
func rests(t testing.TB, c *queue.Consumer) {
	t.Helper()
	select {
	case i := <-c.Items():
		require.Fail(t, "it is paused", "%s was received", i.Data())
	case <-time.After(300 * time.Millisecond):
	}
}

// paused is a pause by one process and consumers in others: a busy one, one that begins, and a
// Take.
func paused(t *bubble.Cluster) {
	operator, q, other := newQueue(t, t.Session()), newQueue(t, t.Session()), newQueue(t, t.Session())
	require.NoError(t, operator.Resume(bubble.Minute(t)), "of a queue that does not exist")
	for range 2 {
		require.NoError(t, operator.Pause(bubble.Minute(t)), "it makes the queue")
	}
	putAll(t, q, 0, 4)
	require.True(t, must(q.Stats(bubble.Minute(t))).Paused)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, errOf(q.Take(ctx)), context.DeadlineExceeded)
	c := consumer(t, q, queue.WithPrefetch(3))
	rests(t, c)
	for range 2 {
		require.NoError(t, operator.Resume(bubble.Minute(t)))
	}
	first := gets(t, c, "0")
	comes(t, q, 3, claimed)
	require.NoError(t, operator.Pause(bubble.Minute(t)))
	comes(t, q, 1, claimed)
	rests(t, c)
	put(t, other, "4")
	late := consumer(t, other)
	require.True(t, first.Valid(), "what was received stays with its receiver")
	require.NoError(t, first.Ack(bubble.Minute(t)))
	rests(t, late)
	rests(t, c)
	stats := must(q.Stats(bubble.Minute(t)))
	require.Equal(t, []any{4, 4, true}, []any{stats.Items, stats.Waiting, stats.Paused})
	require.NoError(t, c.Close(bubble.Minute(t)))
	require.NoError(t, operator.Resume(bubble.Minute(t)))
	for _, want := range numbered(1, 4) {
		i := gets(t, late, want)
		require.Equal(t, 1, i.Attempt(), "what came back has had none")
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	require.Equal(t, queue.Stats{}, must(q.Stats(bubble.Minute(t))))
}

// Any request or reply of a process is lost that pauses a queue and has a consumer there.
func TestAPausedQueueAtAnyLostRequestOrReply(t *testing.T) {
	t.Parallel()
	for lost, fate := range bubble.Fates {
		atEach(t, lost, func(*bubble.World, *session.Session) zktest.Verdict { return fate }, func(t *bubble.World, s *session.Session) {
			q := newQueue(t, s)
			putAll(t, q, 0, 3)
			c := consumer(t, q, queue.WithPrefetch(3))
			first := gets(t, c, "0")
			comes(t, q, 3, claimed)
			require.NoError(t, q.Pause(bubble.Minute(t)))
			comes(t, q, 1, claimed)
			require.NoError(t, first.Return(bubble.Minute(t)))
			rests(t, c)
			require.NoError(t, q.Resume(bubble.Minute(t)))
			for _, want := range numbered(0, 3) {
				receives(t, c, want)
			}
		})
	}
}

// A pause costs each consumer a read and an event, and so does its end: nothing is asked again and
// again. When the queue is resumed, those that wait in line go on as they would have: an item that
// was put meanwhile comes to the first.
func TestAPauseCosts(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		const waiting = 16
		c := crowded(t, waiting)
		c.next() // what is made once
		requests, events := c.costs(func() { require.NoError(t, c.q.Pause(bubble.Minute(t))) })
		require.Equal(t, []int{1 + waiting, waiting}, []int{requests, events})
		put(t, c.q, "x")
		time.Sleep(2 * time.Minute) // the producer has ended
		rest, _ := c.costs(func() { time.Sleep(10 * time.Minute) })
		require.Zero(t, rest)
		requests, events = c.costs(func() {
			require.NoError(t, c.q.Resume(bubble.Minute(t)))
			began := time.Now()
			bubble.Within(t, time.Minute, c.got, "the item")
			require.LessOrEqual(t, time.Since(began), 5*trip)
		})
		require.LessOrEqual(t, requests, 1+waiting+2*11, "each reads, and the first two list")
		require.LessOrEqual(t, events, waiting+2*4)
		closed(t, c.all, c.group)
	})
}

// A consumer that is cut off learns of a pause when it is connected again, before it is handed
// anything: what it had claimed goes back, and what it puts, too.
func TestAPauseDuringAnOutage(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s, q := t.Session(), newQueue(t, t.Session())
		c := consumer(t, newQueue(t, s), queue.WithPrefetch(2))
		putAll(t, q, 0, 4)
		first := gets(t, c, "0")
		comes(t, q, 2, claimed)
		heal := t.Server.Partition(s.Status().SessionID)
		require.NoError(t, q.Pause(bubble.Minute(t)))
		time.Sleep(time.Second)
		require.Equal(t, 2, must(q.Stats(bubble.Minute(t))).Claimed)
		heal()
		comes(t, q, 1, claimed)
		require.NoError(t, first.Ack(bubble.Minute(t)))
		rests(t, c)
		t.Server.Expire(s.Status().SessionID)
		time.Sleep(time.Minute)
		rests(t, c)
		require.Equal(t, 3, must(q.Stats(bubble.Minute(t))).Waiting)
		require.NoError(t, q.Resume(bubble.Minute(t)))
		require.Equal(t, 1, gets(t, c, "1").Attempt())
	})
}

// The second in line, which waits in vain for the first, has found an item when a pause comes.
// After the pause it looks again, though nothing rings.
func TestAPauseDuringASearch(t *testing.T) {
	t.Parallel()
	for k := 1; k <= 4; k++ {
		each(t, k, func(t *bubble.World) {
			hung, s, operator := t.Session(session.WithTimeout(40*time.Second)), t.Session(), newQueue(t, t.Session())
			consumer(t, newQueue(t, hung))
			time.Sleep(time.Second)
			second := consumer(t, newQueue(t, s))
			time.Sleep(time.Second)
			t.Server.Partition(hung.Status().SessionID)
			at := make(chan struct{})
			t.AtKth(s, k, func(*zktest.Request) zktest.Verdict {
				close(at)
				return zktest.Delay(50 * time.Millisecond)
			}, zktest.OpSync)
			put(t, operator, "x")
			bubble.Within(t, 2*time.Second, at)
			require.NoError(t, operator.Pause(bubble.Minute(t)))
			time.Sleep(time.Second)
			require.NoError(t, operator.Resume(bubble.Minute(t)))
			i := bubble.Within(t, 2*time.Second, second.Items(), "long before the end of the hung session")
			require.NoError(t, i.Ack(bubble.Minute(t)))
		})
	}
}

// Drain is a pause of one consumer, without an end: others get what it leaves.
func TestDrain(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		putAll(t, q, 0, 3)
		c := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(3))
		first := gets(t, c, "0")
		comes(t, q, 3, claimed)
		c.Drain()
		comes(t, q, 1, claimed)
		require.NoError(t, first.Return(bubble.Minute(t)))
		put(t, q, "3")
		rests(t, c)
		require.Equal(t, 4, must(q.Stats(bubble.Minute(t))).Waiting)
		next := takeOne(t, q, "0")
		require.Equal(t, 1, next.Attempt())
		require.NoError(t, next.Ack(bubble.Minute(t)))
	})
}

// What WithAutoAck has taken is delivered in a pause, too: it is nowhere else.
func TestAtMostOnceInAPause(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		putAll(t, q, 0, 4)
		c := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(2))
		synctest.Wait()
		require.NoError(t, q.Pause(bubble.Minute(t)))
		gets(t, c, "0")
		gets(t, c, "1")
		rests(t, c)
		require.NoError(t, q.Resume(bubble.Minute(t)))
		gets(t, c, "2")
	})
}

// The queue's ACL is that of the pause. Who has paused it is in the znode, unless it has no
// identity. The end of a handle ends its calls.
func TestWhoMayPause(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		mine := queue.WithACL(session.AuthACL(session.PermAll)...)
		alice, bob := t.Session(session.WithAuth("digest", []byte("alice:secret")), session.WithoutIdentity()), t.Session()
		q := newQueue(t, alice, mine)
		require.NoError(t, q.Pause(bubble.Minute(t)))
		data, _, err := alice.Get(bubble.Minute(t), path+"/claims")
		require.NoError(t, err)
		require.Equal(t, "paused\n", string(data))
		require.ErrorIs(t, newQueue(t, bob).Resume(bubble.Minute(t)), session.ErrNoAuth)
		require.ErrorIs(t, newQueue(t, bob).Pause(bubble.Minute(t)), session.ErrNoAuth)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, q.Pause(ended), context.Canceled)
		require.NoError(t, q.Close(bubble.Minute(t)))
		require.ErrorIs(t, q.Resume(bubble.Minute(t)), session.ErrClosed)
		other := queueAt(t, bob, "/other")
		require.NoError(t, other.Pause(bubble.Minute(t)))
		data, _, err = bob.Get(bubble.Minute(t), "/other/claims")
		require.NoError(t, err)
		require.Regexp(t, `^by \{.*\}\npaused\n$`, string(data))
	})
}

// Stats tells since when the oldest item waits, whatever its priority and wherever it is, and Entry
// what a consumer would see.
func TestTheOldestItemThatWaits(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		since := func(age time.Duration) {
			t.Helper()
			require.WithinDuration(t, time.Now().Add(-age), must(q.Stats(bubble.Minute(t))).Oldest, time.Second)
		}
		require.Zero(t, must(q.Stats(bubble.Minute(t))))
		id := put(t, q, "a", queue.WithHeader("color", "red"), queue.WithHeader("size", "8"))
		time.Sleep(time.Hour)
		put(t, q, "b", queue.WithPriority(-1))
		put(t, q, "c", queue.WithDelay(time.Hour))
		since(time.Hour)
		b, a := takeOne(t, q, "b"), takeOne(t, q, "a")
		e := finds(t, q, id)
		require.Equal(t, []any{a.Token(), a.Session().Status().SessionID, map[string]string{"color": "red", "size": "8"}}, []any{e.Token, e.SessionID, e.Headers})
		require.Equal(t, queue.Stats{Items: 3, Claimed: 2, Delayed: 1}, must(q.Stats(bubble.Minute(t))))
		require.NoError(t, b.Nack(bubble.Minute(t), queue.WithPause(0)))
		since(0)
		require.NoError(t, a.Return(bubble.Minute(t)))
		since(time.Hour)
		require.Equal(t, []string{"b", "a"}, takes(t, q, 2))
		time.Sleep(2 * time.Hour)
		require.Equal(t, 1, must(q.Stats(bubble.Minute(t))).Delayed, "no consumer has made it available")
		since(time.Hour)
	})
}

// Two operators on the same round trip, one of whom pauses while the other resumes: both come to an
// end, and the version tells which.
func TestAPauseBesideAResume(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		one, two := newQueue(t, t.Session()), newQueue(t, t.Session())
		require.NoError(t, one.Pause(bubble.Minute(t)))
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpSetData {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		}))
		paused := bubble.Begin(func() error { return one.Pause(bubble.Minute(t)) })
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, two.Resume(bubble.Minute(t)))
		require.NoError(t, <-paused)
		data, stat, err := t.Session().Get(bubble.Minute(t), path+"/claims")
		require.NoError(t, err)
		require.Equal(t, len(data) > 0, stat.Version%2 != 0, "an odd version is a pause")
	})
}
