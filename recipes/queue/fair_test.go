package queue_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// What is given back comes next, though the consumer that takes next knows of two hundred later
// items: whichever way it came back.
func TestGivenBackBeforeKnownLaterItems(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(t *bubble.World, s *session.Session) (giveBack func()){
		"the consumer closes": func(t *bubble.World, s *session.Session) func() {
			c := consuming(t, s)
			return func() { require.NoError(t, c.Close(bubble.Minute(t))) }
		},
		"the session closes": func(t *bubble.World, s *session.Session) func() {
			consuming(t, s)
			return func() { require.NoError(t, s.Close(bubble.Minute(t))) }
		},
		"an administrator deletes the claims": func(t *bubble.World, s *session.Session) func() {
			q := newQueue(t, s)
			paths := make(map[string]bool) // items may share a claim
			for range claimed {
				paths[take(t, q).Path()] = true
			}
			return func() {
				for p := range paths {
					require.NoError(t, s.Delete(bubble.Minute(t), p, -1))
				}
			}
		},
	} {
		inSets := func(t testing.TB, q *queue.Queue, n int) { // of which each consumer claims one as a whole
			for at := 0; at < n; at += claimed {
				_, err := q.PutAll(bubble.Minute(t), data(at, min(claimed, n-at)))
				require.NoError(t, err)
			}
		}
		for how, fill := range map[string]func(t testing.TB, q *queue.Queue, n int){"put alone": putAlone, "put together": inSets} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				bubble.Run(t, func(t *bubble.World) {
					metered(t)
					q := newQueue(t, t.Session())
					fill(t, q, claimed+202)
					giveBack := claim(t, t.Session())
					require.Equal(t, numbered(claimed, 2), takes(t, q, 2), "it knows the queue by now")
					giveBack()
					time.Sleep(time.Second) // what it has claimed and nobody takes goes back, too
					require.Equal(t, append(numbered(0, claimed), numbered(claimed+2, 4)...), takes(t, q, claimed+4))
				})
			})
		}
	}
}

const claimed = 8 // items that are claimed and given back

// consuming is a consumer that has received as many.
func consuming(t *bubble.World, s *session.Session) *queue.Consumer {
	t.Helper()
	c := consumer(t, newQueue(t, s), queue.WithPrefetch(claimed))
	for range claimed {
		bubble.Get(t, c.Items(), "an item")
	}
	return c
}

// A more urgent item comes next, though the consumer knows of two hundred others.
func TestUrgentBeforeKnownItems(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		metered(t)
		q, other := newQueue(t, t.Session()), newQueue(t, t.Session())
		putAlone(t, q, 200)
		require.Equal(t, numbered(0, 2), takes(t, other, 2))
		for n := range 3 {
			put(t, q, fmt.Sprint("urgent ", n), queue.WithPriority(-1))
		}
		settled()
		require.Equal(t, append([]string{"urgent 0", "urgent 1", "urgent 2"}, numbered(2, 2)...), takes(t, other, 5))
	})
}

// Many that wait are served in the order in which they began to: nobody is starved.
func TestWaitingTakesAreServedInOrder(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const waiting = 8
		metered(t)
		q := newQueue(t, t.Session())
		put(t, q, "x")
		takes(t, q, 1)
		type served struct {
			by   int
			item *queue.Item
		}
		got := make(chan served, waiting)
		for n := range waiting {
			other := newQueue(t, t.Session())
			go func() { // ends with the item
				i, err := other.Take(bubble.Minute(t))
				if err == nil {
					got <- served{n, i}
				}
			}()
			time.Sleep(20 * trip)
			synctest.Wait()
		}
		for n := range waiting {
			put(t, q, fmt.Sprint(n))
			s := bubble.Get(t, got, "an item")
			require.Equal(t, n, s.by, "who has item %d", n)
			require.NoError(t, s.item.Ack(bubble.Minute(t)))
		}
	})
}

// Shards take turns, so that none starves while others are filled again and again.
func TestShardsTakeTurns(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session(), queue.WithShards(3))
		putAlone(t, q, 30)
		taker, last := newQueue(t, t.Session()), make(map[int]int)
		for n := range 30 {
			i := take(t, taker)
			var number int
			_, err := fmt.Sscan(string(i.Data()), &number)
			require.NoError(t, err)
			require.LessOrEqual(t, n-last[number%3], 6, "since the last one of this shard")
			last[number%3] = n
			require.NoError(t, i.Ack(bubble.Minute(t)))
		}
	})
}
