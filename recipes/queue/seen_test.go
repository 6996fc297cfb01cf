package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// What is lost before it is received is not received afterwards: it comes again as a new value, and
// what is received can be acknowledged.
func TestWhatIsLostIsNotReceived(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *bubble.World, s *session.Session){
		"expiry":     func(t *bubble.World, s *session.Session) { t.Server.Expire(s.Status().SessionID) },
		"visibility": func(*bubble.World, *session.Session) {},
		"a partition": func(t *bubble.World, s *session.Session) {
			heal := t.Server.Partition(s.Status().SessionID)
			time.Sleep(time.Minute)
			heal()
		},
	} {
		each(t, name, func(t *bubble.World) {
			s := t.Session()
			q := newQueue(t, t.Session(), queue.WithMaxAttempts(1000))
			putTogether(t, q, 4)
			opts := []queue.Option{queue.WithMaxAttempts(1000)}
			if name == "visibility" {
				opts = append(opts, queue.WithVisibility(time.Second))
			}
			c := consumer(t, newQueue(t, s, opts...), queue.WithPrefetch(4))
			settled()
			lose(t, s)
			time.Sleep(10*time.Second + 500*time.Millisecond)
			for range 4 {
				i := bubble.Get(t, c.Items(), "an item")
				require.NoError(t, i.Err(), string(i.Data()))
				require.True(t, i.Valid())
				require.NoError(t, i.Ack(bubble.Minute(t)))
			}
			require.Equal(t, 0, length(t, q))
		}, bubble.Brisk()...)
	}
}

// So it is with a claim that is deleted by hand, as soon as its consumer notices: with its next
// request about the item.
func TestADeletedClaimIsNoticedAtTheNextRequest(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(t *bubble.World, i *queue.Item) error{
		"ack":  func(t *bubble.World, i *queue.Item) error { return i.Ack(bubble.Minute(t)) },
		"nack": func(t *bubble.World, i *queue.Item) error { return i.Nack(bubble.Minute(t)) },
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
				_, there, err := s.Exists(bubble.Minute(t), "/result")
				require.NoError(t, err)
				require.False(t, there)
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

// Nothing lies with a consumer that is busy for two hours while others are idle.
func TestNothingLiesWithABusyConsumer(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		each(t, fmt.Sprint("put before: ", first), func(t *bubble.World) {
			const items = 60
			metered(t)
			q := newQueue(t, t.Session())
			if first {
				putTogether(t, q, items)
			}
			group := workers(t)
			busy := consumer(t, newQueue(t, t.Session()))
			all := []*queue.Consumer{}
			var done atomic.Int64
			for range 3 {
				c := consumer(t, newQueue(t, t.Session()))
				acknowledging(t, group, c, 1, func(*queue.Item) { done.Add(1) })
				all = append(all, c)
			}
			if !first {
				putTogether(t, q, items)
			}
			i := bubble.Get(t, busy.Items(), "an item for two hours")
			time.Sleep(time.Minute)
			require.EqualValues(t, items-1, done.Load(), "the others have done the rest")
			time.Sleep(2 * time.Hour)
			require.NoError(t, i.Ack(bubble.Minute(t)))
			closed(t, all, group)
			require.Equal(t, 0, length(t, q))
		})
	}
}

// drained is how long consumers take to acknowledge so many items of a full queue, each after some
// work, if what a session sends and receives takes as long as link says, one way. Those that are
// not counted do not end it.
func drained(t *testing.T, items, counted int, work time.Duration, links ...time.Duration) (took time.Duration) {
	bubble.Run(t, func(t *bubble.World) {
		putTogether(t, newQueue(t, t.Session()), items*5/4)
		group := workers(t)
		var done atomic.Int64
		ended := make(chan struct{})
		var all []*queue.Consumer
		began := time.Now()
		over := func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		}
		for n, link := range links {
			s := t.Session()
			t.Cleanup(t.Server.Slow(s.Status().SessionID, zktest.Speed{Latency: link}))
			c := consumer(t, newQueue(t, s))
			all = append(all, c)
			group.Go(func() { // ends with the consumer
				for i := range c.Items() {
					time.Sleep(work)
					if err := i.Ack(bubble.Minute(t)); err != nil && !over() {
						t.Error(err)
					}
					if n < counted && done.Add(1) == int64(items) {
						close(ended)
					}
				}
			})
		}
		bubble.Within(t, time.Hour, ended, "the last item")
		took = time.Since(began)
		closed(t, all, group)
	})
	return took
}

