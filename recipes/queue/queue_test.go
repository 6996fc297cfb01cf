// What a queue does without faults, on the embedded server and on real ones; List and Purge.
// Helpers: world_test.go. Numbers such as B52: decision 6.

package queue_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// suite is what a queue does, on the embedded server and on real ones.
var suite = bubble.Suite{
	{"B52: first in, first out, and none waits for another", b52InOrder},
	{"priorities", priorities},
	{"B50: what is given back keeps its place", b50GivenBack},
	{"what is returned was never claimed", returned},
	{"a duplicate is refused while the item lives", duplicates},
	{"several are put together or not at all", together},
	{"settled in its own context, and committed", settledInside},
	{"a bounded queue", bounded},
	{"dead letters", poisoned},
	{"a delay", delayed},
	{"at most once", autoAck},
	{"a consumer that closes gives back", closing},
	{"peek", peeking},
	{"remove", removing},
	{"ephemeral items", ephemerals},
	{"a pause", paused},
}

func TestQueue(t *testing.T) {
	t.Parallel()
	suite.Embedded(t)
}

func TestQueueOnRealZooKeeper(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	suite.Real(t, suite[0].Name)
}

// kazoo#501: with the head claimed, the next consumer takes the next item at once; nothing of a
// claim is left.
func b52InOrder(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	for _, data := range numbered(0, 20) {
		put(t, q, data)
	}
	require.Equal(t, 20, length(t, q))
	require.Equal(t, numbered(0, 16), takes(t, newQueue(t, t.Session()), 16))
	var items []*queue.Item
	for n := range 4 {
		i := takeOne(t, newQueue(t, t.Session()), fmt.Sprint(16+n))
		items = append(items, i)
	}
	slices.Reverse(items)
	for _, i := range items {
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	require.Equal(t, 0, length(t, q))
	require.Empty(t, below(t, t.Session(), path+"/claims/0-0000000000"))
}

func priorities(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	for n, p := range []int{5, -3, 0, 5, -3, 100, -9999} {
		put(t, q, fmt.Sprint(n), queue.WithPriority(p))
	}
	require.Equal(t, []string{"6", "1", "4", "2", "0"}, takes(t, q, 5))
	put(t, q, "urgent", queue.WithPriority(-1))
	require.Equal(t, []string{"urgent", "3", "5"}, takes(t, newQueue(t, t.Session()), 3))
}

// CURATOR-56, CURATOR-224: an item that is given back keeps its id, its priority and its place;
// attempts are counted.
func b50GivenBack(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	id := put(t, q, "a", queue.WithPriority(3), queue.WithID("red"))
	require.Equal(t, "red", id)
	put(t, q, "b", queue.WithPriority(3))
	put(t, q, "c", queue.WithPriority(7))
	for attempt := 1; attempt <= 4; attempt++ {
		i := take(t, q)
		require.Equal(t, []any{"red", 3, attempt, "a"}, []any{i.ID(), i.Priority(), i.Attempt(), string(i.Data())})
		back(t, i)
		require.ErrorIs(t, i.Err(), session.ErrReleased)
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrReleased)
	}
	require.Equal(t, []string{"a", "b", "c"}, takes(t, q, 3))
}

// An item that is returned is delivered again at once, at its place and without an attempt, however
// few it may have and whatever the pause. Only one settlement counts.
func returned(t *bubble.Cluster) {
	q := newQueue(t, t.Session(), queue.WithMaxAttempts(2), queue.WithBackoff(func(int) time.Duration { return time.Hour }))
	put(t, q, "a", queue.WithID("red"))
	put(t, q, "b")
	back(t, takeOne(t, q, "a"))
	for range 3 {
		i := takeOne(t, q, "a")
		require.Equal(t, []any{"red", 2}, []any{i.ID(), i.Attempt()})
		for range 2 {
			require.NoError(t, i.Return(i.Context()))
		}
		require.ErrorIs(t, i.Err(), session.ErrReleased)
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrReleased)
		require.ErrorIs(t, i.Nack(bubble.Minute(t)), session.ErrReleased)
	}
	require.Equal(t, 1, must(q.Peek(bubble.Minute(t))).Attempts)
	require.Equal(t, []string{"a", "b"}, takes(t, newQueue(t, t.Session()), 2))
}

