// Lost requests and replies; items that are lost; panics; Close. Helpers: world_test.go.

package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B47 and B48: any request or reply of the whole life is lost, in any way: every item is delivered,
// none twice, and all in order.
func TestB47_B48_AnyLostRequestOrReply(t *testing.T) {
	t.Parallel()
	for lost, fate := range bubble.Fates {
		for name, life := range map[string]func(t *bubble.World, s *session.Session){"claimed": life, "at most once": lifeAtMostOnce, "bounded": lifeBounded} {
			atEach(t, name+", "+lost, func(*bubble.World, *session.Session) zktest.Verdict { return fate }, life)
		}
	}
}

// life goes through the life of some items on a session.
func life(t *bubble.World, s *session.Session) {
	q := newQueue(t, s, queue.WithMaxAttempts(2))
	zero := put(t, q, "0")
	ids := putAll(t, q, 1, 5)
	put(t, q, "6", queue.WithID("red"))
	require.NoError(t, takeOne(t, q, "0").Nack(bubble.Minute(t), queue.WithPause(0), queue.WithError(errors.New("no paper"))))
	require.Equal(t, "no paper", finds(t, q, zero).LastError.Error)
	require.NoError(t, q.Remove(bubble.Minute(t), ids[2]))
	c := consumer(t, q, queue.WithPrefetch(6))
	items := make(map[string]*queue.Item)
	for _, d := range []string{"0", "1", "2", "4", "5", "6"} {
		items[d] = gets(t, c, d)
	}
	for _, i := range items { // also if the answer to its claim was lost
		stat, _, err := s.Exists(bubble.Minute(t), i.Path())
		require.NoError(t, err)
		require.Equal(t, stat.Czxid, i.Token())
	}
	back(t, items["1"])
	items["1"] = gets(t, c, "1")
	back(t, items["0"]) // it has had its attempts
	require.NoError(t, items["4"].Ack(bubble.Minute(t)))
	require.NoError(t, items["5"].Return(bubble.Minute(t)))
	items["5"] = gets(t, c, "5")
	require.Equal(t, 1, items["5"].Attempt())
	back(t, items["1"]) // so has this one
	require.NoError(t, items["6"].Ack(bubble.Minute(t)))
	require.NoError(t, items["2"].Ack(bubble.Minute(t)))
	require.NoError(t, c.Close(bubble.Minute(t)))
	require.Equal(t, 1, length(t, q))
	put(t, q, "7", queue.WithID("red"))
	require.Equal(t, []string{"5", "7"}, takes(t, q, 2))
	dead := deadLetters(t, s)
	require.Equal(t, 2, length(t, dead))
	require.NoError(t, q.Requeue(bubble.Minute(t), ids[0]))
	require.Equal(t, []string{"0"}, takes(t, dead, 1))
	require.Equal(t, []string{"1"}, takes(t, q, 1))
	require.Equal(t, 0, length(t, q))
	require.Equal(t, 0, length(t, dead))
}

func lifeAtMostOnce(t *bubble.World, s *session.Session) {
	q := newQueue(t, s)
	c := consumer(t, q, queue.WithPrefetch(3), queue.WithAutoAck())
	for n := range 5 {
		put(t, q, fmt.Sprint(2*n), queue.WithID("red"))
		gets(t, c, fmt.Sprint(2*n))
		putAll(t, q, 2*n+1, 1)
		gets(t, c, fmt.Sprint(2*n+1))
	}
	for _, d := range numbered(0, 6) {
		put(t, q, d)
	}
	gets(t, c, "0")
	require.NoError(t, c.Close(bubble.Minute(t)))
	require.ElementsMatch(t, numbered(1, 5), takes(t, q, 5), "what was taken and not received is put again, at the end")
	require.Equal(t, 0, length(t, q))
}

func lifeBounded(t *bubble.World, s *session.Session) {
	q := newQueue(t, s, queue.WithCapacity(2))
	for range 3 {
		put(t, q, "a")
		put(t, q, "b")
		refuses(t, q, queue.ErrFull)
		require.Equal(t, []string{"a", "b"}, takes(t, q, 2))
	}
}

