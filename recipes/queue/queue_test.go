package queue_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest"
)

func TestFirstInFirstOut(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		q := newQueue(t, open(t, z))
		for _, data := range numbered(0, 20) {
			put(t, q, data)
		}
		require.Equal(t, 20, length(t, q))
		require.Equal(t, numbered(0, 20), takes(t, q, 20))
		require.Equal(t, 0, length(t, q))
	})
}

func TestOrderSurvivesBuckets(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		q := newQueue(t, s)
		var want []string
		for i := range 40 {
			batch := numbered(i*25, 25)
			want = append(want, batch...)
			data := make([][]byte, len(batch))
			for n := range batch {
				data[n] = []byte(batch[n])
			}
			_, err := q.PutAll(patience(t), data)
			require.NoError(t, err)
		}
		require.Equal(t, 1000, length(t, q))
		c := consumer(t, newQueue(t, open(t, z)), queue.WithPrefetch(100))
		var got []string
		for range want {
			i := get(t, c.Items(), "item")
			if len(got) > 0 && want[len(got)] != string(i.Data()) {
				t.Logf("got %s want %s attempt %d path %s", i.Data(), want[len(got)], i.Attempt(), i.Path())
			}
			got = append(got, string(i.Data()))
			require.NoError(t, i.Ack(patience(t)))
		}
		require.True(t, slices.Equal(want, got))
	})
}

func TestPriorities(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		q := newQueue(t, open(t, z))
		for _, p := range []int{5, -3, 0, 5, -3, 100, -9999} {
			put(t, q, "x", queue.WithPriority(p))
		}
		var got []int
		for range 7 {
			i := take(t, q)
			got = append(got, i.Priority())
			require.NoError(t, i.Ack(patience(t)))
		}
		require.Equal(t, []int{-9999, -3, -3, 0, 5, 5, 100}, got)
	})
}
