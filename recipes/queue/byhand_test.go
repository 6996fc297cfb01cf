// What other clients do to a queue by hand, and what ZooKeeper refuses. Helpers: world_test.go.

package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// At any request of a producer, or of a consumer, another client deletes a bounded queue, and goes
// on while that request is on its way. All go on with an empty queue, with room for as many items
// as before.
func TestABoundedQueueOutlivesDeleteAll(t *testing.T) {
	t.Parallel()
	const capacity = 5
	for _, struck := range []string{"producer", "consumer"} {
		atEach(t, struck, func(t *bubble.World, _ *session.Session) zktest.Verdict {
			o, ctx := t.Session(), bubble.Minute(t)
			deleted := bubble.Begin(func() error { return o.DeleteAll(ctx, path) })
			t.Cleanup(func() { require.NoError(t, bubble.Within(t, time.Minute, deleted, "the deletion")) })
			return zktest.Delay(time.Second)
		}, func(t *bubble.World, s *session.Session) {
			producer, taker, rival := newQueue(t, s, queue.WithCapacity(capacity)), newQueue(t, t.Session()), newQueue(t, t.Session(), queue.WithCapacity(capacity))
			if struck == "consumer" {
				producer, taker = newQueue(t, t.Session(), queue.WithCapacity(capacity)), newQueue(t, s)
			}
			group, c := workers(t), consumer(t, taker)
			group.Go(func() { // ends with the consumer
				for i := range c.Items() {
					_ = i.Ack(bubble.Minute(t)) // it may be deleted
				}
			})
			for n := range 4 {
				for _, q := range []*queue.Queue{producer, rival} {
					if _, err := q.Put(bubble.Minute(t), []byte("a"), queue.WithID(fmt.Sprint(n))); err != nil && !errors.Is(err, queue.ErrDuplicate) {
						require.ErrorIs(t, err, session.ErrUnknownOutcome)
					}
				}
			}
			time.Sleep(10 * time.Second)
			if _, err := producer.Put(bubble.Minute(t), []byte("last")); err != nil {
				require.ErrorIs(t, err, session.ErrUnknownOutcome)
			}
			time.Sleep(10 * time.Second)
			require.Equal(t, 0, length(t, rival), "all of it is consumed")
			require.NoError(t, c.Close(bubble.Minute(t)))
			time.Sleep(10 * time.Second) // Close does not wait for the end of its watch, which may be that request
			for range capacity {
				put(t, rival, "y")
			}
			refuses(t, rival, queue.ErrFull)
		})
	}
}

// The znodes that a queue always has are made again. A consumer that has lost an item to a
// deleteall leaves another consumer's claim alone, on the item that has its number now.
func TestALateAckLeavesARivalsClaim(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s, rival := t.Session(), newQueue(t, t.Session())
		q := newQueue(t, s)
		put(t, q, "old")
		require.NoError(t, s.DeleteAll(bubble.Minute(t), path+"/claims"))
		old := take(t, q)
		require.NoError(t, s.DeleteAll(bubble.Minute(t), path))
		put(t, rival, "new")
		held := take(t, rival)
		require.Equal(t, old.Path(), held.Path())
		require.ErrorIs(t, old.Ack(bubble.Minute(t)), session.ErrLost)
		settled()
		require.Len(t, below(t, s, path+"/claims/0-0000000000"), 1)
		require.NoError(t, held.Ack(bubble.Minute(t)))
	})
}

// A claim is on its way when claims/ is deleted and made again, and its new versions begin anew. It
// is not carried out behind a pause, however often the queue was resumed before, or paused since.
// The consumer is not stuck with the former version.
func TestAPauseOfClaimsThatWereMadeAgain(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{1, 2, 3} {
		each(t, calls, func(t *bubble.World) {
			s, operator := t.Session(), newQueue(t, t.Session())
			put(t, operator, "x")
			again := func(call func(context.Context) error) {
				for range calls {
					require.NoError(t, call(bubble.Minute(t)))
				}
			}
			again(operator.Resume)
			claims := func(r jute.Request) bool { return r.Op == jute.OpCheck && r.Path == path+"/claims" }
			arrived := make(chan struct{}, 10)
			t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				if r.SessionID != s.Status().SessionID || !slices.ContainsFunc(r.Ops, claims) {
					return zktest.Pass
				}
				arrived <- struct{}{}
				return zktest.Delay(time.Second)
			}))
			c := consumer(t, newQueue(t, s))
			bubble.Within(t, time.Minute, arrived, "the claim")
			o := t.Session()
			require.NoError(t, o.DeleteAll(bubble.Minute(t), path+"/claims"))
			require.NoError(t, o.EnsurePath(bubble.Minute(t), path+"/claims/0-0000000000"))
			again(operator.Pause)
			time.Sleep(2 * time.Second)
			rests(t, c)
			bucket := path + "/items/0-0000000000"
			_, stat, err := o.Get(bubble.Minute(t), bucket+"/"+below(t, o, bucket)[0])
			require.NoError(t, err)
			require.Zero(t, stat.Version, "it was not claimed")
			again(operator.Resume)
			gets(t, c, "x")
		})
	}
}

