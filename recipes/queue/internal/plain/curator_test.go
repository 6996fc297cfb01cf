package plain_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue/internal/plain"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// theirQueue is a queue of Curator's.
type theirQueue struct {
	testing.TB

	driver *driver
	name   string
}

func (q theirQueue) put(number int, data ...string) {
	q.Helper()
	q.driver.call(q, q.name, "put", append([]string{fmt.Sprint(number)}, data...)...)
}

// take waits for an item; "" if there is none in time.
func (q theirQueue) take(patience time.Duration) string {
	q.Helper()
	return strings.Join(q.driver.call(q, q.name, "take", fmt.Sprint(patience.Milliseconds())), "")
}

// withCurator runs a test with queues of Curator's and ours, on the embedded server and a real one.
func withCurator(t *testing.T, kind string, test func(t *testing.T, us func() *plain.Queue, them func() theirQueue)) {
	t.Helper()
	d := theirs(t)
	l := map[string]plain.Layout{"distributed-queue": plain.Curator, "priority-queue": plain.CuratorPriority, "delay-queue": plain.CuratorDelay}[kind]
	for name, server := range map[string]func(t *testing.T) []string{
		"zktest": func(t *testing.T) []string { return zktest.Start(t).Servers() },
		"real":   func(t *testing.T) []string { return ensemble.Start(t, 1).Servers() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := server(t)
			n := 0
			test(t, func() *plain.Queue { return newQueue(t, bubble.Open(t, servers), l) }, func() theirQueue {
				n++
				client := fmt.Sprintf("%s %d", t.Name(), n)
				d.call(t, client, "open", "curator", servers[0], "10000")
				t.Cleanup(func() { d.call(t, client, "close") })
				d.call(t, client+" queue", "new", kind, client, path)
				return theirQueue{t, d, client + " queue"}
			})
		})
	}
}

// What one side puts the other takes, in order, several items in a znode included.
func TestCuratorsQueue(t *testing.T) {
	t.Parallel()
	withCurator(t, "distributed-queue", func(t *testing.T, us func() *plain.Queue, them func() theirQueue) {
		ours, theirs := us(), them()
		theirs.put(0, "a")
		theirs.put(0, "b", "c")
		put(t, ours, plain.Curator, "d", "e")
		theirs.put(0, "")
		require.Equal(t, 5, length(t, ours), "what they put together counts as one")
		for _, data := range []string{"a", "b", "c", "d", "e", ""} {
			require.Equal(t, data, take(t, ours))
		}
		put(t, ours, plain.Curator, "1", "2", "3")
		for _, data := range []string{"1", "2", "3"} {
			require.Equal(t, data, theirs.take(time.Minute))
		}
		require.Equal(t, 0, length(t, ours))
	})
}

// The same with priorities.
func TestCuratorsPriorities(t *testing.T) {
	t.Parallel()
	withCurator(t, "priority-queue", func(t *testing.T, us func() *plain.Queue, them func() theirQueue) {
		ours, theirs := us(), them()
		for _, n := range []int{1<<31 - 1, 7, -1, -1 << 31, 0} {
			theirs.put(n, fmt.Sprint("theirs ", n))
			_, err := ours.Put(bubble.Minute(t), [][]byte{[]byte(fmt.Sprint("ours ", n))}, n, 0)
			require.NoError(t, err)
		}
		order := []int{-1 << 31, -1, 0, 7, 1<<31 - 1}
		for _, n := range order {
			for _, side := range []string{"theirs ", "ours "} {
				e, err := ours.Take(bubble.Minute(t))
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(side, n), string(e.Data))
				require.Equal(t, n, e.Priority)
			}
		}
		for _, n := range []int{7, -1, 1<<31 - 1, -1 << 31, 0} {
			_, err := ours.Put(bubble.Minute(t), [][]byte{[]byte(fmt.Sprint(n))}, n, 0)
			require.NoError(t, err)
		}
		for _, n := range order {
			require.Equal(t, fmt.Sprint(n), theirs.take(time.Minute))
		}
	})
}

// The same with delays: nothing comes early.
func TestCuratorsDelays(t *testing.T) {
	t.Parallel()
	withCurator(t, "delay-queue", func(t *testing.T, us func() *plain.Queue, them func() theirQueue) {
		ours, theirs := us(), them()
		began := time.Now()
		theirs.put(900, "second")
		_, err := ours.Put(bubble.Minute(t), [][]byte{[]byte("first")}, 0, 600*time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, 2, length(t, ours))
		require.Equal(t, "first", take(t, ours))
		require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond)
		require.Equal(t, "second", take(t, ours))
		require.GreaterOrEqual(t, time.Since(began), 900*time.Millisecond)

		began = time.Now()
		_, err = ours.Put(bubble.Minute(t), [][]byte{[]byte("third")}, 0, 600*time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, "third", theirs.take(time.Minute))
		require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond)
	})
}

// Two of ours and two of theirs put, and as many take: every item arrives once.
func TestCuratorsQueueTogether(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"distributed-queue", "priority-queue", "delay-queue"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			withCurator(t, kind, func(t *testing.T, us func() *plain.Queue, them func() theirQueue) {
				const each = 40
				var want, got []string
				var mu sync.Mutex
				var putters, takers sync.WaitGroup
				all := make(chan struct{})
				took := func(data string) {
					mu.Lock()
					defer mu.Unlock()
					if got = append(got, data); len(got) == 4*each {
						close(all)
					}
				}
				for side := range 2 {
					ours, theirs, taker, theirTaker := us(), them(), us(), them()
					for i := range each {
						want = append(want, fmt.Sprint("ours ", side, i), fmt.Sprint("theirs ", side, i))
					}
					putters.Go(func() {
						for i := range each {
							_, _ = ours.Put(bubble.Minute(t), [][]byte{[]byte(fmt.Sprint("ours ", side, i))}, 0, 0)
						}
					})
					putters.Go(func() {
						for i := range each {
							theirs.put(0, fmt.Sprint("theirs ", side, i))
						}
					})
					takers.Go(func() { // ends with Close
						for {
							e, err := taker.Take(bubble.Minute(t))
							if err != nil {
								return
							}
							took(string(e.Data))
						}
					})
					takers.Go(func() { // ends when all is taken
						for {
							select {
							case <-all:
								_ = taker.Close(bubble.Minute(t))
								return
							default:
								if data := theirTaker.take(20 * time.Millisecond); data != "" {
									took(data)
								}
							}
						}
					})
				}
				putters.Wait()
				bubble.Closes(t, all, "all items")
				takers.Wait()
				require.ElementsMatch(t, want, got)
			})
		})
	}
}
