package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Items that are put together lie in one znode, and each of them is an item all the same.
func packed(t *bubble.Cluster) {
	if t.Real { // it sleeps below, for longer than a server takes that has nothing else to do
		tier.Soak(t)
	}
	s := t.Session()
	q := newQueue(t, s)
	ids, err := q.PutAll(bubble.Minute(t), data(0, 10))
	require.NoError(t, err)
	require.Equal(t, 10, length(t, q))
	names, _, err := s.Children(bubble.Minute(t), path+"/work/ready-0-0000000000")
	require.NoError(t, err)
	require.Len(t, names, 1)
	e, err := q.Peek(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, queue.Entry{ID: ids[0], Data: []byte("0")}, e)

	require.NoError(t, q.Remove(bubble.Minute(t), ids[5]), "from the middle of what waits")
	require.ErrorIs(t, q.Remove(bubble.Minute(t), ids[5]), session.ErrNoNode)
	consumer := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(4))
	var items []*queue.Item
	for n := range 4 {
		i := bubble.Get(t, consumer.Items(), "an item")
		require.Equal(t, ids[n], i.ID())
		require.Equal(t, numbered(n, 1)[0], string(i.Data()))
		require.Equal(t, 1, i.Attempt())
		items = append(items, i)
	}
	require.NoError(t, q.Remove(bubble.Minute(t), ids[2]), "from the middle of what is claimed")
	require.Equal(t, 8, length(t, q))
	require.ErrorIs(t, items[2].Ack(bubble.Minute(t)), session.ErrLost)
	require.NoError(t, items[1].Ack(bubble.Minute(t)), "its neighbour is removed, and it is not")
	require.NoError(t, items[3].Nack(bubble.Minute(t), queue.After(0)))
	require.NoError(t, consumer.Close(bubble.Minute(t)))
	require.ErrorIs(t, items[0].Ack(bubble.Minute(t)), session.ErrLost)

	require.Equal(t, 7, length(t, q))
	e, err = q.Peek(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, queue.Entry{ID: ids[0], Data: []byte("0"), Attempts: 1}, e)
	for _, n := range []int{0, 3, 4, 6, 7, 8} {
		time.Sleep(200 * time.Millisecond) // what was claimed with the one before, and nobody takes, goes back
		i := take(t, q)
		require.Equal(t, ids[n], i.ID())
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	require.Equal(t, []string{"9"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

// Each has attempts of its own, and finds its way to the dead letters alone.
func packedDeadLetters(t *bubble.Cluster) {
	s := t.Session()
	q := newQueue(t, s, queue.WithMaxAttempts(2), queue.WithCapacity(5))
	_, err := q.PutAll(bubble.Minute(t), data(0, 5))
	require.NoError(t, err)
	dying := t.Session()
	lost := newQueue(t, dying)
	for range 2 {
		take(t, lost)
	}
	require.NoError(t, dying.Close(bubble.Minute(t)))
	consumer := consumer(t, q, queue.WithPrefetch(5))
	var items []*queue.Item
	for n, attempt := range []int{2, 2, 1, 1, 1} {
		i := bubble.Get(t, consumer.Items(), "an item")
		require.Equal(t, numbered(n, 1)[0], string(i.Data()))
		require.Equal(t, attempt, i.Attempt())
		items = append(items, i)
	}
	for _, n := range []int{1, 3} {
		require.NoError(t, items[n].Nack(bubble.Minute(t)))
	}
	again := bubble.Get(t, consumer.Items(), "the item that may be tried again")
	require.Equal(t, "3", string(again.Data()))
	require.NoError(t, again.Nack(bubble.Minute(t)))
	for _, n := range []int{4, 0, 2} {
		require.NoError(t, items[n].Ack(bubble.Minute(t)))
	}
	require.Equal(t, 0, length(t, q))
	dead, err := queue.New(s, path+"/dead")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "3"}, takes(t, dead, 2))
	require.NoError(t, consumer.Close(bubble.Minute(t)))

	_, err = q.PutAll(bubble.Minute(t), data(5, 5))
	require.NoError(t, err, "all room came back")
	for range 2 { // what has had its attempts with those who died goes to the dead letters as well
		dying := t.Session()
		lost := newQueue(t, dying)
		for range 3 {
			take(t, lost)
		}
		require.NoError(t, dying.Close(bubble.Minute(t)))
	}
	require.Equal(t, []string{"8", "9"}, takes(t, q, 2))
	require.Equal(t, []string{"5", "6", "7"}, takes(t, dead, 3))
	require.Equal(t, 0, length(t, q))
	_, err = q.PutAll(bubble.Minute(t), data(10, 5))
	require.NoError(t, err, "all room came back")
}

// Many are divided into packs, and large ones too; whoever takes them does not notice.
func manyPacked(t *bubble.Cluster) {
	q := newQueue(t, t.Session())
	_, err := q.PutAll(bubble.Minute(t), data(0, 1000))
	require.NoError(t, err)
	large := [][]byte{make([]byte, 10_000), []byte("x"), make([]byte, 10_000), make([]byte, 100_000), {}}
	_, err = q.PutAll(bubble.Minute(t), large)
	require.NoError(t, err)
	require.Equal(t, 1005, length(t, q))
	consumer := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(100))
	var acks []*queue.Item
	for n := range 1000 {
		i := bubble.Get(t, consumer.Items(), "an item")
		require.Equal(t, numbered(n, 1)[0], string(i.Data()))
		if acks = append(acks, i); len(acks) == 30 {
			for k := range acks { // every seventh, and round again
				require.NoError(t, acks[k*7%30].Ack(bubble.Minute(t)))
			}
			acks = nil
		}
	}
	for _, i := range acks {
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	for _, want := range large {
		i := bubble.Get(t, consumer.Items(), "an item")
		require.Equal(t, string(want), string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	require.Equal(t, 0, length(t, q))
}

// Of many packs a little is acknowledged at once: what is left of them is written anew, in more
// than one transaction.
func TestAcksAcrossManyPacks(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		const calls, each = 4, 90
		for range calls {
			items := make([][]byte, each)
			for n := range items {
				items[n] = make([]byte, 5400) // three in a pack
			}
			_, err := q.PutAll(bubble.Minute(t), items)
			require.NoError(t, err)
		}
		c := consumer(t, q, queue.WithPrefetch(calls*each))
		var items []*queue.Item
		for range calls * each {
			items = append(items, bubble.Get(t, c.Items(), "an item"))
		}
		answers := make(chan error, len(items))
		for n := 0; n < len(items); n += 3 {
			go func() { answers <- items[n].Ack(bubble.Minute(t)) }() // ends with the answer
		}
		for n := 0; n < len(items); n += 3 {
			require.NoError(t, bubble.Get(t, answers, "an answer"))
		}
		require.Equal(t, calls*each*2/3, length(t, q))
	})
}

// The request to remove an item from a pack is lost, and the pack claimed meanwhile, so that its
// znode is gone: the item is removed all the same.
func TestRemoveFromClaimedPack(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q, other := newQueue(t, s), newQueue(t, t.Session())
		for _, verdict := range []zktest.Verdict{zktest.CutBefore, zktest.CutAfter} {
			ids, err := q.PutAll(bubble.Minute(t), data(0, 3))
			require.NoError(t, err)
			cutsFirstMulti(t.Server, s, verdict)
			removed := make(chan error, 1)
			go func() { removed <- q.Remove(bubble.Minute(t), ids[1]) }() // ends with the answer
			time.Sleep(time.Millisecond)
			i := take(t, other)
			require.NoError(t, bubble.Get(t, removed, "the removal"))
			require.Equal(t, 2, length(t, other))
			require.NoError(t, i.Ack(bubble.Minute(t)))
			require.Equal(t, []string{"2"}, takes(t, other, 1))
		}
	})
}

