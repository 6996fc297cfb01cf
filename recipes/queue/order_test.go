// Order, delays and pauses, dead letters, capacity, and items that nobody has received. Helpers:
// world_test.go.

package queue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The items of a consumer that has died come back in their places. (For items that are returned,
// and for a consumer that closes, see the suite; for a session that is closed, TestB56_Close.)
func TestTheItemsOfADeadConsumerComeBackInTheirPlaces(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q, h := newQueue(t, t.Session()), t.Host("worker")
		putAll(t, q, 0, 6)
		c := consumer(t, newQueue(t, h.Session), queue.WithPrefetch(2))
		gets(t, c, "0")
		back(t, gets(t, c, "1"))
		h.Die()
		time.Sleep(time.Minute)
		require.Equal(t, numbered(0, 6), takes(t, q, 6)) // 0 3 4 5 1 2
	})
}

// A delay ends at an exact instant of the servers' clock.
func TestDelayIsExact(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q, c := newQueue(t, t.Session()), consumer(t, newQueue(t, t.Session()))
		began := time.Now()
		for _, d := range []time.Duration{time.Hour, time.Second, 90 * time.Second, 5 * time.Hour} {
			put(t, q, d.String(), queue.WithDelay(d))
		}
		for _, d := range []time.Duration{time.Second, 90 * time.Second, time.Hour, 5 * time.Hour} {
			i := <-c.Items()
			require.Equal(t, d.String(), string(i.Data()))
			require.Equal(t, d, time.Since(began))
			require.NoError(t, i.Ack(bubble.Minute(t)))
		}
		// A short delay begins while the consumer waits for the end of a long one.
		put(t, q, "long", queue.WithDelay(time.Hour))
		synctest.Wait()
		began = time.Now()
		put(t, q, "short", queue.WithDelay(time.Minute))
		require.Equal(t, "short", string((<-c.Items()).Data()))
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// By default the pause doubles with each attempt, from a second to an hour, and is drawn: two that
// failed together do not come back together. After twenty-five attempts an item is a dead letter.
func TestDefaultBackoffAndAttempts(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		c := consumer(t, q)
		put(t, q, "a", queue.WithID("red"))
		failed, pauses := time.Now(), make(map[time.Duration]bool)
		for attempt := 1; attempt <= 25; attempt++ {
			i := bubble.Within(t, 4*time.Hour, c.Items(), "the item again")
			if pause := time.Since(failed); attempt > 1 {
				require.InEpsilon(t, min(time.Second<<(attempt-2), time.Hour), pause, 0.26, "pause %d", attempt)
				pauses[pause] = true
			}
			require.Equal(t, attempt, i.Attempt())
			require.NoError(t, i.Nack(bubble.Minute(t)))
			failed = time.Now()
		}
		require.Greater(t, len(pauses), 14, "the last twelve are of an hour, more or less")
		time.Sleep(6 * time.Hour)
		bubble.Never(t, c.Items(), "it was delivered again")
		i := takeOne(t, deadLetters(t, s), "a")
		require.Equal(t, "red", i.ID())
		require.InEpsilon(t, time.Minute, queue.Exponential(time.Second, time.Minute)(1000), 0.26)
	})
}