// A consumer loses its items in different ways. An Ack or Nack after that changes nothing, and the
// item is delivered again. An item that was not received before its loss is not received
// afterwards: it comes again as a new value. And consumption goes on. B49 is CURATOR-605. B51,
// CURATOR-623, is a partition of twelve minutes: the item is lost here, at the end of trust, before
// another consumer has it, and by B55, CURATOR-336, the session says what becomes of the
// connection.
func TestWhatIsLostIsNotReceived(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		cause error
		lose  func(t *bubble.World, s *session.Session) (heal func())
		opts  []queue.Option
	}{
		"B49: its session ends": {session.ErrLost, func(t *bubble.World, s *session.Session) func() {
			t.Server.Expire(s.Status().SessionID)
			return func() {}
		}, nil},
		"B51, B55: a partition": {session.ErrUntrusted, func(t *bubble.World, s *session.Session) func() {
			states, heal := s.Observe(t.Context()), t.Server.Partition(s.Status().SessionID)
			bubble.Await(t, states, "the loss", func(s session.Status) bool { return s.State == session.Untrusted })
			return func() {
				heal()
				bubble.Await(t, states, "the connection", func(s session.Status) bool { return s.State == session.Connected })
			}
		}, nil},
		"it is overdue": {queue.ErrOverdue, func(*bubble.World, *session.Session) func() { return func() {} }, []queue.Option{queue.WithVisibility(time.Second)}},
	} {
		each(t, name, func(t *bubble.World) {
			s, q := t.Session(), newQueue(t, t.Session())
			c := consumer(t, newQueue(t, s, row.opts...), queue.WithPrefetch(3))
			putAll(t, q, 0, 3)
			first := gets(t, c, "0")
			synctest.Wait() // until it has claimed all three
			require.True(t, first.Valid())
			next := bubble.Begin(func() *queue.Item { return take(t, q) })
			heal := row.lose(t, s)
			<-first.Done()
			for _, err := range []error{first.Err(), context.Cause(first.Context())} {
				require.ErrorIs(t, err, session.ErrLost)
				require.ErrorIs(t, err, row.cause)
			}
			if row.cause == session.ErrUntrusted {
				select {
				case <-next:
					t.Fatal("the next had it before the first had lost it")
				default:
				}
			}
			again := map[string]*queue.Item{} // an overdue item is the next one's, or comes back
			second := bubble.Get(t, next, "an item")
			again[string(second.Data())] = second
			for range 2 {
				require.ErrorIs(t, first.Ack(bubble.Minute(t)), session.ErrLost)
				require.ErrorIs(t, first.Nack(bubble.Minute(t)), session.ErrLost)
			}
			require.True(t, second.Valid())
			require.NoError(t, second.Ack(bubble.Minute(t)))
			time.Sleep(12*time.Minute + 500*time.Millisecond)
			heal()
			put(t, q, "3")
			for range 3 {
				i := bubble.Get(t, c.Items(), "an item")
				require.NoError(t, i.Err())
				require.True(t, i.Valid())
				require.NoError(t, i.Ack(bubble.Minute(t)))
				again[string(i.Data())] = i
			}
			require.Len(t, again, 4)
			require.Equal(t, 2, again["0"].Attempt())
			require.Greater(t, again["0"].Token(), first.Token())
			require.Equal(t, 0, length(t, q))
		})
	}
}