func duplicates(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	put(t, q, "a", queue.WithID("red"))
	refuses(t, q, queue.ErrDuplicate, queue.WithID("red"))
	i := take(t, q)
	refuses(t, newQueue(t, t.Session()), queue.ErrDuplicate, queue.WithID("red")) // it is being processed
	require.NoError(t, i.Ack(bubble.Minute(t)))
	put(t, q, "c", queue.WithID("red"))
	require.Equal(t, []string{"c"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

func together(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	put(t, q, "x", queue.WithID("red"))
	ids := must(q.PutAll(bubble.Minute(t), [][]byte{[]byte("a"), {}, []byte("c:,3:")}))
	require.Len(t, ids, 3)
	require.Equal(t, []string{"x", "a", "", "c:,3:"}, takes(t, q, 4))
	require.ErrorIs(t, errOf(q.PutAll(bubble.Minute(t), [][]byte{[]byte("a"), make([]byte, 2<<20)})), session.ErrTooLarge)
	require.Equal(t, 0, length(t, q), "nothing was put")
}

// The context of an item ends with it, and does not end the wait for the outcome of its settlement.
// A commit is done with the claim, and not after it.
func settledInside(t *bubble.Cluster) {
	s := t.Session()
	q := newQueue(t, s)
	put(t, q, "a")
	i := take(t, q)
	require.NoError(t, i.Nack(i.Context()))
	i = take(t, q)
	require.Equal(t, 2, i.Attempt())
	results := must(i.Commit(i.Context(), session.CreateOp("/result", []byte("1"))))
	require.Len(t, results, 1)
	ctx, cancel := context.WithCancel(i.Context())
	defer cancel()
	require.NoError(t, i.Ack(ctx))
	require.Error(t, ctx.Err())
	require.Error(t, errOf(i.Commit(bubble.Minute(t), session.SetOp("/result", []byte("wrong"), -1))))
	data, _, err := s.Get(bubble.Minute(t), "/result")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	require.Equal(t, 0, length(t, q))
}

func bounded(t *bubble.Cluster) {
	s := t.Session()
	q := newQueue(t, s, queue.WithCapacity(3))
	for _, d := range numbered(0, 3) {
		put(t, q, d)
	}
	refuses(t, q, queue.ErrFull)
	refuses(t, newQueue(t, t.Session()), queue.ErrFull) // a producer without a capacity is bound all the same
	refuses(t, newQueue(t, s, queue.WithCapacity(4)), queue.ErrCapacity)
	put(t, queueAt(t, s, "/queues/unbounded"), "x")
	refuses(t, queueAt(t, s, "/queues/unbounded", queue.WithCapacity(2)), queue.ErrCapacity) // it is not empty
	i := take(t, q)
	refuses(t, q, queue.ErrFull) // one that is being processed counts
	require.NoError(t, i.Ack(bubble.Minute(t)))
	put(t, q, "3")
	require.ErrorIs(t, errOf(q.PutAll(bubble.Minute(t), data(0, 2))), queue.ErrFull)
	require.NoError(t, q.Remove(bubble.Minute(t), must(q.Peek(bubble.Minute(t))).ID))
	put(t, q, "4")
	require.Equal(t, []string{"2", "3", "4"}, takes(t, newQueue(t, t.Session()), 3))
	putAll(t, q, 0, 3)
	auto := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(1))
	for range 3 {
		bubble.Get(t, auto.Items(), "an item")
	}
	putAll(t, q, 0, 3)
}

// An item that has had its attempts goes to the dead letters, with its id, which is free again: one
// that was returned, and one whose consumers died.
func poisoned(t *bubble.Cluster) {
	s := t.Session()
	q := newQueue(t, s, queue.WithMaxAttempts(2), queue.WithDeadLetters("/queues/graveyard"))
	dead := queueAt(t, s, "/queues/graveyard")
	put(t, q, "a", queue.WithPriority(4), queue.WithID("red"))
	put(t, q, "b", queue.WithPriority(5))
	for range 2 {
		i := takeOne(t, q, "a")
		back(t, i)
	}
	require.Equal(t, []string{"b"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
	put(t, q, "c", queue.WithID("red"))
	i := takeOne(t, dead, "a")
	require.Equal(t, []any{"red", 4}, []any{i.ID(), i.Priority()})
	require.NoError(t, i.Ack(bubble.Minute(t)))
	for range 2 {
		dying := t.Session()
		takeOne(t, newQueue(t, dying), "c")
		require.NoError(t, dying.Close(bubble.Minute(t)))
	}
	put(t, q, "d")
	require.Equal(t, []string{"d"}, takes(t, q, 1))
	require.Equal(t, []string{"c"}, takes(t, dead, 1))
	require.Equal(t, 0, length(t, dead))
}

func delayed(t *bubble.Cluster) {
	q, taker := newQueue(t, t.Session()), newQueue(t, t.Session())
	began := time.Now()
	put(t, q, "late", queue.WithDelay(300*time.Millisecond), queue.WithID("red"))
	put(t, q, "later", queue.WithDelay(600*time.Millisecond))
	put(t, q, "now")
	require.Equal(t, 3, length(t, q))
	require.Equal(t, []string{"now", "late"}, takes(t, taker, 2))
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	put(t, q, "again", queue.WithID("red"))
	require.ElementsMatch(t, []string{"again", "later"}, takes(t, taker, 2))
	require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond)
}

func autoAck(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	putMany(t, q, 50)
	put(t, q, "50", queue.WithID("red"))
	c := consumer(t, newQueue(t, t.Session()), queue.WithAutoAck(), queue.WithPrefetch(10))
	for _, want := range numbered(0, 51) {
		i := gets(t, c, want)
		require.Nil(t, i.Hold)
		require.NoError(t, i.Ack(bubble.Minute(t)))
		require.NoError(t, i.Nack(bubble.Minute(t)))
		require.NoError(t, i.Return(bubble.Minute(t)))
		require.NoError(t, i.Extend(bubble.Minute(t), time.Second))
		require.NoError(t, i.Err())
		require.True(t, i.Valid())
		require.NotNil(t, i.Session())
		require.NoError(t, i.Context().Err())
		require.Equal(t, []any{1, int64(0), ""}, []any{i.Attempt(), i.Token(), i.Path()})
	}
	require.Equal(t, 0, length(t, q))
	put(t, q, "again", queue.WithID("red"))
}

// An item that was received and not settled has had an attempt; one that was not received is as if
// it had never been claimed.
func closing(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	putMany(t, q, 10)
	c := consumer(t, q, queue.WithPrefetch(6))
	gets(t, c, "0")
	receives(t, c, "1")
	require.NoError(t, c.Close(bubble.Minute(t)))
	require.NoError(t, c.Close(bubble.Minute(t)))
	require.ErrorIs(t, c.Err(), session.ErrClosed)
	_, open := <-c.Items()
	require.False(t, open)
	first, second := take(t, q), take(t, q)
	require.Equal(t, []int{2, 1}, []int{first.Attempt(), second.Attempt()})
	back(t, second)
	back(t, first)
	require.Equal(t, append([]string{"0"}, numbered(2, 8)...), takes(t, newQueue(t, t.Session()), 9))
	require.Equal(t, 0, length(t, q))
}

func peeking(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	require.ErrorIs(t, errOf(q.Peek(bubble.Minute(t))), queue.ErrEmpty)
	require.Equal(t, 0, length(t, q))
	id := put(t, q, "a", queue.WithPriority(2))
	putAll(t, q, 0, 2, queue.WithPriority(1))
	require.Equal(t, "0", string(must(q.Peek(bubble.Minute(t))).Data))
	i := take(t, q)
	require.Equal(t, "1", string(must(q.Peek(bubble.Minute(t))).Data), "the first is claimed")
	require.Equal(t, []string{"1"}, takes(t, q, 1))
	e := must(q.Peek(bubble.Minute(t)))
	require.Equal(t, queue.Entry{ID: id, Data: []byte("a"), Priority: 2, Since: e.Since}, e)
	back(t, i)
	require.Equal(t, 1, must(q.Peek(bubble.Minute(t))).Attempts)
	require.Equal(t, []string{"0", "a"}, takes(t, q, 2))
	require.ErrorIs(t, errOf(q.Peek(bubble.Minute(t))), queue.ErrEmpty)
}

func removing(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	require.ErrorIs(t, q.Remove(bubble.Minute(t), "red"), session.ErrNoNode)
	put(t, q, "a", queue.WithID("red"))
	id := put(t, q, "b")
	put(t, q, "c", queue.WithDelay(time.Hour), queue.WithID("blue"))
	require.ErrorContains(t, q.Remove(bubble.Minute(t)), "ids: none, or an empty one: []")
	require.ErrorContains(t, q.Remove(bubble.Minute(t), "red", ""), "ids: none, or an empty one: ")
	require.NoError(t, q.Remove(bubble.Minute(t), "red", "blue"))
	put(t, q, "d", queue.WithID("red"))
	i := take(t, q)
	require.Equal(t, id, i.ID())
	require.ErrorIs(t, q.Remove(bubble.Minute(t), id, "blue", "red"), session.ErrNoNode, "it stops at the first error")
	require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost, "it was removed under its consumer")
	require.Equal(t, []string{"d"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

// An ephemeral item goes with its producer, whose other items stay, and its id is free then.
func ephemerals(t *bubble.Cluster) {
	q, gone := newQueue(t, t.Session()), t.Session()
	put(t, newQueue(t, gone), "with me", queue.WithEphemeral(), queue.WithID("red"))
	put(t, newQueue(t, gone), "without me")
	require.Equal(t, 2, length(t, q))
	refuses(t, q, queue.ErrDuplicate, queue.WithID("red"))
	require.NoError(t, gone.Close(bubble.Minute(t)))
	require.Equal(t, []string{"without me"}, takes(t, q, 1))
	put(t, q, "here", queue.WithEphemeral(), queue.WithID("red"))
	i := take(t, q)
	require.NoError(t, i.Nack(bubble.Minute(t), queue.WithPause(time.Hour))) // it never pauses
	require.Equal(t, []string{"here"}, takes(t, q, 1))
	put(t, q, "again", queue.WithID("red"))
	require.Equal(t, []string{"again"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

// filled is a queue with an item in each state: claimed, waiting, not a queue's, delayed.
func filled(t *bubble.World) (*queue.Queue, *queue.Item) {
	t.Helper()
	q := newQueue(t, t.Session())
	put(t, q, "a", queue.WithID("a"))
	put(t, q, "b", queue.WithID("b"), queue.WithPriority(3))
	put(t, q, "c", queue.WithID("c"), queue.WithDelay(time.Hour))
	i := take(t, q)
	require.NoError(t, t.Server.Znodes(t).Create(path+"/items/3-0000000000/g-queue-0000000009", []byte("foreign")))
	require.NoError(t, t.Server.Znodes(t).Create(path+"/items/3-0000000000/foreign", nil))
	return q, i
}

func TestListShowsEveryItemWithItsState(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q, i := filled(t)
		due := time.Now().Add(time.Hour)
		stats := must(q.Stats(bubble.Minute(t)))
		require.WithinDuration(t, time.Now(), stats.Oldest, time.Second)
		stats.Oldest = time.Time{}
		require.Equal(t, queue.Stats{Items: 4, Waiting: 2, Claimed: 1, Delayed: 1}, stats)
		all := must(q.List(bubble.Minute(t), 100))
		require.Len(t, all, 4)
		first := must(q.List(bubble.Minute(t), 2))
		require.Equal(t, all[:2], first)
		require.WithinDuration(t, due, all[3].Due, time.Second)
		all[3].Due = time.Time{}
		for n := range all {
			require.WithinDuration(t, time.Now(), all[n].Since, time.Second)
			all[n].Since = time.Time{}
		}
		owner := all[0].Owner
		require.Equal(t, os.Getpid(), owner.PID)
		require.Equal(t, []queue.Entry{
			{ID: "a", Data: []byte("a"), Attempts: 1, Claimed: true, Owner: owner, Session: i.Session().Status().SessionID, Token: i.Token()},
			{ID: "b", Data: []byte("b"), Priority: 3},
			{ID: "g", Unread: true},
			{ID: "c", Data: []byte("c")},
		}, all)
		require.ErrorContains(t, errOf(q.List(bubble.Minute(t), 0)), "n: 0 is less than 1")
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData {
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		}))
		all = must(q.List(bubble.Minute(t), 100))
		require.Len(t, all, 4, "also items that it may not read")
		require.True(t, all[0].Unread && all[0].Claimed && all[3].Unread)
		require.ErrorIs(t, errOf(q.Peek(bubble.Minute(t))), session.ErrNoAuth)
	})
}

// Purge deletes the first ones, with their claims and ids, after any fault at any of its requests.
func TestPurgeDeletesWhatever(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(t *bubble.World, _ int, strike func(s *session.Session)) {
		q, i := filled(t)
		s := t.Session()
		strike(s)
		for left := 4; left > 0; left = length(t, q) {
			n := must(newQueue(t, s).Purge(bubble.Minute(t), 3))
			require.LessOrEqual(t, n, 3)
		}
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
		for _, id := range []string{"a", "b", "c"} {
			put(t, q, "again", queue.WithID(id))
		}
	}, bubble.Brisk()...)
}
