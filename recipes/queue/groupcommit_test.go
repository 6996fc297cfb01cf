package queue_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A thousand plain puts of one process at the same moment take a few transactions, and one when
// nothing else is going on is sent at once.
func TestConcurrentPutsShareTransactions(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const puts = 1000
		m := metered(t)
		q := newQueue(t, t.Session())
		put(t, q, "first")
		settled()
		began, before := time.Now(), m.requests()
		put(t, q, "alone")
		require.Equal(t, trip, time.Since(began), "the time of one request")
		require.Equal(t, 1, m.requests()-before)

		answers := make(chan error, puts)
		transactions := m.of(zktest.OpMulti)
		began = time.Now()
		spent := m.spent(func() {
			for n := range puts {
				go func() { // ends with the answer
					_, err := q.Put(bubble.Minute(t), fmt.Append(nil, n))
					answers <- err
				}()
			}
			for range puts {
				require.NoError(t, bubble.Get(t, answers, "an answer"))
			}
		})
		transactions = m.of(zktest.OpMulti) - transactions
		t.Logf("%d transactions, %d requests, %v", transactions, spent, time.Since(began)-20*trip)
		require.LessOrEqual(t, transactions, 20)
		require.LessOrEqual(t, spent, 20)
		require.Equal(t, puts+2, length(t, q))
	})
}

// Of puts that are sent together each is answered for itself: one that is a duplicate, too large or
// may not be done does not fail the others.
func TestConcurrentPutsFallBackAlone(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const puts = 300
		m := metered(t)
		q := newQueue(t, t.Session())
		put(t, q, "here", queue.WithID("red"))
		settled()
		type answer struct {
			n   int
			err error
		}
		answers := make(chan answer, puts)
		transactions := m.of(zktest.OpMulti)
		for n := range puts {
			item, opts := fmt.Append(nil, n), []queue.PutOption(nil)
			switch n % 30 {
			case 7:
				opts = append(opts, queue.WithID("red"))
			case 13:
				item = make([]byte, 2<<20)
			case 20:
				opts = append(opts, queue.WithID(fmt.Sprint("blue", n)))
			}
			go func() { // ends with the answer
				_, err := q.Put(bubble.Minute(t), item, opts...)
				answers <- answer{n, err}
			}()
		}
		for range puts {
			switch a := bubble.Get(t, answers, "an answer"); a.n % 30 {
			case 7:
				require.ErrorIs(t, a.err, queue.ErrDuplicate)
			case 13:
				require.ErrorIs(t, a.err, session.ErrTooLarge)
			default:
				require.NoError(t, a.err)
			}
		}
		transactions = m.of(zktest.OpMulti) - transactions
		t.Logf("%d transactions", transactions)
		require.Equal(t, puts-2*puts/30+1, length(t, q))
		require.LessOrEqual(t, transactions, 60)
	})
}

// In a bounded queue that has room for some of them, that many are put, and the others told that it
// is full.
func TestConcurrentPutsIntoLittleRoom(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		metered(t)
		q := newQueue(t, t.Session(), queue.WithCapacity(40))
		answers := make(chan error, 100)
		for range 100 {
			go func() { // ends with the answer
				_, err := q.Put(bubble.Minute(t), []byte("x"))
				answers <- err
			}()
		}
		done := 0
		for range 100 {
			err := bubble.Get(t, answers, "an answer")
			if err == nil {
				done++
			} else if !errors.Is(err, queue.ErrFull) {
				t.Fatal(err)
			}
		}
		require.Equal(t, 40, done)
		require.Equal(t, 40, length(t, q))
	})
}

// Settlements share transactions as well, those of single items with those of items put together.
func TestConcurrentSettlementsShareTransactions(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		const items = 400
		m := metered(t)
		q := newQueue(t, t.Session())
		putAlone(t, q, items/2)
		putTogether(t, q, items/2)
		c := consumer(t, q, queue.WithPrefetch(items))
		all := make([]*queue.Item, items)
		for n := range all {
			all[n] = bubble.Get(t, c.Items(), "an item")
		}
		answers := make(chan error, items)
		spent := m.spent(func() {
			for n, i := range all {
				go func() { // ends with the answer
					if n%4 == 3 {
						answers <- i.Nack(bubble.Minute(t))
					} else {
						answers <- i.Ack(bubble.Minute(t))
					}
				}()
			}
			for range items {
				require.NoError(t, bubble.Get(t, answers, "an answer"))
			}
			require.NoError(t, c.Close(bubble.Minute(t)))
		})
		t.Logf("%d requests", spent)
		require.LessOrEqual(t, spent, items/4)
		require.Equal(t, items/4, length(t, q))
	})
}
