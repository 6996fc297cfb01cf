package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// cluster is ZooKeeper, embedded or real, as a test of the suite sees it.
type cluster struct {
	open func(t *testing.T, opts ...session.Option) *session.Session
	root string // below which the test has everything to itself
}

func (c cluster) session(t *testing.T) *session.Session {
	t.Helper()
	return c.open(t, session.WithNamespace(c.root))
}

// suite is what a queue does, on whatever ZooKeeper.
var suite = []struct {
	name string
	run  func(t *testing.T, c cluster)
}{
	{"first in, first out", inOrder},
	{"the order survives buckets, with producers in a race", racingProducers},
	{"priorities", priorities},
	{"B50: what is given back keeps its place", b50GivenBack},
	{"a duplicate is refused while the item lives", duplicates},
	{"several are put together or not at all", together},
	{"settled in its own context", settledInside},
	{"items of one pack", packed},
	{"dead letters from packs", packedDeadLetters},
	{"many packs", manyPacked},
	{"a bounded queue", bounded},
	{"a bounded queue in a race", boundedRace},
	{"dead letters", deadLetters},
	{"a delay", delayed},
	{"at most once", autoAck},
	{"B52: consumers compete, and none waits for another", b52Competing},
	{"a consumer that closes gives back", closing},
	{"look without taking", looking},
	{"remove", removing},
	{"shards", sharded},
	{"ephemeral items", ephemerals},
	{"a commit on condition of the claim", committing},
}

func TestQueue(t *testing.T) {
	t.Parallel()
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				z := zktest.Start(t)
				test.run(t, cluster{root: "/test", open: func(t *testing.T, opts ...session.Option) *session.Session { return open(t, z, opts...) }})
			})
		})
	}
}

func TestQueueOnRealZooKeeper(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(map[int]string{1: "one server", 3: "three servers"}[servers], func(t *testing.T) {
			t.Parallel()
			zk := ensemble.Start(t, servers)
			for _, test := range suite {
				t.Run(test.name, func(t *testing.T) {
					test.run(t, cluster{root: "/" + strings.ReplaceAll(test.name, " ", "-"), open: func(t *testing.T, opts ...session.Option) *session.Session {
						s, err := session.Open(patience(t), zk.Servers(), opts...)
						require.NoError(t, err)
						t.Cleanup(func() { require.NoError(t, s.Close(patience(t))) })
						return s
					}})
				})
			}
		})
	}
}

func inOrder(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
	for _, data := range numbered(0, 20) {
		put(t, q, data)
	}
	require.Equal(t, 20, length(t, q))
	require.Equal(t, numbered(0, 20), takes(t, newQueue(t, c.session(t)), 20))
	require.Equal(t, 0, length(t, q))
}