// Sealed buckets that are empty go, one after the other, but for number 0.
func TestEmptyBucketsGo(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		q, second := newQueue(t, s), newQueue(t, t.Session())
		put(t, second, "x")
		putMany(t, q, 2500)
		for _, b := range below(t, s, path+"/items") {
			for _, name := range below(t, s, path+"/items/"+b) {
				require.NoError(t, s.Delete(bubble.Minute(t), path+"/items/"+b+"/"+name, -1))
			}
		}
		c := consumer(t, newQueue(t, t.Session()))
		for range 10 {
			put(t, second, "x") // it knows of no bucket but the first
			receives(t, c, "x")
		}
		require.LessOrEqual(t, len(below(t, s, path+"/items")), 2, "number 0, and the open one")
	})
}

// After a deleteall the queue begins at bucket 0 again, also if a consumer puts the first item: it
// moves one that is due, and knows of the former bucket 0. With another number, producers that have
// seen no bucket would make 0 beside it.
func TestTheQueueBeginsAgainAtItsFirstBucket(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		c := consumer(t, newQueue(t, t.Session()))
		for range 2 {
			put(t, newQueue(t, s), "due", queue.WithDelay(time.Second))
			receives(t, c, "due")
			require.Equal(t, []string{"0-0000000000"}, below(t, s, path+"/items"))
			require.NoError(t, s.DeleteAll(bubble.Minute(t), path))
		}
	})
}

// A znode in line/ that is not ephemeral is no consumer's place, and holds up none. A place with
// other ACLs is no reason to fail.
func TestAPlaceThatIsNoConsumers(t *testing.T) {
	t.Parallel()
	hand := func(t *bubble.World, n int) {
		require.NoError(t, t.Server.Znodes(t).Create(path+fmt.Sprintf("/line/hand-%010d", n), nil))
	}
	for name, places := range map[string]func(t *bubble.World){
		"made by hand": func(t *bubble.World) { hand(t, 0) },
		"two of those": func(t *bubble.World) { hand(t, 0); hand(t, 1) },
		"other ACLs": func(t *bubble.World) {
			must(t.Session().Create(bubble.Minute(t), path+"/line/other-", nil, session.Sequential(), session.Ephemeral(), session.WithNodeACL(session.AnyoneACL(session.PermDelete)...)))
		},
	} {
		each(t, name, func(t *bubble.World) {
			p, q := newQueue(t, t.Session()), newQueue(t, t.Session())
			put(t, p, "a")
			require.Equal(t, []string{"a"}, takes(t, p, 1))
			places(t)
			taken := bubble.Begin(func() []string { return takes(t, q, 1) })
			time.Sleep(time.Second)
			put(t, p, "b")
			require.Equal(t, []string{"b"}, bubble.Within(t, time.Hour, taken, "b"))
		})
	}
}

// child makes a znode below an item, as only a stranger does: then the item cannot be deleted.
func child(t *bubble.World, s *session.Session, bucket, data string) {
	t.Helper()
	for _, name := range below(t, s, bucket) {
		if all, _, err := s.Get(bubble.Minute(t), bucket+"/"+name); err == nil && strings.HasSuffix(string(all), data) {
			must(s.Create(bubble.Minute(t), bucket+"/"+name+"/x", nil))
		}
	}
}

// An item that cannot be settled, or cannot become a dead letter when it has had its attempts,
// keeps no others from that, and no item from being moved when it is due.
func TestARefusedSettlementKeepsNoOther(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s, x := t.Session(), t.Session()
		q := newQueue(t, s)
		put(t, q, "tried")
		put(t, q, "bad")
		child(t, s, head, "tried")
		child(t, s, head, "bad")
		take(t, newQueue(t, x))
		require.NoError(t, x.Close(bubble.Minute(t)))
		putMany(t, q, 20)
		put(t, q, "due", queue.WithDelay(10*time.Second))
		c := consumer(t, newQueue(t, t.Session(), queue.WithMaxAttempts(1)), queue.WithWorkers(3))
		var got []string
		for range 22 {
			i := bubble.Within(t, time.Hour, c.Items(), "an item")
			if got = append(got, string(i.Data())); string(i.Data()) == "bad" {
				require.Error(t, i.Nack(bubble.Minute(t)))
			} else {
				require.NoError(t, i.Ack(bubble.Minute(t)))
			}
		}
		require.ElementsMatch(t, append(numbered(0, 20), "bad", "due"), got)
		require.Error(t, <-c.Errors())
	})
}

// An item that cannot be moved when it is due is passed over, and is not asked for again and again.
func TestADelayedItemWithAChildIsPassedOver(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		putAll(t, newQueue(t, s), 0, 2, queue.WithDelay(10*time.Second))
		child(t, s, path+"/later/"+below(t, s, path+"/later")[0], "0")
		m, c := metered(t), consumer(t, newQueue(t, t.Session()))
		receives(t, c, "1")
		require.Error(t, <-c.Errors())
		time.Sleep(30 * time.Second)
		require.Less(t, m.Load(), int64(100))
	})
}