// The application sets the pause, for the queue and for one attempt: the item comes at its end,
// with its headers, and with others in between. The consumer that returned it may be gone by then.
func TestTheApplicationSaysThePause(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		var asked []int
		backoff := queue.WithBackoff(func(attempt int) time.Duration {
			asked = append(asked, attempt)
			return time.Duration(attempt) * time.Minute
		})
		gone := t.Session()
		first := newQueue(t, gone, backoff)
		put(t, first, "a", queue.WithID("red"), queue.WithPriority(-4), queue.WithHeader("k", "overwritten"), queue.WithHeader("k", "a\x00b:,3:<&>"), queue.WithHeader("empty", ""))
		require.NoError(t, take(t, first).Nack(bubble.Minute(t), queue.WithPause(time.Hour)))
		failed := time.Now()
		require.NoError(t, gone.Close(bubble.Minute(t)))

		q := newQueue(t, t.Session(), backoff, queue.WithMaxAttempts(4))
		refuses(t, q, queue.ErrDuplicate, queue.WithID("red")) // it lives
		require.Equal(t, 1, length(t, q))
		put(t, q, "b")
		c := consumer(t, q)
		receives(t, c, "b")
		for n, pause := range []time.Duration{time.Hour, 2 * time.Minute, 3 * time.Minute} {
			i := bubble.Within(t, 2*time.Hour, c.Items(), "the item again")
			require.Equal(t, pause, time.Since(failed))
			require.Equal(t, "a\x00b:,3:<&>", i.Header("k")+i.Header("K")+i.Header("empty")+i.Header("none"))
			require.Equal(t, []any{"red", -4, n + 2}, []any{i.ID(), i.Priority(), i.Attempt()})
			require.NoError(t, i.Nack(bubble.Minute(t)))
			failed = time.Now()
		}
		require.Equal(t, []int{2, 3}, asked, "after the fourth it is a dead letter")
		require.Equal(t, 0, length(t, q))
	})
}

// B75: a handle whose server lags behind sees all that was settled before it asks.
func TestB75_ReadsAreUpToDate(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q, watcher := newQueue(t, t.SessionOn(1)), newQueue(t, t.SessionOn(0))
		t.Server.Lag(0, 50)
		put(t, q, "a", queue.WithID("red"))
		require.Equal(t, 1, length(t, watcher))
		put(t, q, "b", queue.WithPriority(-1))
		require.Equal(t, "b", string(must(watcher.Peek(bubble.Minute(t))).Data))
		put(t, q, "c", queue.WithID("blue"))
		require.NoError(t, watcher.Remove(bubble.Minute(t), "blue"))
		require.Equal(t, []string{"b", "a"}, takes(t, q, 2))
		require.Equal(t, 0, length(t, watcher))
	}, zktest.WithServers(2))
}

// Remove finds an item that lives, though it moves at any of its requests: into line, to a
// consumer, back, or to a pause.
func TestRemoveOfAMovingItem(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *bubble.World, q *queue.Queue) (move func()){
		"into line": func(t *bubble.World, q *queue.Queue) func() {
			put(t, q, "x", queue.WithID("red"), queue.WithDelay(time.Second))
			consumer(t, newQueue(t, t.Session()))
			return func() { time.Sleep(2 * time.Second) }
		},
		"to a consumer": func(t *bubble.World, q *queue.Queue) func() {
			put(t, q, "x", queue.WithID("red"))
			return func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_, _ = q.Take(ctx) // unless it is removed already
			}
		},
		"back": func(t *bubble.World, q *queue.Queue) func() {
			put(t, q, "x", queue.WithID("red"))
			c := consumer(t, q)
			gets(t, c, "x")
			return func() { _ = c.Close(bubble.Minute(t)) }
		},
		"to a pause": func(t *bubble.World, q *queue.Queue) func() {
			put(t, q, "x", queue.WithID("red"))
			i := take(t, q)
			return func() { _ = i.Nack(bubble.Minute(t)) }
		},
	} {
		var move func()
		atEach(t, name, func(*bubble.World, *session.Session) zktest.Verdict {
			move()
			return zktest.Pass
		}, func(t *bubble.World, s *session.Session) {
			q, remover := newQueue(t, t.Session()), newQueue(t, s)
			put(t, q, "other", queue.WithDelay(time.Hour))
			move = begin(t, q)
			require.NoError(t, remover.Remove(bubble.Minute(t), "red"), "it lives")
			require.Equal(t, 1, length(t, q), "it is removed")
			require.ErrorIs(t, remover.Remove(bubble.Minute(t), "red"), session.ErrNoNode)
		})
	}
}

