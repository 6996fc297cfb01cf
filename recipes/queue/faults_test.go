package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// CURATOR-605: a consumer whose session ends in the middle of an item: it is delivered again, and
// what the first does with it then changes nothing.
func TestB49_ExpiryMidProcessing(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		slow, quick := open(t, z), open(t, z)
		q := newQueue(t, quick)
		put(t, q, "a")
		first := take(t, newQueue(t, slow))
		require.True(t, first.Valid())
		z.Expire(slow.Status().SessionID)
		second := take(t, q)
		require.Equal(t, 2, second.Attempt())
		require.Greater(t, second.Token(), first.Token())
		get(t, closed(first.Done()), "the loss")
		require.ErrorIs(t, first.Err(), session.ErrLost)
		require.ErrorIs(t, context.Cause(first.Context()), session.ErrLost)
		for range 2 {
			require.ErrorIs(t, first.Ack(patience(t)), session.ErrLost)
			require.ErrorIs(t, first.Nack(patience(t)), session.ErrLost)
		}
		require.True(t, second.Valid())
		require.NoError(t, second.Ack(patience(t)))
		require.Equal(t, 0, length(t, q))
	}, zktest.WithTick(time.Second))
}

// closed delivers when a latch closes.
func closed(c <-chan struct{}) <-chan bool {
	delivered := make(chan bool, 1)
	go func() { // ends with the latch
		<-c
		delivered <- true
	}()
	return delivered
}

// The claim is lost here before anybody else can have it: at the end of trust, with the network
// gone.
func TestPartitionedConsumerLosesFirst(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		cut, other := open(t, z), open(t, z)
		c := consumer(t, newQueue(t, cut), queue.WithPrefetch(3))
		q := newQueue(t, other)
		for _, d := range numbered(0, 3) {
			put(t, q, d)
		}
		first := get(t, c.Items(), "an item")
		synctest.Wait() // until it has claimed all three
		heal := z.Partition(cut.Status().SessionID)
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
		nothing(t, c.Items(), "what was lost is not delivered")
		second := get(t, next, "the item again")
		require.Equal(t, "0", string(second.Data()))
		require.Equal(t, 2, second.Attempt())
		require.NoError(t, second.Ack(patience(t)))
		heal()
		third := get(t, c.Items(), "the consumer goes on")
		require.Equal(t, "1", string(third.Data()))
		require.NoError(t, third.Ack(patience(t)))
	})
}

// CURATOR-623: after twelve minutes cut off, consumption goes on.
func TestB51_LongPartition(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		c := consumer(t, newQueue(t, s))
		q := newQueue(t, open(t, z))
		put(t, q, "before")
		require.NoError(t, get(t, c.Items(), "an item").Ack(patience(t)))
		heal := z.Partition(s.Status().SessionID)
		time.Sleep(6 * time.Minute)
		put(t, q, "meanwhile")
		time.Sleep(6 * time.Minute)
		heal()
		i := get(t, c.Items(), "an item")
		require.Equal(t, "meanwhile", string(i.Data()))
		require.NoError(t, i.Ack(patience(t)))
		put(t, q, "after")
		require.NoError(t, get(t, c.Items(), "an item").Ack(patience(t)))
	})
}

// kazoo#175: ten thousand impatient takes on an empty queue leave no watch, no znode and no
// goroutine behind.
func TestB53_ImpatientTakes(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
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
		z.ClearJournal()
		before := z.Dump()
		for range 10_000 {
			impatient()
		}
		synctest.Wait()
		require.Equal(t, before, z.Dump())
		armed := 0
		for _, r := range z.Journal() {
			if r.Watch {
				armed++
			}
		}
		require.LessOrEqual(t, armed, 2)
	})
}

// Netflix#135: a put that fails says so, to the one who put, and the next is not held up.
func TestB54_FailedPut(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		q := newQueue(t, open(t, z))
		put(t, q, "a")
		remove := z.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti {
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		})
		_, err := q.Put(patience(t), []byte("b"))
		require.ErrorIs(t, err, session.ErrNoAuth)
		remove()
		_, err = q.PutAll(patience(t), [][]byte{make([]byte, 3<<20)})
		require.ErrorIs(t, err, session.ErrTooLarge)
		put(t, q, "c")
		require.Equal(t, []string{"a", "c"}, takes(t, q, 2))
	})
}