// The answer to a removal is lost, and another item put with the same id meanwhile: that one stays.
func TestRemovedIDIsUsedAgain(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q, other := newQueue(t, s), newQueue(t, t.Session())
		put(t, q, "a", queue.WithID("red"))
		cutsFirstMulti(t.Server, s, zktest.CutAfter)
		removed := make(chan error, 1)
		go func() { removed <- q.Remove(bubble.Minute(t), "red") }() // ends with the answer
		time.Sleep(time.Millisecond)
		put(t, other, "b", queue.WithID("red"))
		require.NoError(t, bubble.Get(t, removed, "the removal"))
		require.Equal(t, []string{"b"}, takes(t, other, 1))
	})
}

// An item that was removed from a claimed pack runs out of time: the acknowledgements of its
// neighbours, which go with that, are carried out.
func TestRemovedItemIsOverdue(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s, admin := t.Session(), newQueue(t, t.Session())
		ids, err := admin.PutAll(bubble.Minute(t), data(0, 4))
		require.NoError(t, err)
		c := consumer(t, newQueue(t, s, queue.WithVisibility(10*time.Second)), queue.WithPrefetch(4))
		var items []*queue.Item
		for range 4 {
			items = append(items, bubble.Get(t, c.Items(), "an item"))
		}
		require.NoError(t, admin.Remove(bubble.Minute(t), ids[1]))
		require.NoError(t, items[0].Ack(bubble.Minute(t)))
		for _, i := range items[2:] {
			require.NoError(t, i.Extend(bubble.Minute(t), time.Hour))
		}
		t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == s.Status().SessionID && r.Op == zktest.OpMulti {
				return zktest.Delay(3 * time.Second)
			}
			return zktest.Pass
		})
		answers := make(chan error, 2)
		time.Sleep(8 * time.Second) // the first of these is on its way when the time is over, and the second goes with what that brings
		for _, i := range items[2:] {
			go func() { answers <- i.Ack(bubble.Minute(t)) }() // ends with the answer
			time.Sleep(time.Second)
		}
		for range 2 {
			require.NoError(t, bubble.Get(t, answers, "an answer"))
		}
		require.ErrorIs(t, items[1].Err(), session.ErrDeleted)
		require.Equal(t, 0, length(t, admin))
	})
}