// dies makes dead letters: each item with its id and a header, received once.
func dies(t testing.TB, q *queue.Queue, ids ...string) {
	t.Helper()
	for _, id := range ids {
		put(t, q, "poison "+id, queue.WithID(id), queue.WithPriority(7), queue.WithHeader("k", id))
		require.NoError(t, take(t, q).Nack(bubble.Minute(t)))
	}
}

// A dead letter is removed by its id, from its own queue and from that of the dead letters.
func TestRemoveADeadLetter(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q, dead := newQueue(t, s, queue.WithMaxAttempts(1)), deadLetters(t, s)
		dies(t, q, "nightly", "daily")
		id := put(t, q, "x")
		require.NoError(t, take(t, q).Nack(bubble.Minute(t)))
		require.Equal(t, 3, length(t, dead))
		require.NoError(t, dead.Remove(bubble.Minute(t), "nightly"))
		require.ErrorIs(t, dead.Remove(bubble.Minute(t), "nightly"), session.ErrNoNode)
		require.NoError(t, q.Remove(bubble.Minute(t), "daily"))
		require.ErrorIs(t, q.Remove(bubble.Minute(t), "daily"), session.ErrNoNode)
		require.NoError(t, q.Remove(bubble.Minute(t), id))
		require.Equal(t, 0, length(t, dead))
	})
}

// Requeue puts dead letters back with what they had, and their attempts begin anew.
func TestRequeue(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q, dead := newQueue(t, s, queue.WithMaxAttempts(1), queue.WithCapacity(3)), deadLetters(t, s)
		dies(t, q, "a", "b", "c")
		id := put(t, q, "unnamed")
		require.NoError(t, take(t, q).Nack(bubble.Minute(t)))
		put(t, q, "x", queue.WithID("b"))
		require.ErrorContains(t, q.Requeue(bubble.Minute(t)), "ids: none, or an empty one: []")
		require.ErrorContains(t, q.Requeue(bubble.Minute(t), "c", ""), "ids: none, or an empty one: ")
		require.ErrorIs(t, q.Requeue(bubble.Minute(t), "c", "b", "a"), queue.ErrDuplicate)
		require.ErrorIs(t, q.Requeue(bubble.Minute(t), "c"), session.ErrNoNode)
		require.NoError(t, q.Requeue(bubble.Minute(t), id))
		require.ErrorIs(t, q.Requeue(bubble.Minute(t), "a"), queue.ErrFull)
		refuses(t, q, queue.ErrFull)
		require.Equal(t, []string{"x"}, takes(t, q, 1))
		i := take(t, q)
		require.Equal(t, id, i.ID())
		require.Equal(t, "unnamed", string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
		require.NoError(t, q.Requeue(bubble.Minute(t), "a"))
		refuses(t, q, queue.ErrDuplicate, queue.WithID("a"))

		c := consumer(t, newQueue(t, t.Session()), queue.WithWorkers(3))
		for _, want := range []string{"c", "a"} {
			i := gets(t, c, "poison "+want)
			require.Equal(t, []any{want, want, 7, 1}, []any{i.ID(), i.Header("k"), i.Priority(), i.Attempt()})
			require.NoError(t, i.Ack(bubble.Minute(t)))
		}
		synctest.Wait()
		require.NoError(t, q.Requeue(bubble.Minute(t), "b"))
		receives(t, c, "poison b") // a consumer that waits is woken
		require.Equal(t, 0, length(t, q))
		require.Equal(t, 0, length(t, dead))
	})
}