// A consumer that may not read the queue says so, and goes on when it may. So it does with items
// that may not be read: they stay where they are, and those behind them are delivered.
func TestWhatMayNotBeReadIsSkipped(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]queue.ConsumeOption{"claimed": nil, "at most once": {queue.WithAutoAck()}} {
		each(t, name, func(t *bubble.World) {
			s := t.Session()
			q, hidden := newQueue(t, s), session.AnyoneACL(session.PermAll&^session.PermRead)
			must(s.Create(bubble.Minute(t), path+"/items", nil, session.Parents(), session.WithNodeACL(hidden...)))
			c := consumer(t, newQueue(t, s), opts...)
			require.ErrorIs(t, bubble.Get(t, c.Errors(), "the refusal"), session.ErrNoAuth)
			require.ErrorIs(t, errOf(q.Take(bubble.Minute(t))), session.ErrNoAuth)
			must(s.SetACL(bubble.Minute(t), path+"/items", session.AnyoneACL(session.PermAll), -1))
			put(t, q, "a")
			receives(t, c, "a")
			require.NoError(t, c.Close(bubble.Minute(t)))
			bubble.Closes(t, c.Errors(), "the reports, with the consumer")

			put(t, q, "x")
			putAll(t, q, 0, 3)
			for _, name := range below(t, s, head) {
				must(s.SetACL(bubble.Minute(t), head+"/"+name, hidden, -1))
			}
			put(t, q, "b")
			c = consumer(t, newQueue(t, t.Session()), opts...)
			receives(t, c, "b")
			require.ErrorIs(t, bubble.Get(t, c.Errors(), "what was skipped"), session.ErrNoAuth)
			put(t, q, "c")
			receives(t, c, "c")
			require.NoError(t, c.Err())
			require.Equal(t, 4, length(t, q), "what cannot be read is there")
		})
	}
}

// Items that have had their attempts, more than a listing shows or fewer, and dead letters that may
// not be written: those items stay, which is reported, and the items behind them are delivered.
// Once the dead letters may be written, they are moved there.
func TestItemsThatCannotBeBuriedHideNothing(t *testing.T) {
	t.Parallel()
	for _, tried := range []int{1, 20, 200} {
		each(t, tried, func(t *bubble.World) {
			s := t.Session()
			must(s.Create(bubble.Minute(t), path+"/dead", nil, session.Parents(), session.WithNodeACL(session.AnyoneACL(session.PermRead|session.PermAdmin)...)))
			q := newQueue(t, s)
			putMany(t, q, tried)
			c := consumer(t, q, queue.WithPrefetch(tried))
			for _, d := range numbered(0, tried) {
				gets(t, c, d)
			}
			require.NoError(t, c.Close(bubble.Minute(t))) // an attempt each
			once := consumer(t, newQueue(t, s, queue.WithMaxAttempts(1)))
			for _, good := range []string{"good", "better"} {
				put(t, q, good)
				i := bubble.Within(t, 30*time.Minute, once.Items(), good)
				require.Equal(t, good, string(i.Data()))
				require.NoError(t, i.Ack(bubble.Minute(t)))
			}
			require.ErrorIs(t, bubble.Get(t, once.Errors(), "the failure"), session.ErrNoAuth)
			require.NoError(t, once.Err())
			require.Equal(t, tried, length(t, q), "what could not be buried is there")
			must(s.SetACL(bubble.Minute(t), path+"/dead", session.AnyoneACL(session.PermAll), -1))
			time.Sleep(5 * time.Minute)
			require.Equal(t, []int{0, tried}, []int{length(t, q), length(t, deadLetters(t, s))})
		})
	}
}

// No refusal of a single request, for a quota, for an error of the server's own or because it is
// overloaded, ends a consumer: it tries again. An Ack that was refused has changed nothing, and can
// be called again.
func TestConsumerOutlivesRefusals(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]zktest.Code{"quota": zktest.ErrQuotaExceeded, "system": zktest.ErrSystem, "throttled": zktest.ErrThrottled} {
		atEach(t, name, func(*bubble.World, *session.Session) zktest.Verdict { return zktest.Fail(code) }, func(t *bubble.World, s *session.Session) {
			q, c := newQueue(t, t.Session()), consumer(t, newQueue(t, s))
			var got []string // one may be skipped for a while
			for _, d := range numbered(0, 3) {
				put(t, q, d)
			}
			for range 3 {
				i := bubble.Within(t, 2*time.Minute, c.Items(), "an item")
				require.NotNil(t, i, "the consumer ended: %v", c.Err())
				got = append(got, string(i.Data()))
				if i.Ack(bubble.Minute(t)) != nil {
					require.NoError(t, i.Ack(bubble.Minute(t)))
				}
			}
			require.ElementsMatch(t, numbered(0, 3), got)
			require.NoError(t, c.Err())
			require.Equal(t, 0, length(t, q))
		})
	}
}
