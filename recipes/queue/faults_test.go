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

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// CURATOR-605: a consumer whose session ends in the middle of an item: it is delivered again, and
// what the first does with it then changes nothing.
func TestB49_ExpiryMidProcessing(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		slow, quick := t.Session(), t.Session()
		q := newQueue(t, quick)
		put(t, q, "a")
		first := take(t, newQueue(t, slow))
		require.True(t, first.Valid())
		t.Server.Expire(slow.Status().SessionID)
		second := take(t, q)
		require.Equal(t, 2, second.Attempt())
		require.Greater(t, second.Token(), first.Token())
		bubble.Closes(t, first.Done(), "the loss")
		require.ErrorIs(t, first.Err(), session.ErrLost)
		require.ErrorIs(t, context.Cause(first.Context()), session.ErrLost)
		for range 2 {
			require.ErrorIs(t, first.Ack(bubble.Minute(t)), session.ErrLost)
			require.ErrorIs(t, first.Nack(bubble.Minute(t)), session.ErrLost)
		}
		require.True(t, second.Valid())
		require.NoError(t, second.Ack(bubble.Minute(t)))
		require.Equal(t, 0, length(t, q))
	}, zktest.WithTick(time.Second))
}

// The claim is lost here before anybody else can have it: at the end of trust, with the network
// gone.
func TestPartitionedConsumerLosesFirst(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		cut, other := t.Session(), t.Session()
		c := consumer(t, newQueue(t, cut), queue.WithPrefetch(3))
		q := newQueue(t, other)
		for _, d := range numbered(0, 3) {
			put(t, q, d)
		}
		first := bubble.Get(t, c.Items(), "an item")
		synctest.Wait() // until it has claimed all three
		heal := t.Server.Partition(cut.Status().SessionID)
		next := make(chan *queue.Item, 1)
		go func() { // ends with the item
			i, err := q.Take(context.Background())
			if err == nil {
				next <- i
			}
		}()
		<-first.Done()
		require.ErrorIs(t, first.Err(), session.ErrUntrusted)
		select {
		case <-next:
			t.Fatal("the next had it before the first had lost it")
		default:
		}
		bubble.Never(t, c.Items(), "what was lost is not delivered")
		second := bubble.Get(t, next, "the item again")
		require.Equal(t, "0", string(second.Data()))
		require.Equal(t, 2, second.Attempt())
		require.NoError(t, second.Ack(bubble.Minute(t)))
		heal()
		third := bubble.Get(t, c.Items(), "the consumer goes on")
		require.Equal(t, "1", string(third.Data()))
		require.NoError(t, third.Ack(bubble.Minute(t)))
	})
}

// CURATOR-623: after twelve minutes cut off, consumption goes on.
func TestB51_LongPartition(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		c := consumer(t, newQueue(t, s))
		q := newQueue(t, t.Session())
		put(t, q, "before")
		require.NoError(t, bubble.Get(t, c.Items(), "an item").Ack(bubble.Minute(t)))
		heal := t.Server.Partition(s.Status().SessionID)
		time.Sleep(6 * time.Minute)
		put(t, q, "meanwhile")
		time.Sleep(6 * time.Minute)
		heal()
		i := bubble.Get(t, c.Items(), "an item")
		require.Equal(t, "meanwhile", string(i.Data()))
		require.NoError(t, i.Ack(bubble.Minute(t)))
		put(t, q, "after")
		require.NoError(t, bubble.Get(t, c.Items(), "an item").Ack(bubble.Minute(t)))
	})
}

// kazoo#175: ten thousand impatient takes on an empty queue leave no watch, no znode and no
// goroutine behind.
func TestB53_ImpatientTakes(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "x")
		takes(t, q, 1)
		impatient := func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			_, err := q.Take(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		impatient()
		synctest.Wait()
		t.Server.ClearJournal()
		znodes := func() int { return strings.Count(t.Server.Dump(), "\n") } // and sessions
		before := znodes()
		for range 10_000 {
			impatient()
		}
		synctest.Wait()
		require.Equal(t, before, znodes())
		armed := 0
		for _, r := range t.Server.Journal() {
			if r.Watch {
				armed++
			}
		}
		require.LessOrEqual(t, armed, 2)
	})
}

// Netflix#135: a put that fails says so, to the one who put, and the next is not held up.
func TestB54_FailedPut(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		put(t, q, "a")
		remove := t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti {
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		})
		_, err := q.Put(bubble.Minute(t), []byte("b"))
		require.ErrorIs(t, err, session.ErrNoAuth)
		remove()
		_, err = q.PutAll(bubble.Minute(t), [][]byte{make([]byte, 3<<20)})
		require.ErrorIs(t, err, session.ErrTooLarge)
		put(t, q, "c")
		require.Equal(t, []string{"a", "c"}, takes(t, q, 2))
	})
}

// CURATOR-336: a consumer's user sees what becomes of the connection: the session says it, and the
// items, which are lost with it.
func TestB55_ConnectionIsSeen(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		states := s.Observe(t.Context())
		c := consumer(t, newQueue(t, s))
		put(t, newQueue(t, t.Session()), "a")
		i := bubble.Get(t, c.Items(), "an item")
		heal := t.Server.Partition(s.Status().SessionID)
		for bubble.Get(t, states, "a state").State != session.Untrusted {
		}
		require.ErrorIs(t, i.Err(), session.ErrUntrusted)
		heal()
		for bubble.Get(t, states, "a state").State != session.Connected {
		}
		require.NoError(t, bubble.Get(t, c.Items(), "the item again").Ack(bubble.Minute(t)))
	})
}