// A claim is deleted by hand. Its consumer notices that with its next request about the item.
func TestADeletedClaimIsNoticedAtTheNextRequest(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(t *bubble.World, i *queue.Item) error{
		"ack":    func(t *bubble.World, i *queue.Item) error { return i.Ack(bubble.Minute(t)) },
		"nack":   func(t *bubble.World, i *queue.Item) error { return i.Nack(bubble.Minute(t)) },
		"return": func(t *bubble.World, i *queue.Item) error { return i.Return(bubble.Minute(t)) },
		"commit": func(t *bubble.World, i *queue.Item) error {
			_, err := i.Commit(bubble.Minute(t), session.CreateOp("/result", nil))
			return err
		},
	} {
		for whose, again := range map[string]bool{"claimed again": true, "free": false} {
			each(t, name+", "+whose, func(t *bubble.World) {
				s, other := t.Session(), newQueue(t, t.Session())
				q := newQueue(t, s)
				put(t, q, "a")
				i := take(t, q)
				require.NoError(t, s.Delete(bubble.Minute(t), i.Path(), -1))
				var second *queue.Item
				if again {
					second = take(t, other)
					require.Equal(t, i.Path(), second.Path())
					require.Greater(t, second.Token(), i.Token())
					require.Equal(t, 2, second.Attempt())
				}
				require.ErrorIs(t, next(t, i), session.ErrLost)
				bubble.Closed(t, i.Done(), "the possession")
				require.NotContains(t, below(t, s, "/"), "result")
				if !again {
					second = take(t, other)
				}
				require.True(t, second.Valid())
				require.NoError(t, second.Ack(bubble.Minute(t)))
				require.Equal(t, 0, length(t, q))
			})
		}
	}
}

// A claim is deleted by hand while its consumer waits in line for another item: when the consumer
// learns of the deletion it lists at once, since the bell has not rung.
func TestAnItemWhoseClaimWasDeletedIsSoonReceivedAgain(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "a")
		c := consumer(t, q, queue.WithWorkers(2))
		i := bubble.Within(t, time.Minute, c.Items(), "the item")
		time.Sleep(5 * time.Second)
		require.NoError(t, s.Delete(bubble.Minute(t), i.Path(), -1))
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
		i = bubble.Within(t, time.Second, c.Items(), "the item, again")
		require.NoError(t, i.Ack(bubble.Minute(t)))
	})
}

// The session ends while an item is being put where it pauses: that may be done.
func TestAPauseThatIsLostWithTheSessionIsOfUnknownOutcome(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "a")
		i := take(t, q)
		lost := 0
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			for _, op := range r.Ops {
				if op.Op.Writes() && strings.HasPrefix(op.Path, path+"/later/") {
					lost++
					return zktest.DropReply
				}
			}
			return zktest.Pass
		}))
		nacked := bubble.Begin(func() error { return i.Nack(bubble.Minute(t), queue.WithPause(time.Hour)) })
		synctest.Wait()
		require.Equal(t, 1, lost)
		t.Server.Expire(s.Status().SessionID)
		err := bubble.Get(t, nacked, "the answer")
		require.ErrorIs(t, err, session.ErrLost)
		require.ErrorIs(t, err, session.ErrUnknownOutcome)
	})
}

// The request of an Ack is lost, and its claim is deleted by hand before its outcome is read: the
// item is there, so the Ack is not confirmed.
func TestAnAckIsNotConfirmedWhileTheItemIsThere(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s, o := t.Session(), t.Session()
		q := newQueue(t, s)
		put(t, q, "a")
		i := take(t, q)
		settled()
		t.AtKth(s, 1, func(*zktest.Request) zktest.Verdict {
			go func() { _ = o.Delete(bubble.Minute(t), i.Path(), -1) }() // ends with its answer
			return zktest.CutBefore
		}, zktest.OpSync)
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
		require.Equal(t, 1, length(t, newQueue(t, o)))
	})
}

// An item is overdue at an exact instant, which Extend sets anew, and not after it was settled.
func TestVisibility(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, queue.WithVisibility(3*time.Second))
		put(t, q, "a")
		began := time.Now()
		first := take(t, q)
		<-first.Done()
		require.Equal(t, 3*time.Second, time.Since(began))
		require.ErrorIs(t, first.Extend(bubble.Minute(t), time.Hour), session.ErrLost)
		second := take(t, newQueue(t, s))
		back(t, second)
		began = time.Now()
		third := take(t, q)
		time.Sleep(2 * time.Second)
		require.NoError(t, third.Extend(bubble.Minute(t), 10*time.Second))
		<-third.Done()
		require.Equal(t, 12*time.Second, time.Since(began))
		fourth := take(t, q)
		require.Equal(t, 4, fourth.Attempt())
		require.NoError(t, fourth.Extend(bubble.Minute(t), time.Second))
		require.NoError(t, fourth.Ack(bubble.Minute(t)))
		time.Sleep(time.Minute)
		require.ErrorIs(t, fourth.Err(), session.ErrReleased)
	})
}