// Several producers, each with puts of its own size, through many buckets: what one has put comes
// in its order, and after what had been put before it began.
func racingProducers(t *testing.T, c cluster) {
	const producers, each = 4, 120
	var group sync.WaitGroup
	for p := range producers {
		q := newQueue(t, c.session(t))
		group.Go(func() {
			for n := 0; n < each; {
				size := min(1+(n+p)%7, each-n)
				var data [][]byte
				for range size {
					data = append(data, fmt.Appendf(nil, "%d %d", p, n))
					n++
				}
				if _, err := q.PutAll(patience(t), data); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	q := newQueue(t, c.session(t))
	put(t, q, "the last")
	last := make(map[int]int)
	for range producers * each {
		i := take(t, q)
		var p, n int
		_, err := fmt.Sscanf(string(i.Data()), "%d %d", &p, &n)
		require.NoError(t, err)
		require.Equal(t, last[p], n, "of producer %d", p)
		last[p]++
		require.NoError(t, i.Ack(patience(t)))
	}
	require.Equal(t, []string{"the last"}, takes(t, q, 1))
}

func priorities(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
	for n, p := range []int{5, -3, 0, 5, -3, 100, -9999} {
		put(t, q, fmt.Sprint(n), queue.WithPriority(p))
	}
	require.Equal(t, []string{"6", "1", "4", "2", "0"}, takes(t, q, 5))
	put(t, q, "urgent", queue.WithPriority(-1))
	require.Equal(t, []string{"urgent", "3", "5"}, takes(t, newQueue(t, c.session(t)), 3))
}

// CURATOR-56, CURATOR-224: what is given back keeps its id, its priority and its place; attempts
// are counted.
func b50GivenBack(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
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
		require.NoError(t, i.Nack(patience(t)))
		require.ErrorIs(t, i.Err(), session.ErrReleased)
		require.ErrorIs(t, i.Ack(patience(t)), session.ErrReleased)
	}
	require.Equal(t, []string{"a", "b", "c"}, takes(t, q, 3))
}

func duplicates(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
	put(t, q, "a", queue.WithID("red"))
	_, err := q.Put(patience(t), []byte("b"), queue.WithID("red"))
	require.ErrorIs(t, err, queue.ErrDuplicate)
	i := take(t, q)
	_, err = newQueue(t, c.session(t)).Put(patience(t), []byte("b"), queue.WithID("red"))
	require.ErrorIs(t, err, queue.ErrDuplicate, "it is being processed")
	require.NoError(t, i.Ack(patience(t)))
	put(t, q, "c", queue.WithID("red"))
	require.Equal(t, []string{"c"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

func together(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
	put(t, q, "x", queue.WithID("red"))
	ids, err := q.PutAll(patience(t), [][]byte{[]byte("a"), {}, []byte("c:,3:")})
	require.NoError(t, err)
	require.Len(t, ids, 3)
	require.Equal(t, []string{"x", "a", "", "c:,3:"}, takes(t, q, 4))
	_, err = q.PutAll(patience(t), [][]byte{[]byte("a"), make([]byte, 2<<20)})
	require.ErrorIs(t, err, session.ErrTooLarge)
	require.Equal(t, 0, length(t, q), "nothing was put")
}

func deadLetters(t *testing.T, c cluster) {
	s := c.session(t)
	q := newQueue(t, s, queue.WithMaxAttempts(2), queue.WithDeadLetters("/queues/graveyard"))
	put(t, q, "a", queue.WithPriority(4), queue.WithID("red"))
	put(t, q, "b", queue.WithPriority(5))
	for range 2 {
		i := take(t, q)
		require.Equal(t, "a", string(i.Data()))
		require.NoError(t, i.Nack(patience(t)))
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
	require.NoError(t, i.Ack(patience(t)))
	require.Equal(t, 0, length(t, dead))

	// One whose consumers died goes there too.
	for range 2 {
		dying := c.session(t)
		require.Equal(t, "c", string(take(t, newQueue(t, dying)).Data()))
		require.NoError(t, dying.Close(patience(t)))
	}
	put(t, q, "d")
	require.Equal(t, []string{"d"}, takes(t, q, 1))
	require.Equal(t, []string{"c"}, takes(t, dead, 1))
}

func delayed(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
	began := time.Now()
	put(t, q, "late", queue.WithDelay(300*time.Millisecond))
	put(t, q, "later", queue.WithDelay(600*time.Millisecond), queue.WithID("red"))
	put(t, q, "now")
	require.Equal(t, 3, length(t, q))
	taker := newQueue(t, c.session(t))
	require.Equal(t, []string{"now"}, takes(t, taker, 1))
	require.Equal(t, []string{"late"}, takes(t, taker, 1))
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	i := take(t, taker)
	require.Equal(t, "later", string(i.Data()))
	require.Equal(t, "red", i.ID())
	require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond)
	require.NoError(t, i.Ack(patience(t)))
	put(t, q, "again", queue.WithID("red"))
}

func autoAck(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
	var data [][]byte
	for _, d := range numbered(0, 50) {
		data = append(data, []byte(d))
	}
	_, err := q.PutAll(patience(t), data)
	require.NoError(t, err)
	put(t, q, "50", queue.WithID("red"))
	cons := consumer(t, newQueue(t, c.session(t)), queue.WithAutoAck(), queue.WithPrefetch(10))
	var got []string
	for range 51 {
		i := get(t, cons.Items(), "an item")
		got = append(got, string(i.Data()))
		require.Nil(t, i.Hold)
		require.NoError(t, i.Ack(patience(t)))
		require.NoError(t, i.Nack(patience(t)))
		require.NoError(t, i.Extend(patience(t), time.Second))
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
func b52Competing(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
	_, err := q.PutAll(patience(t), [][]byte{[]byte("0"), []byte("1"), []byte("2"), []byte("3")})
	require.NoError(t, err)
	var items []*queue.Item
	for n := range 4 {
		i := take(t, newQueue(t, c.session(t)))
		require.Equal(t, fmt.Sprint(n), string(i.Data()))
		items = append(items, i)
	}
	slices.Reverse(items)
	for _, i := range items {
		require.NoError(t, i.Ack(patience(t)))
	}
	names, _, err := c.session(t).Children(patience(t), path+"/ready-0-0000000000")
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "taken-") }), "%v", names)
}

func closing(t *testing.T, c cluster) {
	for _, auto := range []bool{false, true} {
		s := c.session(t)
		q := newQueue(t, s)
		for _, data := range numbered(0, 10) {
			put(t, q, data)
		}
		opts := []queue.ConsumeOption{queue.WithPrefetch(6)}
		if auto {
			opts = append(opts, queue.WithAutoAck())
		}
		first := consumer(t, q, opts...)
		require.Equal(t, "0", string(get(t, first.Items(), "an item").Data()))
		i := get(t, first.Items(), "an item")
		require.NoError(t, i.Ack(patience(t)))
		require.NoError(t, first.Close(patience(t)))
		require.NoError(t, first.Close(patience(t)))
		require.ErrorIs(t, first.Err(), session.ErrClosed)
		_, open := <-first.Items()
		require.False(t, open)
		want := append([]string{"0"}, numbered(2, 8)...) // the first was received and not settled
		if auto {
			want = numbered(2, 8)
		}
		require.Equal(t, want, takes(t, newQueue(t, c.session(t)), len(want)))
		require.Equal(t, 0, length(t, q))
	}
}

func sharded(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t), queue.WithShards(3))
	put(t, q, "urgent", queue.WithPriority(-1))
	for n := range 9 {
		_, err := q.PutAll(patience(t), [][]byte{fmt.Appendf(nil, "%d 0", n), fmt.Appendf(nil, "%d 1", n)})
		require.NoError(t, err)
	}
	got := takes(t, newQueue(t, c.session(t), queue.WithShards(3)), 19)
	require.Equal(t, "urgent", got[0], "priorities are kept across shards")
	for n := range 9 {
		require.Less(t, slices.Index(got, fmt.Sprintf("%d 0", n)), slices.Index(got, fmt.Sprintf("%d 1", n)), "order within a shard")
	}
	require.Equal(t, 0, length(t, q))
}

func ephemerals(t *testing.T, c cluster) {
	q := newQueue(t, c.session(t))
	gone := c.session(t)
	put(t, newQueue(t, gone), "with me", queue.WithEphemeral())
	put(t, newQueue(t, gone), "without me")
	require.Equal(t, 2, length(t, q))
	require.NoError(t, gone.Close(patience(t)))
	require.Equal(t, []string{"without me"}, takes(t, q, 1))
	put(t, q, "here", queue.WithEphemeral())
	require.Equal(t, []string{"here"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
}

func committing(t *testing.T, c cluster) {
	s := c.session(t)
	_, err := s.Create(patience(t), "/result", []byte("0"))
	require.NoError(t, err)
	q := newQueue(t, s)
	put(t, q, "a")
	first := take(t, q)
	_, err = first.Commit(patience(t), session.SetOp("/result", []byte("1"), -1))
	require.NoError(t, err)
	require.NoError(t, s.Delete(patience(t), first.Path(), -1)) // an administrator
	second := take(t, newQueue(t, c.session(t)))
	require.Equal(t, 2, second.Attempt())
	require.Greater(t, second.Token(), first.Token())
	_, err = first.Commit(patience(t), session.SetOp("/result", []byte("wrong"), -1))
	require.ErrorIs(t, err, session.ErrLost)
	require.ErrorIs(t, first.Ack(patience(t)), session.ErrLost)
	data, _, err := s.Get(patience(t), "/result")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	require.NoError(t, second.Ack(patience(t)))
}
