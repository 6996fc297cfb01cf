package queue_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// suite is what a queue does, on whatever ZooKeeper.
var suite = bubble.Suite{
	{"first in, first out", inOrder},
	{"priorities", priorities},
	{"B50: what is given back keeps its place", b50GivenBack},
	{"a duplicate is refused while the item lives", duplicates},
	{"several are put together or not at all", together},
	{"settled in its own context", settledInside},
	{"a bounded queue", bounded},
	{"dead letters", poisoned},
	{"a delay", delayed},
	{"at most once", autoAck},
	{"B52: consumers compete, and none waits for another", b52Competing},
	{"a consumer that closes gives back", closing},
	{"look without taking", looking},
	{"remove", removing},
	{"ephemeral items", ephemerals},
	{"a commit on condition of the claim", committing},
}

func TestQueue(t *testing.T) {
	t.Parallel()
	suite.Embedded(t)
}

func TestQueueOnRealZooKeeper(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	suite.Real(t, "first in, first out")
}

func inOrder(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	for _, data := range numbered(0, 20) {
		put(t, q, data)
	}
	require.Equal(t, 20, length(t, q))
	require.Equal(t, numbered(0, 20), takes(t, newQueue(t, t.Session()), 20))
	require.Equal(t, 0, length(t, q))
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

// CURATOR-56, CURATOR-224: what is given back keeps its id, its priority and its place; attempts
// are counted.
func b50GivenBack(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	id := put(t, q, "a", queue.WithPriority(3), queue.WithID("red"))
	require.Equal(t, "red", id)
	put(t, q, "b", queue.WithPriority(3))
	put(t, q, "c", queue.WithPriority(7))
	for attempt := 1; attempt <= 4; attempt++ {
		i := take(t, q)
		require.Equal(t, "red", i.ID())
		require.Equal(t, 3, i.Priority())
		require.Equal(t, attempt, i.Attempt())
		require.Equal(t, "a", string(i.Data()))
		require.NoError(t, i.Nack(bubble.Minute(t), queue.After(0)))
		require.ErrorIs(t, i.Err(), session.ErrReleased)
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrReleased)
	}
	require.Equal(t, []string{"a", "b", "c"}, takes(t, q, 3))
}