// A full queue has no room, though its items move at any request of a put. When one goes, either
// producer may have its place, and one of them has.
func TestTheCapacityIsAHardLimit(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(t *bubble.World, held *queue.Item) (gone bool){
		"one moves into line": func(*bubble.World, *queue.Item) bool { time.Sleep(time.Minute); return false },
		"one pauses":          func(t *bubble.World, held *queue.Item) bool { _ = held.Nack(bubble.Minute(t)); return false },
		"one comes back":      func(t *bubble.World, held *queue.Item) bool { back(t, held); return false },
		"one is acknowledged": func(t *bubble.World, held *queue.Item) bool { return held.Ack(bubble.Minute(t)) == nil },
	} {
		var happen func()
		atEach(t, name, func(*bubble.World, *session.Session) zktest.Verdict {
			happen()
			return zktest.Pass
		}, func(t *bubble.World, s *session.Session) {
			const capacity = 4
			q, rival, taker := newQueue(t, s), newQueue(t, t.Session(), queue.WithCapacity(capacity)), newQueue(t, t.Session())
			put(t, rival, "held")
			held, room := take(t, taker), 0
			consumer(t, newQueue(t, t.Session())) // it moves what is due
			putAll(t, rival, 0, 2)
			put(t, rival, "delayed", queue.WithDelay(30*time.Second))
			happen = func() {
				if happens(t, held) {
					room = 1
					_, _ = rival.Put(bubble.Minute(t), nil)
				}
			}
			for range 2 {
				if _, err := q.Put(bubble.Minute(t), nil); err != nil || room == 0 {
					require.ErrorIs(t, err, queue.ErrFull)
				}
				require.ErrorIs(t, errOf(q.PutAll(bubble.Minute(t), data(0, 2))), queue.ErrFull)
				require.Equal(t, capacity, length(t, rival))
			}
		})
	}
}

// Items that are put back were in the queue before: a queue that has been filled meanwhile has more
// than its capacity until as many are taken.
func TestPutBackIntoFullQueue(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q := newQueue(t, t.Session(), queue.WithCapacity(2))
		putAll(t, q, 0, 2)
		c := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(2))
		synctest.Wait()
		putAll(t, q, 2, 2)
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.Equal(t, 4, length(t, q))
		for _, want := range []string{"2", "3"} { // what is put back comes behind the others
			refuses(t, q, queue.ErrFull)
			require.Equal(t, []string{want}, takes(t, q, 1))
		}
		refuses(t, q, queue.ErrFull)
		require.Equal(t, []string{"0"}, takes(t, q, 1))
		put(t, q, "in its place")
		refuses(t, q, queue.ErrFull)
		require.Equal(t, []string{"1", "in its place"}, takes(t, q, 2))
	})
}

// A consumer at most once ends beside its queue or by itself: items that it had taken and that were
// not received are in the queue again when that is closed.
func TestWhatNobodyHasReceivedIsPutBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *bubble.World, c *queue.Consumer){
		"closed beside its queue": func(t *bubble.World, c *queue.Consumer) { go func() { _ = c.Close(bubble.Minute(t)) }() }, // ends with its answer
		"given up": func(_ *bubble.World, c *queue.Consumer) {
			for c.Err() == nil {
				c.Panic("a bug")
				time.Sleep(time.Second)
			}
		},
	} {
		each(t, name, func(t *bubble.World) {
			s := t.Session()
			putMany(t, newQueue(t, s), 20)
			for range 10 {
				q := newQueue(t, s)
				c := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(10))
				synctest.Wait()
				require.Equal(t, 10, length(t, q))
				end(t, c)
				<-c.Done()
				require.NoError(t, q.Close(bubble.Minute(t)))
				require.Equal(t, 20, length(t, newQueue(t, s)))
			}
		})
	}
}

// A consumer at most once holds no claim on the items that it has taken, received or not: its
// session has no possession to prove, and no item is lost with the session.
func TestAtMostOnceHoldsNothing(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		var log bubble.Log
		s := t.Session(log.Option())
		putAll(t, newQueue(t, t.Session()), 0, 40)
		c := consumer(t, newQueue(t, s), queue.WithAutoAck(), queue.WithPrefetch(10))
		for _, d := range numbered(0, 30) {
			gets(t, c, d)
		}
		time.Sleep(time.Minute) // until the last request is answered
		t.Server.ClearJournal()
		time.Sleep(time.Hour)
		for _, r := range t.Server.Journal() {
			require.Equal(t, zktest.OpPing, r.Op, r)
		}
		t.Server.Expire(s.Status().SessionID)
		for _, d := range numbered(30, 10) {
			gets(t, c, d)
		}
		time.Sleep(time.Minute)
		require.Empty(t, log.Warnings(path))
	})
}