func same(n int, d time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d
	}
	return all
}

// Claims go on side by side: at round trips of 10 ms sixteen consumers do at least 200 items a
// second without work, and 90 with 100 ms of work each.
func TestClaimsGoOnSideBySide(t *testing.T) {
	t.Parallel()
	for work, least := range map[time.Duration]int{0: 200, 100 * time.Millisecond: 90} {
		t.Run(work.String(), func(t *testing.T) {
			t.Parallel()
			const items = 320
			took := drained(t, items, 16, work, same(16, 5*time.Millisecond)...)
			t.Logf("%.0f items a second", items/took.Seconds())
			require.Less(t, took, items*time.Second/time.Duration(least))
		})
	}
}

// One consumer at 100 ms costs seven at 0.2 ms nothing.
func TestASlowLinkSlowsNobodyElse(t *testing.T) {
	t.Parallel()
	const items = 300
	quick := same(7, 100*time.Microsecond)
	alone := drained(t, items, 7, 0, quick...)
	beside := drained(t, items, 7, 0, append(quick, 50*time.Millisecond)...)
	t.Logf("%v alone, %v beside the slow one", alone, beside)
	require.Less(t, beside, alone*5/4)
}

// A consumer that hangs, whatever its place in line, holds up the others for a second at most.
func TestAConsumerThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, hangs := range []int{0, 1, 2} {
		each(t, fmt.Sprint("place ", hangs), func(t *bubble.World) {
			metered(t)
			q := newQueue(t, t.Session())
			got := make(chan *queue.Item, 1000)
			group := workers(t)
			var all []*queue.Consumer
			var hung int64
			for n := range 4 {
				s := t.Session()
				c := consumer(t, newQueue(t, s))
				all = append(all, c)
				acknowledging(t, group, c, 1, func(i *queue.Item) { got <- i })
				time.Sleep(time.Second) // they stand in this order
				if n == hangs {
					hung = s.Status().SessionID
				}
			}
			heal := t.Server.Partition(hung)
			began := time.Now()
			for n := range 8 {
				put(t, q, fmt.Sprint(n))
				bubble.Within(t, time.Second, got, "item ", n)
			}
			require.Less(t, time.Since(began), time.Second, "eight items")
			heal()
			closed(t, all, group)
			require.Equal(t, 0, length(t, q))
		})
	}
}

// After an administrator has deleted everything under load, a bounded queue goes on.
func TestABoundedQueueOutlivesDeleteAll(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		each(t, fmt.Sprint(round), func(t *bubble.World) {
			admin, watcher := t.Session(), newQueue(t, t.Session())
			slowly, id := bubble.Slowly(uint64(round)), admin.Status().SessionID
			t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				if r.SessionID == id {
					return zktest.Delay(trip)
				}
				return slowly(r)
			}))
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			group := new(sync.WaitGroup)
			for range 2 {
				q := newQueue(t, t.Session(), queue.WithCapacity(20))
				group.Go(func() { // ends with ctx
					for ctx.Err() == nil {
						if _, err := q.Put(ctx, []byte("x")); err != nil && !errors.Is(err, queue.ErrFull) && !errors.Is(err, queue.ErrCapacity) && ctx.Err() == nil {
							t.Errorf("put: %v", err)
						}
						time.Sleep(50 * time.Millisecond)
					}
				})
				taker := newQueue(t, t.Session())
				group.Go(func() { // ends with ctx
					for ctx.Err() == nil {
						if i, err := taker.Take(ctx); err == nil {
							_ = i.Ack(ctx) // it may be deleted
						}
					}
				})
			}
			time.Sleep(time.Duration(1000+37*round) * time.Millisecond)
			require.NoError(t, admin.DeleteAll(bubble.Minute(t), path))
			time.Sleep(2 * time.Second)
			stop()
			group.Wait()
			for n := length(t, watcher); n > 0; n = length(t, watcher) {
				takes(t, watcher, n)
			}
			q := newQueue(t, t.Session(), queue.WithCapacity(20))
			for range 20 {
				put(t, q, "y")
			}
			_, err := q.Put(bubble.Minute(t), nil)
			require.ErrorIs(t, err, queue.ErrFull)
		})
	}
}