// etcd#17198: when watching ends for good, consumers and waiting calls end with an error.
func TestB56_EndOfTheSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		c := consumer(t, q)
		waiting := make(chan error, 1)
		go func() { // ends with the session
			_, err := q.Take(context.Background())
			waiting <- err
		}()
		synctest.Wait()
		require.NoError(t, s.Close(bubble.Minute(t)))
		require.ErrorIs(t, bubble.Get(t, waiting, "the waiting call"), session.ErrClosed)
		<-c.Done()
		require.ErrorIs(t, c.Err(), session.ErrClosed)
		_, open := <-c.Items()
		require.False(t, open)
		_, err := q.Put(bubble.Minute(t), []byte("x"))
		require.ErrorIs(t, err, session.ErrClosed)
		_, err = q.Consume()
		require.ErrorIs(t, err, session.ErrClosed)
		_, err = q.Take(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrClosed)
	})
}

// A consumer that may not read the queue says so, and goes on when it may.
func TestRefusedConsumer(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		_, err := s.Create(bubble.Minute(t), path+"/items", nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermAll&^session.PermRead)...))
		require.NoError(t, err)
		c := consumer(t, newQueue(t, s))
		require.ErrorIs(t, bubble.Get(t, c.Errors(), "the refusal"), session.ErrNoAuth)
		_, err = newQueue(t, s).Take(bubble.Minute(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
		_, err = s.SetACL(bubble.Minute(t), path+"/items", session.AnyoneACL(session.PermAll), -1)
		require.NoError(t, err)
		put(t, newQueue(t, s), "a")
		require.Equal(t, "a", string(bubble.Get(t, c.Items(), "the item, once it may be read").Data()))
	})
}

func TestVisibility(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, queue.WithVisibility(3*time.Second))
		put(t, q, "a")
		began := time.Now()
		first := take(t, q)
		<-first.Done()
		require.Equal(t, 3*time.Second, time.Since(began))
		require.ErrorIs(t, first.Err(), queue.ErrOverdue)
		require.ErrorIs(t, first.Err(), session.ErrLost)
		require.ErrorIs(t, first.Extend(bubble.Minute(t), time.Hour), session.ErrLost)
		require.ErrorIs(t, first.Ack(bubble.Minute(t)), session.ErrLost)
		second := take(t, newQueue(t, t.Session()))
		require.Equal(t, 2, second.Attempt())
		require.NoError(t, second.Nack(bubble.Minute(t), queue.After(0)))

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
		require.ErrorIs(t, newQueueTake(t, s).Extend(bubble.Minute(t), time.Second), session.ErrUnsupported)
	})
}

func newQueueTake(t testing.TB, s *session.Session) *queue.Item {
	q := newQueue(t, s)
	put(t, q, "x")
	return take(t, q)
}

// A delay is over at an exact instant of the servers' clock, whatever the clients believe.
func TestDelayIsExact(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q := newQueue(t, t.Session())
		c := consumer(t, newQueue(t, t.Session()))
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
		// One that comes while a longer one is waited for.
		put(t, q, "long", queue.WithDelay(time.Hour))
		synctest.Wait()
		began = time.Now()
		put(t, q, "short", queue.WithDelay(time.Minute))
		require.Equal(t, "short", string((<-c.Items()).Data()))
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// A context ends a wait, and says whether anything came of it.
func TestContexts(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		over, cancel := context.WithCancelCause(t.Context())
		mine := errors.New("mine")
		cancel(mine)
		_, err := q.Put(over, []byte("x"))
		require.ErrorIs(t, err, mine)
		_, err = q.Take(over)
		require.ErrorIs(t, err, mine)
		_, err = q.Peek(over)
		require.ErrorIs(t, err, mine)
		require.Equal(t, 0, length(t, q))

		heal := t.Server.Partition(s.Status().SessionID)
		ctx, cancel2 := context.WithTimeout(t.Context(), time.Second)
		defer cancel2()
		_, err = q.Put(ctx, []byte("x"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		heal()
		put(t, q, "a")
		i := take(t, q)
		heal = t.Server.Partition(s.Status().SessionID)
		ctx, cancel3 := context.WithTimeout(t.Context(), time.Second)
		defer cancel3()
		require.ErrorIs(t, i.Ack(ctx), context.DeadlineExceeded)
		heal()
		require.NoError(t, i.Ack(bubble.Minute(t)), "it goes on in the background")
	})
}

// A bug in an actor: possessions end with ErrRestarted, and what was wished is done all the same,
// once.
func TestPanics(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
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
			i := bubble.Get(t, c.Items(), "an item")
			if i.Ack(bubble.Minute(t)) == nil {
				got = append(got, string(i.Data()))
			}
		}
		require.Equal(t, numbered(0, 10), got)
		require.Equal(t, 0, length(t, q))
	})
}

// More items have had their attempts than a look shows, and the dead letters cannot be written:
// what is behind them is delivered.
func TestItemsThatCannotBeBuriedHideNothing(t *testing.T) {
	t.Parallel()
	for _, tried := range []int{20, 200} {
		each(t, tried, func(t *bubble.World) {
			s := t.Session()
			_, err := s.Create(bubble.Minute(t), path+"/dead", nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
			require.NoError(t, err)
			q := newQueue(t, s)
			putTogether(t, q, tried)
			c, err := q.Consume(queue.WithPrefetch(tried))
			require.NoError(t, err)
			var items []*queue.Item
			for range tried {
				items = append(items, bubble.Get(t, c.Items(), "an item"))
			}
			require.NoError(t, c.Close(bubble.Minute(t))) // an attempt each
			require.Len(t, items, tried)
			put(t, q, "good")
			once := consumer(t, newQueue(t, s, queue.WithMaxAttempts(1)))
			i := bubble.Within(t, 30*time.Minute, once.Items(), "the good one")
			require.Equal(t, "good", string(i.Data()))
		})
	}
}