// An ephemeral item does not outlive its producer: neither when a consumer at most once closes that
// had taken it, nor as a dead letter. Others are put back as what they were.
func TestAnEphemeralItemDoesNotOutliveItsProducer(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		producer := t.Session()
		p, q := newQueue(t, producer), newQueue(t, t.Session(), queue.WithMaxAttempts(1))
		put(t, p, "fails", queue.WithEphemeral(), queue.WithID("red"))
		require.NoError(t, take(t, q).Nack(bubble.Minute(t)))
		put(t, p, "taken", queue.WithEphemeral(), queue.WithID("red"))
		id := put(t, p, "stays")
		c := consumer(t, q, queue.WithAutoAck(), queue.WithPrefetch(2))
		synctest.Wait()
		require.Equal(t, 0, length(t, q))
		require.NoError(t, c.Close(bubble.Minute(t)))
		require.NoError(t, producer.Close(bubble.Minute(t)))
		require.Equal(t, 1, length(t, q))
		require.Equal(t, 0, length(t, deadLetters(t, t.Session())))
		i := takeOne(t, q, "stays")
		require.Equal(t, id, i.ID())
	})
}

// The receiver may change an item's data. An item that pauses, and a dead letter, has those that
// were put.
func TestTheReceiverMayChangeTheData(t *testing.T) {
	t.Parallel()
	for attempts, from := range map[int]string{2: path, 1: path + "/dead"} {
		each(t, from, func(t *bubble.World) {
			q := newQueue(t, t.Session(), queue.WithMaxAttempts(attempts))
			put(t, q, "secret")
			i := take(t, q)
			clear(i.Data())
			require.NoError(t, i.Nack(bubble.Minute(t), queue.WithPause(time.Second)))
			takeOne(t, queueAt(t, t.Session(), from), "secret")
		})
	}
}

// At any lost request or reply: an item pauses once, with its error, and is a dead letter once. Its
// id is taken as long as it pauses, and free then. Close waits for a Nack that is under way.
func TestAPauseAtAnyLostRequestOrReply(t *testing.T) {
	t.Parallel()
	for lost, fate := range bubble.Fates {
		atEach(t, lost, func(*bubble.World, *session.Session) zktest.Verdict { return fate }, func(t *bubble.World, s *session.Session) {
			o, q := newQueue(t, t.Session()), newQueue(t, s, queue.WithMaxAttempts(2))
			put(t, o, "a", queue.WithID("red"), queue.WithPriority(5), queue.WithHeader("k", "v"))
			require.NoError(t, take(t, q).Nack(bubble.Minute(t), queue.WithPause(time.Minute), queue.WithError(errors.New("no paper"))))
			refuses(t, o, queue.ErrDuplicate, queue.WithID("red"))
			require.Equal(t, "no paper", finds(t, o, "red").LastError.Error)
			i := must(q.Take(t.Context()))
			require.Equal(t, 2, i.Attempt())
			nacked := bubble.Begin(func() error { return i.Nack(bubble.Minute(t)) })
			synctest.Wait() // it is under way: Done closes before that
			bubble.Closed(t, i.Done(), "the possession")
			require.NoError(t, q.Close(bubble.Minute(t)))
			require.NoError(t, bubble.Now(t, nacked, "the answer"))
			put(t, o, "b", queue.WithID("red"))
			require.Equal(t, []string{"b"}, takes(t, o, 1))
			require.Equal(t, 0, length(t, o))
			dead := take(t, deadLetters(t, t.Session()))
			require.Equal(t, []any{"red", 5, "v", 1}, []any{dead.ID(), dead.Priority(), dead.Header("k"), dead.Attempt()})
			require.NoError(t, dead.Ack(bubble.Minute(t)))
			require.Equal(t, 0, length(t, deadLetters(t, t.Session())))
		})
	}
}