func TestWhatComesBackComesInItsPlace(t *testing.T) {
	t.Parallel()
	each(t, "nack", func(t *bubble.World) {
		q := newQueue(t, t.Session())
		putTogether(t, q, 4)
		i := take(t, q)
		require.Equal(t, "0", string(i.Data()))
		require.NoError(t, i.Nack(bubble.Minute(t), queue.After(0)))
		require.Equal(t, []string{"0", "1", "2", "3"}, takes(t, q, 4)) // 1 2 3 0
	})
	for name, end := range map[string]func(t *bubble.World, h *bubble.Host, c *queue.Consumer){
		"a consumer that closes": func(t *bubble.World, _ *bubble.Host, c *queue.Consumer) {
			require.NoError(t, c.Close(bubble.Minute(t)))
		},
		"a session that closes": func(t *bubble.World, h *bubble.Host, _ *queue.Consumer) {
			require.NoError(t, h.Close(bubble.Minute(t)))
		},
		"a consumer that dies": func(_ *bubble.World, h *bubble.Host, _ *queue.Consumer) {
			h.Die()
			time.Sleep(time.Minute)
		},
	} {
		each(t, name, func(t *bubble.World) {
			q := newQueue(t, t.Session())
			putTogether(t, q, 6)
			h := t.Host("worker")
			c := consumer(t, newQueue(t, h.Session), queue.WithPrefetch(2))
			bubble.Get(t, c.Items(), "an item")
			require.NoError(t, bubble.Get(t, c.Items(), "an item").Nack(bubble.Minute(t), queue.After(0)))
			end(t, h, c)
			require.Equal(t, numbered(0, 6), takes(t, q, 6)) // 0 3 4 5 1 2
		})
	}
}

// Remove finds an item that lives, whatever it is on its way to: into line, to a consumer, or back.
func TestRemoveOfAMovingItem(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *bubble.World, q *queue.Queue){
		"into line": func(t *bubble.World, q *queue.Queue) {
			put(t, q, "x", queue.WithID("red"), queue.WithDelay(time.Second))
		},
		"to a consumer": func(t *bubble.World, q *queue.Queue) {
			put(t, q, "x", queue.WithID("red"))
			other := newQueue(t, t.Session())
			time.AfterFunc(time.Second, func() { _, _ = other.Take(context.Background()) })
		},
		"back": func(t *bubble.World, q *queue.Queue) {
			put(t, q, "x", queue.WithID("red"))
			c, err := newQueue(t, t.Session()).Consume(queue.WithPrefetch(1))
			require.NoError(t, err)
			bubble.Get(t, c.Items(), "the item")
			time.AfterFunc(time.Second, func() { _ = c.Close(context.Background()) })
		},
		"to a pause": func(t *bubble.World, q *queue.Queue) {
			put(t, q, "x", queue.WithID("red"))
			i := take(t, newQueue(t, t.Session()))
			time.AfterFunc(time.Second, func() { _ = i.Nack(context.Background()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range 40 {
				bubble.Run(t, func(t *bubble.World) { removesWhile(t, begin, time.Duration(3*n)*trip) })
			}
		})
	}
}

// removesWhile begins to remove an item so long before it moves, on a slow network.
func removesWhile(t *bubble.World, begin func(t *bubble.World, q *queue.Queue), before time.Duration) {
	t.Helper()
	q, s := newQueue(t, t.Session()), t.Session()
	remover, slow := newQueue(t, s), s.Status().SessionID
	t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
		if r.SessionID == slow && r.Op != zktest.OpPing {
			return zktest.Delay(20 * trip)
		}
		return zktest.Pass
	}))
	put(t, q, "y")
	put(t, q, "the head", queue.WithPriority(-9))
	c := consumer(t, newQueue(t, t.Session()), queue.WithPrefetch(2))
	head := bubble.Get(t, c.Items(), "the head") // it has what it may have
	other := bubble.Get(t, c.Items(), "the other item")
	began := time.Now()
	begin(t, q)
	time.Sleep(time.Until(began.Add(time.Second - before)))
	require.NoError(t, remover.Remove(bubble.Minute(t), "red"), "it lives; begun %v before it moves", before)
	time.Sleep(time.Second)
	require.Equal(t, 2, length(t, q), "it is removed")
	require.ErrorIs(t, remover.Remove(bubble.Minute(t), "red"), session.ErrNoNode)
	require.NoError(t, head.Ack(bubble.Minute(t)))
	require.NoError(t, other.Ack(bubble.Minute(t)))
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
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
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
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q, dead := newQueue(t, s, queue.WithMaxAttempts(1), queue.WithCapacity(3)), deadLetters(t, s)
		dies(t, q, "a", "b", "c")
		id := put(t, q, "unnamed")
		require.NoError(t, take(t, q).Nack(bubble.Minute(t)))
		put(t, q, "x", queue.WithID("b"))
		require.ErrorIs(t, q.Requeue(bubble.Minute(t), "c", "b", "a"), queue.ErrDuplicate)
		require.ErrorIs(t, q.Requeue(bubble.Minute(t), "c"), session.ErrNoNode)
		require.ErrorContains(t, q.Requeue(bubble.Minute(t), ""), "ids")
		require.NoError(t, q.Requeue(bubble.Minute(t), id))
		require.ErrorIs(t, q.Requeue(bubble.Minute(t), "a"), queue.ErrFull)
		_, err := q.Put(bubble.Minute(t), nil)
		require.ErrorIs(t, err, queue.ErrFull)
		require.Equal(t, []string{"x", "unnamed"}, takes(t, q, 2))
		require.NoError(t, q.Requeue(bubble.Minute(t), "a"))
		_, err = q.Put(bubble.Minute(t), nil, queue.WithID("a"))
		require.ErrorIs(t, err, queue.ErrDuplicate)

		c := consumer(t, newQueue(t, t.Session()), queue.WithWorkers(3))
		for _, want := range []string{"c", "a"} {
			i := bubble.Get(t, c.Items(), want)
			require.Equal(t, "poison "+want, string(i.Data()))
			require.Equal(t, want, i.ID())
			require.Equal(t, want, i.Header("k"))
			require.Equal(t, 7, i.Priority())
			require.Equal(t, 1, i.Attempt())
			require.NoError(t, i.Ack(bubble.Minute(t)))
		}
		synctest.Wait()
		require.NoError(t, q.Requeue(bubble.Minute(t), "b"))
		receives(t, c, "poison b") // whoever waits is woken
		require.Equal(t, 0, length(t, q))
		require.Equal(t, 0, length(t, dead))
	})
}

