package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// history is what was put, taken and acknowledged, in the order in which it happened.
type history struct {
	mu    sync.Mutex
	clock int
	items map[string]*fate
	wrong []string
}

// fate is what became of an item.
type fate struct {
	asked, put int   // when, by the history's clock; 0: never, or not for certain
	claimed    int64 // the transaction of its first claim, if that was delivered
	holder     *queue.Item
	acked      int  // how often for certain
	maybe      bool // an acknowledgement is of unknown outcome
	lost       bool // the put is
}

func newHistory() *history { return &history{items: make(map[string]*fate)} }

func (h *history) note(f func(now int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	f(h.clock)
}

func (h *history) fault(format string, args ...any) {
	h.wrong = append(h.wrong, fmt.Sprintf(format, args...))
}

// produce puts items one after the other, now and then several together.
func (h *history) produce(ctx context.Context, q *queue.Queue, name string, n int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for k := 0; k < n; {
		var batch [][]byte
		for range min(max(rng.IntN(8)-2, 1), n-k) {
			batch = append(batch, fmt.Appendf(nil, "%s-%d", name, k))
			k++
		}
		h.note(func(now int) {
			for _, data := range batch {
				h.items[string(data)] = &fate{asked: now}
			}
		})
		_, err := q.PutAll(ctx, batch)
		h.note(func(now int) {
			for _, data := range batch {
				switch f := h.items[string(data)]; {
				case err == nil:
					f.put = now
				case errors.Is(err, session.ErrUnknownOutcome):
					f.lost = true
				default:
					h.fault("put %s: %v", data, err)
				}
			}
		})
	}
}

// consume takes items and acknowledges most of them.
func (h *history) consume(ctx context.Context, c *queue.Consumer, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range c.Items() {
		data := string(i.Data())
		h.note(func(int) { h.taken(data, i) })
		if rng.IntN(6) == 0 {
			_ = i.Nack(ctx) // lost or not: it comes again
			continue
		}
		err := i.Ack(ctx)
		h.note(func(int) {
			f := h.items[data]
			switch {
			case err == nil:
				f.acked++
			case errors.Is(err, session.ErrUnknownOutcome), ctx.Err() != nil:
				f.maybe = true
			case !errors.Is(err, session.ErrLost):
				h.fault("ack %s: %v", data, err)
			}
		})
	}
}

func (h *history) taken(data string, i *queue.Item) {
	f := h.items[data]
	switch {
	case f == nil:
		h.fault("%s was taken, and nobody put it", data)
		return
	case f.acked > 0:
		h.fault("%s was taken after it was acknowledged", data)
	case f.holder != nil && f.holder.Err() == nil && i.Err() == nil:
		h.fault("%s is had by two", data)
	}
	f.holder = i
	if i.Attempt() == 1 {
		f.claimed = i.Token()
	}
}

// left tells whether something that was put is to be acknowledged yet.
func (h *history) left() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.items {
		if f.put > 0 && f.acked == 0 && !f.maybe {
			return true
		}
	}
	return false
}

// check holds the history against what a queue is: each item acknowledged once, and of two of which
// one had been put before the other's put began, that one claimed first.
func (h *history) check(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for a, f := range h.items {
		if f.acked > 1 {
			h.fault("%s was acknowledged %d times", a, f.acked)
		}
		for b, g := range h.items {
			if f.put > 0 && f.put < g.asked && g.claimed > 0 && f.claimed > g.claimed {
				h.fault("%s was put before %s, and claimed after it: %d, %d", a, b, f.claimed, g.claimed)
			}
		}
	}
	require.Empty(t, h.wrong)
}

// play has producers and consumers at work while faults happen.
func play(t testing.TB, open func() *session.Session, seed uint64, each int, faults func(ctx context.Context)) {
	t.Helper()
	h := newHistory()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var puts, takes, harm sync.WaitGroup
	for p := range 3 {
		q := newQueue(t, open())
		puts.Go(func() { h.produce(ctx, q, fmt.Sprint("p", p), each, seed+uint64(p)) })
	}
	var consumers []*queue.Consumer
	for n := range 3 {
		c := consumer(t, newQueue(t, open()), queue.WithPrefetch(1+2*n))
		consumers = append(consumers, c)
		takes.Go(func() { h.consume(ctx, c, seed+uint64(n)) })
	}
	harmful, harmless := context.WithCancel(ctx)
	harm.Go(func() { faults(harmful) })
	puts.Wait()
	harmless()
	harm.Wait()
	for h.left() && ctx.Err() == nil {
		<-time.After(20 * time.Millisecond)
	}
	require.NoError(t, ctx.Err(), "items are left")
	for _, c := range consumers {
		require.NoError(t, c.Close(ctx))
	}
	takes.Wait()
	h.check(t)
}

// Sessions expire, connections break, requests and replies are lost: at random, in virtual time.
func TestHistoriesUnderFaults(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, tier.Count(3, 8), func(t *testing.T, seed uint64) {
		t.Parallel()
		bubble.Run(t, func(t *bubble.World) {
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(seed, 2))
			t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case r.Op == zktest.OpPing || r.Op == zktest.OpConnect:
					return zktest.Pass
				case rng.IntN(150) == 0:
					return []zktest.Verdict{zktest.CutBefore, zktest.CutAfter}[rng.IntN(2)]
				}
				return zktest.Delay(time.Duration(rng.Int64N(int64(4 * time.Millisecond))))
			})
			var sessions []*session.Session
			play(t, func() *session.Session {
				s := t.Session()
				sessions = append(sessions, s)
				return s
			}, seed, 40, func(ctx context.Context) {
				pauses := rand.New(rand.NewPCG(seed, 4))
				for ctx.Err() == nil {
					select {
					case <-time.After(time.Duration(100+pauses.IntN(400)) * time.Millisecond):
					case <-ctx.Done():
						return
					}
					mu.Lock()
					s := sessions[rng.IntN(len(sessions))]
					expire := rng.IntN(3) == 0
					mu.Unlock()
					if id := s.Status().SessionID; expire {
						t.Server.Expire(id)
					} else {
						t.Server.Disconnect(id)
					}
				}
			})
		})
	})
}

// One of three real servers after the other is killed and started again.
func TestHistoryOnRealZooKeeperUnderKills(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	zk := ensemble.Start(t, 3)
	play(t, func() *session.Session {
		s, err := session.Open(bubble.Minute(t), zk.Servers())
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close(bubble.Minute(t)) })
		return s
	}, 1, 150, func(ctx context.Context) {
		for i := 0; ctx.Err() == nil && i < 3; i++ {
			zk.Kill(i)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			if err := zk.Restart(i); err != nil {
				t.Error(err)
				return
			}
			if err := zk.Await(bubble.Minute(t)); err != nil {
				t.Error(err)
				return
			}
		}
	})
}
