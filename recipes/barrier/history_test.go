package barrier_test

// Histories of rounds under random faults, checked against the guarantees of package barrier.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/zktest"
)

// history has the passages of all parties of a double barrier, in one order. Its times are ticks.
type history struct {
	mu     sync.Mutex
	clock  int // the last tick
	stays  []*stay
	faults []string // found by left
}

// stay is one party's stay in a round.
type stay struct {
	party   string
	passage *barrier.Passage
	called  int // when the party first asked for it: a call that gave up counts, since it may have arrived
	entered int // when it had the passage
}

// left checks, at the instant at which a party learns that all have left a round, that no party is
// inside.
func (h *history) left(p *barrier.Passage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.stays {
		if s.passage.Round() == p.Round() && s.passage.Valid() {
			h.faults = append(h.faults, fmt.Sprintf("all have left round %d while %s is inside", p.Round(), s.party))
		}
	}
}

// party goes through rounds until ctx ends. It is patient, gives up, breaks, departs early or late,
// at random.
func (h *history) party(ctx context.Context, id string, d *barrier.Double, rng *rand.Rand) {
	called := h.tick(nil)
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, time.Duration(1+rng.IntN(40))*time.Second)
		p, err := d.Enter(wait)
		cancel()
		switch {
		case errors.Is(err, barrier.ErrBroken):
			called = h.tick(nil)
			continue
		case err != nil: // the party may have arrived: the next call takes over its position
			if rng.IntN(8) == 0 {
				_ = d.Break(ctx) // ctx may end in it
			}
			continue
		}
		h.tick(&stay{party: id, passage: p, called: called})
		if rng.IntN(2) == 0 {
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		}
		p.Depart()
		select {
		case <-p.Left():
			h.left(p)
		case <-ctx.Done():
		}
		called = h.tick(nil)
	}
}

// check: all members of a round were told the same; each had called before the first one entered;
// no party was in the round twice, or without being a member; and each party's rounds and tokens
// grow.
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
		require.Less(t, asked, first, "round %d: one entered before all had come", round)
	}
	return len(of)
}

// Histories under partitions, lost connections, lost replies, panics, processes that die and are
// started anew, and servers that stand still or have lost their leader.
func TestHistories(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, tier.Count(3, 12), func(t *testing.T, seed uint64) {
		bubble.Run(t, func(w *bubble.World) {
			rng := rand.New(rand.NewPCG(seed, 5))
			const parties = 4
			team := newTeam(w, parties)
			stop := w.Server.Intercept(roughly(seed))
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
			pause := func(most int) { time.Sleep(time.Duration(rng.IntN(most)) * time.Millisecond) }
			for life := range 80 {
				pause(3000)
				at := rng.IntN(parties)
				nothing := func() {}
				disconnect := func() { w.Server.Disconnect(team.hosts[at].Status().SessionID) }
				partition := func() {
					heal := team.hosts[at].Machine.Partition()
					pause(9000)
					heal()
				}
				crash := func() {
					if rng.IntN(4) == 0 {
						team.doubles[at].Crash("a bug")
					}
				}
				stopServer := func() { // one of the three; or it alone hears of no other
					heal := func() { w.Server.Continue(at % 3) }
					if rng.IntN(2) == 0 {
						heal = w.Server.IsolateServer(at%3, 0)
					} else {
						w.Server.Stop(at % 3)
					}
					pause(6000)
					heal()
				}
				dieAndRestart := func() { // before or after the expiry
					team.hosts[at].Die()
					stops[at]()
					pause(9000)
					team.hosts[at] = w.Host(fmt.Sprint("anew", life))
					team.doubles[at] = newDouble(w, team.hosts[at], parties, barrier.WithName(fmt.Sprint("p", at)))
					start(at)
				}
				faults := []func(){partition, disconnect, disconnect, crash, nothing, stopServer, dieAndRestart} // with the same odds each
				faults[rng.IntN(len(faults))]()
			}
			stop()
			time.Sleep(2 * time.Minute) // after any history, rounds go on
			before := h.tick(nil)
			time.Sleep(2 * time.Minute)
			cancel()
			running.Wait()
			require.Greater(w, h.stays[len(h.stays)-1].entered, before, "no party enters any more\n%s", w.Server.Dump())
			require.Greater(w, h.check(w, parties), 25)
			for _, d := range team.doubles {
				require.NoError(w, d.Close(w.Context()))
			}
			require.Zero(w, partyZnodes(w))
		}, bubble.Brisk(zktest.WithServers(3), zktest.WithSeed(seed))...)
	})
}

// roughly delays requests, and loses one request or answer in sixty.
func roughly(seed uint64) func(*zktest.Request) zktest.Verdict {
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

// tick returns the next time, and adds a stay that begins.
func (h *history) tick(s *stay) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	if s != nil {
		s.entered = h.clock
		h.stays = append(h.stays, s)
	}
	return h.clock
}