// CURATOR-336: a consumer's user sees what becomes of the connection: the session says it, and the
// items, which are lost with it.
func TestB55_ConnectionIsSeen(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		states := s.Observe(t.Context())
		c := consumer(t, newQueue(t, s))
		put(t, newQueue(t, open(t, z)), "a")
		i := get(t, c.Items(), "an item")
		heal := z.Partition(s.Status().SessionID)
		for get(t, states, "a state").State != session.Untrusted {
		}
		require.ErrorIs(t, i.Err(), session.ErrUntrusted)
		heal()
		for get(t, states, "a state").State != session.Connected {
		}
		require.NoError(t, get(t, c.Items(), "the item again").Ack(patience(t)))
	})
}

// etcd#17198: when watching ends for good, consumers and waiting calls end with an error.
func TestB56_EndOfTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		q := newQueue(t, s)
		c := consumer(t, q)
		waiting := make(chan error, 1)
		go func() { // ends with the session
			_, err := q.Take(context.Background())
			waiting <- err
		}()
		synctest.Wait()
		require.NoError(t, s.Close(patience(t)))
		require.ErrorIs(t, get(t, waiting, "the waiting call"), session.ErrClosed)
		<-c.Done()
		require.ErrorIs(t, c.Err(), session.ErrClosed)
		_, open := <-c.Items()
		require.False(t, open)
		_, err := q.Put(patience(t), []byte("x"))
		require.ErrorIs(t, err, session.ErrClosed)
		_, err = q.Consume()
		require.ErrorIs(t, err, session.ErrClosed)
		_, err = q.Take(patience(t))
		require.ErrorIs(t, err, session.ErrClosed)
	})
}

// A consumer that may not read the queue ends, and says why.
func TestRefusedConsumer(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		_, err := s.Create(patience(t), path, nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermAll&^session.PermRead)...))
		require.NoError(t, err)
		c := consumer(t, newQueue(t, s))
		<-c.Done()
		require.ErrorIs(t, c.Err(), session.ErrNoAuth)
		_, err = newQueue(t, s).Take(patience(t))
		require.ErrorIs(t, err, session.ErrNoAuth)
	})
}

func TestVisibility(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		q := newQueue(t, s, queue.WithVisibility(3*time.Second))
		put(t, q, "a")
		began := time.Now()
		first := take(t, q)
		<-first.Done()
		require.Equal(t, 3*time.Second, time.Since(began))
		require.ErrorIs(t, first.Err(), queue.ErrOverdue)
		require.ErrorIs(t, first.Err(), session.ErrLost)
		require.ErrorIs(t, first.Extend(patience(t), time.Hour), session.ErrLost)
		require.ErrorIs(t, first.Ack(patience(t)), session.ErrLost)
		second := take(t, newQueue(t, open(t, z)))
		require.Equal(t, 2, second.Attempt())
		require.NoError(t, second.Nack(patience(t)))

		began = time.Now()
		third := take(t, q)
		time.Sleep(2 * time.Second)
		require.NoError(t, third.Extend(patience(t), 10*time.Second))
		<-third.Done()
		require.Equal(t, 12*time.Second, time.Since(began))
		fourth := take(t, q)
		require.Equal(t, 4, fourth.Attempt())
		require.NoError(t, fourth.Extend(patience(t), time.Second))
		require.NoError(t, fourth.Ack(patience(t)))
		time.Sleep(time.Minute)
		require.ErrorIs(t, fourth.Err(), session.ErrReleased)
		require.ErrorIs(t, newQueueTake(t, s).Extend(patience(t), time.Second), session.ErrUnsupported)
	})
}

func newQueueTake(t *testing.T, s *session.Session) *queue.Item {
	q := newQueue(t, s)
	put(t, q, "x")
	return take(t, q)
}

// The claim is somebody's to delete; whoever has the item hears of it.
func TestDeletedClaim(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		q := newQueue(t, s)
		put(t, q, "a")
		i := take(t, q)
		time.Sleep(time.Second)
		require.NoError(t, s.Delete(patience(t), i.Path(), -1))
		get(t, closed(i.Done()), "the loss")
		require.ErrorIs(t, i.Err(), session.ErrDeleted)
		require.ErrorIs(t, i.Ack(patience(t)), session.ErrLost)
		require.Equal(t, []string{"a"}, takes(t, q, 1))
	})
}

