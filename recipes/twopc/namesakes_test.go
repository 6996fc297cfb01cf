// Sites of one name: which of them lives, and how it is told from its predecessor.

package twopc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/zktest"
)

// Sites of one name come and go, most of them in one session, in any order, while connections break
// and actors crash. In the end one of them lives, shows that it does, and is asked; and when it has
// closed, nothing is left of it.
func TestSitesOfOneNameComeAndGo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) { comeAndGo(w, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func comeAndGo(w *world, rng *rand.Rand) {
	h, far := w.Host("one"), w.Host("another")
	var all sync.WaitGroup
	var sites []*twopc.Site
	open := func(h *bubble.Host) *twopc.Site {
		s, err := twopc.NewSite(h.Session, path, "a")
		require.NoError(w, err)
		sites = append(sites, s)
		return s
	}
	fates := []zktest.Verdict{zktest.CutAfter, zktest.CutBefore, zktest.DropReply, zktest.DropRequest}
	for range 3 + rng.IntN(20) {
		switch rng.IntN(10) {
		case 0, 1, 2, 3:
			open(h)
		case 4:
			open(far)
		case 5, 6:
			if len(sites) == 0 {
				continue
			}
			s, patience := sites[rng.IntN(len(sites))], time.Duration(rng.IntN(3))*time.Second
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute-time.Minute*(patience/time.Second)/2)
				defer cancel()
				_ = s.Close(ctx)
			})
		case 7:
			if len(sites) > 0 {
				sites[rng.IntN(len(sites))].Crash("at any time")
			}
		case 8:
			fate := fates[rng.IntN(len(fates))]
			w.strike(h, 1+rng.IntN(4), func(*zktest.Request) zktest.Verdict { return fate })
		case 9:
			if rng.IntN(4) == 0 {
				w.Server.Expire(h.Status().SessionID)
			}
		}
		if rng.IntN(3) > 0 {
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond * time.Duration(rng.IntN(2)))
		}
	}
	time.Sleep(2 * time.Minute)
	open(h)
	time.Sleep(2 * time.Minute)
	var living []*twopc.Site
	for _, s := range sites {
		if s.Err() == nil {
			living = append(living, s)
		}
	}
	require.Len(w, living, 1, w.Server.Dump())
	c := w.coordinator(w.Host("c"))
	tx, err := c.Begin(w.Context(), "t", nil, "a")
	require.NoError(w, err)
	require.NoError(w, bubble.Within(w, time.Second, living[0].Proposals()).Commit(w.Context()))
	bubble.Within(w, time.Second, tx.Decided())
	require.Equal(w, twopc.Committed, tx.Outcome())
	require.Contains(w, w.Server.Dump(), path+"/alive/a")
	require.NoError(w, living[0].Close(w.Context()))
	require.NotContains(w, w.Server.Dump(), path+"/alive/a")
	all.Wait()
}
