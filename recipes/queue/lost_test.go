package queue_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B47 and B48: whatever request or reply of the whole life is lost, and however it is: every item
// is delivered, none twice, and all in order.
func TestB47_B48_AnyLostRequestOrReply(t *testing.T) {
	t.Parallel()
	for lost, verdict := range map[string]zktest.Verdict{
		"request": zktest.CutBefore, "reply": zktest.CutAfter, "request, silently": zktest.DropRequest, "reply, silently": zktest.DropReply,
	} {
		for name, scenario := range map[string]func(t testing.TB, s *session.Session){"claimed": life, "at most once": lifeAtMostOnce, "bounded": lifeBounded, "together": lifeTogether} {
			t.Run(name+", lost "+lost, func(t *testing.T) {
				t.Parallel()
				for k, more := 1, true; more; k++ {
					t.Run(fmt.Sprint(k), func(t *testing.T) {
						more = false
						bubble.Run(t, func(t *bubble.World) {
							s := t.Session()
							met := t.Kth(s, k, verdict, zktest.OpSync)
							scenario(t, s)
							more = met()
						})
					})
					require.Less(t, k, 300, "the scenario has an end")
				}
			})
		}
	}
}

// life goes through the life of some items on a session.
func life(t testing.TB, s *session.Session) {
	q := newQueue(t, s, queue.WithMaxAttempts(3))
	put(t, q, "0")
	_, err := q.PutAll(bubble.Minute(t), [][]byte{[]byte("1"), []byte("2")})
	require.NoError(t, err)
	put(t, q, "3", queue.WithID("red"))
	i := take(t, q)
	require.Equal(t, "0", string(i.Data()))
	require.NoError(t, i.Nack(bubble.Minute(t), queue.After(0)))
	c := consumer(t, q, queue.WithPrefetch(4))
	for n := range 4 {
		i := bubble.Get(t, c.Items(), "an item")
		require.Equal(t, fmt.Sprint(n), string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	require.NoError(t, c.Close(bubble.Minute(t)))
	require.Equal(t, 0, length(t, q))
	put(t, q, "4", queue.WithID("red"))
	require.Equal(t, []string{"4"}, takes(t, q, 1))
	put(t, q, "5")
	for range 3 {
		require.NoError(t, take(t, q).Nack(bubble.Minute(t), queue.After(0)))
	}
	dead := deadLetters(t, s)
	require.Equal(t, []string{"5"}, takes(t, dead, 1))
	require.Equal(t, 0, length(t, q))
	require.Equal(t, 0, length(t, dead))
}

func lifeAtMostOnce(t testing.TB, s *session.Session) {
	q := newQueue(t, s)
	c := consumer(t, q, queue.WithPrefetch(3), queue.WithAutoAck())
	for n := range 5 {
		put(t, q, fmt.Sprint(2*n), queue.WithID("red"))
		require.Equal(t, fmt.Sprint(2*n), string(bubble.Get(t, c.Items(), "an item").Data()))
		_, err := q.PutAll(bubble.Minute(t), [][]byte{fmt.Append(nil, 2*n+1)})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(2*n+1), string(bubble.Get(t, c.Items(), "an item").Data()))
	}
	for _, d := range numbered(0, 6) {
		put(t, q, d)
	}
	require.Equal(t, "0", string(bubble.Get(t, c.Items(), "an item").Data()))
	require.NoError(t, c.Close(bubble.Minute(t)))
	require.ElementsMatch(t, numbered(1, 5), takes(t, q, 5), "what was taken and not received is put again, at the end")
	require.Equal(t, 0, length(t, q))
}

func lifeBounded(t testing.TB, s *session.Session) {
	q := newQueue(t, s, queue.WithCapacity(2))
	for range 3 {
		put(t, q, "a")
		put(t, q, "b")
		_, err := q.Put(bubble.Minute(t), []byte("c"))
		require.ErrorIs(t, err, queue.ErrFull)
		require.Equal(t, []string{"a", "b"}, takes(t, q, 2))
	}
}

// lifeTogether goes through the life of items that were put together.
func lifeTogether(t testing.TB, s *session.Session) {
	q := newQueue(t, s, queue.WithMaxAttempts(2))
	ids, err := q.PutAll(bubble.Minute(t), data(0, 7))
	require.NoError(t, err)
	require.NoError(t, take(t, q).Nack(bubble.Minute(t), queue.After(0)))
	require.NoError(t, q.Remove(bubble.Minute(t), ids[3]))
	c := consumer(t, q, queue.WithPrefetch(6))
	var items []*queue.Item
	for _, want := range []string{"0", "1", "2", "4", "5", "6"} {
		i := bubble.Get(t, c.Items(), "an item")
		require.Equal(t, want, string(i.Data()))
		items = append(items, i)
	}
	require.NoError(t, items[1].Nack(bubble.Minute(t), queue.After(0)))
	items[1] = bubble.Get(t, c.Items(), "an item")
	require.Equal(t, "1", string(items[1].Data()))
	require.NoError(t, items[0].Nack(bubble.Minute(t), queue.After(0)), "it has had its attempts")
	require.NoError(t, items[3].Ack(bubble.Minute(t)))
	require.NoError(t, items[1].Nack(bubble.Minute(t), queue.After(0)), "it has had its attempts")
	require.NoError(t, items[4].Ack(bubble.Minute(t)))
	require.NoError(t, items[2].Ack(bubble.Minute(t)))
	require.NoError(t, c.Close(bubble.Minute(t)))
	require.Equal(t, 1, length(t, q))
	require.Equal(t, []string{"6"}, takes(t, q, 1))
	dead := deadLetters(t, s)
	require.Equal(t, []string{"0", "1"}, takes(t, dead, 2))
	require.Equal(t, 0, length(t, q))
	require.Equal(t, 0, length(t, dead))
	_, err = q.PutAll(bubble.Minute(t), data(7, 5))
	require.NoError(t, err)
	auto := consumer(t, q, queue.WithPrefetch(3), queue.WithAutoAck())
	require.Equal(t, "7", string(bubble.Get(t, auto.Items(), "an item").Data()))
	require.NoError(t, auto.Close(bubble.Minute(t)))
	require.ElementsMatch(t, numbered(8, 4), takes(t, q, 4), "what was taken and not received is put again, at the end")
	require.Equal(t, 0, length(t, q))
}