// Whichever request or answer of a Requeue is lost, the item is put back once.
func TestRequeueThatIsCutOff(t *testing.T) {
	t.Parallel()
	bubble.EachFate(t, func(t *bubble.World, _ int, strike func(s *session.Session)) {
		q, s := newQueue(t, t.Session(), queue.WithMaxAttempts(1)), t.Session()
		operator := newQueue(t, s)
		dies(t, q, "a")
		strike(s)
		require.NoError(t, operator.Requeue(bubble.Minute(t), "a"))
		require.Equal(t, 1, length(t, q))
		require.Equal(t, []string{"poison a"}, takes(t, q, 1))
		require.Equal(t, 0, length(t, deadLetters(t, t.Session())))
	})
}

// However many dead letters are put back, no bucket gets too large to be listed.
func TestRequeueSealsBuckets(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		var ids []string
		for from := 0; from < 1200; from += 400 {
			some, err := deadLetters(t, s).PutAll(bubble.Minute(t), data(from, 400))
			require.NoError(t, err)
			ids = append(ids, some...)
		}
		q := newQueue(t, s)
		require.NoError(t, q.Requeue(bubble.Minute(t), ids...))
		require.Equal(t, 1200, length(t, q))
		for _, b := range below(t, s, path+"/items") {
			require.LessOrEqual(t, len(below(t, s, path+"/items/"+b)), 500, b)
		}
	})
}

// An item that was received and never settled is logged once, with the place where it was asked
// for; one that is settled is not.
func TestAnItemThatIsNeverSettledIsLogged(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		var log bubble.Log
		s := t.Session(log.Option())
		q := newQueue(t, s, queue.WithWarnAfter(time.Minute))
		putTogether(t, q, 3)
		require.NoError(t, take(t, q).Ack(bubble.Minute(t)))
		at := bubble.After(1)
		_, err := q.Take(bubble.Minute(t))
		require.NoError(t, err)
		consumed := bubble.After(1)
		c, err := q.Consume()
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.Len(t, log.Warnings(path), 1, "what waits to be received is not forgotten")
		require.Contains(t, log.Warnings(path)[0], "forgotten")
		require.Contains(t, log.Warnings(path)[0], at)
		bubble.Get(t, c.Items(), "an item")
		time.Sleep(time.Hour)
		require.Len(t, log.Warnings(path), 2)
		require.Contains(t, log.Warnings(path)[1], consumed)
		require.NoError(t, c.Close(bubble.Minute(t)))
		put(t, q, "x")
		_, err = newQueue(t, s, queue.WithWarnAfter(0)).Take(bubble.Minute(t))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.Len(t, log.Warnings(path), 2)
	})
}
