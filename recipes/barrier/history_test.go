package barrier_test

// Histories of rounds under random faults: what parties saw is checked against what rounds promise.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/zktest"
)

// history is what the parties of a double barrier have seen, in one order.
type history struct {
	mu     sync.Mutex
	clock  int
	stays  []*stay
	faults []string
}

// stay is one party's stay in a round.
type stay struct {
	party   string
	passage *barrier.Passage
	called  int // when it asked
	entered int
}

// left checks, at the instant at which somebody is told that a round is over, that nobody is
// inside.
func (h *history) left(p *barrier.Passage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.stays {
		if s.passage.Round() == p.Round() && s.passage.Valid() {
			h.faults = append(h.faults, fmt.Sprintf("round %d is over while %s is inside", p.Round(), s.party))
		}
	}
}

// party goes through rounds until ctx ends. It is patient, gives up, breaks, departs early or late,
// as the dice fall.
func (h *history) party(ctx context.Context, id string, d *barrier.Double, rng *rand.Rand) {
	called := h.note(nil)
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, time.Duration(1+rng.IntN(40))*time.Second)
		p, err := d.Enter(wait)
		cancel()
		switch {
		case errors.Is(err, barrier.ErrBroken):
			called = h.note(nil)
			continue
		case err != nil: // the party may have stood: the next call takes its place over
			if rng.IntN(8) == 0 {
				_ = d.Break(ctx) // ctx may end in it
			}
			continue
		}
		h.note(&stay{party: id, passage: p, called: called})
		if rng.IntN(2) == 0 {
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		}
		p.Depart()
		select {
		case <-p.Left():
			h.left(p)
		case <-ctx.Done():
		}
		called = h.note(nil)
	}
}

// check: every member of a round was told the same; each of them had asked before the first of them
// entered; none was in it twice, and none whom the others don't know of; and each party's rounds
// and tokens grow.
func (h *history) check(t require.TestingT, parties int) (rounds int) {
	require.Empty(t, h.faults)
	of := map[int64][]*stay{}
	last := map[string]*stay{}
	for _, s := range h.stays {
		of[s.passage.Round()] = append(of[s.passage.Round()], s)
		if before := last[s.party]; before != nil {
			require.Greater(t, s.passage.Round(), before.passage.Round())
			require.Greater(t, s.passage.Token(), before.passage.Token())
		}
		last[s.party] = s
	}
	for round, stays := range of {
		members := stays[0].passage.Members()
		require.Len(t, members, parties)
		first, asked := stays[0].entered, 0
		var seen []string
		for _, s := range stays {
			require.Equal(t, members, s.passage.Members(), "round %d", round)
			require.Contains(t, members, s.party)
			require.NotContains(t, seen, s.party)
			seen = append(seen, s.party)
			first, asked = min(first, s.entered), max(asked, s.called)
		}
		require.Less(t, asked, first, "round %d: somebody entered before all had come", round)
	}
	return len(of)
}

// Histories under partitions, lost connections, lost replies, panics, processes that die and are
// started anew, and servers that stand still or have lost their leader.
func TestHistories(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, tier.Count(3, 12), func(t *testing.T, seed uint64) {
		inBubble(t, func(w *world) {
			rng := rand.New(rand.NewPCG(seed, 5))
			const parties = 4
			team := w.team(parties)
			stop := w.Server.Intercept(w.roughly(seed))
			ctx, cancel := context.WithCancel(w.Context())
			var h history
			var running sync.WaitGroup
			stops := make([]context.CancelFunc, parties)
			start := func(i int) {
				var life context.Context
				life, stops[i] = context.WithCancel(ctx)
				d, dice := team.doubles[i], rand.New(rand.NewPCG(seed, rng.Uint64()))
				running.Go(func() { h.party(life, fmt.Sprint("p", i), d, dice) })
			}
			for i := range parties {
				start(i)
			}
			for life := range 80 {
				time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
				at := rng.IntN(parties)
				switch rng.IntN(7) {
				case 6: // its process dies, and is started anew before or after that is known
					team.hosts[at].Die()
					stops[at]()
					time.Sleep(time.Duration(rng.IntN(9000)) * time.Millisecond)
					team.hosts[at] = w.Host(fmt.Sprint("anew", life))
					team.doubles[at] = w.double(team.hosts[at], parties, barrier.WithID(fmt.Sprint("p", at)))
					start(at)
				case 5:
					heal := func() { w.Server.Continue(at % 3) }
					if rng.IntN(2) == 0 {
						heal = w.Server.IsolateServer(at%3, 0)
					} else {
						w.Server.Stop(at % 3)
					}
					time.Sleep(time.Duration(rng.IntN(6000)) * time.Millisecond)
					heal()
				case 0:
					heal := team.hosts[at].Machine.Partition()
					time.Sleep(time.Duration(rng.IntN(9000)) * time.Millisecond)
					heal()
				case 1, 2:
					w.Server.Disconnect(team.hosts[at].Status().SessionID)
				case 3:
					if rng.IntN(4) == 0 {
						team.doubles[at].Crash("a bug")
					}
				}
			}
			stop()
			time.Sleep(2 * time.Minute) // whatever has happened, it goes on
			before := h.note(nil)
			time.Sleep(2 * time.Minute)
			cancel()
			running.Wait()
			require.Greater(w, h.stays[len(h.stays)-1].entered, before, "nobody enters any more\n%s", w.Server.Dump())
			require.Greater(w, h.check(w, parties), 25)
			for _, d := range team.doubles {
				require.NoError(w, d.Close(w.Context()))
			}
			require.Zero(w, w.standing())
		}, zktest.WithServers(3), zktest.WithSeed(seed))
	})
}

// roughly delays requests, and now and then loses one, or an answer.
func (w *world) roughly(seed uint64) func(*zktest.Request) zktest.Verdict {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 11))
	return func(r *zktest.Request) zktest.Verdict {
		if r.Op == zktest.OpPing || r.Op == zktest.OpConnect {
			return zktest.Pass
		}
		mu.Lock()
		defer mu.Unlock()
		switch rng.IntN(60) {
		case 0:
			return zktest.CutAfter
		case 1:
			return zktest.CutBefore
		}
		return zktest.Delay(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
	}
}

// note tells the time, and keeps a stay that begins.
func (h *history) note(s *stay) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	if s != nil {
		s.entered = h.clock
		h.stays = append(h.stays, s)
	}
	return h.clock
}
