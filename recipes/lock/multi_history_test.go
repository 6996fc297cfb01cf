package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var multiPaths = []string{"/m/a", "/m/b", "/m/c", "/m/d"}

// histories are what clients saw of several locks, one history for each path.
type histories map[string]*history

func newHistories() histories {
	all, began := histories{}, time.Now()
	for _, p := range multiPaths {
		all[p] = &history{began: began}
	}
	return all
}

// client takes random sets of the locks together, again and again until ctx ends.
func (hs histories) client(ctx context.Context, t *testing.T, id int, rng *rand.Rand, s *session.Session) {
	var locks []*lock.Lock
	for _, p := range multiPaths {
		l, err := lock.New(s, p)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_ = l.Close(ctx)
		}()
		locks = append(locks, l)
	}
	for ctx.Err() == nil {
		var some []*lock.Lock
		var named []string
		for _, i := range rng.Perm(len(locks))[:2+rng.IntN(2)] {
			some, named = append(some, locks[i]), append(named, multiPaths[i])
		}
		m, err := lock.NewMulti(some...)
		if err != nil {
			t.Error(err)
			return
		}
		asked := hs[named[0]].now()
		g, err := m.Lock(ctx)
		if err != nil {
			return
		}
		ended := hs.hold(t, id, g, asked)
		pause(ctx, rng, 20*time.Millisecond)
		release, cancel := context.WithTimeout(ctx, time.Second)
		_ = g.Release(release)
		cancel()
		ended.Wait()
	}
}

// hold notes the grant of each part, and its end, for which the caller waits.
func (hs histories) hold(t *testing.T, id int, g *lock.MultiGrant, asked int64) *sync.WaitGroup {
	t.Helper()
	var ended sync.WaitGroup
	for _, part := range g.Grants() {
		h := hs[part.Path()[:len(multiPaths[0])]]
		h.note(&h.locks, id, "grant", part.Token(), asked, h.now())
		ended.Go(func() {
			awaitEnd(t, part.Done())
			at := h.now()
			h.note(&h.locks, id, "end", part.Token(), at, at)
		})
	}
	return &ended
}

func (hs histories) check(t *testing.T, atLeast int) {
	t.Helper()
	for p, h := range hs {
		t.Logf("%s: %d grants and ends", p, len(h.locks))
		require.GreaterOrEqual(t, len(h.locks), 2*atLeast, p)
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(lockModel, h.locks, patience), "%s: two held at once, or a token did not grow", p)
	}
}

// In virtual time, with partitions within and beyond the session's timeout: of every lock there is
// one holder at a time.
func TestMultiHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 4, func(t *testing.T, seed uint64) {
		inBubble(t, func(w *world) {
			rng := rand.New(rand.NewPCG(seed, 3))
			ctx, stop := context.WithTimeout(w.Context(), 2*time.Minute)
			defer stop()
			defer w.Server.Intercept(bubble.Slowly(seed))()
			hs := newHistories()
			var hosts []*bubble.Host
			var clients sync.WaitGroup
			for i := range 4 {
				h := w.Host(fmt.Sprint("h", i))
				hosts = append(hosts, h)
				clients.Go(func() { hs.client(ctx, w.T, i, rand.New(rand.NewPCG(seed, uint64(i))), h.Session) })
			}
			for pause(ctx, rng, 3*time.Second) {
				heal := hosts[rng.IntN(len(hosts))].Machine.Partition()
				pause(ctx, rng, 15*time.Second)
				heal()
			}
			clients.Wait()
			hs.check(w.T, 50)
		})
	})
}

// On three real servers, one of which is killed or cut off all the while.
func TestMultiHistoryOnRealServers(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	seed := tier.Seed(t.Name())
	tier.Again(t, seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	e := ensemble.Start(t, 3)
	ctx, stop := context.WithTimeout(t.Context(), 12*time.Second)
	defer stop()
	hs := newHistories()
	var clients sync.WaitGroup
	for i := range 4 {
		s := bubble.Open(t, e.Proxied(), session.WithTimeout(shortTimeout))
		clients.Go(func() { hs.client(ctx, t, i, rand.New(rand.NewPCG(seed, uint64(i))), s) })
	}
	for pause(ctx, rng, time.Second) {
		i := rng.IntN(3)
		if rng.IntN(2) == 0 {
			e.Kill(i)
			pause(ctx, rng, 2*time.Second)
			require.NoError(t, e.Restart(i))
			continue
		}
		e.Proxies()[i].Blackhole()
		pause(ctx, rng, 3*time.Second)
		e.Proxies()[i].Heal()
	}
	clients.Wait()
	hs.check(t, 10)
}
