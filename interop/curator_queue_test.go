package interop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
)

// took is what a queue of Curator's takes next.
func (q theirQueue) took(t *testing.T) string {
	t.Helper()
	r := q.d.call(q.rec, "take", fmt.Sprint(patience.Milliseconds()))
	require.Empty(t, r.err)
	require.Len(t, r.values, 1, "it takes nothing")
	return r.values[0]
}

// What one side puts the other takes, in order; of ours also what Curator has put into one znode.
func TestCuratorsQueue(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		path, b := pathFor(t), eager["curator's queue"]
		us, them := b.us(t, address, path), b.them(t, address, path)
		require.NoError(t, them.put("a"))
		require.NoError(t, them.ask(them.rec, "together", "b", "c"))
		_, err := us.queue.PutAll(t.Context(), [][]byte{[]byte("d"), []byte("e")})
		require.NoError(t, err)
		require.NoError(t, them.put(""))
		n, err := us.queue.Len(t.Context())
		require.NoError(t, err)
		require.Equal(t, 5, n, "what they put together counts as one")
		for _, data := range []string{"a", "b", "c", "d", "e", ""} {
			item, err := us.queue.Take(t.Context())
			require.NoError(t, err)
			require.Equal(t, data, string(item.Data()))
		}
		for _, data := range []string{"1", "2", "3"} {
			require.NoError(t, us.put(data))
		}
		for _, data := range []string{"1", "2", "3"} {
			require.Equal(t, data, them.took(t))
		}
	})
}

// Priorities of Curator's, whoever put them.
func TestCuratorsPriorities(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		path, b := pathFor(t), eager["curator's priority queue"]
		us, them := b.us(t, address, path), b.them(t, address, path)
		put := func(n int) {
			_, err := us.queue.Put(t.Context(), []byte(fmt.Sprint("ours ", n)), queue.WithPriority(n))
			require.NoError(t, err)
		}
		order := []int{-1 << 31, -9999, -1, 0, 7, 9999, 1<<31 - 1}
		for _, at := range []int{4, 3, 1, 0, 2, 6, 5} {
			require.NoError(t, them.ask(them.rec, "put", fmt.Sprint("theirs ", order[at]), fmt.Sprint(order[at])))
		}
		for _, at := range []int{3, 1, 4, 2, 5} {
			put(order[at])
		}
		for _, n := range order {
			for _, side := range []string{"theirs ", "ours "} {
				if side == "ours " && n*n > 1e8 {
					continue // beyond Troupe's range
				}
				item, err := us.queue.Take(t.Context())
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(side, n), string(item.Data()))
				require.Equal(t, n, item.Priority())
			}
		}
		for _, at := range []int{3, 1, 4, 2, 5} {
			put(order[at])
		}
		for _, n := range order[1:6] {
			require.Equal(t, fmt.Sprint("ours ", n), them.took(t))
		}
	})
}

// Delays of Curator's: nothing comes early.
func TestCuratorsDelays(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		path, b := pathFor(t), eager["curator's delay queue"]
		us, them := b.us(t, address, path), b.them(t, address, path)
		began := time.Now()
		require.NoError(t, them.ask(them.rec, "put", "second", "1200"))
		_, err := us.queue.Put(t.Context(), []byte("first"), queue.WithDelay(600*time.Millisecond))
		require.NoError(t, err)
		take := func(data string, delay time.Duration) {
			item, err := us.queue.Take(t.Context())
			require.NoError(t, err)
			require.Equal(t, data, string(item.Data()))
			require.GreaterOrEqual(t, time.Since(began), delay)
		}
		take("first", 600*time.Millisecond)
		take("second", 1200*time.Millisecond)

		began = time.Now()
		_, err = us.queue.Put(t.Context(), []byte("third"), queue.WithDelay(600*time.Millisecond))
		require.NoError(t, err)
		require.Equal(t, "third", them.took(t))
		require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond)
	})
}
