package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

const overlapping = 200 // items that are acknowledged at the same time

// acknowledgements receives items, and acknowledges them all at the same time, after a pause, with
// what end does. It returns the answers by what the items carry.
func acknowledgements(t testing.TB, c *queue.Consumer, pause time.Duration, end func()) map[string]error {
	t.Helper()
	items := make([]*queue.Item, overlapping)
	for n := range items {
		items[n] = bubble.Get(t, c.Items(), "an item")
	}
	var mu sync.Mutex
	answers := make(map[string]error)
	var all sync.WaitGroup
	for n, i := range items {
		if n == len(items)/2 {
			all.Go(end)
		}
		all.Go(func() {
			time.Sleep(pause)
			err := i.Ack(context.Background())
			mu.Lock()
			defer mu.Unlock()
			answers[string(i.Data())] = err
		})
	}
	all.Wait()
	return answers
}

// checkAnswers: what was acknowledged does not come again, what was lost does, and there is no
// third thing.
func checkAnswers(t testing.TB, q *queue.Queue, answers map[string]error) {
	t.Helper()
	synctest.Wait()
	left := make(map[string]bool)
	for _, data := range takes(t, q, length(t, q)) {
		left[data] = true
	}
	for data, err := range answers {
		switch {
		case err == nil && left[data]:
			t.Errorf("%s: Ack returned nil, and it is delivered again", data)
		case err != nil && !errors.Is(err, session.ErrLost):
			t.Errorf("%s: %v", data, err)
		case err != nil && !left[data]:
			t.Errorf("%s: %v, and it is gone", data, err)
		}
	}
	require.Len(t, answers, overlapping)
}

func putMany(t testing.TB, q *queue.Queue, packed bool) {
	t.Helper()
	if packed {
		var all [][]byte
		for n := range overlapping {
			all = append(all, fmt.Append(nil, n))
		}
		_, err := q.PutAll(bubble.Minute(t), all)
		require.NoError(t, err)
		return
	}
	for n := range overlapping {
		put(t, q, fmt.Sprint(n))
	}
}

// An Ack that meets Close is carried out or ErrLost: never nil for an item that goes back.
func TestAckMeetsClose(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, s := newQueue(t, t.Session()), t.Session()
		for round := range 8 {
			putMany(t, q, round%2 == 0)
			c := consumer(t, newQueue(t, s), queue.WithPrefetch(overlapping))
			checkAnswers(t, q, acknowledgements(t, c, 0, func() { require.NoError(t, c.Close(bubble.Minute(t))) }))
		}
	})
}

// An Ack that meets the end of the visibility timeout is carried out or ErrLost.
func TestAckMeetsVisibility(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, s := newQueue(t, t.Session()), t.Session()
		for round := range 8 {
			putMany(t, q, round%2 == 0)
			c := consumer(t, newQueue(t, s, queue.WithVisibility(time.Second)), queue.WithPrefetch(overlapping))
			answers := acknowledgements(t, c, time.Second, func() {})
			require.NoError(t, c.Close(bubble.Minute(t)))
			checkAnswers(t, q, answers)
		}
	})
}