// An Ack that is refused behind the end of the visibility leaves the item with its receiver for as
// long again.
func TestARefusedAckLeavesTheItemAsLongAgain(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, queue.WithVisibility(3*time.Second))
		put(t, q, "a")
		child(t, s, head, "a") // which is why it can't be deleted
		i := take(t, q)
		time.Sleep(2900 * time.Millisecond)
		defer t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti {
				return zktest.Delay(200 * time.Millisecond)
			}
			return zktest.Pass
		})()
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrNotEmpty)
		require.NoError(t, i.Err())
		began := time.Now()
		bubble.Within(t, time.Minute, i.Done())
		require.ErrorIs(t, i.Err(), queue.ErrOverdue)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

// An actor panics: all that was asked for is done all the same, once.
func TestPanics(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		put(t, q, "a")
		i := take(t, q)
		q.PanicTaking("a bug")
		<-i.Done()
		require.ErrorIs(t, i.Err(), session.ErrRestarted)
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
		again := take(t, q)
		require.Equal(t, 2, again.Attempt())
		require.NoError(t, again.Ack(bubble.Minute(t)))
		c := consumer(t, q, queue.WithPrefetch(2))
		for n := range 10 {
			put(t, q, fmt.Sprint(n))
			if n%3 == 0 {
				c.Panic("a bug")
			}
		}
		var got []string
		for len(got) < 10 {
			if i := bubble.Get(t, c.Items(), "an item"); i.Ack(bubble.Minute(t)) == nil {
				got = append(got, string(i.Data()))
			}
		}
		require.Equal(t, numbered(0, 10), got)
		require.Equal(t, 0, length(t, q))
	})
}

// The end of a queue, or of its session (etcd#17198: watching ends for good), is the end of the
// handle, of its waiting calls and of its consumers. What they have is lost, and others can have
// it. When a queue was closed, its session and other handles go on.
func TestB56_Close(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"the queue", "the session"} {
		each(t, what, func(t *bubble.World) {
			s := t.Session()
			q, other := newQueue(t, s), newQueue(t, s)
			end := q.Close
			if what == "the session" {
				end, other = s.Close, newQueue(t, t.Session())
			}
			putAll(t, q, 0, 3)
			taken := take(t, q)
			c := consumer(t, q, queue.WithPrefetch(2))
			received := gets(t, c, "1")
			waiting := bubble.Begin(func() error { _, err := q.Take(bubble.Minute(t)); return err })
			synctest.Wait()
			require.NoError(t, q.Err())
			bubble.Never(t, q.Done(), "it was not closed")

			var answers []<-chan error
			for range 8 {
				answers = append(answers, bubble.Begin(func() error { return end(bubble.Minute(t)) }))
			}
			for _, answer := range answers {
				require.NoError(t, bubble.Get(t, answer, "the answer to Close"))
			}
			require.ErrorIs(t, bubble.Get(t, waiting, "a waiting call"), session.ErrClosed)
			bubble.Closed(t, q.Done(), "the handle")
			require.ErrorIs(t, q.Err(), session.ErrClosed)
			bubble.Closed(t, c.Done(), "its consumer")
			bubble.Closed(t, c.Items(), "what it had claimed")
			require.ErrorIs(t, c.Err(), session.ErrClosed)
			for _, i := range []*queue.Item{taken, received} {
				bubble.Closed(t, i.Done(), "an item")
				require.ErrorIs(t, i.Err(), session.ErrLost)
				require.ErrorIs(t, i.Err(), session.ErrClosed)
				require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
			}
			refuses(t, q, session.ErrClosed)
			require.ErrorIs(t, errOf(q.Take(bubble.Minute(t))), session.ErrClosed)
			require.ErrorIs(t, errOf(q.Consume()), session.ErrClosed)
			require.ErrorIs(t, errOf(q.Peek(bubble.Minute(t))), session.ErrClosed)
			require.NoError(t, q.Close(bubble.Minute(t)))
			require.Equal(t, what == "the session", s.Err() != nil)
			require.Equal(t, numbered(0, 3), takes(t, other, 3))
		})
	}
}