// A delay is over at an exact instant of the servers' clock, whatever the clients believe.
func TestDelayIsExact(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		q := newQueue(t, open(t, z))
		c := consumer(t, newQueue(t, open(t, z)))
		began := time.Now()
		for _, d := range []time.Duration{time.Hour, time.Second, 90 * time.Second, 5 * time.Hour} {
			put(t, q, d.String(), queue.WithDelay(d))
		}
		for _, d := range []time.Duration{time.Second, 90 * time.Second, time.Hour, 5 * time.Hour} {
			i := <-c.Items()
			require.Equal(t, d.String(), string(i.Data()))
			require.Equal(t, d, time.Since(began))
			require.NoError(t, i.Ack(patience(t)))
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
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
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

		heal := z.Partition(s.Status().SessionID)
		ctx, cancel2 := context.WithTimeout(t.Context(), time.Second)
		defer cancel2()
		_, err = q.Put(ctx, []byte("x"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		heal()
		put(t, q, "a")
		i := take(t, q)
		heal = z.Partition(s.Status().SessionID)
		ctx, cancel3 := context.WithTimeout(t.Context(), time.Second)
		defer cancel3()
		require.ErrorIs(t, i.Ack(ctx), context.DeadlineExceeded)
		heal()
		require.NoError(t, i.Ack(patience(t)), "it goes on in the background")
	})
}

// A bug in an actor: possessions end with ErrRestarted, and what was wished is done all the same,
// once.
func TestPanics(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		q := newQueue(t, s)
		put(t, q, "a")
		i := take(t, q)
		q.PanicTaking("a bug")
		<-i.Done()
		require.ErrorIs(t, i.Err(), session.ErrRestarted)
		require.ErrorIs(t, i.Ack(patience(t)), session.ErrLost)
		again := take(t, q)
		require.Equal(t, 2, again.Attempt())
		require.NoError(t, again.Ack(patience(t)))

		c := consumer(t, q, queue.WithPrefetch(2))
		for n := range 10 {
			q.PanicPutting("a bug")
			put(t, q, fmt.Sprint(n))
			if n%3 == 0 {
				c.Panic("a bug")
			}
		}
		var got []string
		for len(got) < 10 {
			i := get(t, c.Items(), "an item")
			if i.Ack(patience(t)) == nil {
				got = append(got, string(i.Data()))
			}
		}
		require.Equal(t, numbered(0, 10), got)
		require.Equal(t, 0, length(t, q))
	})
}

// An actor that panics too often is given up: whoever waits hears why.
func TestGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		q := newQueue(t, s)
		c := consumer(t, q)
		for range 100 {
			c.Panic("a bug")
			time.Sleep(100 * time.Millisecond)
		}
		<-c.Done()
		require.Error(t, c.Err())
		require.NotErrorIs(t, c.Err(), session.ErrClosed)
		put(t, q, "a")
		require.Equal(t, []string{"a"}, takes(t, q, 1), "the queue itself is fine")
	})
}

// A delay begins with its own Put, not with one before it whose question for the servers' clock is
// still on its way.
func TestADelayIsNotEarlyBesideAnother(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		q := newQueue(t, s)
		put(t, q, "first")
		require.Equal(t, []string{"first"}, takes(t, q, 1))
		heal := z.Slow(s.Status().SessionID, zktest.Speed{Latency: 100 * time.Millisecond})
		began := make(map[string]time.Time)
		var wait sync.WaitGroup
		for n := range 20 {
			name := strconv.Itoa(n)
			began[name] = time.Now()
			wait.Go(func() { put(t, q, name, queue.WithDelay(time.Minute)) })
			time.Sleep(30 * time.Millisecond)
		}
		wait.Wait()
		heal()
		c := consumer(t, newQueue(t, open(t, z)))
		for range began {
			i := <-c.Items()
			require.GreaterOrEqual(t, time.Since(began[string(i.Data())]), time.Minute, string(i.Data()))
			require.NoError(t, i.Ack(patience(t)))
		}
	})
}