func duplicates(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	put(t, q, "a", queue.WithID("red"))
	_, err := q.Put(bubble.Minute(t), []byte("b"), queue.WithID("red"))
	require.ErrorIs(t, err, queue.ErrDuplicate)
	i := take(t, q)
	_, err = newQueue(t, t.Session()).Put(bubble.Minute(t), []byte("b"), queue.WithID("red"))
	require.ErrorIs(t, err, queue.ErrDuplicate, "it is being processed")
	require.NoError(t, i.Ack(bubble.Minute(t)))
	put(t, q, "c", queue.WithID("red"))
	require.Equal(t, []string{"c"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

func together(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	put(t, q, "x", queue.WithID("red"))
	ids, err := q.PutAll(bubble.Minute(t), [][]byte{[]byte("a"), {}, []byte("c:,3:")})
	require.NoError(t, err)
	require.Len(t, ids, 3)
	require.Equal(t, []string{"x", "a", "", "c:,3:"}, takes(t, q, 4))
	_, err = q.PutAll(bubble.Minute(t), [][]byte{[]byte("a"), make([]byte, 2<<20)})
	require.ErrorIs(t, err, session.ErrTooLarge)
	require.Equal(t, 0, length(t, q), "nothing was put")
}

func poisoned(t *bubble.Cluster) {
	s := t.Session()
	q := newQueue(t, s, queue.WithMaxAttempts(2), queue.WithDeadLetters("/queues/graveyard"))
	put(t, q, "a", queue.WithPriority(4), queue.WithID("red"))
	put(t, q, "b", queue.WithPriority(5))
	for range 2 {
		i := take(t, q)
		require.Equal(t, "a", string(i.Data()))
		require.NoError(t, i.Nack(bubble.Minute(t), queue.After(0)))
	}
	require.Equal(t, []string{"b"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
	put(t, q, "c", queue.WithID("red"))
	dead, err := queue.New(s, "/queues/graveyard")
	require.NoError(t, err)
	i := take(t, dead)
	require.Equal(t, "a", string(i.Data()))
	require.Equal(t, "red", i.ID())
	require.Equal(t, 4, i.Priority())
	require.NoError(t, i.Ack(bubble.Minute(t)))
	require.Equal(t, 0, length(t, dead))

	// One whose consumers died goes there too.
	for range 2 {
		dying := t.Session()
		require.Equal(t, "c", string(take(t, newQueue(t, dying)).Data()))
		require.NoError(t, dying.Close(bubble.Minute(t)))
	}
	put(t, q, "d")
	require.Equal(t, []string{"d"}, takes(t, q, 1))
	require.Equal(t, []string{"c"}, takes(t, dead, 1))
}

func delayed(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	began := time.Now()
	put(t, q, "late", queue.WithDelay(300*time.Millisecond))
	put(t, q, "later", queue.WithDelay(600*time.Millisecond), queue.WithID("red"))
	put(t, q, "now")
	require.Equal(t, 3, length(t, q))
	taker := newQueue(t, t.Session())
	require.Equal(t, []string{"now"}, takes(t, taker, 1))
	require.Equal(t, []string{"late"}, takes(t, taker, 1))
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	i := take(t, taker)
	require.Equal(t, "later", string(i.Data()))
	require.Equal(t, "red", i.ID())
	require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond)
	require.NoError(t, i.Ack(bubble.Minute(t)))
	put(t, q, "again", queue.WithID("red"))
}

func autoAck(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	putTogether(t, q, 50)
	put(t, q, "50", queue.WithID("red"))
	cons := consumer(t, newQueue(t, t.Session()), queue.WithAutoAck(), queue.WithPrefetch(10))
	var got []string
	for range 51 {
		i := bubble.Get(t, cons.Items(), "an item")
		got = append(got, string(i.Data()))
		require.Nil(t, i.Hold)
		require.NoError(t, i.Ack(bubble.Minute(t)))
		require.NoError(t, i.Nack(bubble.Minute(t)))
		require.NoError(t, i.Extend(bubble.Minute(t), time.Second))
		require.NoError(t, i.Err())
		require.True(t, i.Valid())
		require.NoError(t, i.Context().Err())
		require.Equal(t, 1, i.Attempt())
		require.Zero(t, i.Token())
		require.Empty(t, i.Path())
	}
	require.Equal(t, numbered(0, 51), got)
	require.Equal(t, 0, length(t, q))
	put(t, q, "again", queue.WithID("red"))
}

// kazoo#501: with the head claimed, the next consumer takes the next item at once; nothing of a
// claim is left.
func b52Competing(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	putTogether(t, q, 4)
	var items []*queue.Item
	for n := range 4 {
		i := take(t, newQueue(t, t.Session()))
		require.Equal(t, fmt.Sprint(n), string(i.Data()))
		items = append(items, i)
	}
	slices.Reverse(items)
	for _, i := range items {
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	for _, parent := range []string{"/items/0-0000000000", "/claims/0-0000000000"} {
		names, _, err := t.Session().Children(bubble.Minute(t), path+parent)
		require.NoError(t, err)
		require.Empty(t, names)
	}
}

func closing(t *bubble.Cluster) {
	for _, auto := range []bool{false, true} {
		s := t.Session()
		q := newQueue(t, s)
		for _, data := range numbered(0, 10) {
			put(t, q, data)
		}
		opts := []queue.ConsumeOption{queue.WithPrefetch(6)}
		if auto {
			opts = append(opts, queue.WithAutoAck())
		}
		first := consumer(t, q, opts...) // it claims some that nobody receives
		require.Equal(t, "0", string(bubble.Get(t, first.Items(), "an item").Data()))
		i := bubble.Get(t, first.Items(), "an item")
		require.NoError(t, i.Ack(bubble.Minute(t)))
		require.NoError(t, first.Close(bubble.Minute(t)))
		require.NoError(t, first.Close(bubble.Minute(t)))
		require.ErrorIs(t, first.Err(), session.ErrClosed)
		_, open := <-first.Items()
		require.False(t, open)
		want := append([]string{"0"}, numbered(2, 8)...) // the first was received and not settled
		if auto {
			want = numbered(2, 8)
		}
		if taker := newQueue(t, s); !auto { // what nobody received is as if it had never been claimed
			first, second := take(t, taker), take(t, taker)
			require.Equal(t, []int{2, 1}, []int{first.Attempt(), second.Attempt()})
			require.NoError(t, second.Nack(bubble.Minute(t), queue.After(0)))
			require.NoError(t, first.Nack(bubble.Minute(t), queue.After(0)))
		}
		got := takes(t, newQueue(t, t.Session()), len(want))
		if auto { // what was taken and not received is put again, at the end
			slices.Sort(got)
		}
		require.Equal(t, want, got)
		require.Equal(t, 0, length(t, q))
	}
}

func ephemerals(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	gone := t.Session()
	put(t, newQueue(t, gone), "with me", queue.WithEphemeral())
	put(t, newQueue(t, gone), "without me")
	require.Equal(t, 2, length(t, q))
	require.NoError(t, gone.Close(bubble.Minute(t)))
	require.Equal(t, []string{"without me"}, takes(t, q, 1))
	put(t, q, "here", queue.WithEphemeral())
	require.Equal(t, []string{"here"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

func committing(t *bubble.Cluster) {
	s := t.Session()
	_, err := s.Create(bubble.Minute(t), "/result", []byte("0"))
	require.NoError(t, err)
	q := newQueue(t, s)
	put(t, q, "a")
	first := take(t, q)
	_, err = first.Commit(bubble.Minute(t), session.SetOp("/result", []byte("1"), -1))
	require.NoError(t, err)
	require.NoError(t, s.Delete(bubble.Minute(t), first.Path(), -1)) // an administrator
	second := take(t, newQueue(t, t.Session()))
	require.Equal(t, 2, second.Attempt())
	require.Greater(t, second.Token(), first.Token())
	_, err = first.Commit(bubble.Minute(t), session.SetOp("/result", []byte("wrong"), -1))
	require.ErrorIs(t, err, session.ErrLost)
	require.ErrorIs(t, first.Ack(bubble.Minute(t)), session.ErrLost)
	data, _, err := s.Get(bubble.Minute(t), "/result")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	require.NoError(t, second.Ack(bubble.Minute(t)))
}

func looking(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	_, err := q.Peek(bubble.Minute(t))
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.Equal(t, 0, length(t, q))
	id := put(t, q, "a", queue.WithPriority(2))
	_, err = q.PutAll(bubble.Minute(t), [][]byte{[]byte("b"), []byte("c")}, queue.WithPriority(1))
	require.NoError(t, err)
	require.Equal(t, "b", string(mustPeek(t, q).Data))
	i := take(t, q)
	require.Equal(t, "c", string(mustPeek(t, q).Data), "the first is claimed")
	require.Equal(t, []string{"c"}, takes(t, q, 1))
	require.Equal(t, queue.Entry{ID: id, Data: []byte("a"), Priority: 2}, mustPeek(t, q))
	require.NoError(t, i.Nack(bubble.Minute(t), queue.After(0)))
	require.Equal(t, 1, mustPeek(t, q).Attempts)
	require.Equal(t, []string{"b", "a"}, takes(t, q, 2))
	_, err = q.Peek(bubble.Minute(t))
	require.ErrorIs(t, err, queue.ErrEmpty)
}

func removing(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	require.ErrorIs(t, q.Remove(bubble.Minute(t), "red"), session.ErrNoNode)
	put(t, q, "a", queue.WithID("red"))
	id := put(t, q, "b")
	put(t, q, "c", queue.WithDelay(time.Hour), queue.WithID("blue"))
	require.NoError(t, q.Remove(bubble.Minute(t), "red"))
	require.NoError(t, q.Remove(bubble.Minute(t), "blue"))
	put(t, q, "d", queue.WithID("red"))
	i := take(t, q)
	require.Equal(t, id, i.ID())
	require.NoError(t, q.Remove(bubble.Minute(t), id))
	require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost, "it was removed under its consumer")
	require.Equal(t, []string{"d"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

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

func bounded(t *bubble.Cluster) {
	s := t.Session()
	q := newQueue(t, s, queue.WithCapacity(3))
	for n := range 3 {
		put(t, q, fmt.Sprint(n))
	}
	_, err := q.Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrFull)
	_, err = newQueue(t, t.Session()).Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrFull, "who names no capacity is bound all the same")
	_, err = newQueue(t, s, queue.WithCapacity(4)).Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrCapacity)
	unbounded, err := queue.New(s, "/queues/unbounded")
	require.NoError(t, err)
	put(t, unbounded, "x")
	late, err := queue.New(s, "/queues/unbounded", queue.WithCapacity(2))
	require.NoError(t, err)
	_, err = late.Put(bubble.Minute(t), nil)
	require.ErrorIs(t, err, queue.ErrCapacity, "there is something in it")
	i := take(t, q)
	_, err = q.Put(bubble.Minute(t), []byte("x"))
	require.ErrorIs(t, err, queue.ErrFull, "one that is being processed counts")
	require.NoError(t, i.Ack(bubble.Minute(t)))
	put(t, q, "3")
	_, err = q.PutAll(bubble.Minute(t), [][]byte{[]byte("x"), []byte("y")})
	require.ErrorIs(t, err, queue.ErrFull)
	require.NoError(t, q.Remove(bubble.Minute(t), mustPeek(t, q).ID))
	put(t, q, "4")
	require.Equal(t, []string{"2", "3", "4"}, takes(t, newQueue(t, t.Session()), 3))
	_, err = q.PutAll(bubble.Minute(t), [][]byte{{1}, {2}, {3}})
	require.NoError(t, err)
	auto := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(1))
	for range 3 {
		bubble.Get(t, auto.Items(), "an item")
	}
	_, err = q.PutAll(bubble.Minute(t), [][]byte{{1}, {2}, {3}})
	require.NoError(t, err)
}
